"""Groups that stand on both sides of a place, found without looking at those elsewhere."""

from collections.abc import Iterator

from quire.state.log import Log, recorded_at
from quire.state.shape import Place


def shown_astride(log: Log, end: int, place: Place) -> Iterator[list[int]]:
    """The members of each group that is shown in part before a place, and in part from there on."""
    heads = {head for segment, stop in log.seen(end) for head in segment.shown_apart.over(place, stop)}
    return (log.group(head, end) for head in sorted(heads))


def recorded_astride(log: Log, end: int, position: int) -> set[int]:
    """The heads of the groups that were recorded in part before a position, and in part from there on."""
    place = recorded_at(position)
    return {head for segment, stop in log.seen(end) for head in segment.recorded_apart.over(place, stop)}
