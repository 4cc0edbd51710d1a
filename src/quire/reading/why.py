"""Why a model saw an item or did not: in one request, and in all of its conversation."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from msgspec.json import encode

from quire.errors import InvalidValue, QuireError, UnknownId, cut
from quire.items import Item
from quire.memory import Memory, is_reserved, recalled
from quire.reading.items import Shown, describe, text_of
from quire.reading.requests import question_of
from quire.reading.source import Count, Fields, Record, Source, counter_of
from quire.session import Kept, Session, find_items, request_named, transcript_with
from quire.stores import Place, place_at
from quire.stores.streams import MAIN

_FOUND, _MOST_FOUND, _QUOTES, _SCOPES, _SCANNED = 10, 50, 50, 20, 2_000
"""How many items are explained, and how many quotes, scopes and conversations are searched for them."""


class Asked(Record, frozen=True):
    """A request by its version, the time, and the beginning of the question that it answers."""

    version: int
    at: float
    question: str


class Why(Record, frozen=True):
    """An item, and what became of it in a `request`: the `entry` of the receipt, `None` if it has none.

    `seen_in` counts the requests that showed it, of `requests` sent since it was recorded; `first` and `last`
    are the first and the last of these, and `since` is the first request after the last that did not.
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


def explain(source: Source, address: str | Place, item: str, request: str = "last") -> Why:
    """Return why a request showed an item or did not, by default the last one, and which requests did."""
    session = source.session(address)
    return _explain(session, session.receipts[:], item, request)


def _explain(session: Session, receipts: Sequence[Kept], item: str, request: str) -> Why:
    name = transcript_with(session, item)
    chosen = request_named(receipts, request) if receipts or request != "last" else None
    if name is not None:
        meant = session.view(name).get(item)
    else:  # a section made it
        made = () if chosen is None or chosen.is_bare else chosen.items
        found = next((one for one in made if one.id == item), None)
        if found is None:
            raise UnknownId(f"there is no item {cut(item)!r} here")
        meant = found
    sent = [(kept, is_seen) for kept in receipts if (is_seen := kept.shows(meant)) is not None]
    seen = [number for number, (_, is_seen) in enumerate(sent) if is_seen]
    after = sent[seen[-1] + 1 :] if seen else sent
    entry, fault = _entry(chosen, meant)
    return Why(
        address=str(session.place),
        item=describe(meant, counter_of(session), view=session.view(name or MAIN)),
        requests=len(sent),
        seen_in=len(seen),
        first=_asked(sent[seen[0]][0]) if seen else None,
        last=_asked(sent[seen[-1]][0]) if seen else None,
        since=_asked(after[0][0]) if after else None,
        request=_asked(chosen) if chosen is not None else None,
        is_seen=None if chosen is None else chosen.shows(meant),
        entry=entry,
        fault=fault,
    )


def _entry(kept: Kept | None, item: Item) -> tuple[Fields | None, str | None]:
    if kept is None:
        return None, "no request was sent since it was recorded"
    if not kept.is_bare and kept.shows(item) is None:
        return None, f"it was recorded after request {kept.version:,}"
    try:
        return kept.explain(item)._asdict(), None
    except LookupError as fault:  # it was no candidate, or what explains it was forgotten
        return None, str(fault)


def _asked(kept: Kept) -> Asked:
    return Asked(version=kept.version, at=kept.created_at, question=question_of(kept))


def explain_words(
    source: Source, words: str, within: str = "", limit: Count = _FOUND, request: str = "last"
) -> list[Why]:
    """Return what has these words in a scope or a conversation, the best first, each with why it was seen.

    `within` is an address: `ana/q3`, or `ana/` for all of a scope; by default all scopes. All items of one
    conversation are looked through; in a scope, those that recall finds. An id names one item. `UnknownId` if
    there are none.
    """
    if not words.split():
        raise InvalidValue("name the words to look for")
    if within and not within.endswith("/"):
        session = source.session(within)
        found = _items_with(session, words)
    else:
        found = _found_in_scope(source, place_at(within).named if within else None, words)
    if not found:
        raise UnknownId(f"nothing here has {cut(words)!r}")
    rows, receipts = list[Why](), dict[Place, list[Kept]]()
    for place, item in found[: min(max(limit, 1), _MOST_FOUND)]:
        session = source.session(place)
        if place not in receipts:
            receipts[place] = session.receipts[:]
        rows.append(_explain(session, receipts[place], item, request))
    return rows


def _found_in_scope(source: Source, scope: str | None, words: str) -> list[tuple[Place, str]]:
    """The items with all of the words that recall finds, in its order; else those of all that was recorded.

    Recall finds no words that are in nearly every message, and nothing that it does not index.
    """
    wanted = set(words.casefold().split())
    found: list[tuple[bool, Place, str]] = []
    for one in source.scopes(scope)[:_SCOPES]:
        for quoted in islice(recalled(Memory.of(source.store, one), words, limit=_QUOTES), _QUOTES):
            place = Place(one, quoted.source)
            if not quoted.at or is_reserved(place.conversation):
                continue  # of a document, which is no item
            session = source.session(place)
            for item_id in quoted.covers:
                name = transcript_with(session, item_id)
                text = "" if name is None else text_of(session.view(name).get(item_id)).casefold()
                if all(word in text for word in wanted):
                    found.append((words.casefold() not in text, place, item_id))
    found.sort(key=lambda one: one[0])  # those that have the words as they are given come first
    return [(place, item_id) for _, place, item_id in dict.fromkeys(found)] or _scanned(source, scope, words)


def _scanned(source: Source, scope: str | None, words: str) -> list[tuple[Place, str]]:
    """The items with a text in the latest conversations, of which only those with its words are opened."""
    needles = [encode(word)[1:-1].decode() for word in words.casefold().split()]
    found: list[tuple[Place, str]] = []
    for one in source.recent()[:_SCANNED]:
        if scope in (None, one.place.named, one.place.scope) and len(found) < _MOST_FOUND:
            with suppress(QuireError):  # one that is damaged or sealed does not hide the others
                bodies = b"\0".join(entry.body for entry in source.store.read(one.place)).decode().casefold()
                has_all = all(needle in bodies for needle in needles)  # most have none of the words
                if has_all and any(all(needle in body for needle in needles) for body in bodies.split("\0")):
                    found += _items_with(source.session(one.place), words)
    return found


def _items_with(session: Session, words: str) -> list[tuple[Place, str]]:
    """The items of a conversation with some words, the newest first, or the one of that id."""
    ids = [words] if transcript_with(session, words) else reversed(find_items(session, words))
    return [(session.place, item_id) for item_id in ids]
