"""Items in a few words: what they say, what an edit does, and what a session noted down for itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from quire.cli.escaping import beginning, visible
from quire.cli.explaining import content_of
from quire.cli.files import fields_of
from quire.errors import cut
from quire.items import (
    ConfigChange,
    Handoff,
    Hide,
    Item,
    Mask,
    Note,
    Pin,
    Span,
    Summary,
    Undo,
    Unknown,
)

_MOST_SPANS = 3


def moment(seconds: float) -> str:
    """A time in UTC; a dash for what has none."""
    if not seconds:
        return "-"
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"  # beyond what a calendar has


def named(text: str) -> str:
    """An id or a name as it may be printed: it is anybody's text."""
    return visible(cut(text))


def several(count: int, one: str, many: str | None = None) -> str:
    """A number of things, as it is said."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def glimpse(item: Item) -> str:
    """The beginning of what an item says."""
    match item:
        case Handoff():
            return beginning(f"to {item.to_agent}" + (f": {item.reason}" if item.reason else ""))
        case ConfigChange():
            tools = "" if item.tools is None else f"tools: {', '.join(item.tools)}"
            return beginning("; ".join(filter(None, (tools, item.instructions))))
        case Note():
            said = item.content if isinstance(item.content, str) else item.description
            return beginning(": ".join(filter(None, (item.key, said))))
        case Unknown():
            return f"of a kind that this version does not know: {named(item.name)}"
        case _:
            return beginning(content_of(item))


def deed(stream: str, item: Item) -> str:
    """What an entry of the log says or does."""
    if stream in _NOTED:
        return _NOTED[stream](item)
    match item:
        case Summary():
            return f"stands for {_spans(item.spans)}: {beginning(item.text)}"
        case Mask():
            return f"masks {named(item.target)}: {beginning(item.stub)}"
        case Hide():
            return f"hides {_spans(item.spans)}"
        case Pin():
            return f"pins {named(item.target)}"
        case Undo():
            return f"takes back {named(item.target)}"
        case _:
            return glimpse(item)


def _spans(spans: Sequence[Span]) -> str:
    told = [
        named(span.first) if span.first == span.last else f"{named(span.first)} to {named(span.last)}"
        for span in spans[:_MOST_SPANS]
    ]
    more = len(spans) - _MOST_SPANS
    return ", ".join((*told, f"and {more:,} more") if more > 0 else told) or "nothing"


def _fields(item: Item) -> dict[str, Any]:
    return fields_of(item.content) if isinstance(item, Note) else {}


def _request(item: Item) -> str:
    from quire.session import is_receipt

    if not is_receipt(item):
        return f"kept for requests: {glimpse(item) or named(item.id)}"
    said = _fields(item)
    to = " ".join(named(str(said[name])) for name in ("provider", "model") if said.get(name))
    return f"request of {said.get('tokens', 0):,} tokens to {to}"


def _usage(item: Item) -> str:
    said = _fields(item)
    usage = fields_of(said.get("usage"))
    cost = said.get("cost")
    price = f", {cost:.4f} USD" if isinstance(cost, int | float) else ""
    return f"spent {usage.get('input', 0) + usage.get('output', 0):,} tokens{price}"


def _pooled(item: Item) -> str:
    if isinstance(item, Hide):
        return f"takes {_spans(item.spans)} out of the pool"
    return f"puts into the pool: {glimpse(item)}"


def _origin(item: Item) -> str:
    said = _fields(item)
    return f"begins as {named(str(said.get('conversation')))} was at revision {said.get('revision')}"


def _plan(item: Item) -> str:
    return f"ends the compaction {_spans(item.spans)}" if isinstance(item, Hide) else "begins a compaction"


def _taken_name(item: Item) -> str:
    name = _fields(item).get("name")
    return glimpse(item) if name is None else f"takes the name {named(str(name))}"


def _forgotten(item: Item) -> str:
    return f"{several(len(_fields(item).get('ids', ())), 'item')} forgotten"


_NOTED = {
    ".receipts": _request,
    ".usage": _usage,
    ".pool": _pooled,
    ".origin": _origin,
    ".plans": _plan,
    ".named": _taken_name,
    ".forgotten": _forgotten,
}
"""The session's own streams, by the names that `quire.stores.streams` gives them."""
