"""Phrases for items, log entries and calls."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from quire.cli.terminal import one_line
from quire.errors import cut
from quire.items import (
    Distrust,
    Hide,
    Item,
    Mask,
    Message,
    Pin,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
    kind_of,
    parts_of,
)
from quire.providers import fields_in
from quire.reading.items import text_of
from quire.state import View
from quire.tokens import Counter

_MAX_NAMES = 5
_MAX_SPANS = 3
_MAX_LINE = 80

STOPS = {
    "interrupted": "interrupted",
    "length": "the model reached its output limit",
    "refused": "the model refused to continue",
    "requests": "the limit of requests for one question was reached",
    "seconds": "the time limit for one question was reached",
    "calls": "the limit of calls for one question was reached",
    "cost": "the cost limit for one question was reached",
}
"""Why an answer ended before it was complete."""


# Numbers, names and times


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def named(name: str) -> str:
    """An id or a name, short and on one line."""
    return one_line(cut(name))


def listed(names: Sequence[str], limit: int = _MAX_NAMES) -> str:
    """At most `limit` names, and how many more there are."""
    more = [f"and {len(names) - limit:,} more"] if len(names) > limit else []
    return ", ".join([*names[:limit], *more])


def moment(seconds: float) -> str:
    """A time in UTC; a dash for none."""
    if not seconds:
        return "-"
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"  # outside of the calendar


def beginning(text: str, max_length: int = _MAX_LINE) -> str:
    """The beginning of a text, on one line."""
    line = one_line(" ".join(text[: 8 * max_length].split()))
    is_whole = len(line) <= max_length and len(text) <= 8 * max_length
    return line if is_whole else f"{line[: max_length - 1]}…"


def title(file: str, line: int | None) -> str:
    """A history by its file and line."""
    return file if line is None else f"{file}, line {line}"


# Items


def kind(item: Item) -> str:
    """The kind of an item, with the role of a message."""
    words = kind_of(item).replace("_", " ")
    return one_line(f"{item.role} {words}") if isinstance(item, Message) else words


def content(item: Item) -> str:
    """The content of an item as text: media as their kind, a call with its name."""
    match item:
        case Message() | ToolResult():
            parts = parts_of(item.content)
            return "\n".join(p if isinstance(p, str) else f"[{type(p).__name__.lower()}]" for p in parts)
        case ToolCall():
            return f"{item.name} {item.arguments}"
        case Unknown():
            return f"of a kind that this version does not know: {named(item.name)}"
        case _:
            return text_of(item)


def preview(item: Item) -> str:
    """The beginning of the content of an item."""
    return beginning(content(item))


def item_rows(items: Iterable[Item], counter: Counter, view: View | None = None) -> list[str]:
    """The lines of a table of items: ids, kinds, tokens and previews; the first line is its header."""
    rows = [("id", "kind", "tokens", "says")]
    for item in items:
        state = "shown" if view is None else view.fate(item.id).state
        words = kind(item) if state == "shown" else f"{kind(item)}, {state}"
        rows.append((named(item.id), words, f"{counter.count(item):,}", preview(item)))
    ids, kinds, tokens, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [f"{row[0]:{ids}}  {row[1]:{kinds}}  {row[2]:>{tokens}}  {row[3]}".rstrip() for row in rows]


# Entries of a log


def entry(item: Item) -> str:
    """The content of a log entry, or the effect of an edit."""
    match item:
        case Summary():
            return f"replaces {_spans(item.spans)}: {beginning(item.text)}"
        case Mask():
            return f"masks {named(item.target)}: {beginning(item.stub)}"
        case Hide():
            return f"hides {_spans(item.spans)}"
        case Pin():
            return f"pins {named(item.target)}"
        case Distrust():
            return f"distrusts {named(item.target)}"
        case Undo():
            return f"undoes {named(item.target)}"
        case _:
            return preview(item)


def _spans(spans: Sequence[Span]) -> str:
    words = [
        named(span.first) if span.first == span.last else f"{named(span.first)} to {named(span.last)}"
        for span in spans
    ]
    return listed(words, _MAX_SPANS) or "nothing"


# Calls


def call(tool_call: ToolCall) -> str:
    """A call on one line."""
    return f"{named(tool_call.name)} {beginning(tool_call.arguments)}"


def outcome(result: ToolResult) -> str:
    """A result on one line."""
    failed = " failed" if result.is_error else ""
    return f"{named(result.name)}{failed}: {preview(result)}"


def question(tool_call: ToolCall) -> str:
    """The question of a call to a person."""
    try:
        text = fields_in(msgspec.json.decode(tool_call.arguments)).get("question")
    except msgspec.DecodeError:
        text = None
    return text if isinstance(text, str) else tool_call.arguments
