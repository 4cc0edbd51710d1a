"""Messages as the engine keeps them, and back.

A message is one item, or with tool calls several: its words, if there are any, and one for each call. What
the engine has no field for is in the `extras` of an item under one key, so that it goes wherever it goes.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from msgspec.json import encode
from msgspec.structs import replace

from quire.bridges.a1.messages import Message
from quire.bridges.a1.naming import item_id_of, local_time, message_id_of
from quire.items import Item, Message as Words, Role, Summary, ToolCall, ToolResult, thaw
from quire.programs.recording import PROGRAM

OURS = "a1"
"""The key of `extras` under which the bridge keeps what the engine has no field for."""

OF = "of"
"""Under it, for a call: the item that its message begins with. A call without it was not recorded here."""

_UNKNOWN = "unknown"  # for the name or the call of a result that came without: the engine needs both
_KEPT = ("name", "tool_call_id", "tool_calls")


def items_of(message: Message, latest: float) -> list[Item]:
    """A message as items, to be put after what has the latest time so far.

    The engine shows by time, and A1 in the order of appending. So what is older gets that time, and its own
    is kept beside it.
    """
    time = max(message.timestamp.timestamp(), latest)
    items = _plain(message, time)
    shown = _first(items[0])
    assert shown is not None
    odd = {field: value for field in _KEPT if (value := getattr(message, field)) != getattr(shown, field)}
    if message.role == "assistant" and message.tool_calls:
        odd.pop("tool_calls", None)  # they are the items
    if shown.timestamp != message.timestamp:
        odd["timestamp"] = message.timestamp.timestamp()
    if odd:
        items[0] = replace(items[0], extras={OURS: {**_own(items[0]), **odd}})
    return items


def recorded(messages: Iterable[Message], latest: float = float("-inf")) -> list[Item]:
    """Messages as items, in their order, to be put after what has the latest time so far."""
    items: list[Item] = []
    for message in messages:
        items += items_of(message, latest)
        latest = items[-1].created_at
    return items


def in_messages(items: Iterable[Item]) -> Iterator[Item]:
    """Items of replies that came whole: the calls of each say which message they are part of."""
    first: str | None = None
    for item in items:
        is_said = isinstance(item, ToolCall) or (isinstance(item, Words) and item.role == "assistant")
        first = (first or item.id) if is_said else None if is_shown(item) else first
        yield replace(item, extras={**item.extras, OURS: {OF: first}}) if isinstance(item, ToolCall) else item


def join(messages: list[Message], item: Item) -> bool:
    """Show one item more: as a message, or as part of the last one; whether it is part of the last."""
    last = messages[-1] if messages else None
    if isinstance(item, ToolCall) and last is not None and _belongs(item, last):
        messages[-1] = replace(last, tool_calls=[*(last.tool_calls or ()), _call(item)])
        return True
    shown = _first(item)
    if shown is not None:
        messages.append(shown)
    return False


def is_shown(item: Item) -> bool:
    """Whether an item is a message, or a part of one."""
    return isinstance(item, Words | ToolResult | ToolCall | Summary)


def is_part(item: Item) -> bool:
    """Whether an item is a call that came after the first item of its message."""
    return isinstance(item, ToolCall) and _own(item).get(OF, item.id) != item.id


def _plain(message: Message, time: float) -> list[Item]:
    item_id = item_id_of(message.message_id)
    if message.role == "tool":
        call_id, name = message.tool_call_id or _UNKNOWN, message.name or _UNKNOWN
        return [ToolResult(call_id, name, message.content, id=item_id, created_at=time)]
    calls = (message.tool_calls or []) if message.role == "assistant" else []
    words = [Words(cast(Role, message.role), message.content, id=item_id, created_at=time)]
    items: list[Item] = [] if calls and not message.content else [*words]
    for call in calls:
        own_id = f"{item_id}:{len(items)}" if items else item_id
        items.append(_called(call, own_id, item_id, time))
    return items


def _called(call: dict[str, Any], own_id: str, first_id: str, time: float) -> ToolCall:
    function = call["function"]
    given = function.get("arguments", "{}")
    arguments = given if isinstance(given, str) else encode(given).decode()
    made = ToolCall(
        str(call["id"]),
        str(function["name"]),
        arguments,
        id=own_id,
        created_at=time,
        extras={OURS: {OF: first_id}},
    )
    return made if _call(made) == call else replace(made, extras={OURS: {OF: first_id, "call": call}})


def _first(item: Item) -> Message | None:
    """What an item shows by itself; nothing where A1 has no word for its kind."""
    fields = _fields(item)
    if fields is None:
        return None
    own = _own(item)
    fields |= {field: thaw(own[field]) for field in _KEPT if field in own}
    time = local_time(own.get("timestamp", item.created_at))
    return Message(**fields, timestamp=time, message_id=message_id_of(item.id))


def _fields(item: Item) -> dict[str, Any] | None:
    match item:
        case Words():
            return {"role": item.role, "content": item.text}
        case ToolResult():
            return {
                "role": "tool",
                "content": item.text,
                "name": item.name,
                "tool_call_id": item.call_id,
            }
        case ToolCall():
            return {"role": "assistant", "content": "", "tool_calls": [_call(item)]}
        case Summary():
            return {"role": "assistant", "content": item.text}
        case _:
            return None


def _call(item: ToolCall) -> dict[str, Any]:
    given = _own(item).get("call")
    if given is not None:
        return cast(dict[str, Any], thaw(given))
    function = {"name": item.name, "arguments": item.arguments}
    return {"id": item.call_id, "type": "function", "function": function}


def _belongs(call: ToolCall, last: Message) -> bool:
    of = _own(call).get(OF)
    if of is not None:
        return last.message_id == message_id_of(of)
    return last.role == "assistant" and call.agent_id != PROGRAM  # its calls are no part of a model's words


def _own(item: Item) -> dict[str, Any]:
    return cast(dict[str, Any], item.extras.get(OURS, {}))
