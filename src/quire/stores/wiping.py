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

    def after(self, place: Place) -> None:
        """Wipe what was forgotten in a place, now or at the end of `once`."""
        if getattr(self._left, "depth", 0):
            self._left.place = place
        else:
            self._wipe(place)

    @contextmanager
    def once(self) -> Generator[None, None, None]:
        """Wipe at the end of the block, if anything was forgotten in it; also where it is broken off."""
        depth = getattr(self._left, "depth", 0)
        self._left.depth = depth + 1
        try:
            yield
        finally:
            self._left.depth = depth
            place = getattr(self._left, "place", None)
            if not depth and place is not None:
                self._left.place = None
                self._wipe(place)
