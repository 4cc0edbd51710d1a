"""Influence: the items made of an item, the requests that showed any of them, and the calls after that."""

from collections.abc import Sequence

from quire.items import Item, Summary, ToolCall
from quire.reading.items import Shown, describe
from quire.reading.source import Count, Record, Source, view_with
from quire.reading.why import Asked
from quire.state import SOURCES, View

_MAX_ROWS = 100


class Influence(Record, frozen=True):
    """The items made of an item, the requests that showed any of them, and the calls after the first.

    Each list has the first rows; `counts` has the full numbers.
    """

    item: Shown
    made: Sequence[Shown]
    requests: Sequence[Asked]
    calls: Sequence[Shown]
    counts: dict[str, int]


def trace_influence(source: Source, address: str, id: str, limit: Count = _MAX_ROWS) -> Influence:
    """Return what an item of a conversation has influenced."""
    session = source.session(address)
    view = view_with(session, id)
    derived = _derived_from(view, id)
    involved = [view.get(id), *derived]
    showing = [receipt for receipt in session.receipts if any(map(receipt.shows, involved))]
    since = showing[0].created_at if showing else None
    later = view.log.items(view.position(id), view.end) if since is not None else []
    calls = [item for item in later if isinstance(item, ToolCall) and item.created_at >= (since or 0.0)]
    return Influence(
        item=describe(involved[0], view=view),
        made=[describe(item, view=view) for item in derived[:limit]],
        requests=[Asked.of(receipt) for receipt in showing[:limit]],
        calls=[describe(item, view=view) for item in calls[:limit]],
        counts={"made": len(derived), "requests": len(showing), "calls": len(calls)},
    )


def _derived_from(view: View, item_id: str) -> list[Item]:
    """Return the items that were made of an item, directly or through others, in order."""
    ids, positions = {item_id}, {view.position(item_id)}
    derived = list[Item]()
    for position, item in enumerate(view.recorded()):
        covered = view.log.area(item, view.end) if isinstance(item, Summary) and item.spans else ()
        covers_any = any(start <= p < stop for start, stop in covered for p in positions)
        if item.id != item_id and (covers_any or not ids.isdisjoint(item.extras.get(SOURCES, ()))):
            ids.add(item.id)
            positions.add(position)
            derived.append(item)
    return derived
