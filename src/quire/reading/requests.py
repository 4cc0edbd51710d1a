"""Requests: what was sent, what filled the budget, what became of every candidate, where the cache broke."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.json import encode

from quire.errors import QuireError, UnknownId
from quire.items import Item, Message, ToolCall, ToolResult, kind_of
from quire.providers import HISTORY, entries_in
from quire.reading.items import text_of
from quire.reading.source import MOST_ROWS, Count, Fields, Limit, Record, Source
from quire.session import Kept, Spending, before_of, compare_requests, first_change
from quire.tokens import AS_OF, Usage

_MOST_SEGMENTS = 100
_AT_ONCE = 64
_EXCERPT, _LONGEST = 160, 4_000


# The list


class RequestRow(Record, frozen=True, omit_defaults=True):
    """A request that was sent. `question` is the beginning of the message that it answers.

    `predicted` is the share that begins like the request before, `reported` what a cache served of it;
    `again` are the tokens that were sent before too and were not served, `again_cost` what that cost more.
    """

    version: int
    at: float
    question: str
    provider: str
    model: str | None
    tokens: int
    available: int
    is_bare: bool
    reported: float | None
    cost: float | None
    predicted: float | None = None
    cause: Fields | None = None
    again: int | None = None
    again_cost: float | None = None


def list_requests(
    source: Source, address: str, limit: Limit = 100, skip: Count = 0, brief: bool = False
) -> dict[str, Any]:
    """Return the requests of a conversation, newest last; `skip` leaves out the newest.

    With `brief` they are not compared with those before them.
    """
    found = source.session(address).receipts[-(skip + limit + 1) :]
    found = found[: len(found) - skip]
    rows = [
        _row(kept, None if brief else before_of(kept, found[:place])) for place, kept in enumerate(found)
    ][-limit:]
    spent = sum((kept.spending for kept in found[-limit:]), Spending())
    return {"rows": rows, "has_more": len(found) > limit, "reported": spent.cached, "prices_of": AS_OF}


def _row(kept: Kept, before: Kept | None) -> RequestRow:
    return RequestRow(**_fields(kept, before))


def _fields(kept: Kept, before: Kept | None) -> dict[str, Any]:
    spent, made = kept.spending, None if before is None else compare_requests(before, kept)
    names = ("version", "provider", "model", "tokens", "available", "is_bare")
    fields: dict[str, Any] = {
        **{name: getattr(kept, name) for name in names},
        "at": kept.created_at,
        "question": question_of(kept),
        "reported": spent.cached,
        "cost": spent.cost if spent.requests and not spent.unpriced else None,
    }
    if made is None:
        return fields
    return {
        **fields,
        "predicted": made.share,
        "cause": None if made.cause is None else made.cause._asdict(),
        "again": made.again,
        "again_cost": made.cost,
    }


def question_of(kept: Kept) -> str:
    """Return the beginning of the message that a request answers: the last one of the user in it."""
    if kept.is_bare:
        return ""
    view = kept.view
    said = () if view is None else (view.log.item(at) for at in view.log.positions("users", 0, view.end)[-1:])
    shown = said or (one for one in reversed(kept.items) if isinstance(one, Message) and one.role == "user")
    return " ".join(next((text_of(one)[:_EXCERPT] for one in shown), "").split())


# One request


class Request(RequestRow, frozen=True, kw_only=True):
    """One request: its budget, every candidate, its parameters, and the difference to the one before."""

    reserve: int | None
    error: float | None
    digest: str
    advice: Sequence[str]
    beside: Mapping[str, int]
    sections: Sequence[Fields]
    usage: Usage | None
    next: int | None
    before: Fields | None
    entries: Sequence[Fields] = ()
    parameters: Mapping[str, Any] | None = None
    fault: str | None = None


def read_request(source: Source, address: str, version: Count | None = None) -> Request:
    """Return one request, by default the last."""
    kept, before, after = _find(source, address, version)
    fields: dict[str, Any] = {
        **_fields(kept, before),
        **{name: getattr(kept, name) for name in ("reserve", "error", "digest", "advice", "beside")},
        "sections": [line._asdict() for line in kept.lines()],
        "usage": kept.spending.usage if kept.spending.requests else None,
        "next": after,
        "before": None if before is None else _difference(before, kept),
    }
    if kept.is_bare:
        return Request(**fields)
    fields["entries"] = list(_candidates(kept))
    try:
        kept.payload()
        return Request(**fields, parameters=kept.parameters)
    except QuireError as fault:
        return Request(**fields, fault=str(fault))


def _find(source: Source, address: str, version: int | None) -> tuple[Kept, Kept | None, int | None]:
    """The request that is asked for, the one to compare it with, and the version of the next."""
    receipts, count = source.session(address).receipts, _AT_ONCE
    found = receipts[-count:]
    while version is not None and len(found) == count and found[0].version >= version:
        count *= 4
        found = receipts[-count:]
    places = [place for place, kept in enumerate(found) if version in (None, kept.version)]
    if not places:
        raise UnknownId("no such request was kept in this conversation")
    place = places[-1]
    after = found[place + 1].version if place + 1 < len(found) else None
    return found[place], before_of(found[place], found[:place]), after


def _candidates(kept: Kept) -> Iterator[Fields]:
    """Every candidate, with the beginning of its text and the edit that took it away, if one did."""
    shown, recorded = {item.id: item for item in kept.items}, _recorded(kept)
    for entry in kept.entries:
        item, edit = shown.get(entry.item_id), entry.rule.removeprefix("edit ")
        item = recorded.get(entry.item_id) if item is None else item
        told = {} if item is None else _brief(item, recorded)
        yield {**told, **entry._asdict(), "edit": None if edit == entry.rule else edit}


def _recorded(kept: Kept) -> dict[str, Item]:
    """The items of the transcript by their ids, as far as the request knew it."""
    view = kept.view
    return {} if view is None else {item.id: item for item in view.recorded()}


def _difference(before: Kept, kept: Kept) -> Fields:
    """The items and parameters that differ, and the first changed byte."""
    answer: dict[str, Any] = {"version": before.version}
    if before.is_bare or kept.is_bare:
        return answer | {"fault": "what one of the two showed was forgotten, or was not kept"}
    old, new = ({item.id: item for item in one.items} for one in (before, kept))
    changes = {
        "added": [item for name, item in new.items() if name not in old],
        "removed": [item for name, item in old.items() if name not in new],
        "changed": [item for name, item in new.items() if name in old and old[name] != item],
    }
    recorded = _recorded(kept)
    answer |= {
        name: {"count": len(items), "items": [_brief(item, recorded) for item in items[:MOST_ROWS]]}
        for name, items in changes.items()
    }
    try:
        given, had, first = kept.parameters or {}, before.parameters or {}, first_change(before, kept)
    except QuireError as fault:
        return answer | {"fault": str(fault)}
    names = [name for name in {**had, **given} if had.get(name) != given.get(name)]
    return answer | {"parameters": names, "first": None if first is None else first._asdict()}


def _brief(item: Item, recorded: Mapping[str, Item]) -> dict[str, Any]:
    """An item in a row; what a section made is not in the transcript."""
    row = {name: getattr(item, name, None) for name in ("role", "name")}
    row |= {"id": item.id, "kind": kind_of(item), "text": text_of(item)[:_EXCERPT]}
    return {**row, "is_recorded": item.id in recorded}


# The bytes


class _Segment(NamedTuple):
    path: str
    start: int
    data: bytes


def read_bytes(
    source: Source,
    address: str,
    version: Count | None = None,
    byte: Count | None = None,
    start: Count | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """Return the JSON that was sent, in segments: fields, and the elements of lists; or as one text.

    The segments begin at `start`, or shortly before the one with a `byte`, which is cut in two there.
    """
    kept = _find(source, address, version)[0]
    sent = kept.request()
    if whole:
        return {"text": encode(sent).decode()}
    segments = list(_segments(sent))
    first = min(start or 0, len(segments))
    if byte is not None and start is None:
        behind = (place for place, one in enumerate(segments) if one.start + len(one.data) > byte)
        first = max(next(behind, len(segments)) - 2, 0)
    items = _items_in(kept, segments)
    places = range(first, min(first + _MOST_SEGMENTS, len(segments)))
    rows = [_segment_row(segments[place], byte, items.get(place, ())) for place in places]
    return {"rows": rows, "start": first, "total": len(segments), "bytes": len(encode(sent))}


def _segments(payload: Mapping[str, Any]) -> Iterator[_Segment]:
    at = 1
    for name, value in payload.items():
        parts = entries_in(value)
        is_list = bool(parts)
        at += len(encode(name)) + 1 + is_list
        for place, part in enumerate(parts or [value]):
            data = encode(part)
            yield _Segment(f"{name}[{place}]" if is_list else name, at, data)
            at += len(data) + 1
        at += is_list


def _segment_row(one: _Segment, byte: int | None, items: Sequence[Fields]) -> Fields:
    """A segment with its text; if the first changed byte is in it, the text in two parts.

    `cut` are the characters that are left out before and after it.
    """
    place = -1 if byte is None else byte - one.start
    row = {"path": one.path, "start": one.start, "size": len(one.data), "items": items, "changed": None}
    if not 0 <= place < len(one.data):
        text = one.data.decode()
        return row | {"text": text[:_LONGEST], "cut": (0, max(len(text) - _LONGEST, 0))}
    same, changed = (part.decode(errors="replace") for part in (one.data[:place], one.data[place:]))
    cut = [max(len(part) - _LONGEST, 0) for part in (same, changed)]
    return row | {"text": same[-_LONGEST:], "changed": changed[:_LONGEST], "cut": cut}


def _items_in(kept: Kept, segments: Sequence[_Segment]) -> dict[int, list[Fields]]:
    """The items by the segment that has their words, as far as these can be found."""
    sections = [name for name, length in kept.runs for _ in range(length)]
    tokens = {entry.item_id: entry.tokens for entry in kept.entries}
    history = f"{HISTORY.get(kept.provider, '')}["
    order = sorted(range(len(segments)), key=lambda place: segments[place].path.startswith(history))
    found, at = dict[int, list[Fields]](), 0
    for item, section in zip(kept.items, sections, strict=False):
        words = [encode(text[:200])[1:-1] for text in _words_of(item) if text]
        ahead = range(at, min(at + 12, len(order)))  # the next words are not far
        place = next((one for one in ahead if all(w in segments[order[one]].data for w in words)), None)
        if words and place is not None:
            row = {"id": item.id, "section": section, "tokens": tokens.get(item.id)}
            found.setdefault(order[place], []).append(row)
            at = place
    return found


def _words_of(item: Item) -> list[str]:
    if isinstance(item, ToolCall):
        return [item.call_id]
    return [item.call_id, item.text] if isinstance(item, ToolResult) else [text_of(item)]
