"""Where in a file the entries of each place are: a few numbers per entry, never what it says."""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from quire.stores.place import Place

_NEAR = 64 * 1024
_AT_ONCE = 8 * 1024 * 1024


class Spot(NamedTuple):
    """Where one body goes on after its opening brace, and how long it is from there."""

    stream: str
    offset: int
    length: int


class Contents:
    """The entries of a file by place, in order."""

    __slots__ = ("_rows", "count", "looked_at")

    def __init__(self) -> None:
        self._rows: dict[Place, _Row] = {}
        self.count = 0
        self.looked_at: set[Place] = set()
        """The places whose first entry was looked at: whether it is sealed."""

    def add(self, place: Place, spot: Spot) -> None:
        """One entry more."""
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = _Row()
        row.add(spot)
        self.count += 1

    def clear(self) -> None:
        """Nothing is known any more."""
        self.take(Contents())

    def take(self, other: "Contents") -> None:
        """What another knows, in the place of what is known here."""
        self._rows, self.count, self.looked_at = other._rows, other.count, other.looked_at

    def version(self, place: Place) -> int:
        """How many entries a place has."""
        row = self._rows.get(place)
        return 0 if row is None else len(row.offsets)

    def spots(self, place: Place, after: int = 0) -> list[Spot]:
        """The entries of a place from a version on."""
        row = self._rows.get(place)
        return [] if row is None else row.spots(max(after, 0))

    def first(self, place: Place) -> list[Spot]:
        """The first entry of a place, if it has one."""
        row = self._rows.get(place)
        return [] if row is None else [Spot(row.streams[0], row.offsets[0], row.lengths[0])]

    def places(self) -> list[Place]:
        """All places that have entries."""
        return list(self._rows)


class _Row:
    __slots__ = ("lengths", "offsets", "streams")

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.lengths = array("Q")
        self.streams: list[str] = []

    def add(self, spot: Spot) -> None:
        # Most entries of a place are of one stream: its name is held once.
        name = self.streams[-1] if self.streams and self.streams[-1] == spot.stream else spot.stream
        self.streams.append(name)
        self.offsets.append(spot.offset)
        self.lengths.append(spot.length)

    def spots(self, after: int) -> list[Spot]:
        return list(map(Spot, self.streams[after:], self.offsets[after:], self.lengths[after:]))


def gathered(spots: list[Spot]) -> Iterator[list[Spot]]:
    """Neighbours in a file, so that they are read at once and what lies far between them is not."""
    run: list[Spot] = []
    for spot in spots:
        if run and not _is_near(run, spot):
            yield run
            run = []
        run.append(spot)
    if run:
        yield run


def _is_near(run: list[Spot], spot: Spot) -> bool:
    gap = spot.offset - (run[-1].offset + run[-1].length)
    return 0 <= gap <= _NEAR and spot.offset + spot.length - run[0].offset <= _AT_ONCE
