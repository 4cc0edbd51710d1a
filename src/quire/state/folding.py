"""Which summaries hold others, and which meet: found in one sweep over the log.

There may be thousands of them, and hardly any two have to do with each other.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from quire.state.shape import Interval, subtracted

Areas = Mapping[int, Sequence[Interval]]
"""What summaries cover, by their positions."""


def held_by_later(areas: Areas) -> set[int]:
    """The summaries of which one that came later covers all, and maybe more."""
    return {
        position
        for position, around in _with_those_around(areas)
        if any(holds(areas[p], areas[position]) for p in takewhile(position.__lt__, reversed(around)))
    }


def some_meet(areas: Areas, some: Collection[int]) -> bool:
    """Whether one of some summaries covers anything that another covers."""
    last, reached = -1, 0
    for start, stop, position in sorted((*interval, p) for p, area in areas.items() for interval in area):
        if start < reached and (position in some or last in some):
            return True
        if stop > reached:
            last, reached = position, stop
    return False


def holds(area: Sequence[Interval], other: Sequence[Interval]) -> bool:
    """Whether all of another area is in one."""
    return not any(True for interval in other for _ in subtracted(interval, area))


def _with_those_around(areas: Areas) -> Iterator[tuple[int, Sequence[int]]]:
    """Each summary with all, itself included, that cover the first item it covers, the oldest first.

    None but these can hold it. Where they lie within each other, as they mostly do, the newest does.
    """
    ends = sorted((end, p) for p, area in areas.items() for interval in area for end in interval)
    around: list[int] = []
    reached = 0
    for first, position in sorted((area[0][0], p) for p, area in areas.items()):
        while reached < len(ends) and ends[reached][0] <= first:
            _turn(around, ends[reached][1])
            reached += 1
        yield position, around


def _turn(around: list[int], position: int) -> None:
    """Take in a summary at one end of an interval, and let it go at the other."""
    index = bisect_left(around, position)
    if index < len(around) and around[index] == position:
        del around[index]
    else:
        insort(around, position)
