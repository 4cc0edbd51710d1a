"""Programs that are kept: found again as long as nothing changed that they depend on, and used as tools."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from quire.agent import Tool
from quire.agent.tools.options import Options
from quire.agent.tools.shapes import Json, Misfit
from quire.agent.tools.signature import Signature
from quire.errors import Damaged, InvalidValue
from quire.programs.attempts import Checks
from quire.programs.checking import Program
from quire.programs.events import Found, NotKept, SetAside, Tell, listening, nobody
from quire.programs.faults import ProgramFault
from quire.programs.kept_files import Kept, file_name, kept_as, read_kept, write_kept
from quire.programs.performing import Stage, perform_as_tool, perform_in_main
from quire.programs.pricing import Price
from quire.programs.sandbox import Sandbox
from quire.programs.task import Task
from quire.programs.values import given_once
from quire.session import Session
from quire.stores.streams import MAIN

logger = logging.getLogger("quire.programs")


class Shelf:
    """The programs that a coder keeps: in a folder, or in memory where there is none, or no place in it.

    They are kept for the sandbox that runs them: what one of them takes, another may not.
    """

    def __init__(self, folder: Path | None, sandbox: Sandbox) -> None:
        self._folder = folder
        self._sandbox = _named(sandbox)
        self._known: dict[str, Kept] = {}
        self._without_place: set[str] = set()

    async def find(self, task: Task, model: str, check: Checks, tell: Tell) -> Kept | None:
        """The program that was kept for a task, if the checks that hold now let it pass."""
        version = self._version(task, model)
        if version in self._known:
            kept = await self._remembered(version, task, check)
        elif self._folder is not None:
            kept = await self._read(self._folder / file_name(task, version), version, task, check, tell)
        else:
            kept = None
        if kept is not None:
            tell(Found(kept.path))
        return kept

    async def put(self, task: Task, model: str, program: Program, price: Price) -> Kept:
        """Keep a program."""
        kept = kept_as(program, price, self._version(task, model))
        if self._folder is None or kept.version in self._without_place:
            self._known[kept.version] = kept
            return kept
        path = self._folder / file_name(task, kept.version)
        await asyncio.to_thread(write_kept, path, task, model, kept)
        return kept._replace(path=path)

    async def _remembered(self, version: str, task: Task, check: Checks) -> Kept | None:
        kept = self._known[version]
        try:
            return kept._replace(program=await check(kept.program.code, task))
        except ProgramFault as fault:
            if fault.kind == "limit":
                raise  # of the checks, as below
            del self._known[version]
            return None

    async def _read(self, path: Path, version: str, task: Task, check: Checks, tell: Tell) -> Kept | None:
        edited = ""
        try:
            kept = await asyncio.to_thread(read_kept, path, version)
            if kept is None:
                return None
            edited = "was edited, and " if kept.is_edited else ""
            return kept._replace(program=await check(kept.program.code, task))
        except Damaged as fault:
            why = str(fault.args[0])
        except ProgramFault as fault:
            if fault.kind == "limit" and not edited:
                raise  # it passed when it was written: the machine has no room for the checks now
            why = f"it {edited}does not pass the checks: {fault}"
        if await asyncio.to_thread(_is_set_aside, path):
            logger.warning("%s is set aside: it cannot be used", path)
            tell(SetAside(path, why))
        else:
            logger.warning("%s can be neither used nor set aside", path)
            self._without_place.add(version)
            tell(NotKept(path, why))
        return None

    def _version(self, task: Task, model: str) -> str:
        parts = (task.version, model, *([self._sandbox] if self._sandbox else []))
        return blake2b(" ".join(parts).encode(), digest_size=8).hexdigest()


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
    """

    def __init__(self, task: Task, kept: Kept, stage: Stage) -> None:
        async def run_program(values: dict[str, Any], session: Session | None = None) -> Any:
            return await self._value(values, session)

        run_program.__annotations__["return"] = task.output_type
        super().__init__(run_program, Options(name=task.name, description=task.description))
        signature = _OfTask(*self.signature)
        signature.task = task
        self.__dict__["signature"] = signature
        self.task = task
        self._kept = kept
        self.program = kept.program
        self.price = kept.price
        self.path = kept.path
        self._stage = stage

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
        done = await perform_in_main(self._in(session), self.task, self.program, values, listening(tell))
        return done.value

    def within(self, session: Session, main: str | Callable[[], str] = MAIN) -> "KeptProgram":
        """The same program in another conversation, or with another transcript for what succeeded."""
        return KeptProgram(self.task, self._kept, self._stage._replace(session=session, main=main))

    async def _value(self, values: dict[str, Any], session: Session | None) -> Any:
        done = await perform_as_tool(self._in(session), self.task, self.program, values, nobody)
        return done.value

    def _in(self, session: Session | None) -> Stage:
        return self._stage if session is None else self._stage._replace(session=session)


def _named(sandbox: Sandbox) -> str:
    """What tells who runs programs from others; Quire's own sandbox is the one that is not named."""
    kind = type(sandbox)
    return str(getattr(sandbox, "name", "" if kind is Sandbox else f"{kind.__module__}.{kind.__qualname__}"))


def _is_set_aside(path: Path) -> bool:
    """Give a file another name, if that can be done: somebody may have put work into it."""
    number = 1
    try:
        while (other := path.with_suffix(f".py.{number}")).exists():
            number += 1
        path.rename(other)
    except OSError:
        return False
    return True
