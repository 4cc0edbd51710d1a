"""Where programs are kept: found again as long as nothing changed that they depend on."""

import logging
from hashlib import blake2b
from pathlib import Path

from quire.errors import Damaged
from quire.programs.attempts import Checks
from quire.programs.check import Program
from quire.programs.events import Found, NotKept, SetAside, Tell
from quire.programs.faults import ProgramFault
from quire.programs.kept_files import Kept, file_name, kept_as, read_kept, write_kept
from quire.programs.pricing import Price
from quire.programs.sandbox import Sandbox
from quire.programs.setting_aside import IsMeant, holds, is_damaged, put_aside
from quire.programs.task import Task
from quire.programs.unfit import Unfit
from quire.stores.threads import STORE

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
        self.unfit = Unfit()

    async def find(self, task: Task, model: str, check: Checks, tell: Tell) -> Kept | None:
        """The program that was kept for a task, if the checks that hold now let it pass."""
        version = self._version(task, model)
        if version in self._known:
            kept = await self._remembered(version, task, check)
        elif self._folder is not None:
            kept = await self._read(self._folder / file_name(task, version), version, task, check, tell)
        else:
            kept = None
        if kept is None or self.unfit.is_stopped(kept):
            return None
        tell(Found(kept.path))
        return kept

    async def put(self, task: Task, model: str, program: Program, price: Price) -> Kept:
        """Keep a program."""
        kept = kept_as(program, price, self._version(task, model))
        if self._folder is None or kept.version in self._without_place:
            self._known[kept.version] = kept
        else:
            path = self._folder / file_name(task, kept.version)
            await STORE.do(write_kept, path, task, model, kept)
            kept = kept._replace(path=path)
        await self.unfit.begin(kept)
        return kept

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
        edited, is_meant = "", is_damaged(version)
        try:
            kept = await STORE.do(read_kept, path, version)
            if kept is None:
                return None
            is_meant = holds(kept)
            edited = "was edited, and " if kept.is_edited else ""
            return kept._replace(program=await check(kept.program.code, task))
        except Damaged as fault:
            why = str(fault.args[0])
        except ProgramFault as fault:
            if fault.kind == "limit" and not edited:
                raise  # it passed when it was written: the machine has no room for the checks now
            why = f"it {edited}does not pass the checks: {fault}"
        await self._move(path, version, why, tell, is_meant)
        return None

    async def set_aside(self, kept: Kept, fault: ProgramFault, tell: Tell) -> None:
        """Keep a program no longer that failed for good: nobody runs it, and another is written."""
        await self.unfit.stop(kept, fault)
        known = self._known.get(kept.version)
        if known is not None and known.program == kept.program:
            del self._known[kept.version]
        if kept.path is not None:
            await self._move(kept.path, kept.version, f"it does not work: {fault}", tell, holds(kept))

    async def _move(self, path: Path, version: str, why: str, tell: Tell, is_meant: IsMeant) -> None:
        """Put a file out of the way; where that cannot be, what is written instead is kept in memory."""
        outcome = await STORE.do(put_aside, path, is_meant)
        if outcome == "moved":
            logger.warning("%s is set aside: it cannot be used", path)
            tell(SetAside(path, why))
        elif outcome == "stuck":
            logger.warning("%s can be neither used nor set aside", path)
            self._without_place.add(version)
            tell(NotKept(path, why))

    def _version(self, task: Task, model: str) -> str:
        parts = (task.version, model, *([self._sandbox] if self._sandbox else []))
        return blake2b(" ".join(parts).encode(), digest_size=8).hexdigest()


def _named(sandbox: Sandbox) -> str:
    """What tells who runs programs from others; Quire's own sandbox is the one that is not named."""
    kind = type(sandbox)
    return str(getattr(sandbox, "name", "" if kind is Sandbox else f"{kind.__module__}.{kind.__qualname__}"))
