"""What of a log is shown, as runs of positions: cheap to change in one place, shared everywhere else.

A run is a stretch of the log shown word for word, one item with a stand-in (a masked result), or a stand-in
of no width (a summary, which stands before the first item it covers). Runs are sorted by the time and
position of what they show, and kept in leaves: an edit rebuilds the leaves it touches and shares the rest.
After the last leaf comes the tail, all that was appended since the last edit; it grows without anything here
being touched.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from quire.items import Item

Interval = tuple[int, int]
"""Positions from the first to before the second."""

Key = tuple[float, int, int]
Clock = Callable[[int], float]
"""The time by which the item at a position is shown."""

_LEAF = 32


class Run(NamedTuple):
    """One stretch of what is shown."""

    start: int
    stop: int
    stand_in: Item | None = None

    @property
    def width(self) -> int:
        """How many items are shown for it."""
        return self.stop - self.start if self.stand_in is None else 1

    def key(self, time: Clock) -> Key:
        """Where it belongs among the others."""
        return (time(self.start), self.start, int(self.stop > self.start))


class Leaf:
    """A few runs that never change; `sums` keeps their tokens by counter."""

    __slots__ = ("count", "key", "runs", "sums")

    def __init__(self, runs: Sequence[Run], key: Key) -> None:
        self.runs = tuple(runs)
        self.key = key
        self.count = sum(run.width for run in runs)
        self.sums: dict[str, int] = {}


class Shape(NamedTuple):
    """What is shown: the leaves, then everything from `tail` on."""

    leaves: tuple[Leaf, ...] = ()
    size: int = 0  # items in the leaves
    tail: int = 0
    pins: frozenset[int] = frozenset()  # the heads of pinned groups
    summaries: tuple[int, ...] = ()  # positions of the summaries that are shown in place of others

    def closed(self, end: int, time: Clock) -> "Shape":
        """The same with the tail up to `end` in the leaves, and an empty tail after the edit at `end`."""
        if self.tail >= end:
            return self._replace(tail=end + 1)
        run = Run(self.tail, end)
        if self.leaves and len(self.leaves[-1].runs) < _LEAF:
            last = self.leaves[-1]
            leaves = (*self.leaves[:-1], Leaf((*last.runs, run), last.key))
        else:
            leaves = (*self.leaves, Leaf((run,), run.key(time)))
        return self._replace(leaves=leaves, size=self.size + run.width, tail=end + 1)


class Change(NamedTuple):
    """What leaves the shape and what comes in."""

    area: Sequence[Interval]  # sorted and apart from each other
    gone: Collection[str] = ()  # ids of summaries that are no longer shown
    runs: Sequence[Run] = ()


def spliced(shape: Shape, change: Change, bounds: Iterable[Key], time: Clock) -> Shape:
    """The shape after a change; what it takes away lies within `bounds`."""
    keys = [*bounds, *(run.key(time) for run in change.runs)]
    if not keys:
        return shape
    first = _leaf_at(shape.leaves, min(keys))
    last = _leaf_at(shape.leaves, max(keys)) + 1
    touched = shape.leaves[first:last]
    whole = [part for leaf in touched for run in leaf.runs for part in _remaining(run, change)]
    whole.extend(change.runs)
    places = sorted(run.key(time) for run in whole)
    runs = [part for run in whole for part in _parted(run, places, time)]
    runs.sort(key=lambda run: run.key(time))
    leaves = (*shape.leaves[:first], *_leaves(_joined(runs), time), *shape.leaves[last:])
    before = sum(leaf.count for leaf in touched)
    return shape._replace(leaves=leaves, size=shape.size - before + sum(run.width for run in runs))


def first_after(start: int, stop: int, place: tuple[float, int], time: Clock) -> int:
    """The first position of a run that is shown after a place."""
    while start < stop:
        middle = (start + stop) // 2
        if (time(middle), middle) < place:
            start = middle + 1
        else:
            stop = middle
    return start


def find_run(leaves: Sequence[Leaf], key: Key) -> Run | None:
    """The run that shows the item with this key, if one does."""
    if not leaves:
        return None
    position = key[1]
    runs = leaves[_leaf_at(leaves, key)].runs
    return next((run for run in runs if run.start <= position < run.stop), None)


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


def _start(interval: Interval) -> int:
    return interval[0]


def _leaf_at(leaves: Sequence[Leaf], key: Key) -> int:
    return max(bisect_right(leaves, key, key=lambda leaf: leaf.key) - 1, 0)


def _remaining(run: Run, change: Change) -> Iterable[Run]:
    if run.stand_in is None:
        return [Run(a, b) for a, b in subtracted((run.start, run.stop), change.area)]
    if run.start == run.stop:
        return () if run.stand_in.id in change.gone else (run,)
    return () if contains(change.area, run.start) else (run,)


def _parted(run: Run, places: Sequence[Key], time: Clock) -> Iterator[Run]:
    """A run cut at the places of others that fall into it."""
    start = run.start
    if run.stand_in is None and run.stop - run.start > 1:
        last = (time(run.stop - 1), run.stop - 1, 1)
        for key in places[bisect_right(places, run.key(time)) : bisect_right(places, last)]:
            cut = first_after(start, run.stop, key[:2], time)
            if cut > start:
                yield Run(start, cut)
            start = cut
    if start < run.stop or run.stand_in is not None:
        yield Run(start, run.stop, run.stand_in)


def _joined(runs: Iterable[Run]) -> list[Run]:
    joined: list[Run] = []
    for run in runs:
        if joined and run.stand_in is joined[-1].stand_in is None and joined[-1].stop == run.start:
            joined[-1] = Run(joined[-1].start, run.stop)
        else:
            joined.append(run)
    return joined


def _leaves(runs: Sequence[Run], time: Clock) -> Iterator[Leaf]:
    for index in range(0, len(runs), _LEAF):
        part = runs[index : index + _LEAF]
        yield Leaf(part, part[0].key(time))
