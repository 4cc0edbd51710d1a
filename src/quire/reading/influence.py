"""Influence: what was made of an item, which requests showed it or that, and what was called after it."""

from collections.abc import Sequence

from quire.errors import UnknownId, cut
from quire.items import Item, Summary, ToolCall
from quire.reading.items import Shown, describe
from quire.reading.requests import question_of
from quire.reading.source import Count, Record, Source
from quire.reading.why import Asked
from quire.session import transcript_with
from quire.state import OF, View

_ROWS = 100


class Influence(Record, frozen=True):
    """What was made of an item, the requests that showed any of it, and the calls after the first of these.

    Each is a list of the first, with how many there are.
    """

    item: Shown
    made: Sequence[Shown]
    requests: Sequence[Asked]
    calls: Sequence[Shown]
    counts: dict[str, int]


def trace_influence(source: Source, address: str, id: str, limit: Count = _ROWS) -> Influence:
    """Return what an item of a conversation has influenced, so that a person can judge it."""
    session = source.session(address)
    name = transcript_with(session, id)
    if name is None:
        raise UnknownId(f"there is no item {cut(id)!r} here")
    view = session.view(name)
    made = _made_of(view, id)
    involved = [view.get(id), *made]
    kept = [one for one in session.receipts if any(one.shows(item) for item in involved)]
    since = kept[0].created_at if kept else None
    later = view.log.items(view.position(id), view.end) if since is not None else []
    calls = [item for item in later if isinstance(item, ToolCall) and item.created_at >= (since or 0.0)]
    asked = [Asked(version=one.version, at=one.created_at, question=question_of(one)) for one in kept[:limit]]
    return Influence(
        item=describe(involved[0], view=view),
        made=[describe(item, view=view) for item in made[:limit]],
        requests=asked,
        calls=[describe(item, view=view) for item in calls[:limit]],
        counts={"made": len(made), "requests": len(kept), "calls": len(calls)},
    )


def _made_of(view: View, item_id: str) -> list[Item]:
    """Return the items that were made of one, or of what was made of it, in order."""
    found, positions = {item_id}, {view.position(item_id)}
    made = list[Item]()
    for position, item in enumerate(view.recorded()):
        covered = view.log.area(item, view.end) if isinstance(item, Summary) and item.spans else ()
        is_over = any(start <= p < stop for start, stop in covered for p in positions)
        if item.id != item_id and (is_over or not found.isdisjoint(item.extras.get(OF, ()))):
            found.add(item.id)
            positions.add(position)
            made.append(item)
    return made
