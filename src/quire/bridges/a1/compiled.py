"""A program that was written ahead of time, as a tool of A1's."""

from typing import TYPE_CHECKING, Any

from quire.bridges.a1.agents import Agent
from quire.bridges.a1.coding import main_of
from quire.bridges.a1.tools import Tool
from quire.programs import KeptProgram

if TYPE_CHECKING:
    from quire.bridges.a1.runtime import Runtime


class Compiled(Tool):
    """An agent's program. Called, it records what the program calls; `execute` records input and output too.

    Both record in `main` of the runtime that is at work, or of the one that compiled it where none is, and
    only what succeeded; of what failed, calls are in an `attempt_*`. As a tool of others it records nothing
    itself: the call of it and what it gave are theirs to record, in the conversation that it is called in,
    and where a program calls it, what it called is too.
    """

    def __init__(self, agent: Agent, program: KeptProgram, runtime: "Runtime") -> None:
        super().__init__(
            name=agent.name,
            execute=program.function,
            description=agent.description,
            input_schema=agent.input_schema,
            output_schema=agent.output_schema,
        )
        self.function = program.function
        self.__dict__["signature"] = program.signature
        self.agent = agent
        self.program = program
        self.execute = self._recorded
        self._runtime = runtime

    @property
    def code(self) -> str:
        """The program itself."""
        return self.program.program.code

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The answer for an input; calls and questions of the program are in `main`, and nothing else."""
        values, runtime = self._input(args, kwargs), self._runtime.current()
        with runtime:
            main = main_of(runtime)
            done = await self.program.within(runtime.session, main).perform(values)
            if done.items:
                await runtime.session.aio.append(*done.items, to=main())
            runtime.has_grown()
        return done.value

    async def _recorded(self, *args: Any, **kwargs: Any) -> Any:
        """The answer for an input; on success input, calls and answer are in `main`."""
        values, runtime = self._input(args, kwargs), self._runtime.current()
        with runtime:
            value = await self.program.within(runtime.session, main_of(runtime)).run(values)
            runtime.has_grown()
        return value

    def _input(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return self.program.task.read(self.agent.given(self._by_name(args, kwargs)))
