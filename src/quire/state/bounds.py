"""How far what is in an area of the log reaches among what is shown, found without looking at all of it."""

from collections.abc import Iterator, Sequence

from quire.state.log import EDIT, Log
from quire.state.positions import positions
from quire.state.shape import Interval, Key


def bounds(log: Log, area: Sequence[Interval]) -> Iterator[Key]:
    """Keys below and above everything in an area."""
    for start, stop in area:
        for position in (*_natural_ends(log, start, stop), *positions(log, "late", start, stop)):
            yield (log.time(position), position, 0)
            yield (log.time(position), position, 1)


def _natural_ends(log: Log, start: int, stop: int) -> tuple[int, ...]:
    """The first and the last content of an interval that is shown where it arrived."""

    def elsewhere(position: int) -> bool:
        return log.head(position) == EDIT or position in log.segment(position).placed

    while start < stop and elsewhere(start):
        start += 1
    while start < stop and elsewhere(stop - 1):
        stop -= 1
    return (start, stop - 1) if start < stop else ()
