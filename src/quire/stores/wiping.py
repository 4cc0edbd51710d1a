"""Wiping what was forgotten from the files of a store: at once, or once for many."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import local

from quire.stores.place import Place


class Wiping:
    """Sees to it that what was forgotten is wiped; to rewrite a file costs as much for one as for many."""

    def __init__(self, wipe: Callable[[Place], None]) -> None:
        self._wipe = wipe
        # By thread: what another forgets meanwhile is wiped when that one is told that it is done.
        self._left = local()

    @property
    def waits(self) -> bool:
        """Whether who wipes now waits for others who keep the files in use."""
        return getattr(self._left, "waits", True)

    def after(self, place: Place) -> None:
        """Wipe what was forgotten in a place, now or at the end of `once`."""
        if getattr(self._left, "depth", 0):
            self._left.place = place
        else:
            self._wipe(place)

    @contextmanager
    def once(self, *, waits: bool = True) -> Generator[None, None, None]:
        """Wipe at the end of the block, if anything was forgotten in it; also where it is broken off.

        Unless it `waits` for others who keep the files in use, it is tried once.
        """
        depth, before = getattr(self._left, "depth", 0), self.waits
        self._left.depth, self._left.waits = depth + 1, waits and before
        try:
            yield
        finally:
            self._left.depth = depth
            place = getattr(self._left, "place", None)
            try:
                if not depth and place is not None:
                    self._left.place = None
                    self._wipe(place)
            finally:
                self._left.waits = before

    @contextmanager
    def later(self) -> Generator[None, None, None]:
        """Leave what is forgotten in the block to whoever wipes next: it is noted that somebody has to."""
        depth, place = getattr(self._left, "depth", 0), getattr(self._left, "place", None)
        self._left.depth = depth + 1
        try:
            yield
        finally:
            self._left.depth, self._left.place = depth, place
