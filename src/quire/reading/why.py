"""Why a model saw an item or not: in one request, in the whole conversation, and in those that quoted it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec.json import encode

from quire.errors import InvalidValue, QuireError, UnknownId, cut
from quire.items import Item
from quire.memory import Memory, is_reserved, recalled
from quire.reading.items import Shown, describe, text_of
from quire.reading.requests import question_of
from quire.reading.source import Count, Fields, Record, Source, counter_of
from quire.session import Session, StoredReceipt, find_items, places_quoting, request_named, transcript_with
from quire.stores import Place, place_at
from quire.stores.streams import MAIN, digest_of

_USUAL_ROWS, _MAX_ROWS = 10, 50
_MAX_QUOTES, _MAX_SCOPES, _MAX_SCANNED = 50, 20, 2_000
"""The quotes of a scope, the scopes and the conversations that are searched, at most."""

_MAX_QUOTING, _MAX_ELSEWHERE = 200, 10
"""The conversations that are searched for the quotes of an item, and those that are listed, at most."""


class Asked(Record, frozen=True):
    """A request: its version, its time, and the beginning of the question that it answers."""

    version: int
    at: float
    question: str

    @staticmethod
    def of(kept: StoredReceipt) -> "Asked":
        """The row of a request."""
        return Asked(version=kept.version, at=kept.created_at, question=question_of(kept))


class Elsewhere(Record, frozen=True):
    """The requests of another conversation that quoted an item: how many, and the last."""

    address: str
    seen_in: int
    last: Asked


class Why(Record, frozen=True):
    """An item, and its fate in a `request` of its conversation: the `entry` of the receipt, or `None`.

    `requests` counts the requests of the conversation since it was recorded, `seen_in` those that showed it.
    `first` and `last` are the first and the last that showed it; `since` is the next one, which did not.
    `elsewhere` lists other conversations that quoted it, the latest first. `fault` says why there is no
    `entry`.
    """

    address: str
    item: Shown
    requests: int
    seen_in: int
    first: Asked | None
    last: Asked | None
    since: Asked | None
    request: Asked | None
    is_seen: bool | None
    entry: Fields | None
    fault: str | None
    elsewhere: Sequence[Elsewhere]


def explain(source: Source, address: str | Place, item: str, request: str = "last") -> Why:
    """Return why a request, by default the last, showed an item or not, and which requests did."""
    session = source.session(address)
    return _explain(source, session, session.receipts[:], item, request)


def _explain(
    source: Source, session: Session, receipts: Sequence[StoredReceipt], item: str, request: str
) -> Why:
    name = transcript_with(session, item)
    chosen = request_named(receipts, request) if receipts or request != "last" else None
    if name is not None:
        target: Item | None = session.view(name).get(item)
    else:  # a section may have made it
        shown = () if chosen is None or chosen.is_bare else chosen.items
        target = next((shown_item for shown_item in shown if shown_item.id == item), None)
    if target is None:
        raise UnknownId(f"there is no item {cut(item)!r} here")
    sent = [(kept, is_seen) for kept in receipts if (is_seen := kept.shows(target)) is not None]
    seen = [number for number, (_, is_seen) in enumerate(sent) if is_seen]
    after = sent[seen[-1] + 1 :] if seen else sent
    entry, fault = _entry(chosen, target)
    return Why(
        address=str(session.place),
        item=describe(target, counter_of(session), view=session.view(name or MAIN)),
        requests=len(sent),
        seen_in=len(seen),
        first=Asked.of(sent[seen[0]][0]) if seen else None,
        last=Asked.of(sent[seen[-1]][0]) if seen else None,
        since=Asked.of(after[0][0]) if after else None,
        request=Asked.of(chosen) if chosen is not None else None,
        is_seen=None if chosen is None else chosen.shows(target),
        entry=entry,
        fault=fault,
        elsewhere=[] if name is None else list(islice(_elsewhere(source, session, target), _MAX_ELSEWHERE)),
    )


def _elsewhere(source: Source, session: Session, item: Item) -> Iterator[Elsewhere]:
    """Yield the other conversations with requests that quoted an item of a conversation, latest first."""
    digest = digest_of(session.place.conversation)
    quoting = {*places_quoting(source.store, session.place.scope, [digest])}
    latest = [recent.place for recent in source.recent() if recent.place in quoting] if quoting else []
    name = encode(f"{digest}/{item.id}")[1:-1]  # a conversation without it need not be opened
    for place in latest[:_MAX_QUOTING]:
        with suppress(QuireError):  # a damaged or sealed conversation does not hide the others
            if any(name in entry.body for entry in source.store.read(place)):
                seen = [kept for kept in source.session(place).receipts if kept.shows(item)]
                if seen:
                    yield Elsewhere(address=str(place), seen_in=len(seen), last=Asked.of(seen[-1]))


def _entry(kept: StoredReceipt | None, item: Item) -> tuple[Fields | None, str | None]:
    if kept is None:
        return None, "no request of this conversation was sent since it was recorded"
    if not kept.is_bare and kept.shows(item) is None:
        return None, f"it was recorded after the request at version {kept.version:,}"
    try:
        return kept.explain(item)._asdict(), None
    except LookupError as fault:  # the item was no candidate, or its entry was forgotten
        return None, str(fault)


def explain_words(
    source: Source, words: str, within: str = "", limit: Count = _USUAL_ROWS, request: str = "last"
) -> list[Why]:
    """Return the items with some words in a scope or a conversation, best first, each with its explanation.

    `within` is an address: `ana/q3`, or `ana/` for a scope; by default all scopes. In a conversation all
    items are searched, in a scope those that recall finds. An id selects one item. `UnknownId` if nothing
    matches.
    """
    if not words.split():
        raise InvalidValue("name the words to look for")
    if within and not within.endswith("/"):
        session = source.session(within)
        matches = _items_with(session, words)
    else:
        matches = _search_scope(source, place_at(within).given_scope if within else None, words)
    if not matches:
        raise UnknownId(f"nothing here has {cut(words)!r}")
    rows, receipts = list[Why](), dict[Place, list[StoredReceipt]]()
    for place, item in matches[: min(max(limit, 1), _MAX_ROWS)]:
        session = source.session(place)
        if place not in receipts:
            receipts[place] = session.receipts[:]
        rows.append(_explain(source, session, receipts[place], item, request))
    return rows


def _search_scope(source: Source, scope: str | None, words: str) -> list[tuple[Place, str]]:
    """The items that recall finds and that have all of the words, those with the exact phrase first.

    If there are none, a full scan: recall does not find words that are in nearly every message, nor items
    that it does not index.
    """
    all_words = set(words.casefold().split())
    matches: list[tuple[bool, Place, str]] = []
    for name in source.scopes(scope)[:_MAX_SCOPES]:
        quotes = recalled(Memory.of(source.store, name), words, limit=_MAX_QUOTES)
        for quote in islice(quotes, _MAX_QUOTES):
            place = Place(name, quote.source)
            if not quote.at or is_reserved(place.conversation):
                continue  # it quotes a document
            session = source.session(place)
            for item_id in quote.covers:
                transcript = transcript_with(session, item_id)
                item = None if transcript is None else session.view(transcript).get(item_id)
                text = "" if item is None else text_of(item).casefold()
                if all(word in text for word in all_words):
                    matches.append((words.casefold() not in text, place, item_id))
    matches.sort(key=lambda match: match[0])  # items with the exact phrase first
    return [(place, item_id) for _, place, item_id in dict.fromkeys(matches)] or _scan(source, scope, words)


def _scan(source: Source, scope: str | None, words: str) -> list[tuple[Place, str]]:
    """The items with a text in the latest conversations; only conversations with its words are opened."""
    needles = [encode(word)[1:-1].decode() for word in words.casefold().split()]
    matches: list[tuple[Place, str]] = []
    for recent in source.recent()[:_MAX_SCANNED]:
        if scope in (None, recent.place.given_scope, recent.place.scope) and len(matches) < _MAX_ROWS:
            with suppress(QuireError):  # a damaged or sealed conversation does not hide the others
                entries = source.store.read(recent.place)
                bodies = b"\0".join(entry.body for entry in entries).decode().casefold()
                has_all = all(needle in bodies for needle in needles)  # most conversations do not
                if has_all and any(all(needle in body for needle in needles) for body in bodies.split("\0")):
                    matches += _items_with(source.session(recent.place), words)
    return matches


def _items_with(session: Session, words: str) -> list[tuple[Place, str]]:
    """The items of a conversation with some words, newest first, or the one with that id."""
    ids = [words] if transcript_with(session, words) else reversed(find_items(session, words))
    return [(session.place, item_id) for item_id in ids]
