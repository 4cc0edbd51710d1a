"""Vectors by id, and those that are nearest to another: exact, in this process, without a library."""

from collections.abc import Iterable, Sequence
from heapq import nlargest
from math import dist, hypot, isfinite

from quire.errors import InvalidValue, WrongType
from quire.tokens import whole

Unit = tuple[float, ...]
"""A vector of length one. A tuple is larger than an array, and is compared five times as fast."""


class Nearest:
    """Vectors of one length. Each search compares all of them: for thousands, not for millions."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}
        self._length: int | None = None

    def __len__(self) -> int:
        return len(self._units)

    def put(self, vector_id: str, vector: Sequence[float]) -> None:
        """Keep a vector, in place of the one with the same id."""
        self._units[vector_id] = unit = self._unit(vector)
        self._length = len(unit)

    def remove(self, vector_ids: Iterable[str]) -> None:
        """Let go of vectors; an id that is not there is none the worse."""
        for vector_id in vector_ids:
            self._units.pop(vector_id, None)
        if not self._units:
            self._length = None

    def clear(self) -> None:
        """Let go of all."""
        self.remove(list(self._units))

    def nearest(self, vector: Sequence[float], limit: int) -> list[tuple[str, float]]:
        """The ids of the nearest with their cosines, the nearest first, and of equal ones the first put."""
        most = whole(limit, "a limit of vectors", least=0)
        if not self._units:
            return []
        asked = self._unit(vector)
        alike = ((vector_id, _cosine(asked, own)) for vector_id, own in self._units.items())
        return nlargest(most, alike, key=lambda found: found[1])

    def _unit(self, vector: Sequence[float]) -> Unit:
        """The same direction at length one; what has no direction stays as it is."""
        try:
            found = tuple(map(float, vector))
        except (TypeError, ValueError):
            raise WrongType(f"a vector is a row of numbers, not {type(vector).__name__}") from None
        if not found or not all(map(isfinite, found)):
            raise InvalidValue("a vector has numbers, and none of them is endless")
        if self._length is not None and len(found) != self._length:
            raise InvalidValue(f"a vector of {len(found)} numbers among vectors of {self._length}")
        largest = max(map(abs, found))
        if not largest:
            return found
        scaled = [part / largest for part in found]  # so that no length is too long or too short for a number
        length = hypot(*scaled)
        return tuple([part / length for part in scaled])


def _cosine(one: Unit, other: Unit) -> float:
    """Told from how far two directions are apart; what has no direction is like nothing."""
    return 1 - dist(one, other) ** 2 / 2 if any(one) and any(other) else 0.0
