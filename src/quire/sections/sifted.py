"""What was chosen of a history: rows that only grow, and how far somebody may read one.

Whoever was given what is chosen keeps it, however the history goes on. So nothing in a row ever changes;
where a verdict on what was chosen before changes, a new row is made.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from quire.items import Item
from quire.state import View, structural
from quire.state.staying import must_stay
from quire.state.view import place_of, slice_of
from quire.tokens import Counter


class Chosen(NamedTuple):
    """An item that was chosen, as it is shown, and where it and the first of its group are in the log."""

    item: Item
    position: int
    head: int


class Row:
    """Chosen items in order, with what is known of each."""

    __slots__ = ("firsts", "frame", "heads", "indexes", "items", "sums")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.heads: list[int] = []
        self.indexes: dict[int, int] = {}  # where in the row a position of the log is
        self.firsts: dict[int, int] = {}  # where in the row the first of a group is
        self.frame: list[int] = []  # where in the row instructions, summaries and the like are
        self.sums: dict[str, array[int]] = {}  # by counter: tokens of all before a place

    def with_end(self, start: int, end: Sequence[Chosen]) -> "Row":
        """The row with another end from a place on: itself, where that only makes it longer."""
        known = range(start, len(self.items))
        if len(known) <= len(end) and all(self._is_at(i, one) for i, one in zip(known, end, strict=False)):
            row, end = self, end[len(known) :]
        else:
            row = self._until(start)
        for one in end:
            row.add(one)
        return row

    def add(self, one: Chosen) -> None:
        """Put one more at the end."""
        place = len(self.items)
        self.indexes[one.position] = place
        self.firsts.setdefault(one.head, place)
        if structural(one.item):
            self.frame.append(place)
        self.heads.append(one.head)
        self.items.append(one.item)

    def counted(self, length: int, counter: Counter) -> "array[int]":
        """Running totals of the counts of at least so many items: each is counted once."""
        sums = self.sums.setdefault(counter.key, array("q", (0,)))
        known = len(sums)
        if known <= length:
            more, total = array("q"), sums[known - 1]
            for item in self.items[known - 1 : length]:
                total += counter.count(item)
                more.append(total)
            # Two threads may come here at once; both put the same numbers in the same places.
            sums[known : known + len(more)] = more
        return sums

    def _is_at(self, place: int, one: Chosen) -> bool:
        mine = self.items[place]
        return self.heads[place] == one.head and (mine is one.item or mine == one.item)

    def _until(self, stop: int) -> "Row":
        row = Row()
        row.items, row.heads = self.items[:stop], self.heads[:stop]
        row.indexes = {position: place for position, place in self.indexes.items() if place < stop}
        row.firsts = {head: place for head, place in self.firsts.items() if place < stop}
        row.frame = self.frame[: bisect_left(self.frame, stop)]
        row.sums = {key: sums[: stop + 1] for key, sums in self.sums.copy().items()}
        return row


class Sifted(Sequence[Item]):
    """The first so many of a row, chosen from a view. It never changes."""

    __slots__ = ("_length", "_row", "view")

    def __init__(self, row: Row, view: View) -> None:
        self._row = row
        self._length = len(row.items)
        self.view = view

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return iter(self._row.items[: self._length])

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self._row.items[place] for place in range(*slice_of(index, self._length))]
        return self._row.items[place_of(index, self._length)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Sifted, list, tuple)) and list(self) == list(other)  # pyright: ignore

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Sifted, {self._length} items of {self.view!r}>"

    def has(self, item_id: str) -> bool:
        """Whether an item is among them."""
        position = self.view.log.find(item_id, self.view.end)
        if position is None:
            return False
        if position in self.view.shape.summaries:
            return any(self._row.items[place].id == item_id for place in self._frame())
        return self._row.indexes.get(position, self._length) < self._length

    def counted(self, counter: Counter) -> int:
        """The counts of all of them, added up."""
        return self._row.counted(self._length, counter)[self._length]

    def sums(self, counter: Counter) -> Sequence[int]:
        """For each place the counts of all before it, added up."""
        return self._row.counted(self._length, counter)

    def staying(self, source: View) -> list[int]:
        """The places of what no cut takes away, in order."""
        places = {self._row.indexes.get(position, self._length) for position in must_stay(source)}
        places.discard(self._length)
        return sorted({place for place in places if place < self._length}.union(self._frame()))

    def from_place(self, cut: int, stays: Sequence[int]) -> tuple[Item, ...]:
        """What comes from a place on, but for groups that begin before it; and what stays in any case."""
        row, firsts = self._row, self._row.firsts
        kept = [row.items[place] for place in stays[: bisect_left(stays, cut)]]
        rest = row.items[cut : self._length]
        if any(firsts[head] < cut for head in row.heads[cut : self._length]):
            staying = frozenset(stays)
            places = enumerate(row.heads[cut : self._length], cut)
            rest = [row.items[p] for p, head in places if firsts[head] >= cut or p in staying]
        return (*kept, *rest)

    def _frame(self) -> list[int]:
        frame = self._row.frame
        return frame[: bisect_left(frame, self._length)]
