"""Where an item that comes late is shown: by its time, after what was said then, and never inside a group."""

from bisect import bisect_left
from typing import NamedTuple

from quire.state.log import Log
from quire.state.positions import late_places, natural_before, natural_from
from quire.state.shape import Run, Shape
from quire.state.splicing import Change, spliced


class Following(NamedTuple):
    """The content that comes next after a place: the time by which it is shown, and the head of its group."""

    time: float
    head: int


def settled_time(log: Log, end: int, time: float, head: int) -> tuple[float, Following | None]:
    """A time that does not fall into a group other than that of `head`: the time itself, or the group's end.

    Also what comes next. Groups that are not shown count too: they may be shown again.
    """
    before, after = _neighbours(log, end, time)
    while before is not None and after is not None and log.head(before) == log.head(after) != head:
        time = max(time, log.time(after))
        before, after = _neighbours(log, end, time)
    return time, None if after is None else Following(log.time(after), log.head(after))


def inserted(log: Log, closed: Shape, position: int) -> Shape:
    """What is shown with a late item, whose time the log knows by now, in its place."""
    shape = spliced(closed, Change([], (), [Run(position, position + 1)]), (), log.time)
    return shape._replace(grows=True)


def _neighbours(log: Log, end: int, time: float) -> tuple[int | None, int | None]:
    """The positions of the content just before and just after a new item of this time, shown or not."""
    cut = _first_later(log, end, time)
    before, after = natural_before(log, cut), natural_from(log, cut, end)
    earlier = [(log.time(before), before)] if before is not None else []
    later = [(log.time(after), after)] if after is not None else []
    for places in late_places(log):
        index = bisect_left(places, (time, end))
        earlier += places[max(index - 1, 0) : index]
        later += places[index : index + 1]
    return max(earlier)[1] if earlier else None, min(later)[1] if later else None


def _first_later(log: Log, end: int, time: float) -> int:
    """The first position at which a later time than this was known."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if latest_time(log, middle) <= time:
            low = middle + 1
        else:
            high = middle
    return low


def latest_time(log: Log, position: int) -> float:
    """The latest time there was once the item at a position had come; it never falls."""
    arrived = log.segment(position).arrived.get(position)
    return log.time(position) if arrived is None else arrived
