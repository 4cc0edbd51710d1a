"""Ids for calls that a history has none for: the same ones for the same history, and none that it has."""

from collections.abc import Iterable


class MadeIds:
    """Ids that are given out one after the other, beside those that are there already."""

    __slots__ = ("_next", "_taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next = 0  # by those made alone: a history that grows has the same ids as before

    def __call__(self) -> str:
        """The next one."""
        while (made := f"call_{self._next}") in self._taken:
            self._next += 1
        self._next += 1
        return made
