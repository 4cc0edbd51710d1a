"""Kept programs that are not to be run any more, though somebody has them still.

Those that failed by a fault of their own, and those that lost calls or whose answers did not fit after they
had called tools. Once, that may be for what they were given. A program of which it comes again does all that
it does for nothing, each time that it is called. The first time is noted beside the file, for whoever runs
the program next.
"""

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from quire.programs.faults import OWN, ProgramFault
from quire.programs.kept_files import Kept
from quire.stores.threads import STORE

_TWICE = "twice in a row no answer that fits came of it, after it had called tools"


class Unfit:
    """What is known of kept programs that failed."""

    def __init__(self) -> None:
        self._doubted: set[str] = set()
        self._stopped: dict[str, ProgramFault] = {}

    def check(self, kept: Kept) -> None:
        """Raise a fault where a program is not to be run any more."""
        fault = self._stopped.get(_digest(kept))
        if fault is not None:
            text = f"the program was not run, and is kept no longer: {_why(fault)}; have another one kept"
            raise ProgramFault(fault.kind, text)

    def is_stopped(self, kept: Kept) -> bool:
        """Whether a program is not to be run any more."""
        return _digest(kept) in self._stopped

    async def comes_again(self, kept: Kept) -> bool:
        """Note that no answer that fits came of a program: whether it was so the time before, too."""
        digest = _digest(kept)
        if digest in self._doubted or await STORE.do(_is_noted, kept):
            return True
        self._doubted.add(digest)
        await STORE.do(_note, kept)
        return False

    async def stop(self, kept: Kept, fault: ProgramFault) -> None:
        """Note that a program is not to be run any more, and what for."""
        self._stopped[_digest(kept)] = fault
        await self.forget(kept)

    async def begin(self, kept: Kept) -> None:
        """Note that a program is new, though one like it may have been stopped."""
        self._stopped.pop(_digest(kept), None)
        await self.forget(kept)

    async def forget(self, kept: Kept) -> None:
        """Note that an answer fits: one that did not is made up for."""
        self._doubted.discard(_digest(kept))
        await STORE.do(_remove_note, kept)


def _why(fault: ProgramFault) -> str:
    """Why a program was stopped. What it had called then was told then, and is not what it called now."""
    return f"it failed before, by {str(fault).partition(chr(10))[0]}" if fault.kind in OWN else _TWICE


def _is_noted(kept: Kept) -> bool:
    try:
        return kept.path is not None and _beside(kept.path).read_text(encoding="utf-8") == _digest(kept)
    except (OSError, UnicodeDecodeError):
        return False


def _note(kept: Kept) -> None:
    if kept.path is not None:
        with suppress(OSError):  # nobody else knows of it then
            _beside(kept.path).write_text(_digest(kept), encoding="utf-8")


def _remove_note(kept: Kept) -> None:
    if kept.path is not None:
        with suppress(OSError):
            _beside(kept.path).unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_suffix(".py.unfit")


def _digest(kept: Kept) -> str:
    """What a program is known by: one that was edited is another."""
    text = f"{kept.version} {kept.program.code}"
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
