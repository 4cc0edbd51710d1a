"""Items without their content: who, when and in which order stays, what was said does not."""

from collections.abc import Collection, Iterable
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
from quire.stores.spelt import as_read

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
    """The texts of an item by which it is recognised where it was copied to, as they are read.

    Not those that name something, such as a key: what has the same name is no copy.
    """
    return {text for text in map(as_read, _said_in(item)) if len(text) >= _SHORTEST_TEXT}


def told_in(item: Item) -> set[str]:
    """All texts in which an item may repeat another's, as they are written."""
    names = {item.key or "", *names_in(item.content)} if isinstance(item, Note) else set[str]()
    return _said_in(item) | names


def _said_in(item: Item) -> set[str]:
    match item:
        case Message() | ToolResult():
            return {text_of(item.content)}
        case ToolCall():
            return {item.arguments}
        case Note():
            return texts_in(item.content) | {item.description or ""}
        case Reasoning() | Summary():
            return {item.text}
        case ConfigChange(instructions=str(instructions)):
            return {instructions}
        case _:
            return set()


def holds(value: Any, texts: Collection[str]) -> bool:
    """Whether one of the texts, as they are read, stands anywhere in a free value, however it is spelt."""
    found = list(map(as_read, texts_in(value) | names_in(value))) if texts else []
    return any(text in one for one in found for text in texts)


def texts_in(value: Any) -> set[str]:
    """All texts in a free value."""
    return {value} if isinstance(value, str) else {text for one in _inside(value) for text in texts_in(one)}


def names_in(value: Any) -> set[str]:
    """All names that values have in a free value."""
    own = set(map(str, value)) if isinstance(value, dict) else set[str]()  # pyright: ignore
    return own.union(*map(names_in, _inside(value)))


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value if isinstance(value, list | tuple) else ()  # pyright: ignore[reportUnknownVariableType]
