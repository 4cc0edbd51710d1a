"""Spans over what a view shows: in the order of the log, and as few as can be."""

from collections.abc import Iterable

from quire.items import Item, Span, Summary
from quire.state.log import EDIT, Log
from quire.state.view import View, checked_view


def spans_over(view: View, items: Iterable[Item]) -> tuple[Span, ...]:
    """Spans that hold these items and no others; a summary that is shown brings all that it stands for."""
    log = checked_view(view).log
    places: list[tuple[int, int]] = []
    for item in items:
        if isinstance(item, Summary) and item.spans:
            places += [(view.position(span.first), view.position(span.last)) for span in item.spans]
        else:
            position = view.position(item.id)
            places.append((position, position))
    # A summary may name one that it folded in. Such a name is no stretch of the log, and is kept as it is.
    names = sorted({place for place in places if log.head(place[0]) == EDIT})
    joined: list[tuple[int, int]] = []
    for first, last in sorted(place for place in places if log.head(place[0]) != EDIT):
        if joined and _nothing_between(log, joined[-1][1], first):
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(Span(log.item(first).id, log.item(last).id) for first, last in (*joined, *names))


def _nothing_between(log: Log, last: int, first: int) -> bool:
    """Whether only edits were recorded from one position to another: they are no part of any span."""
    return all(log.head(position) == EDIT for position in range(last + 1, first))
