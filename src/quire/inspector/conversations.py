"""The list of conversations: the latest first, by scope or name; what is found in them; and what changed."""

import time
from collections import Counter
from typing import Any
from urllib.parse import quote as escaped

from quire.errors import QuireError, UnknownId, cut
from quire.inspector.source import Query, Source
from quire.items import Message, now
from quire.memory import Memory, is_reserved, recalled
from quire.session import Session
from quire.stores import Place, Recent, place_at

_ROWS, _FOUND, _SCOPES = 50, 20, 200
"""How many rows, quotes and scopes are given at once."""

_LIVE = 10.0
"""Seconds after which a conversation that did not change is at rest."""

_PAUSE = 0.25
"""Seconds between two looks for changes."""

_LOOKED_AT, _LONGEST_TITLE, _LONGEST_QUOTE = 5, 160, 600


def page(source: Source, query: Query) -> dict[str, Any]:
    """Some conversations from `start` on, `within` a scope, with a text in their names; and all scopes."""
    all_of_it = source.store.recent(source.scope)
    found = [one for one in all_of_it if not is_reserved(one.place.conversation)]
    within, named, start = query.text("within"), query.text("named").casefold(), query.number("start", 0)
    scope = place_at(within).named if within else None
    wanted = [
        one
        for one in found
        if scope in (None, one.place.named)
        and named in f"{one.place.named}/{one.place.conversation}".casefold()
    ]
    places, shown = {one.place for one in found}, wanted[start : start + _ROWS]
    scopes = Counter(one.place.named for one in found)
    listed = sorted(list(scopes.items())[:_SCOPES])
    return {
        "rows": [_row(source, one, places) for one in shown],
        "length": len(wanted),
        "next": start + _ROWS if start + _ROWS < len(wanted) else None,
        "scopes": [
            {"within": f"{escaped(one, safe='')}/", "scope": one, "conversations": n} for one, n in listed
        ],
        "count": {"scopes": len(scopes), "conversations": len(found)},
    }


def search(source: Source, query: Query) -> dict[str, Any]:
    """What answers a question in the conversations and documents `within` one scope, best first.

    Of conversations that are scopes of their own, the latest are searched one by one.
    """
    scope = place_at(query.text("within")).named if query.text("within") else source.scope or ""
    places = [one.place for one in source.store.recent(source.scope)]
    scopes = dict.fromkeys(place.scope for place in places if scope in (place.named, place.scope))
    if not scopes:
        raise UnknownId(f"there is nothing in the scope {cut(scope)!r} here")
    quotes = [
        (one, quote)
        for one in list(scopes)[:_FOUND]
        for quote in recalled(Memory.of(source.store, one), query.text("question"), limit=_FOUND)
    ]
    return {
        "scope": scope,
        "found": [
            {
                "address": str(Place(one, quote.source)) if quote.at else None,
                "source": quote.source,
                "item": quote.first,
                "at": quote.at or None,
                "text": quote.line[:_LONGEST_QUOTE],
                "reason": quote.why(),
            }
            for one, quote in quotes[:_FOUND]
        ],
    }


def wait(source: Source, mark: int, timeout: float) -> int:
    """Another mark as soon as a conversation is added, changed or removed, or this one after the time."""
    until = time.monotonic() + timeout
    while (found := _mark(source)) == mark and time.monotonic() < until:
        time.sleep(_PAUSE)
    return found


def _mark(source: Source) -> int:
    found = source.store.recent(source.scope)
    return hash((len(found), sum(one.version for one in found), *found[:1])) & 0xFFFFFFFF


def _row(source: Source, one: Recent, places: set[Place]) -> dict[str, Any]:
    parent = one.place._replace(conversation=one.place.conversation.rpartition("/")[0])
    row: dict[str, Any] = {
        "address": str(one.place),
        "scope": one.place.named,
        "conversation": one.place.conversation,
        "parent": str(parent) if parent in places else None,
        "at": one.time,
    }
    try:
        has_changed = not source.is_file and now() - (one.time or 0.0) < _LIVE
        return row | _figures(source.session(row["address"]), has_changed)
    except QuireError as fault:  # damaged or sealed: the others are listed
        return row | {"fault": str(fault)}


def _figures(session: Session, has_changed: bool) -> dict[str, Any]:
    standing = [how for name in session.transcripts for _, how in session.calls.standing(name)]
    view, spent = session.view(), session.spending
    said = (item.text for item in view[:_LOOKED_AT] if isinstance(item, Message) and item.role == "user")
    return {
        "title": " ".join(next(said, "")[:_LONGEST_TITLE].split()),
        "items": len(view),
        "tokens": spent.tokens,
        "cost": spent.cost,
        "unpriced": spent.unpriced,
        "open_calls": len(standing),
        "is_live": has_changed or "running" in standing,
    }
