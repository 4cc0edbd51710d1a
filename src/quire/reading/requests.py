"""Requests: their bytes, their budgets, the fate of every candidate, and cache breaks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.json import encode

from quire.errors import QuireError, UnknownId
from quire.items import Item, Message, ToolCall, ToolResult, kind_of
from quire.providers import HISTORY, entries_in
from quire.reading.items import text_of
from quire.reading.source import MAX_ROWS, Count, Fields, Limit, Record, Source
from quire.session import Spending, StoredReceipt, before_of, compare_requests, first_change
from quire.tokens import AS_OF, Usage

_MAX_SEGMENTS = 100
_RECEIPTS_AT_ONCE = 64
_EXCERPT, _LONGEST = 160, 4_000


# The list


class RequestRow(Record, frozen=True, omit_defaults=True):
    """A sent request. `question` is the beginning of the message that it answers.

    `predicted` is the share of it that equals the beginning of the request before, `reported` the share that
    a cache served. `again` are repeated tokens that no cache served, `again_cost` their extra cost. If it
    `is_bare`, its content was forgotten or not kept.
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
    receipts = source.session(address).receipts[-(skip + limit + 1) :]
    receipts = receipts[: len(receipts) - skip]
    rows = [
        RequestRow(**_row_fields(kept, None if brief else before_of(kept, receipts[:index])))
        for index, kept in enumerate(receipts)
    ][-limit:]
    spent = sum((kept.spending for kept in receipts[-limit:]), Spending())
    return {"rows": rows, "has_more": len(receipts) > limit, "reported": spent.cached, "prices_of": AS_OF}


def _row_fields(kept: StoredReceipt, before: StoredReceipt | None) -> dict[str, Any]:
    spent, comparison = kept.spending, None if before is None else compare_requests(before, kept)
    names = ("version", "provider", "model", "tokens", "available", "is_bare")
    fields: dict[str, Any] = {
        **{name: getattr(kept, name) for name in names},
        "at": kept.created_at,
        "question": question_of(kept),
        "reported": spent.cached,
        "cost": spent.cost if spent.requests and not spent.unpriced else None,
    }
    if comparison is None:
        return fields
    return {
        **fields,
        "predicted": comparison.share,
        "cause": None if comparison.cause is None else comparison.cause._asdict(),
        "again": comparison.again,
        "again_cost": comparison.cost,
    }


def question_of(kept: StoredReceipt) -> str:
    """Return the beginning of the message that a request answers: the last user message in it."""
    if kept.is_bare:
        return ""
    view = kept.view
    users: list[Item]
    if view is None:
        users = [item for item in kept.items if isinstance(item, Message) and item.role == "user"]
    else:
        users = [view.log.item(at) for at in view.log.positions("users", 0, view.end)[-1:]]
    return " ".join(text_of(users[-1])[:_EXCERPT].split()) if users else ""


# One request


class Request(RequestRow, frozen=True, kw_only=True):
    """One request: its budget, every candidate, its parameters, and the differences from the one `before`.

    `next` is the version of the request after it. `fault` says why there are no `parameters`.
    """

    reserve: int | None
    count_error: float | None
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
    kept, before, after = _request_with_neighbours(source, address, version)
    fields: dict[str, Any] = {
        **_row_fields(kept, before),
        **{name: getattr(kept, name) for name in ("reserve", "count_error", "digest", "advice", "beside")},
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


def _request_with_neighbours(
    source: Source, address: str, version: int | None
) -> tuple[StoredReceipt, StoredReceipt | None, int | None]:
    """A request, the one to compare it with, and the version of the next."""
    receipts, count = source.session(address).receipts, _RECEIPTS_AT_ONCE
    newest = receipts[-count:]
    while version is not None and len(newest) == count and newest[0].version >= version:
        count *= 4
        newest = receipts[-count:]
    indexes = [index for index, kept in enumerate(newest) if version in (None, kept.version)]
    if not indexes:
        raise UnknownId("no such request was kept in this conversation")
    index = indexes[-1]
    after = newest[index + 1].version if index + 1 < len(newest) else None
    return newest[index], before_of(newest[index], newest[:index]), after


def _candidates(kept: StoredReceipt) -> Iterator[Fields]:
    """Yield every candidate, with the beginning of its text and the edit that removed it, if one did."""
    shown, recorded = {item.id: item for item in kept.items}, _recorded(kept)
    for entry in kept.entries:
        item, edit = shown.get(entry.item_id), entry.rule.removeprefix("edit ")
        item = recorded.get(entry.item_id) if item is None else item
        brief = {} if item is None else _brief(item, recorded)
        yield {**brief, **entry._asdict(), "edit": None if edit == entry.rule else edit}


def _recorded(kept: StoredReceipt) -> dict[str, Item]:
    """The recorded items at the time of the request, by id."""
    view = kept.view
    return {} if view is None else {item.id: item for item in view.recorded()}


def _difference(before: StoredReceipt, kept: StoredReceipt) -> Fields:
    """The items and parameters that differ, and the first changed byte."""
    difference: dict[str, Any] = {"version": before.version}
    if before.is_bare or kept.is_bare:
        return difference | {"fault": "what one of the two showed was forgotten, or was not kept"}
    old, new = ({item.id: item for item in request.items} for request in (before, kept))
    changes = {
        "added": [item for name, item in new.items() if name not in old],
        "removed": [item for name, item in old.items() if name not in new],
        "changed": [item for name, item in new.items() if name in old and old[name] != item],
    }
    recorded = _recorded(kept)
    difference |= {
        name: {"count": len(items), "items": [_brief(item, recorded) for item in items[:MAX_ROWS]]}
        for name, items in changes.items()
    }
    try:
        new_values, old_values = kept.parameters or {}, before.parameters or {}
        first = first_change(before, kept)
    except QuireError as fault:
        return difference | {"fault": str(fault)}
    names = [name for name in {**old_values, **new_values} if old_values.get(name) != new_values.get(name)]
    return difference | {"parameters": names, "first": None if first is None else first._asdict()}


def _brief(item: Item, recorded: Mapping[str, Item]) -> dict[str, Any]:
    """An item as a row; items that a section made are not recorded."""
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
    """Return the JSON that was sent, in segments (fields, and elements of lists), or as one text.

    They begin with number `start`, or two before the one that contains `byte`. That one is split at the byte.
    """
    kept = _request_with_neighbours(source, address, version)[0]
    payload = kept.request()
    if whole:
        return {"text": encode(payload).decode()}
    segments = list(_segments(payload))
    first = min(start or 0, len(segments))
    if byte is not None and start is None:
        ends = (segment.start + len(segment.data) for segment in segments)
        split = next((index for index, end in enumerate(ends) if end > byte), len(segments))
        first = max(split - 2, 0)
    items = _items_in(kept, segments)
    indexes = range(first, min(first + _MAX_SEGMENTS, len(segments)))
    rows = [_segment_row(segments[index], byte, items.get(index, ())) for index in indexes]
    return {"rows": rows, "start": first, "total": len(segments), "bytes": len(encode(payload))}


def _segments(payload: Mapping[str, Any]) -> Iterator[_Segment]:
    at = 1
    for name, value in payload.items():
        parts = entries_in(value)
        is_list = bool(parts)
        at += len(encode(name)) + 1 + is_list  # the name, a colon, and the bracket of a list
        for index, part in enumerate(parts or [value]):
            data = encode(part)
            yield _Segment(f"{name}[{index}]" if is_list else name, at, data)
            at += len(data) + 1
        at += is_list


def _segment_row(segment: _Segment, byte: int | None, items: Sequence[Fields]) -> Fields:
    """A segment with its text; if the first changed byte is in it, the text in two parts.

    `cut` are the numbers of characters that are left out before and after it.
    """
    index, data = -1 if byte is None else byte - segment.start, segment.data
    row = {"path": segment.path, "start": segment.start, "size": len(data), "items": items, "changed": None}
    if not 0 <= index < len(data):
        text = data.decode()
        return row | {"text": text[:_LONGEST], "cut": (0, max(len(text) - _LONGEST, 0))}
    same, changed = (part.decode(errors="replace") for part in (data[:index], data[index:]))
    cut = [max(len(part) - _LONGEST, 0) for part in (same, changed)]
    return row | {"text": same[-_LONGEST:], "changed": changed[:_LONGEST], "cut": cut}


def _items_in(kept: StoredReceipt, segments: Sequence[_Segment]) -> dict[int, list[Fields]]:
    """The items by the segment that contains their text, as far as it can be found."""
    sections = [name for name, length in kept.runs for _ in range(length)]
    tokens = {entry.item_id: entry.tokens for entry in kept.entries}
    history = f"{HISTORY.get(kept.provider, '')}["
    order = sorted(range(len(segments)), key=lambda index: segments[index].path.startswith(history))
    by_segment, at = dict[int, list[Fields]](), 0
    for item, section in zip(kept.items, sections, strict=False):
        texts = [encode(text[:200])[1:-1] for text in _texts_of(item) if text]
        ahead = range(at, min(at + 12, len(order)))  # the next text is not far
        index = next((p for p in ahead if all(text in segments[order[p]].data for text in texts)), None)
        if texts and index is not None:
            row = {"id": item.id, "section": section, "tokens": tokens.get(item.id)}
            by_segment.setdefault(order[index], []).append(row)
            at = index
    return by_segment


def _texts_of(item: Item) -> list[str]:
    if isinstance(item, ToolCall):
        return [item.call_id]
    return [item.call_id, item.text] if isinstance(item, ToolResult) else [text_of(item)]
