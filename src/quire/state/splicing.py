"""How a shape changes: what leaves it, what comes in, and which leaves and branches have to be made anew."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from quire.state.shape import (
    BRANCH,
    LEAF,
    Branch,
    Clock,
    Interval,
    Key,
    Leaf,
    Run,
    Shape,
    contains,
    first_after,
    node_at,
    subtracted,
)


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
    low, high = min(keys), max(keys)
    first, last = node_at(shape.branches, low), node_at(shape.branches, high) + 1
    leaves = [leaf for branch in shape.branches[first:last] for leaf in branch.leaves]
    before = sum(leaf.count for leaf in leaves)
    start, stop = node_at(leaves, low), node_at(leaves, high) + 1
    runs = _changed(leaves[start:stop], change, time)
    if stop < len(leaves) and _leaves_little(runs, LEAF):
        runs = _joined([*runs, *leaves[stop].runs])
        stop += 1
    leaves[start:stop] = _leaves(runs, time)
    after = sum(leaf.count for leaf in leaves)
    if last < len(shape.branches) and _leaves_little(leaves, BRANCH):
        leaves += shape.branches[last].leaves
        last += 1
    branches = (*shape.branches[:first], *_branches(leaves), *shape.branches[last:])
    return shape._replace(branches=branches, size=shape.size - before + after)


def _changed(leaves: Iterable[Leaf], change: Change, time: Clock) -> list[Run]:
    whole = [part for leaf in leaves for run in leaf.runs for part in _remaining(run, change)]
    whole.extend(change.runs)
    places = sorted(run.key(time) for run in whole)
    runs = [part for run in whole for part in _parted(run, places, time)]
    runs.sort(key=lambda run: run.key(time))
    return _joined(runs)


def _leaves_little(parts: Sequence[object], most: int) -> bool:
    """Whether the last node that parts would fill is so small that it should take its neighbour in."""
    return 0 < len(parts) % most < most // 2


def _remaining(run: Run, change: Change) -> Iterable[Run]:
    if run.stand_in is None:
        parts = list(subtracted((run.start, run.stop), change.area))
        return (run,) if parts == [(run.start, run.stop)] else [Run(a, b) for a, b in parts]
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
    if start == run.start:
        yield run
    elif start < run.stop:
        yield Run(start, run.stop)


def _joined(runs: Iterable[Run]) -> list[Run]:
    joined: list[Run] = []
    for run in runs:
        if joined and run.stand_in is joined[-1].stand_in is None and joined[-1].stop == run.start:
            joined[-1] = Run(joined[-1].start, run.stop)
        else:
            joined.append(run)
    return joined


def _leaves(runs: Sequence[Run], time: Clock) -> Iterator[Leaf]:
    for index in range(0, len(runs), LEAF):
        part = runs[index : index + LEAF]
        yield Leaf(part, part[0].key(time))


def _branches(leaves: Sequence[Leaf]) -> Iterator[Branch]:
    for index in range(0, len(leaves), BRANCH):
        yield Branch(leaves[index : index + BRANCH])
