"""Conversations: the latest first, by scope or name; and what changed."""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote as escaped

from msgspec.structs import replace

from quire.errors import InvalidValue, QuireError
from quire.items import Message, now
from quire.reading.source import Fields, Limit, Record, Source
from quire.session import Session
from quire.stores import Place, Recent, place_at
from quire.stores.store import by_activity

_SCOPES = 200
"""How many scopes are returned at once."""

_LIVE = 10.0
"""Seconds after which a conversation that did not change is at rest."""

_PAUSE = 0.25
"""Seconds between two polls for changes."""

_LOOKED_AT, _LONGEST_TITLE = 5, 160


class Conversation(Record, frozen=True, omit_defaults=True):
    """A conversation in a list. With a `fault` it cannot be read, and nothing else is known of it.

    `items` are those that are shown now; `title` is the beginning of what the user said first.
    """

    address: str
    scope: str
    conversation: str
    version: int
    at: float | None
    parent: str | None
    title: str | None = None
    items: int | None = None
    tokens: int | None = None
    cost: float | None = None
    unpriced: int | None = None
    open_calls: int | None = None
    is_live: bool | None = None
    fault: str | None = None


class Conversations(Record, frozen=True):
    """A page of conversations. `next` is the cursor of the page after it, of `length` rows in all."""

    rows: Sequence[Conversation]
    length: int
    next: str | None
    scopes: Sequence[Fields]
    count: dict[str, int]


def list_conversations(
    source: Source, within: str = "", named: str = "", after: str = "", limit: Limit = 50
) -> Conversations:
    """Return conversations by last activity, `after` a cursor, `within` a scope, with a text in their names.

    A scope is an address that ends with a slash: `ana/`, or `/` for conversations without one.
    """
    found = source.recent()
    scope, text = place_at(within).named if within else None, named.casefold()
    wanted = [
        one
        for one in found
        if scope in (None, one.place.named)
        and (not text or text in f"{one.place.named}/{one.place.conversation}".casefold())
    ]
    start = bisect_right(wanted, _read_cursor(after), key=by_activity) if after else 0
    rows = wanted[start : start + limit]
    places, scopes = {one.place for one in found}, Counter(one.place.named for one in found)
    return Conversations(
        rows=[_describe(source, one, places) for one in rows],
        length=len(wanted),
        next=_cursor(rows[-1]) if start + len(rows) < len(wanted) else None,
        scopes=[
            {"within": f"{escaped(one, safe='')}/", "scope": one, "conversations": many}
            for one, many in sorted(list(scopes.items())[:_SCOPES])
        ],
        count={"scopes": len(scopes), "conversations": len(found)},
    )


def _cursor(one: Recent) -> str:
    return f"{one.time!r}~{one.place}"


def _read_cursor(text: str) -> tuple[bool, float, Place]:
    moment, _, address = text.partition("~")
    try:
        return by_activity(Recent(place_at(address), 0, None if moment == "None" else float(moment)))
    except ValueError:
        raise InvalidValue("a cursor is `next` of the page before") from None


def _describe(source: Source, one: Recent, places: set[Place]) -> Conversation:
    parent = one.place._replace(conversation=one.place.conversation.rpartition("/")[0])
    row = Conversation(
        address=str(one.place),
        scope=one.place.named,
        conversation=one.place.conversation,
        version=one.version,
        at=one.time,
        parent=str(parent) if parent in places else None,
    )
    try:
        session = source.session(one.place)
        standing = [how for name in session.transcripts for _, how in session.calls.standing(name)]
        has_changed = not source.is_file and now() - (one.time or 0.0) < _LIVE
        spent = session.spending
        return replace(
            row,
            title=_title(session),
            items=len(session.view()),
            tokens=spent.tokens,
            cost=spent.cost,
            unpriced=spent.unpriced,
            open_calls=len(standing),
            is_live=has_changed or "running" in standing,
        )
    except QuireError as fault:  # damaged or sealed: the others are listed
        return replace(row, fault=str(fault))


def _title(session: Session) -> str:
    said = session.view()[:_LOOKED_AT]
    asked = (item.text for item in said if isinstance(item, Message) and item.role == "user")
    return " ".join(next(asked, "")[:_LONGEST_TITLE].split())


def wait_for_change(source: Source, mark: int, timeout: float) -> int:
    """Return another mark as soon as a conversation is added, changed or removed, or this one at the end."""
    until = time.monotonic() + timeout
    while (found := _mark(source)) == mark and time.monotonic() < until:
        time.sleep(_PAUSE)
    return found


def _mark(source: Source) -> int:
    found = source.store.recent(source.scope)
    return hash((len(found), sum(one.version for one in found), *found[:1])) & 0xFFFFFFFF
