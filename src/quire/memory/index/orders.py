"""Leaves in the orders in which they are asked for without a question: by time, and by what they matter."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Set
from functools import cached_property

from quire.memory.leaf import Leaf

Rank = tuple[float, str, str, int]
"""Where a leaf stands in time: when, of which source and transcript, in which order; no two are alike."""


def rank_of(leaf: Leaf) -> Rank:
    """Where a leaf stands in time."""
    # A plain tuple: the collector of garbage lets go of those, and there may be very many.
    return leaf.at, leaf.source, leaf.transcript, leaf.order


def _time(entry: tuple[Rank, int]) -> float:
    return entry[0][0]


class Orders:
    """Numbered leaves in both orders. What is newest is added at the end, which costs next to nothing."""

    def __init__(self) -> None:
        self.rank: dict[int, Rank] = {}
        self._by_time: list[tuple[Rank, int]] = []
        self._by_weight: list[tuple[float, Rank, int]] = []

    def __len__(self) -> int:
        return len(self._by_time)

    def add(self, leaf: Leaf, number: int) -> None:
        rank = self.rank[number] = rank_of(leaf)
        insort(self._by_time, (rank, number))
        insort(self._by_weight, (leaf.importance, rank, number))

    def remove(self, leaf: Leaf, number: int) -> None:
        rank = self.rank.pop(number)
        del self._by_time[bisect_left(self._by_time, (rank, number))]
        del self._by_weight[bisect_left(self._by_weight, (leaf.importance, rank, number))]

    def oldest_first(self, span: tuple[float, float] | None = None) -> Iterator[int]:
        """From the oldest on, within a span of time where there is one."""
        return (self._by_time[nth][1] for nth in self._within(span))

    def newest_first(self, span: tuple[float, float] | None = None) -> Iterator[int]:
        """From the newest back."""
        return (self._by_time[nth][1] for nth in reversed(self._within(span)))

    def during(self, span: tuple[float, float]) -> "During":
        """What is of a span."""
        return During(self, span, len(self._within(span)))

    def _within(self, span: tuple[float, float] | None) -> range:
        if span is None:
            return range(len(self._by_time))
        return range(*(bisect_left(self._by_time, at, key=_time) for at in span))

    def weightiest_first(self) -> Iterator[int]:
        """From what matters most down, of equal ones the newest first."""
        for _, _, number in reversed(self._by_weight):
            yield number


class During:
    """The leaves of a span of time."""

    def __init__(self, orders: Orders, span: tuple[float, float], count: int) -> None:
        self._orders, self._span, self._count = orders, span, count

    def __len__(self) -> int:
        return self._count

    def narrow(self, leaves: Set[int]) -> Set[int]:
        """Those of some leaves that are of the span."""
        if self._count < len(leaves):
            return leaves & self._all
        rank, (first, end) = self._orders.rank, self._span
        return {leaf for leaf in leaves if first <= rank[leaf][0] < end}

    @cached_property
    def _all(self) -> set[int]:
        return set(self._orders.oldest_first(self._span))
