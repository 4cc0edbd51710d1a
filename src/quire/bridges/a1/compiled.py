"""A program that was written ahead of time, as a tool of A1's."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from quire.bridges.a1.agents import Agent
from quire.bridges.a1.coding import stage_of
from quire.bridges.a1.tools import Tool
from quire.programs.events import nobody
from quire.programs.keeping import KeptProgram
from quire.programs.performing import Stage, perform_as_tool, perform_in_main
from quire.programs.recording import done_within, record_run
from quire.session import Session

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
        self.function = _within_others(program)
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
        values = self._input(args, kwargs)
        async with self._stage() as (stage, runtime):
            done = await perform_as_tool(stage, self.program.task, self.program.program, values, nobody)
            await record_run(stage.session, stage.main, done.deeds)
            runtime.has_grown()
        return done.value

    async def _recorded(self, *args: Any, **kwargs: Any) -> Any:
        """The answer for an input; on success input, calls and answer are in `main`."""
        values = self._input(args, kwargs)
        async with self._stage() as (stage, runtime):
            done = await perform_in_main(stage, self.program.task, self.program.program, values, nobody)
            runtime.has_grown()
        return done.value

    @asynccontextmanager
    async def _stage(self) -> "AsyncGenerator[tuple[Stage, Runtime], None]":
        """Where it is run: by what it was compiled for, in the contexts of whoever calls it."""
        runtime = self._runtime.current()
        with runtime:
            stage = stage_of(runtime)._replace(sandbox=self._runtime.sandbox)
            async with self.program.heeding(nobody):
                yield stage, runtime

    def _input(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return self.program.task.read(self.agent.given(self._by_name(args, kwargs)))


def _within_others(program: KeptProgram) -> Any:
    """The program as a function of others: what it does is left to be recorded with their calls of it."""

    @wraps(program.function)
    async def called(values: dict[str, Any], session: Session | None = None) -> Any:
        done = await program.performed(values, session)
        done_within(done.deeds)
        return done.value

    return called
