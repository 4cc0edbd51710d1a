"""Conversations: a list by last activity, scope or name; and a wait for changes."""

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

_MAX_SCOPES = 200
"""The most scopes of a page."""

_LIVE_SECONDS = 10.0
"""For so long after its last change a conversation is live."""

_POLL_SECONDS = 0.25
"""Seconds between two polls for changes."""

_TITLE_ITEMS, _MAX_TITLE = 5, 160
"""How many of its first items are searched for the title of a conversation, and its most characters."""


class Conversation(Record, frozen=True, omit_defaults=True):
    """A conversation in a list. One with a `fault` cannot be read, and has no other figures.

    `items` counts the shown items, `unpriced` the requests without a price. `title` is the beginning of the
    first user message.
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
    """A page of `length` matches; `next` is the cursor of the next. `scopes` and `count` cover the source."""

    rows: Sequence[Conversation]
    length: int
    next: str | None
    scopes: Sequence[Fields]
    count: dict[str, int]


def list_conversations(
    source: Source, within: str = "", named: str = "", after: str = "", limit: Limit = 50
) -> Conversations:
    """Return conversations by last activity, `after` a cursor, `within` a scope, with a text in their names.

    A scope is an address with a slash at its end: `ana/`, or `/` for conversations without one.
    """
    recent = source.recent()
    scope, text = place_at(within).given_scope if within else None, named.casefold()
    matches = [
        row
        for row in recent
        if scope in (None, row.place.given_scope)
        and (not text or text in f"{row.place.given_scope}/{row.place.conversation}".casefold())
    ]
    start = bisect_right(matches, _read_cursor(after), key=by_activity) if after else 0
    rows = matches[start : start + limit]
    places, scopes = {row.place for row in recent}, Counter(row.place.given_scope for row in recent)
    return Conversations(
        rows=[_describe(source, row, places) for row in rows],
        length=len(matches),
        next=_cursor(rows[-1]) if start + len(rows) < len(matches) else None,
        scopes=[
            {"within": f"{escaped(name, safe='')}/", "scope": name, "conversations": count}
            for name, count in sorted(list(scopes.items())[:_MAX_SCOPES])
        ],
        count={"scopes": len(scopes), "conversations": len(recent)},
    )


def _cursor(row: Recent) -> str:
    return f"{row.time!r}~{row.place}"


def _read_cursor(text: str) -> tuple[bool, float, Place]:
    time_text, _, address = text.partition("~")
    try:
        return by_activity(Recent(place_at(address), 0, None if time_text == "None" else float(time_text)))
    except ValueError:
        raise InvalidValue("a cursor must be `next` of the page before") from None


def _describe(source: Source, recent: Recent, places: set[Place]) -> Conversation:
    place = recent.place
    parent = place._replace(conversation=place.conversation.rpartition("/")[0])
    row = Conversation(
        address=str(place),
        scope=place.given_scope,
        conversation=place.conversation,
        version=recent.version,
        at=recent.time,
        parent=str(parent) if parent in places else None,
    )
    try:
        session = source.session(place)
        call_states = [state for name in session.transcripts for _, state in session.calls.list_open(name)]
        has_changed = not source.is_file and now() - (recent.time or 0.0) < _LIVE_SECONDS
        spent = session.spending
        return replace(
            row,
            title=_title(session),
            items=len(session.view()),
            tokens=spent.tokens,
            cost=spent.cost,
            unpriced=spent.unpriced,
            open_calls=len(call_states),
            is_live=has_changed or "running" in call_states,
        )
    except QuireError as fault:  # damaged or sealed; the others are still listed
        return replace(row, fault=str(fault))


def _title(session: Session) -> str:
    items = session.view()[:_TITLE_ITEMS]
    texts = (item.text for item in items if isinstance(item, Message) and item.role == "user")
    return " ".join(next(texts, "")[:_MAX_TITLE].split())


def wait_for_change(source: Source, mark: int, timeout: float) -> int:
    """Return a new mark once a conversation is added, changed or removed, or `mark` after the timeout."""
    deadline = time.monotonic() + timeout
    while (new_mark := _mark(source)) == mark and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return new_mark


def _mark(source: Source) -> int:
    recent = source.store.recent(source.scope)
    return hash((len(recent), sum(row.version for row in recent), *recent[:1])) & 0xFFFFFFFF
