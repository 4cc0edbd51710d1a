"""What of a log is shown, as runs of positions: an edit rebuilds what it touches and shares the rest.

A run is a stretch of the log shown word for word, one item that a mask replaced, or a summary: a run of no
width, before the first item that it covers. Runs hold positions alone. They are sorted and kept in leaves.
After the last leaf comes the tail: all that was appended since the last edit, which grows without anything
here being touched.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter, itemgetter
from typing import NamedTuple

Interval = tuple[int, int]
"""Positions from the first to before the second."""

_LEAF = 32
"""Runs in a leaf, at most."""


class Run(NamedTuple):
    """One stretch of what is shown. `by` is the position of its mask or summary; below zero without one."""

    start: int
    stop: int
    by: int = -1
    pinned: bool = False

    @property
    def width(self) -> int:
        """How many items are shown for it."""
        return self.stop - self.start if self.by < 0 else 1


class Leaf:
    """A few runs that never change; `sums` keeps their running token totals by counter."""

    __slots__ = ("count", "notable", "runs", "start", "sums")

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        self.start = runs[0].start
        self.count = sum(run.width for run in runs)
        self.notable = tuple(run for run in runs if run.pinned or run.start == run.stop)
        self.sums: dict[str, list[int]] = {}


class Shape:
    """The leaves, then everything from the position `tail` on. A shape never changes."""

    __slots__ = ("_offsets", "leaves", "size", "sums", "tail")

    def __init__(self, leaves: tuple[Leaf, ...] = (), size: int = 0, tail: int = 0) -> None:
        self.leaves = leaves
        self.size = size  # items shown by the leaves
        self.tail = tail
        self.sums: dict[str, list[int]] = {}  # by counter: tokens before each leaf, and in all
        self._offsets: list[int] | None = None

    @property
    def offsets(self) -> list[int]:
        """How many items are shown before each leaf, and last by all leaves."""
        if self._offsets is None:
            self._offsets = list(accumulate((leaf.count for leaf in self.leaves), initial=0))
        return self._offsets

    def summaries(self) -> list[Run]:
        """The runs of summaries that are shown in place of what they cover."""
        return [run for leaf in self.leaves for run in leaf.notable if run.by >= 0]

    def leaf_at(self, position: int) -> int:
        """The index of the leaf in which a position belongs."""
        return max(bisect_right(self.leaves, position, key=_start_of_leaf) - 1, 0)

    def run_at(self, position: int, end: int) -> Run | None:
        """The run that shows a position before `end`, if one does."""
        if position >= self.tail:
            return Run(self.tail, end)
        if not self.leaves:
            return None
        runs = self.leaves[self.leaf_at(position)].runs
        index = bisect_right(runs, position, key=_start) - 1
        return runs[index] if index >= 0 and position < runs[index].stop else None

    def closed(self, end: int) -> "Shape":
        """The same with the tail in the leaves, and an empty tail after the edit at `end`."""
        if self.tail >= end:
            return Shape(self.leaves, self.size, end + 1)
        run = Run(self.tail, end)
        last = (*self.leaves[-1].runs, run) if self.leaves else (run,)
        return Shape((*self.leaves[:-1], *_leaves(last)), self.size + run.width, end + 1)

    def spliced(self, area: Sequence[Interval], runs: Sequence[Run], gone: Sequence[Run]) -> "Shape":
        """The same with other runs in an area, and without the summaries `gone`."""
        places = [*(p for interval in area for p in interval), *(run.start for run in (*runs, *gone))]
        if not places:
            return self
        # A summary may be the last run of the leaf before the one that begins at its place.
        first = max(bisect_left(self.leaves, min(places), key=_start_of_leaf) - 1, 0)
        last = bisect_right(self.leaves, max(places), key=_start_of_leaf)
        kept = [run for leaf in self.leaves[first:last] for run in leaf.runs if run not in gone]
        changed = [*(piece for run in kept for piece in _pieces(run, area)), *runs]
        summaries = sorted((run.start, run.stop) for run in changed if run.start == run.stop)
        if summaries:
            changed = [piece for run in changed for piece in _pieces(run, summaries)]
        changed = _joined(sorted(changed, key=_place_of_run))
        new = _leaves(changed)
        size = self.size + sum(leaf.count for leaf in new)
        size -= sum(leaf.count for leaf in self.leaves[first:last])
        return Shape((*self.leaves[:first], *new, *self.leaves[last:]), size, self.tail)


def _pieces(run: Run, area: Sequence[Interval]) -> list[Run]:
    """What remains of a run without an area; an empty interval divides it."""
    if run.start == run.stop or not area or run.stop <= area[0][0] or run.start >= area[-1][1]:
        return [run]
    pieces = list(subtracted((run.start, run.stop), area))
    if pieces == [(run.start, run.stop)]:
        return [run]  # the same object, so that shapes of two revisions share it
    return [Run(start, stop, run.by, run.pinned) for start, stop in pieces]


def _joined(runs: Iterable[Run]) -> list[Run]:
    """Runs with neighbours that are shown word for word in one piece."""
    joined: list[Run] = []
    for run in runs:
        start, stop, by, pinned = joined[-1] if joined else (0, -1, -1, False)
        if stop == run.start and max(by, run.by) < 0 and pinned == run.pinned:
            joined[-1] = Run(start, run.stop, pinned=pinned)
        else:
            joined.append(run)
    return joined


def _leaves(runs: Sequence[Run]) -> tuple[Leaf, ...]:
    """Runs in leaves of about the same length."""
    if not runs:
        return ()
    step = -(-len(runs) // -(-len(runs) // _LEAF))
    return tuple(Leaf(runs[index : index + step]) for index in range(0, len(runs), step))


def contains(area: Sequence[Interval], position: int) -> bool:
    """Whether a position is in one of the intervals."""
    index = bisect_right(area, position, key=_start) - 1
    return index >= 0 and position < area[index][1]


def subtracted(interval: Interval, area: Sequence[Interval]) -> Iterator[Interval]:
    """What remains of an interval without an area."""
    start, stop = interval
    index = max(bisect_right(area, start, key=_start) - 1, 0)
    while index < len(area) and area[index][0] < stop:
        if start < area[index][0]:
            yield start, area[index][0]
        start = max(start, area[index][1])
        index += 1
    if start < stop:
        yield start, stop


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """The same positions as sorted intervals that lie apart."""
    area: list[Interval] = []
    for start, stop in sorted(intervals):
        if area and start <= area[-1][1]:
            area[-1] = (area[-1][0], max(stop, area[-1][1]))
        elif start < stop:
            area.append((start, stop))
    return area


def singles(positions: Iterable[int]) -> list[Interval]:
    """Positions as an area."""
    return united((position, position + 1) for position in positions)


def without(area: Iterable[Interval], other: Sequence[Interval]) -> list[Interval]:
    """What remains of an area without another."""
    return [part for interval in area for part in subtracted(interval, other)]


_start = itemgetter(0)
_start_of_leaf = attrgetter("start")
_place_of_run = itemgetter(0, 1)  # a summary comes before the item that it stands before
