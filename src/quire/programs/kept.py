"""Kept programs: files that people can read and edit, found again without a model, and used as tools."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from quire.agent.tools import Json, Misfit, Signature, Tool
from quire.errors import Damaged, InvalidValue, StoreFailed
from quire.items import new_id, now
from quire.programs.calls import Finished, Runner
from quire.programs.check import check
from quire.programs.price import Price
from quire.programs.source import Kind, ProgramFault
from quire.programs.task import Task
from quire.session import Session
from quire.stores.streams import MAIN
from quire.stores.threads import STORE

logger = logging.getLogger("quire.programs")

_FIRST_LINE = "# quire program 1"
_NOT_NAMED = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
_OWN: frozenset[Kind] = frozenset(("syntax", "names", "types", "missing"))
"""Faults that are surely the program's own. An answer may not fit for what a tool gave this once."""


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

    `path` is its file, if it has one. The file of a program that fails by a fault of its own is renamed.
    """

    def __init__(self, task: Task, code: str, price: Price, path: Path | None, runner: Runner) -> None:
        async def run_program(values: dict[str, Any], session: Session | None = None) -> Any:
            program = self if session is None else self.within(session)
            return (await program.perform(values)).value

        run_program.__annotations__["return"] = task.output_type
        signature = _TaskSignature(run_program, task)
        super().__init__(run_program, name=task.name, description=task.description, signature=signature)
        self.task = task
        self.code = code
        self.price = price
        self.path = path
        self._runner = runner

    async def __call__(self, /, **input: Any) -> Any:
        """The answer for an input. Nothing is recorded in the main transcript."""
        return (await self.perform(self.task.read(input))).value

    @property
    def version(self) -> str:
        """A digest of everything that the program depends on."""
        return self.task.version

    def within(self, session: Session, main: str | Callable[[], str] = MAIN) -> "KeptProgram":
        """The same program in another conversation."""
        runner = self._runner._replace(session=session, main=main)
        return KeptProgram(self.task, self.code, self.price, self.path, runner)

    async def run(self, given: Mapping[str, Any]) -> Any:
        """The answer for an input; input, calls and answer are recorded in the main transcript."""
        values = self.task.read(given)
        done = await self.perform(values)
        await self._runner.record(values, done)
        return done.value

    async def perform(self, values: dict[str, Any]) -> Finished:
        """Run the program on values that `task.read` gave; nothing is recorded in the main transcript."""
        try:
            return await self._runner.run(self.task, self.code, values)
        except ProgramFault as fault:
            if fault.kind in _OWN and self.path is not None:
                await self._set_aside(self.path, fault)
            raise

    async def _set_aside(self, path: Path, fault: ProgramFault) -> None:
        """Rename the file, so that another program is written, unless it was edited or replaced."""
        try:
            if await STORE.do(_read, path) == self.code:
                await STORE.do(_rename, path)
                logger.warning("%s does not work, and was renamed: %s", path, fault.kind)
        except (Damaged, StoreFailed) as error:
            logger.warning("%s does not work, and could not be renamed: %s", path, error)


# Files


def path_of(folder: Path, task: Task, writer: str) -> Path:
    """The file of the program that a model wrote for a task."""
    version = blake2b(f"{task.version} {writer}".encode(), digest_size=8).hexdigest()
    return folder / f"{_NOT_NAMED.sub('_', task.name)[:_LONGEST_NAME]}-{version}.py"


async def find(path: Path, task: Task) -> str | None:
    """The program in a file, if it passes the checks in force now; a file that cannot be used is renamed."""
    try:
        code = await STORE.do(_read, path)
        if code is not None:
            await check(code, task)
        return code
    except Damaged as fault:
        why = type(fault).__name__
    except ProgramFault as fault:
        if fault.kind == "limit":
            raise  # the machine has no room for the checks now: the program may be right
        why = fault.kind
    await STORE.do(_rename, path)
    logger.warning("%s cannot be used, and was renamed: %s", path, why)
    return None


async def keep(path: Path, task: Task, writer: str, code: str, price: Price) -> None:
    """Write a program to its file, with a header for people."""
    fields = {
        "name": task.name,
        "description": task.description,
        "written": f"{datetime.fromtimestamp(now(), UTC):%Y-%m-%d %H:%M} by {writer}",
        "price": f"{price.money:g} USD, {price.calls:g} calls",
    }
    header = [f"# {name}: {' '.join(value.split())}" for name, value in fields.items()]
    await STORE.do(_write, path, "\n".join([_FIRST_LINE, *header, "", code, ""]))


def _write(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    draft = path.with_name(f".{new_id()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
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
    except OSError as error:
        raise StoreFailed(f"a program cannot be kept as {path}: {error.strerror}") from error
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
