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
from quire.programs.check import check
from quire.programs.price import Price
from quire.programs.runner import FinishedRun, Runner
from quire.programs.source import Kind, ProgramFault
from quire.programs.task import Task
from quire.session import Session
from quire.stores.streams import MAIN
from quire.stores.threads import STORE

logger = logging.getLogger("quire.programs")

_FIRST_LINE = "# quire program 1"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 60
_OWN_FAULTS: frozenset[Kind] = frozenset(("syntax", "names", "types", "missing"))
"""Faults that are certainly the program's own. A wrong answer may come from a tool's result."""


class _TaskSignature(Signature):
    """The input of a task as the parameters of a tool."""

    def __init__(self, function: Callable[..., Any], task: Task) -> None:
        super().__init__(function)
        self._task = task

    def schema(self) -> Json:
        """The schema of the task's input."""
        return dict(self._task.input)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The task's input, as one value."""
        try:
            return {"values": self._task.read(arguments)}
        except InvalidValue as fault:
            raise Misfit(str(fault)) from None


class KeptProgram(Tool):
    """A program as a tool. Each run is a new attempt; `run` also records it in the main transcript.

    `path` is its file, if it has one. If the program fails by its own fault, the file is renamed.
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
        """The answer for an input. The main transcript does not record it."""
        return (await self.perform(self.task.read(input))).value

    @property
    def version(self) -> str:
        """A digest of everything that the program depends on."""
        return self.task.version

    def within(self, session: Session, main: str | Callable[[], str] = MAIN) -> "KeptProgram":
        """The same program in another conversation."""
        runner = self._runner._replace(session=session, main=main)
        return KeptProgram(self.task, self.code, self.price, self.path, runner)

    async def run(self, input: Mapping[str, Any]) -> Any:
        """The answer for an input; input, calls and answer are recorded in the main transcript."""
        values = self.task.read(input)
        finished = await self.perform(values)
        await self._runner.record(values, finished)
        return finished.value

    async def perform(self, values: dict[str, Any]) -> FinishedRun:
        """Run the program on the values of `task.read`. The main transcript does not record it."""
        try:
            return await self._runner.run(self.task, self.code, values)
        except ProgramFault as fault:
            if fault.kind in _OWN_FAULTS and self.path is not None:
                await self._discard(self.path, fault)
            raise

    async def _discard(self, path: Path, fault: ProgramFault) -> None:
        """Rename the file, so that a new program is written, unless it was edited or replaced."""
        try:
            if await STORE.do(_read, path) == self.code:
                await STORE.do(_rename, path)
                logger.warning("%s does not work, and was renamed: %s", path, fault.kind)
        except (Damaged, StoreFailed) as error:
            logger.warning("%s does not work, and could not be renamed: %s", path, error)


# Files


def path_of(folder: Path, task: Task, writer: str) -> Path:
    """The file for the program that the model `writer` writes for a task."""
    version = blake2b(f"{task.version} {writer}".encode(), digest_size=8).hexdigest()
    return folder / f"{_NOT_IN_NAMES.sub('_', task.name)[:_MAX_NAME]}-{version}.py"


async def find_program(path: Path, task: Task) -> str | None:
    """The program in a file, if it passes the current checks; an unusable file is renamed."""
    try:
        code = await STORE.do(_read, path)
        if code is not None:
            await check(code, task)
        return code
    except Damaged as fault:
        reason = type(fault).__name__
    except ProgramFault as fault:
        if fault.kind == "limit":
            raise  # the checks ran out of time or memory: the program may be right
        reason = fault.kind
    await STORE.do(_rename, path)
    logger.warning("%s cannot be used, and was renamed: %s", path, reason)
    return None


async def save_program(path: Path, task: Task, writer: str, code: str, price: Price) -> None:
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
    """Rename an unusable file; it is not deleted, because somebody may have edited it."""
    number = 1
    while (new_path := path.with_suffix(f".py.{number}")).exists():
        number += 1
    try:
        path.rename(new_path)
    except FileNotFoundError:
        return  # another process was first
    except OSError as error:
        raise StoreFailed(f"{path} cannot be used, and cannot be renamed: {error.strerror}") from error
