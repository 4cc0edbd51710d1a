"""Items as the page shows them: plain values, long texts cut."""

from typing import Any

import msgspec

from quire.items import (
    JSON,
    ConfigChange,
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
from quire.tokens import Counter

LONGEST = 4_000
"""Characters of a text that a page of items has; the rest is asked for."""

STRETCH = 100_000
"""Characters of a text that are given at once when the rest is asked for."""


def describe(item: Item, counter: Counter | None = None) -> dict[str, Any]:
    """What the page shows of an item; fields that do not apply are left out.

    A text that is cut goes on at `next`.
    """
    text = text_of_item(item)
    row: dict[str, Any] = {
        "id": item.id,
        "kind": kind_of(item),
        "at": item.created_at,
        "text": text[:LONGEST],
        "length": len(text),
    }
    own: dict[str, Any] = {
        "next": LONGEST if len(text) > LONGEST else None,
        "role": getattr(item, "role", None),
        "name": getattr(item, "name", None),
        "agent": item.agent_id,
        "call_id": getattr(item, "call_id", None),
        "is_error": getattr(item, "is_error", False),
        "interrupted": getattr(item, "interrupted", False),
        "media": _media(item) if isinstance(item, Message | ToolResult) else [],
        "forgotten": bool(item.extras.get("forgotten")),
    }
    row |= {name: value for name, value in own.items() if value}
    return row if counter is None else row | {"tokens": counter.count(item)}


def text_of_item(item: Item) -> str:
    """The text of an item: what was said, the arguments of a call, the words of an edit."""
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
            content = item.content if isinstance(item.content, str) else _json(item.content)
            return f"{item.key}: {content}" if item.key else content
        case Hide() | Pin() | Undo():
            return ""
        case _:
            return JSON.encode_item(item).decode()


def _media(item: Message | ToolResult) -> list[dict[str, Any]]:
    parts = [part for part in item.parts if not isinstance(part, str)]
    return [
        {
            "part": type(part).__name__.lower(),
            "type": part.media_type,
            "bytes": None if part.data is None else len(part.data),
            "name": getattr(part, "name", None),
        }
        for part in parts
    ]


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()
