"""Programs that are kept, as tools."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from quire.agent import Tool
from quire.agent.tools import Json, Misfit, Options, Signature
from quire.errors import InvalidValue
from quire.programs.events import Tell, listening, nobody
from quire.programs.faults import OWN, ProgramFault
from quire.programs.kept_files import Kept
from quire.programs.performing import Performance, Stage, perform_as_tool, perform_in_main
from quire.programs.shelf import Shelf
from quire.programs.task import Task
from quire.programs.values import given_once
from quire.session import Session
from quire.stores.streams import MAIN


class _OfTask(Signature):
    """What a task is given, as the signature of a tool."""

    task: Task

    def schema(self) -> Json:
        """The schema of the task's input."""
        return dict(self.task.input)

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The task's input, as one value."""
        try:
            return {"values": self.task.read(given)}
        except InvalidValue as fault:
            raise Misfit(str(fault)) from None


class KeptProgram(Tool):
    """A program as a tool. `run` records a run in the main transcript; called, it records nothing.

    Where it fails, what it had called is in a transcript `attempt_*` either way, and the fault tells of it.
    Where that is a fault of its own, or it lost calls or its answer did not fit twice in a row, it is neither
    kept nor run any longer.
    """

    def __init__(self, task: Task, kept: Kept, stage: Stage, shelf: Shelf) -> None:
        async def run_program(values: dict[str, Any], session: Session | None = None) -> Any:
            return await self._value(values, session)

        run_program.__annotations__["return"] = task.output_type
        super().__init__(run_program, Options(name=task.name, description=task.description))
        signature = _OfTask(self.function)
        signature.task = task
        self.__dict__["signature"] = signature
        self.task = task
        self._kept = kept
        self.program = kept.program
        self.price = kept.price
        self.path = kept.path
        self._stage = stage
        self._shelf = shelf

    def __call__(self, /, **input: Any) -> Any:
        """The answer for an input, to be awaited; nothing is recorded of it, unless it fails."""
        return self._value(self.task.read(input), None)

    @property
    def version(self) -> str:
        """A digest of all that the program depends on."""
        return self._kept.version

    async def run(
        self,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        session: Session | None = None,
        tell: Tell | None = None,
        **input: Any,
    ) -> Any:
        """The answer for an input; on success, input, calls and answer are in the main transcript."""
        values = self.task.read(given_once(given, input))
        tell = listening(tell)
        async with self.heeding(tell):
            done = await perform_in_main(self._in(session), self.task, self.program, values, tell)
        return done.value

    def within(self, session: Session, main: str | Callable[[], str] = MAIN) -> "KeptProgram":
        """The same program in another conversation, or with another transcript for what succeeded."""
        stage = self._stage._replace(session=session, main=main)
        return KeptProgram(self.task, self._kept, stage, self._shelf)

    @asynccontextmanager
    async def heeding(self, tell: Tell) -> AsyncGenerator[None, None]:
        """While the program is run: where it fails by a fault of its own, it is kept and run no longer.

        A fault that a function or what it was given may be the cause of changes nothing, unless it comes
        twice in a row that calls were lost, or that an answer did not fit after calls of tools.
        """
        unfit = self._shelf.unfit
        unfit.check(self._kept)
        try:
            yield
        except ProgramFault as fault:
            if await self._is_for_good(fault):
                await self._shelf.set_aside(self._kept, fault, tell)
            raise
        await unfit.forget(self._kept)

    async def _is_for_good(self, fault: ProgramFault) -> bool:
        """Whether a program that failed so is not to be run again."""
        # Types were checked before it was run: what is found then is calls that it lost with this input.
        may_pass = fault.kind == "types" or (fault.kind == "answer" and fault.has_acted)
        return await self._shelf.unfit.comes_again(self._kept) if may_pass else fault.kind in OWN

    async def performed(self, values: dict[str, Any], session: Session | None = None) -> Performance:
        """A run for whoever records what it did; nothing is recorded of it, unless it fails."""
        async with self.heeding(nobody):
            return await perform_as_tool(self._in(session), self.task, self.program, values, nobody)

    async def _value(self, values: dict[str, Any], session: Session | None) -> Any:
        return (await self.performed(values, session)).value

    def _in(self, session: Session | None) -> Stage:
        return self._stage if session is None else self._stage._replace(session=session)
