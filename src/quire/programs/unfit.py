"""Kept programs whose answers did not fit after they had called tools.

Once, that may be for what a tool gave. A program of which it comes again does all that it does for nothing,
each time that it is called. The first time is noted beside the file, for whoever runs the program next.
"""

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from quire.programs.faults import ProgramFault
from quire.programs.kept_files import Kept
from quire.stores.threads import STORE

_STOPPED = (
    "the program was not run, and is kept no longer: twice in a row its answer did not fit after it had "
    "called tools; have another one kept"
)


class Unfit:
    """What is known of the answers of kept programs."""

    def __init__(self) -> None:
        self._doubted: set[str] = set()
        self._stopped: set[str] = set()

    def check(self, kept: Kept) -> None:
        """Raise a fault where a program is not to be run any more."""
        if self.is_stopped(kept):
            raise ProgramFault("answer", _STOPPED)

    def is_stopped(self, kept: Kept) -> bool:
        """Whether a program is not to be run any more."""
        return _digest(kept) in self._stopped

    async def comes_again(self, kept: Kept) -> bool:
        """Note that an answer did not fit after calls: whether it was so the time before, too."""
        digest = _digest(kept)
        if digest in self._doubted or await STORE.do(_is_noted, kept):
            self._stopped.add(digest)
            await STORE.do(_remove_note, kept)
            return True
        self._doubted.add(digest)
        await STORE.do(_note, kept)
        return False

    async def forget(self, kept: Kept) -> None:
        """Note that an answer fits, or that a program is new."""
        self._doubted.discard(_digest(kept))
        self._stopped.discard(_digest(kept))
        await STORE.do(_remove_note, kept)


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
