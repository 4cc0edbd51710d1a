"""Items without their content: who, when and in which order stays, what was said does not."""

from collections.abc import Iterable
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
    text_of,
)
from quire.state.closing import CLOSED
from quire.state.groups import MERGED
from quire.state.told import TASK

FORGOTTEN_TEXT = "[forgotten]"
TOLD = "quire.told"
"""The key of `extras` of a summary that came from a fork, for the ids of what it tells of."""

_MARKS = (MERGED, CLOSED, TASK, TOLD)
"""What stays of the extras: by these, items go together as before, and one knows what was made of what."""

_SHORTEST_TEXT = 12
"""Characters from which on a text is looked for elsewhere: shorter ones stand everywhere by chance."""


def tombstone(item: Item, **extras: str) -> Item:
    """What stays of an item; `extras` are what has to be known of it all the same."""
    if isinstance(item, Unknown):
        return replace(item, fields=freeze({"forgotten": True}))
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


def texts_of(item: Item) -> set[str]:
    """The texts of an item by which it is recognised where it was copied to."""
    match item:
        case Message() | ToolResult():
            texts = {text_of(item.content)}
        case ToolCall():
            texts = {item.arguments}
        case Note():
            texts = texts_in(item.content) | {item.description or ""}
        case Reasoning() | Summary():
            texts = {item.text}
        case ConfigChange(instructions=str(instructions)):
            texts = {instructions}
        case _:
            texts = set[str]()
    return {text for text in texts if len(text) >= _SHORTEST_TEXT}


def holds(value: Any, texts: set[str]) -> bool:
    """Whether one of the texts stands anywhere in a free value."""
    return any(text in found for found in texts_in(value) for text in texts)


def texts_in(value: Any) -> set[str]:
    """All texts in a free value."""
    if isinstance(value, str):
        return {value}
    inside: Iterable[Any] = value.values() if isinstance(value, dict) else ()  # pyright: ignore
    if isinstance(value, list | tuple):
        inside = value  # pyright: ignore
    return {text for inner in inside for text in texts_in(inner)}  # pyright: ignore
