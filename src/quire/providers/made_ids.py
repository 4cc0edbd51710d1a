"""Ids for calls that a history has none for: the same ones for the same history, and none that it has."""

from collections.abc import Iterable


class MadeIds:
    """Ids that are given out one after the other, beside those that are there already."""

    __slots__ = ("_taken",)

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def __call__(self) -> str:
        """The next one."""
        number = len(self._taken)
        while f"call_{number}" in self._taken:
            number += 1
        self._taken.add(f"call_{number}")
        return f"call_{number}"
