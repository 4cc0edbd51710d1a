"""Items without their content: who, when and in which order stays, what was said does not."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from quire.items import (
    ConfigChange,
    Handoff,
    Item,
    Mask,
    Message,
    Note,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Unknown,
    freeze,
    parts_of,
    text_of,
)
from quire.state import CLOSED, MERGED, TASK
from quire.stores.copies import Content, contents_of
from quire.stores.spelt import as_read

FORGOTTEN_TEXT = "[forgotten]"
TOLD = "quire.told"
"""The key of `extras` of a summary that came from a fork, for the ids of what it tells of."""

_MARKS = (MERGED, CLOSED, TASK, TOLD)
"""What stays of the extras: by these, items go together as before, and one knows what was made of what."""


def tombstone(item: Item, **extras: str) -> Item:
    """What stays of an item; `extras` are what has to be known of it all the same."""
    if isinstance(item, Unknown):
        # Not under its own name: without its fields, a kind that is known would be damaged.
        return replace(item, name="forgotten", fields=freeze({"forgotten": True}))
    marks = {name: item.extras[name] for name in _MARKS if name in item.extras}
    return replace(item, **_LEFT.get(type(item), {}), extras=freeze({**marks, "forgotten": True, **extras}))


def is_tombstone(item: Item) -> bool:
    """Whether the content of an item was forgotten."""
    said = item.fields if isinstance(item, Unknown) else item.extras
    return bool(said.get("forgotten"))


_LEFT: dict[type, dict[str, Any]] = {
    Message: {"content": FORGOTTEN_TEXT, "wording": None, "state": None},
    ToolCall: {"arguments": "{}", "state": None},
    ToolResult: {"content": FORGOTTEN_TEXT},
    Reasoning: {"text": "", "state": None},
    ConfigChange: {"instructions": FORGOTTEN_TEXT},
    Handoff: {"reason": None},
    Note: {"content": None, "key": None, "description": FORGOTTEN_TEXT},
    Summary: {"text": FORGOTTEN_TEXT},
    Mask: {"stub": FORGOTTEN_TEXT},
}
"""What stands in place of the content, kind by kind. Edits without words of their own stay as they are."""


def recognised_by(item: Item) -> Iterator[Content]:
    """The contents of an item by which it is known where it was copied to.

    Not those that name something, such as a key or a description: what has the same name is no copy. What a
    call was made with, such as a path and a limit, others may name too: it is one where it stands by itself.
    """
    for said in _said_in(item):
        for content in contents_of(said):
            is_call = isinstance(item, ToolCall) and content.values != (as_read(item.arguments),)
            yield content._replace(is_alone=content.is_alone or is_call)


def told_in(item: Item) -> list[Any]:
    """All in which an item may repeat another's content, as it is written."""
    return [*_said_in(item), item.key, item.description] if isinstance(item, Note) else _said_in(item)


def _said_in(item: Item) -> list[Any]:
    match item:
        case Message() | ToolResult():
            media = (part.data for part in parts_of(item.content) if not isinstance(part, str))
            return [text_of(item.content), *filter(None, media)]
        case ToolCall():
            return [item.arguments]
        case Note():
            return [item.content]
        case Reasoning() | Summary():
            return [item.text]
        case ConfigChange(instructions=str(instructions)):
            return [instructions]
        case _:
            return []
