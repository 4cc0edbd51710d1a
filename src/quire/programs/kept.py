"""Kept programs: files that people can read and edit, found again without a model, and used as tools."""

import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from quire.agent.tools import Json, Misfit, Options, Signature, Tool
from quire.errors import Damaged, InvalidValue, StoreFailed
from quire.items import new_id, now
from quire.programs.calls import Finished, Runner
from quire.programs.check import Program
from quire.programs.events import Found, SetAside, Tell, listener
from quire.programs.faults import OWN, ProgramFault
from quire.programs.price import Price
from quire.programs.sandbox import Sandbox
from quire.programs.task import Task
from quire.programs.values import given_once
from quire.session import Session
from quire.stores.streams import MAIN
from quire.stores.threads import STORE

logger = logging.getLogger("quire.programs")

_FIRST_LINE = "# quire program 1"
_NOT_NAMED = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60

Check = Callable[[str, Task], Awaitable[tuple[Program, Price]]]
"""Checks a program and estimates its price, or raises a `ProgramFault`."""


class Kept(NamedTuple):
    """A kept program; `path` is None in memory."""

    program: Program
    price: Price
    version: str
    path: Path | None


class Shelf:
    """The kept programs of a coder: in a folder, or in memory if there is none.

    A program is kept for its task, for whoever writes programs, and for the sandbox that runs them.
    """

    def __init__(self, folder: Path | None, sandbox: Sandbox) -> None:
        self._folder = folder
        kind = type(sandbox)
        self._sandbox = str(getattr(sandbox, "name", f"{kind.__module__}.{kind.__qualname__}"))
        self._in_memory: dict[str, str] = {}
        self._set_aside: dict[tuple[str, str], ProgramFault] = {}

    async def find(self, task: Task, writer: str, check: Check, tell: Tell) -> Kept | None:
        """The program that was kept for a task, if it passes the checks in force now."""
        version = self._version(task, writer)
        path, code = self._path(task, version), self._in_memory.get(version)
        try:
            code = code if path is None else await STORE.do(_read, path)
            if code is None or (version, code) in self._set_aside:
                return None
            kept = Kept(*await check(code, task), version, path)
        except Damaged as fault:
            why = str(fault.args[0])
        except ProgramFault as fault:
            if fault.kind == "limit":
                raise  # the machine has no room for the checks now: the program may be right
            why = f"it does not pass the checks: {fault}"
        else:
            tell(Found(path))
            return kept
        self._in_memory.pop(version, None)
        if path is not None:
            await STORE.do(_rename, path)
            tell(SetAside(path, why))
        return None

    async def put(self, task: Task, writer: str, program: Program, price: Price) -> Kept:
        """Keep a program."""
        version = self._version(task, writer)
        code, path = program.code.strip("\n"), self._path(task, version)
        if path is None:
            self._in_memory[version] = code
        else:
            await STORE.do(_write, path, _header(task, writer, price), code)
        self._set_aside.pop((version, code), None)
        return Kept(Program(code, program.calls), price, version, path)

    async def set_aside(self, kept: Kept, fault: ProgramFault, tell: Tell) -> None:
        """Keep a program no longer that failed by a fault of its own, so that another one is written."""
        self._set_aside[kept.version, kept.program.code] = fault
        if self._in_memory.get(kept.version) == kept.program.code:
            del self._in_memory[kept.version]
        if kept.path is None:
            return
        try:
            if await STORE.do(_read, kept.path) == kept.program.code:  # it may have been edited or replaced
                await STORE.do(_rename, kept.path)
                tell(SetAside(kept.path, f"it does not work: {fault}"))
        except (Damaged, StoreFailed) as error:
            logger.warning("%s does not work, and could not be renamed: %s", kept.path, error)

    def check_usable(self, kept: Kept) -> None:
        """Raise a fault if a program was set aside."""
        fault = self._set_aside.get((kept.version, kept.program.code))
        if fault is not None:
            first = str(fault).partition("\n")[0]
            text = f"the program was not run, and is kept no longer: it failed before, by {first}"
            raise ProgramFault(fault.kind, f"{text}; have another one kept")

    def _version(self, task: Task, writer: str) -> str:
        return blake2b(f"{task.version} {writer} {self._sandbox}".encode(), digest_size=8).hexdigest()

    def _path(self, task: Task, version: str) -> Path | None:
        name = f"{_NOT_NAMED.sub('_', task.name)[:_LONGEST_NAME]}-{version}.py"
        return None if self._folder is None else self._folder / name


class _TaskSignature(Signature):
    """The input of a task as the parameters of a tool."""

    def __init__(self, function: Callable[..., Any], task: Task) -> None:
        super().__init__(function)
        self._task = task

    def schema(self) -> Json:
        """The schema of the task's input."""
        return dict(self._task.input)

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The task's input, as one value."""
        try:
            return {"values": self._task.read(given)}
        except InvalidValue as fault:
            raise Misfit(str(fault)) from None


class KeptProgram(Tool):
    """A program as a tool. Each run has an attempt of its own; `run` records in the main transcript, too.

    A program that fails by a fault of its own is set aside, and not run any more.
    """

    def __init__(self, task: Task, kept: Kept, runner: Runner, shelf: Shelf) -> None:
        async def run_program(values: dict[str, Any], session: Session | None = None) -> Any:
            program = self if session is None else self.within(session)
            return (await program.perform(values)).value

        run_program.__annotations__["return"] = task.output_type
        options = Options(name=task.name, description=task.description)
        super().__init__(run_program, options, signature=_TaskSignature(run_program, task))
        self.task = task
        self.program = kept.program
        self.price = kept.price
        self.path = kept.path
        self._kept = kept
        self._runner = runner
        self._shelf = shelf

    async def __call__(self, /, **input: Any) -> Any:
        """The answer for an input. Nothing is recorded in the main transcript."""
        return (await self.perform(self.task.read(input))).value

    @property
    def version(self) -> str:
        """A digest of everything that the program depends on."""
        return self._kept.version

    def within(self, session: Session, main: str | Callable[[], str] = MAIN) -> "KeptProgram":
        """The same program in another conversation."""
        runner = self._runner._replace(session=session, main=main)
        return KeptProgram(self.task, self._kept, runner, self._shelf)

    async def run(
        self, given: Mapping[str, Any] | None = None, /, *, tell: Tell | None = None, **input: Any
    ) -> Any:
        """The answer for an input; input, calls and answer are recorded in the main transcript."""
        values = self.task.read(given_once(given, input))
        done = await self.perform(values, tell=tell)
        await self._runner.record(values, done)
        return done.value

    async def perform(self, values: dict[str, Any], *, tell: Tell | None = None) -> Finished:
        """Run the program on values that `task.read` gave; nothing is recorded in the main transcript."""
        tell = listener(tell)
        self._shelf.check_usable(self._kept)
        try:
            return await self._runner.run(self.task, self.program, values, tell)
        except ProgramFault as fault:
            if fault.kind in OWN:
                await self._shelf.set_aside(self._kept, fault, tell)
            raise


# --- files ---------------------------------------------------------------------------------------------


def _header(task: Task, writer: str, price: Price) -> list[str]:
    fields = {
        "name": task.name,
        "description": task.description,
        "written": f"{datetime.fromtimestamp(now(), UTC):%Y-%m-%d %H:%M} by {writer}",
        "price": f"{price.money:g} USD, {price.seconds:g} seconds, {price.calls:g} calls",
    }
    return [f"# {name}: {' '.join(value.split())}" for name, value in fields.items()]


def _write(path: Path, header: list[str], code: str) -> None:
    """Write a file completely or not at all."""
    draft = path.with_name(f".{new_id()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8") as file:
            file.write("\n".join([_FIRST_LINE, *header, "", code, ""]))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreFailed(f"the program cannot be kept in {path.parent}: {error.strerror}") from error


def _read(path: Path) -> str | None:
    """The program in a file, None if there is no file; `Damaged` if it is not a kept program."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Damaged("it is not text", str(path)) from None
    except NotADirectoryError as error:
        raise StoreFailed(f"programs cannot be kept in {path.parent}: {error.strerror}") from error
    except OSError as error:
        raise Damaged(f"it cannot be read: {error.strerror}", str(path)) from error
    header, _, code = text.partition("\n\n")
    if header.splitlines()[:1] != [_FIRST_LINE] or not code.strip():
        raise Damaged("it is not a kept program", str(path))
    return code.strip("\n")


def _rename(path: Path) -> None:
    """Give a file that cannot be used another name: somebody may have put work into it."""
    number = 1
    while (other := path.with_suffix(f".py.{number}")).exists():
        number += 1
    try:
        path.rename(other)
    except FileNotFoundError:
        return  # another process was first
    except OSError as error:
        raise StoreFailed(f"{path} cannot be used, and cannot be renamed: {error.strerror}") from error
    logger.warning("%s cannot be used and was renamed to %s", path, other.name)
