"""The shape: the part of a log that is shown, as runs of positions in a tree.

A run is an interval of the log that is shown word for word, one masked item, or a summary, which is an empty
interval before the first item that it covers. An edit rebuilds the nodes that it touches and shares the rest,
so each stored shape costs a few nodes. After the last run comes the tail: all items since the last edit. It
grows without a change of the shape.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple, cast

Interval = tuple[int, int]
"""A start and a stop: the positions from the start to before the stop."""

_MAX_PARTS = 16
"""The most parts of a node."""


class Run(NamedTuple):
    """One interval of what is shown. `by` is the position of the edit that it shows, or -1."""

    start: int
    stop: int
    by: int = -1
    pinned: bool = False

    @property
    def width(self) -> int:
        """The number of items that it shows."""
        return self.stop - self.start if self.by < 0 else 1

    @property
    def is_notable(self) -> bool:
        """Whether it is pinned, or a summary."""
        return self.pinned or self.start == self.stop


class Node:
    """A few runs, or a few nodes, that never change; `sums` has their running token totals by counter."""

    __slots__ = ("is_notable", "parts", "start", "sums", "width")

    def __init__(self, parts: "Sequence[Part]") -> None:
        self.parts = tuple(parts)
        self.start: int = parts[0].start if parts else 0
        self.width: int = sum([part.width for part in parts])
        self.is_notable: bool = any(part.is_notable for part in parts)
        self.sums: dict[str, list[int]] = {}


Part = Run | Node


class Shape:
    """Runs in a tree, then everything from the position `tail` on. A shape never changes."""

    __slots__ = ("root", "tail")

    def __init__(self, root: Node | None = None, tail: int = 0) -> None:
        self.root = root or Node(())
        self.tail = tail

    @property
    def size(self) -> int:
        """The number of items that the runs show."""
        return self.root.width

    def runs(self, index: int = 0) -> Iterator[tuple[int, Run]]:
        """The runs that show an index and all after it, each with the index of its first item."""
        stack: list[tuple[int, Part]] = [(0, self.root)]
        while stack:
            at, part = stack.pop()
            end = at + part.width
            if end <= index:
                continue
            if isinstance(part, Run):
                yield at, part
                continue
            for child in reversed(part.parts):
                end -= child.width
                stack.append((end, child))

    def leaves(self) -> list[Node]:
        """The nodes whose parts are runs."""
        level = [self.root]
        while level[0].parts and isinstance(level[0].parts[0], Node):
            level = cast("list[Node]", [part for node in level for part in node.parts])
        return level

    def notable(self) -> Iterator[Run]:
        """The runs that are pinned or show a summary."""
        stack: list[Part] = [self.root]
        while stack:
            part = stack.pop()
            if isinstance(part, Node):
                stack += reversed([child for child in part.parts if child.is_notable])
            else:
                yield part

    def summaries(self) -> list[Run]:
        """The runs of the summaries that are shown."""
        return [run for run in self.notable() if run.start == run.stop]

    def run_at(self, position: int, end: int) -> Run | None:
        """The run that shows a position before `end`, if one does."""
        if position >= self.tail:
            return Run(self.tail, end)
        part: Part = self.root
        while isinstance(part, Node):
            if not part.parts:
                return None
            part = part.parts[max(bisect_right(part.parts, position, key=_start_of) - 1, 0)]
        return part if part.start <= position < part.stop else None

    def index_of(self, position: int) -> int:
        """The number of items that are shown before a position: its index, if it is shown."""
        if position >= self.tail or not self.size:
            return self.size + max(position - self.tail, 0)
        index = 0
        part: Part = self.root
        while isinstance(part, Node):
            place = max(bisect_right(part.parts, position, key=_start_of) - 1, 0)
            index += sum([child.width for child in part.parts[:place]])
            part = part.parts[place]
        return index + (max(position - part.start, 0) if position < part.stop else part.width)

    def closed(self, end: int) -> "Shape":
        """The shape with the tail as a run, and an empty tail after the edit at `end`."""
        if self.tail >= end:
            return Shape(self.root, end + 1)
        run = Run(self.tail, end)
        return Shape(self._changed(self.tail, self.tail, lambda runs: [*runs, run]), end + 1)

    def spliced(self, area: Sequence[Interval], runs: Sequence[Run], removed: Sequence[Run]) -> "Shape":
        """The shape with other runs in an area, and without the summaries `removed`."""
        places = [*(p for interval in area for p in interval), *(run.start for run in (*runs, *removed))]
        if not places:
            return self

        def change(old: Sequence[Run]) -> list[Run]:
            rest = (run for run in old if run not in removed)
            changed = [*(piece for run in rest for piece in _pieces(run, area)), *runs]
            summaries = sorted((run.start, run.stop) for run in changed if run.start == run.stop)
            if summaries:
                changed = [piece for run in changed for piece in _pieces(run, summaries)]
            return _joined(sorted(changed, key=_place_of_run))

        return Shape(self._changed(min(places), max(places), change), self.tail)

    def _changed(self, low: int, high: int, change: Callable[[Sequence[Run]], Sequence[Run]]) -> Node:
        """The root after `change` is applied to the runs between two positions, and to one run before them.

        It goes down level by level, keeps the parts on both sides of these runs, and builds new nodes above
        the changed runs. The run before is included because a summary at `low` may be the last part of the
        node before.
        """
        beside: list[tuple[Sequence[Part], Sequence[Part]]] = []
        nodes = [self.root]
        runs: list[Run] = []
        while nodes:
            parts = [part for node in nodes for part in node.parts]
            first = max(bisect_left(parts, low, key=_start_of) - 1, 0)
            last = max(bisect_right(parts, high, key=_start_of), first + 1)
            beside.append((parts[:first], parts[last:]))
            nodes = [part for part in parts[first:last] if isinstance(part, Node)]
            runs = [part for part in parts[first:last] if isinstance(part, Run)]
        row: Sequence[Part] = change(runs)
        for before, after in reversed(beside):
            row = nodes = _nodes([*before, *row, *after])
        return _root_of(nodes)


def _pieces(run: Run, area: Sequence[Interval]) -> list[Run]:
    """What remains of a run outside an area; an empty interval divides it."""
    if run.start == run.stop or not area or run.stop <= area[0][0] or run.start >= area[-1][1]:
        return [run]
    pieces = list(subtracted((run.start, run.stop), area))
    if pieces == [(run.start, run.stop)]:
        return [run]  # the same object, so that shapes of two revisions share it
    return [Run(start, stop, run.by, run.pinned) for start, stop in pieces]


def _joined(runs: Iterable[Run]) -> list[Run]:
    """Runs, with neighbours that are shown word for word joined to one."""
    joined: list[Run] = []
    for run in runs:
        start, stop, by, pinned = joined[-1] if joined else (0, -1, -1, False)
        if stop == run.start and max(by, run.by) < 0 and pinned == run.pinned:
            joined[-1] = Run(start, run.stop, pinned=pinned)
        else:
            joined.append(run)
    return joined


def rooted(runs: Sequence[Run]) -> Node:
    """The root of a tree over runs."""
    return _root_of(_nodes(runs))


def _root_of(nodes: Sequence[Node]) -> Node:
    """The root of a tree over nodes of one height."""
    while len(nodes) > 1:
        nodes = _nodes(nodes)
    root = nodes[0] if nodes else Node(())
    while len(root.parts) == 1 and isinstance(only := root.parts[0], Node):
        root = only
    return root


def _nodes(parts: Sequence[Part]) -> list[Node]:
    """Nodes of about the same length over some parts."""
    count = -(-len(parts) // _MAX_PARTS)
    step = -(-len(parts) // count) if count else 1
    return [Node(parts[index : index + step]) for index in range(0, len(parts), step)]


def contains(area: Sequence[Interval], position: int) -> bool:
    """Whether a position is in one of the intervals."""
    index = bisect_right(area, position, key=_start) - 1
    return index >= 0 and position < area[index][1]


def subtracted(interval: Interval, area: Sequence[Interval]) -> Iterator[Interval]:
    """What remains of an interval outside an area."""
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
    """The positions of some intervals as an area: sorted intervals that do not touch."""
    area: list[Interval] = []
    for start, stop in sorted(intervals):
        if area and start <= area[-1][1]:
            area[-1] = (area[-1][0], max(stop, area[-1][1]))
        elif start < stop:
            area.append((start, stop))
    return area


def singles(positions: Iterable[int]) -> list[Interval]:
    """The area of some positions."""
    return united((position, position + 1) for position in positions)


def without(area: Iterable[Interval], other: Sequence[Interval]) -> list[Interval]:
    """What remains of an area outside another."""
    return [part for interval in area for part in subtracted(interval, other)]


_start = itemgetter(0)
_start_of = attrgetter("start")
_place_of_run = itemgetter(0, 1)  # a summary comes before the item that it stands before
