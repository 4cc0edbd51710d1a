"""Which positions of a log are of some sort: users' messages, edits, late items."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Literal

from quire.state.log import Log

Sort = Literal["users", "marks", "edits", "late"]
"""Messages of users; what is structural; edits; what is shown elsewhere than where it arrived."""


def positions(log: Log, sort: Sort, start: int, end: int) -> list[int]:
    """The positions from `start` to before `end` that are of a sort."""
    found: list[int] = []
    for segment, a, b in log.pieces(start, end):
        kept: array[int] = getattr(segment, sort)
        low = bisect_left(kept, segment.start + a)
        found.extend(kept[low : bisect_left(kept, segment.start + b)])
    return found


def last_positions(log: Log, sort: Sort, start: int, end: int, limit: int) -> list[int]:
    """The last few of such positions."""
    found: list[int] = []
    for segment, a, b in reversed(list(log.pieces(start, end))):
        kept: array[int] = getattr(segment, sort)
        high = bisect_left(kept, segment.start + b)
        low = max(bisect_left(kept, segment.start + a), high - limit + len(found))
        found = [*kept[low:high], *found]
        if len(found) == limit:
            break
    return found


def first_position(log: Log, sort: Sort, start: int, end: int) -> int | None:
    """The first of such positions."""
    for segment, a, b in log.pieces(start, end):
        kept: array[int] = getattr(segment, sort)
        low = bisect_left(kept, segment.start + a)
        if low < len(kept) and kept[low] < segment.start + b:
            return kept[low]
    return None


def natural_before(log: Log, position: int) -> int | None:
    """The last position before this one whose item is content and stands where it was recorded."""
    while position > 0:
        segment = log.segment(position - 1)
        asides = segment.asides
        index = bisect_left(asides, position) - 1
        if index < 0 or asides[index] < position - 1:
            return position - 1
        # Positions rise by one or more, so those of a run without gaps have one distance to their index.
        gap = asides[index] - index
        position = asides[bisect_left(range(index), gap, key=lambda i: asides[i] - i)]
    return None


def natural_from(log: Log, position: int, end: int) -> int | None:
    """The first such position from this one on, if it is before `end`."""
    for segment, a, b in log.pieces(position, end):
        asides, start, stop = segment.asides, segment.start + a, segment.start + b
        index = bisect_left(asides, start)
        if index == len(asides) or asides[index] > start:
            return start
        gap = start - index
        last = bisect_right(range(index, len(asides)), gap, key=lambda i: asides[i] - i) + index - 1
        if asides[last] + 1 < stop:
            return asides[last] + 1
    return None


def late_places(log: Log) -> list[list[tuple[float, int]]]:
    """For each segment the sorted places of late items, those that are this log's own.

    Only the last segment still grows, so the others are looked through once.
    """
    if log.earlier_places is None:
        stops = zip(log.segments[:-1], log.starts[1:], strict=True)
        log.earlier_places = [[place for place in s.places.copy() if place[1] < stop] for s, stop in stops]
    return [*log.earlier_places, log.segments[-1].places]
