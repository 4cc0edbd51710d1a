"""Messages as Autonomy has them, dictionaries with a role and a content, and the engine's items, both ways.

A message is one item, or with tool calls several: its words, if there are any, and one for each call. What
the engine has no field for is in the `extras` of an item under one key, so that it goes wherever it goes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self, cast

from msgspec.structs import replace

from quire.errors import WrongType
from quire.items import (
    Content,
    Item,
    Message,
    Note,
    Summary,
    ToolCall,
    ToolResult,
    new_id,
    now,
    parts_of,
    thaw,
)
from quire.providers import content_for_model
from quire.sections import items_of, parse_content

OURS = "autonomy"
"""The key of `extras` under which the bridge keeps what the engine has no field for."""

_OF, _KEPT, _IS_TEXT = "of", "kept", "is_text"
_FIELDS = frozenset(("role", "content", "tool_calls", "tool_call_id"))


class Said(dict[str, Any]):
    """A message that was read, and what it was read from: unchanged, it goes to a model as it was said."""

    behind: tuple[Item, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Any], behind: Iterable[Item]) -> Self:
        """A message with the items that it shows."""
        message = cls(fields)
        message.behind = tuple(behind)
        return message


def messages_of(items: Iterable[Item]) -> list[Said]:
    """Items as messages. Thoughts and the like have none of their own, and go with the one they belong to."""
    found: list[Said] = []
    unsaid: list[Item] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(item, ToolCall) and last is not None and not unsaid and _belongs(item, last):
            last.setdefault("tool_calls", []).append(_call(item))
            last.behind += (item,)
            continue
        fields = _fields(item)
        if fields is None:
            unsaid.append(item)
        else:
            # A summary stands for others, which are not here: on its own it is words like any other.
            behind = () if isinstance(item, Summary | Note) else (*unsaid, item)
            found.append(Said.of(fields, behind))
            unsaid = []
    return found


def items_in(messages: object, section: str) -> tuple[Item, ...]:
    """What a section gave, as items: those it was read from where they are unchanged, else read anew."""
    if not isinstance(messages, list | tuple):
        raise WrongType(f"section {section!r} gives a list of messages, not {type(messages).__name__}")
    given: list[Any] = []
    for message in cast("list[Any]", messages):
        given += _unchanged(message) or [_plain(message)]
    return items_of(given, section)


def recorded(message: Mapping[str, Any], called: Mapping[str, str]) -> list[Item]:
    """A message as items to be kept, said now; `called` are the names of tools by the ids of their calls."""
    plain: Mapping[str, Any] = _plain(message)
    if plain.get("role") == "tool" and not plain.get("name"):
        plain = {**plain, "name": called.get(str(plain.get("tool_call_id")))}
    read = items_of([plain], "memory")
    items = [replace(item, id=new_id(), created_at=now()) for item in read]
    first = items[0].id
    own: dict[str, Any] = {_IS_TEXT: True} if isinstance(message.get("content"), str) else {}
    kept = {name: value for name, value in message.items() if name not in _FIELDS}
    if kept:
        own[_KEPT] = kept
    for place, item in enumerate(items):
        marks = {**({_OF: first} if isinstance(item, ToolCall) else {}), **(own if place == 0 else {})}
        if marks:
            items[place] = replace(item, extras={OURS: marks})
    return items


def text_content(text: str) -> dict[str, str]:
    """A text as the content of a message."""
    return {"text": text, "type": "text"}


def content_in(message: object) -> Content:
    """What somebody sends, as content: a text, a content, a message, or several of these."""
    if isinstance(message, Mapping) and "role" in message:
        told = cast("Mapping[str, Any]", message)
        if told["role"] != "user":
            raise WrongType("an agent is sent messages of the user; others are added to its memory")
        return parse_content(told.get("content"))
    if isinstance(message, list | tuple):
        parts = [part for one in cast("list[object]", message) for part in parts_of(content_in(one))]
        return parse_content(parts) if parts else ""
    return parse_content(message)  # pyright: ignore[reportUnknownArgumentType]


def _unchanged(message: Any) -> list[Item]:
    if not isinstance(message, Said) or not message.behind:
        return []
    return list(message.behind) if messages_of(message.behind) == [message] else []


def _plain(message: Any) -> Any:
    """A message in the shape that the engine reads: a reply of calls alone has no content."""
    if not isinstance(message, Mapping):
        return message
    told = cast("Mapping[str, Any]", message)
    content: Any = told.get("content")
    empty = content.get("text") == "" if isinstance(content, Mapping) else not content  # pyright: ignore
    return {**told, "content": None} if empty and told.get("tool_calls") else told


def _fields(item: Item) -> dict[str, Any] | None:
    match item:
        case Message():
            fields = {"role": item.role, "content": _content(item, item.content)}
        case Note() | Summary():
            fields = {"role": "system", "content": _content(item, content_for_model(item))}
        case ToolCall():
            fields = {"role": "assistant", "content": text_content(""), "tool_calls": [_call(item)]}
        case ToolResult():
            told = {"tool_call_id": item.call_id, "name": item.name}
            fields = {"role": "tool", "content": _content(item, item.content), **told}
        case _:
            return None
    return fields | {"timestamp": item.created_at} | cast("dict[str, Any]", thaw(_own(item).get(_KEPT, {})))


def _content(item: Item, content: Content) -> Any:
    if not isinstance(content, str):
        return [text_content(part) if isinstance(part, str) else part for part in parts_of(content)]
    return content if _own(item).get(_IS_TEXT) else text_content(content)


def _call(item: ToolCall) -> dict[str, Any]:
    function = {"name": item.name, "arguments": item.arguments}
    return {"id": item.call_id, "type": "function", "function": function}


def _belongs(call: ToolCall, last: Said) -> bool:
    if last["role"] != "assistant":
        return False
    first = _own(call).get(_OF)
    return first is None or any(item.id == first for item in last.behind)


def _own(item: Item) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", item.extras.get(OURS, {}))
