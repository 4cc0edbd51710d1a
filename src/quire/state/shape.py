"""What of a log is shown, as runs of positions: cheap to change in one place, shared everywhere else.

A run is a stretch of the log shown word for word, one item with a stand-in (a masked result), or a stand-in
of no width (a summary, which stands before the first item it covers). Runs are sorted by the time and
position of what they show, and kept in leaves on branches: an edit rebuilds what it touches, no more.
After the last leaf comes the tail, all that was appended since the last edit; it grows without anything here
being touched.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from quire.items import Item
from quire.state.position_set import NO_POSITIONS, PositionSet

Interval = tuple[int, int]
"""Positions from the first to before the second."""

Place = tuple[float, int]
"""The time by which something is shown, and its position."""

Key = tuple[float, int, int]
Clock = Callable[[int], float]
"""The time by which the item at a position is shown."""

LEAF = 16
"""Runs in a leaf, at most."""

BRANCH = 32
"""Leaves on a branch, at most."""


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
    """A few runs that never change; `sums` keeps their tokens by counter, once somebody counted them."""

    __slots__ = ("count", "has_summary", "key", "runs", "sums")

    def __init__(self, runs: Sequence[Run], key: Key) -> None:
        self.runs = tuple(runs)
        self.key = key
        self.count = sum(run.width for run in runs)
        self.has_summary = any(run.start == run.stop for run in runs)
        self.sums: dict[str, tuple[int, ...]] | None = None


class Branch:
    """A few leaves that never change, so that an edit does not have to copy the row of all of them."""

    __slots__ = ("count", "has_summary", "key", "leaves", "sums")

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = tuple(leaves)
        self.key = leaves[0].key
        self.count = sum(leaf.count for leaf in leaves)
        self.has_summary = any(leaf.has_summary for leaf in leaves)
        self.sums: dict[str, tuple[int, ...]] | None = None


class Shape(NamedTuple):
    """What is shown: the leaves on their branches, then everything from `tail` on."""

    branches: tuple[Branch, ...] = ()
    size: int = 0  # items in the leaves
    tail: int = 0
    pins: PositionSet = NO_POSITIONS  # the heads of pinned groups
    summaries: PositionSet = NO_POSITIONS  # positions of the summaries that are shown in place of others
    grows: bool = False  # whether what comes is shown right after the one before the tail, and not last

    def closed(self, end: int, time: Clock) -> "Shape":
        """The same with the tail up to `end` in the leaves, and an empty tail after the edit at `end`."""
        if self.tail >= end:
            return self._replace(tail=end + 1, grows=False)
        run = Run(self.tail, end)
        if self.branches:
            branches = (*self.branches[:-1], *_extended(self.branches[-1], run, time))
        else:
            branches = (*self.branches, Branch((Leaf((run,), run.key(time)),)))
        return self._replace(branches=branches, size=self.size + run.width, tail=end + 1)

    def grown(self, end: int, time: Clock) -> "Shape":
        """The same with all up to `end` in its place, where this is not last."""
        if not self.grows or self.tail >= end:
            return self
        key = (time(self.tail - 1), self.tail - 1, 1)
        place = node_at(self.branches, key)
        leaves = list(self.branches[place].leaves)
        index = node_at(leaves, key)
        longer = [Run(run.start, end) if run.stop == self.tail else run for run in leaves[index].runs]
        leaves[index] = Leaf(longer, leaves[index].key)
        branches = (*self.branches[:place], Branch(leaves), *self.branches[place + 1 :])
        return self._replace(branches=branches, size=self.size + end - self.tail, tail=end)

    def summary_runs(self) -> Iterator[Run]:
        """The runs that stand for others, in the order they are shown."""
        leaves = (leaf for branch in self.branches if branch.has_summary for leaf in branch.leaves)
        return (run for leaf in leaves if leaf.has_summary for run in leaf.runs if run.start == run.stop)


def _extended(branch: Branch, run: Run, time: Clock) -> tuple[Branch, ...]:
    """The last branch with one more run at its end, or with another branch after it."""
    last = branch.leaves[-1]
    if len(last.runs) < LEAF:
        return (Branch((*branch.leaves[:-1], Leaf((*last.runs, run), last.key))),)
    leaf = Leaf((run,), run.key(time))
    return (Branch((*branch.leaves, leaf)),) if len(branch.leaves) < BRANCH else (branch, Branch((leaf,)))


def first_after(start: int, stop: int, place: Place, time: Clock) -> int:
    """The first position of a run that is shown after a place."""
    while start < stop:
        middle = (start + stop) // 2
        if (time(middle), middle) < place:
            start = middle + 1
        else:
            stop = middle
    return start


def find_run(branches: Sequence[Branch], key: Key) -> Run | None:
    """The run that shows the item with this key, if one does."""
    if not branches:
        return None
    position = key[1]
    leaves = branches[node_at(branches, key)].leaves
    runs = leaves[node_at(leaves, key)].runs
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


def node_at(nodes: Sequence[Leaf] | Sequence[Branch], key: Key) -> int:
    """The index of the node in which a key belongs."""
    return max(bisect_right(nodes, key, key=_key) - 1, 0)


def _key(node: Leaf | Branch) -> Key:
    return node.key
