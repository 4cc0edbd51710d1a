"""Rows of what was chosen of a history: they only grow.

Whoever was given what is chosen keeps it, however the history goes on. So nothing in a row ever changes;
where a verdict on what was chosen before changes, a new row is made.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from quire.items import Item
from quire.state import structural
from quire.tokens import Counter


class Chosen(NamedTuple):
    """An item that was chosen, as it is shown, where it and the first of its group are in the log, its turn.

    Turns are numbered by the messages of the user in the view, whether they were chosen or not.
    """

    item: Item
    position: int
    head: int
    turn: int


class Row:
    """Chosen items in order, with what is known of each."""

    __slots__ = ("_numbers", "firsts", "frame", "heads", "indexes", "items", "sums", "turns")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.heads: list[int] = []
        self.indexes: dict[int, int] = {}  # where in the row a position of the log is
        self.firsts: dict[int, int] = {}  # where in the row the first of a group is
        self.frame: list[int] = []  # where in the row instructions, summaries and the like are
        self.turns: list[int] = []  # where in the row turns begin
        self.sums: dict[str, array[int]] = {}  # by counter: tokens of all before a place
        self._numbers: list[int] = []  # of each item, that of its turn

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
        if one.turn != (self._numbers[-1] if self._numbers else 0):
            self.turns.append(place)
        self._numbers.append(one.turn)
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
        row.items, row.heads, row._numbers = self.items[:stop], self.heads[:stop], self._numbers[:stop]
        row.indexes = {position: place for position, place in self.indexes.items() if place < stop}
        row.firsts = {head: place for head, place in self.firsts.items() if place < stop}
        row.frame = self.frame[: bisect_left(self.frame, stop)]
        row.turns = self.turns[: bisect_left(self.turns, stop)]
        row.sums = {key: sums[: stop + 1] for key, sums in self.sums.copy().items()}
        return row
