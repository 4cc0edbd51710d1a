"""Who stands beside whom: leaves of one stretch in a row, and places, which are a few of them together."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import chain

from quire.memory.index.orders import Rank, rank_of
from quire.memory.leaf import Leaf
from quire.memory.ranking.postings import Row

PLACE = 4
"""Leaves that make one place."""

RowKey = tuple[str, str, int]


class Rows:
    """The rows of all transcripts, by source, transcript and stretch."""

    def __init__(self) -> None:
        self.place_of: dict[int, int] = {}
        self._within: dict[int, tuple[int, ...]] = {}
        self._newest_in: dict[int, Rank] = {}
        self._rows: dict[RowKey, Row] = {}
        self._standing: dict[RowKey, int] = {}
        self._numbers: dict[tuple[RowKey, int], int] = {}
        self._places: dict[int, tuple[RowKey, int]] = {}
        self._last = 0

    def standing(self, leaf: Leaf) -> int | None:
        """The number of whoever stands where a leaf would."""
        return self._standing.get((leaf.source, leaf.transcript, leaf.order))

    def row_of(self, leaf: Leaf) -> Row:
        return self._rows[_key(leaf)]

    def add(self, leaf: Leaf, number: int) -> Row:
        """Keep a place for a leaf; its row, in which it is not yet."""
        self._standing[leaf.source, leaf.transcript, leaf.order] = number
        place = self._place(_key(leaf), leaf.order // PLACE)
        self.place_of[number] = place
        self._within[place] = (*self._within.get(place, ()), number)
        rank = rank_of(leaf)
        self._newest_in[place] = max(self._newest_in.get(place, rank), rank)
        return self._rows.setdefault(_key(leaf), {})

    def _place(self, key: RowKey, nth: int) -> int:
        if (key, nth) not in self._numbers:
            self._last += 1
            self._numbers[key, nth] = self._last
            self._places[self._last] = key, nth
        return self._numbers[key, nth]

    def remove(self, leaf: Leaf, number: int, left: Iterable[Leaf]) -> None:
        """Let go of a leaf that is no longer in its row; `left` are the others of its place."""
        del self._standing[leaf.source, leaf.transcript, leaf.order]
        place = self.place_of.pop(number)
        if newest := max(map(rank_of, left), default=None):
            self._newest_in[place] = newest
            self._within[place] = tuple(one for one in self._within[place] if one != number)
        else:
            del self._newest_in[place], self._within[place], self._numbers[self._places.pop(place)]
        if not self._rows[_key(leaf)]:
            del self._rows[_key(leaf)]

    def of_place(self, leaf: Leaf) -> Iterator[int]:
        """Those that share the place of a leaf."""
        first = leaf.order // PLACE * PLACE
        return self.between(leaf, first, first + PLACE)

    def between(self, leaf: Leaf, first: int, end: int) -> Iterator[int]:
        """Those in the row of a leaf from an order up to another."""
        return _between(self._rows.get(_key(leaf), {}), first, end)

    def newest(self, places: Sequence[int], count: int) -> list[int]:
        """Those of some places in which something is the newest."""
        return nlargest(count, places, self._newest_in.__getitem__)

    def widened(self, places: Iterable[int], more: int) -> set[int]:
        """Those in some places and in so many places before and after each."""
        if more:
            places = {beside for place in places for beside in self._beside(place, more)}
        return set(chain.from_iterable(map(self._within.__getitem__, places)))

    def _beside(self, place: int, more: int) -> Iterator[int]:
        key, nth = self._places[place]
        numbers = (self._numbers.get((key, one)) for one in range(nth - more, nth + more + 1))
        return (number for number in numbers if number is not None)


def _key(leaf: Leaf) -> RowKey:
    return leaf.source, leaf.transcript, leaf.stretch


def _between(row: Row, first: int, end: int) -> Iterator[int]:
    return (row[order] for order in range(first, end) if order in row)
