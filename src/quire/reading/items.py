"""Items as plain values, with long texts cut."""

from collections.abc import Sequence

from quire.items import (
    JSON,
    ConfigChange,
    Distrust,
    Handoff,
    Hide,
    Item,
    Mask,
    Message,
    Note,
    Pin,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    kind_of,
)
from quire.reading.source import Fields, Record
from quire.state import View, origin_of
from quire.tokens import Counter, note_text

_LONGEST = 4_000
"""Characters of an item's text on a page of items."""

LONG_TEXT = 100_000
"""Characters of an item's text that are returned at once for a single item."""


class Shown(Record, frozen=True, omit_defaults=True):
    """An item; its JSON omits fields that do not apply.

    A text that is cut continues at `next`; `length` is its full length in characters.
    """

    id: str
    kind: str
    at: float
    text: str
    length: int
    next: int | None = None
    role: str | None = None
    name: str | None = None
    agent: str | None = None
    call_id: str | None = None
    is_error: bool = False
    interrupted: bool = False
    media: Sequence[Fields] = ()
    forgotten: bool = False
    tokens: int | None = None
    origin: str | None = None


def describe(
    item: Item,
    counter: Counter | None = None,
    *,
    start: int = 0,
    longest: int = _LONGEST,
    view: View | None = None,
) -> Shown:
    """Return an item with at most `longest` characters of its text, from `start` on.

    Its `view` knows the sources of the item, and so its origin.
    """
    text, end = text_of(item), start + longest
    return Shown(
        id=item.id,
        kind=kind_of(item),
        at=item.created_at,
        text=text[start:end],
        length=len(text),
        next=end if end < len(text) else None,
        role=getattr(item, "role", None),
        name=getattr(item, "name", None),
        agent=item.agent_id,
        call_id=getattr(item, "call_id", None),
        is_error=getattr(item, "is_error", False),
        interrupted=getattr(item, "interrupted", False),
        media=_media(item) if isinstance(item, Message | ToolResult) else (),
        forgotten=bool(item.extras.get("forgotten")),
        tokens=None if counter is None else counter.count(item),
        origin=origin_of(view, item),
    )


def text_of(item: Item) -> str:
    """The text of an item: of a message or a result, the arguments of a call, the text of an edit."""
    match item:
        case Message() | ToolResult() | Reasoning() | Summary():
            return item.text
        case ToolCall():
            return item.arguments
        case Mask():
            return item.stub
        case Handoff():
            return f"{item.from_agent or '?'} → {item.to_agent}{f': {item.reason}' if item.reason else ''}"
        case ConfigChange():
            tools = "" if item.tools is None else f"\ntools: {', '.join(item.tools) or 'none'}"
            return f"{item.instructions or ''}{tools}".strip()
        case Note():
            return ": ".join(filter(None, (item.key, item.description, note_text(item.content))))
        case Hide() | Pin() | Distrust() | Undo():
            return ""
        case _:
            return JSON.encode_item(item).decode()


def _media(item: Message | ToolResult) -> tuple[Fields, ...]:
    return tuple(
        {
            "part": type(part).__name__.lower(),
            "type": part.media_type,
            "bytes": None if part.data is None else len(part.data),
            "name": getattr(part, "name", None),
        }
        for part in item.parts
        if not isinstance(part, str)
    )
