"""The floor: plain structs with ids and times in a plain list, plain loops to each wire, and no checks."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from libraries.adapter import Adapter
from quire.items import Address, Content, Opaque, Wording, new_id, now
from transcript import Entry, add_all

FIXED = {"frozen": True, "kw_only": True, "tag_field": "kind", "omit_defaults": True, "gc": False}


class Plain(msgspec.Struct, **FIXED):
    id: str = msgspec.field(default_factory=new_id)
    created_at: float = msgspec.field(default_factory=now)
    agent_id: str | None = None
    extras: dict[str, Any] | None = None


class PlainMessage(Plain, tag="message", **FIXED):
    role: Literal["system", "developer", "user", "assistant"]
    content: Content
    interrupted: bool = False
    wording: Wording | None = None
    address: Address | None = None
    state: Opaque | None = None


class PlainCall(Plain, tag="tool_call", **FIXED):
    call_id: str
    name: str
    arguments: str = "{}"
    state: Opaque | None = None


class PlainResult(Plain, tag="tool_result", **FIXED):
    call_id: str
    name: str
    content: Content
    is_error: bool = False


Json = dict[str, Any]
Turns = list[Json]

ROLES = {PlainCall: "assistant", PlainResult: "user"}

read: Callable[[str], Any] = msgspec.json.Decoder().decode


def openai(items: Sequence[Any]) -> Turns:
    """Messages of OpenAI's chat API."""
    turns: Turns = []
    open_to_calls = False
    for item in items:
        if type(item) is PlainCall:
            if not open_to_calls:
                turns.append({"role": "assistant", "content": None})
                open_to_calls = True
            turns[-1].setdefault("tool_calls", []).append(_function(item))
            continue
        turns.append(said(item))
        open_to_calls = type(item) is PlainMessage and item.role == "assistant"
    return turns


def said(item: Any) -> Json:
    """A message, or a result, of OpenAI's chat API."""
    if type(item) is PlainMessage:
        return {"role": item.role, "content": item.content}
    return {"role": "tool", "tool_call_id": item.call_id, "content": item.content}


def _function(call: Any) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def anthropic(items: Sequence[Any]) -> Json:
    """A payload of Anthropic's Messages API: roles take turns, instructions stand apart."""
    system, turns = _in_turns(items, "assistant", "content", _block)
    return {"system": system, "messages": turns}


def _block(item: Any) -> Json:
    if type(item) is PlainMessage:
        return {"type": "text", "text": item.content}
    if type(item) is PlainCall:
        return {"type": "tool_use", "id": item.call_id, "name": item.name, "input": read(item.arguments)}
    return {"type": "tool_result", "tool_use_id": item.call_id, "content": item.content}


def gemini(items: Sequence[Any]) -> Json:
    """A payload of Gemini: roles take turns, instructions stand apart."""
    system, turns = _in_turns(items, "model", "parts", _part)
    return {"config": {"system_instruction": system}, "contents": turns}


def _part(item: Any) -> Json:
    if type(item) is PlainMessage:
        return {"text": item.content}
    if type(item) is PlainCall:
        return {"functionCall": {"id": item.call_id, "name": item.name, "args": read(item.arguments)}}
    response = {"output": item.content}
    return {"functionResponse": {"id": item.call_id, "name": item.name, "response": response}}


def _in_turns(
    items: Sequence[Any], model: str, content: str, made: Callable[[Any], Json]
) -> tuple[Turns, Turns]:
    system: Turns = []
    turns: Turns = []
    last = ""
    for item in items:
        role = item.role if type(item) is PlainMessage else ROLES[type(item)]
        if role == "system":
            system.append(made(item))
        elif role == last:
            turns[-1][content].append(made(item))
        else:
            turns.append({"role": model if role == "assistant" else role, content: [made(item)]})
            last = role
    return system, turns


KINDS = (PlainMessage, PlainCall, PlainResult)


class History:
    """A list, the size of each item and their running sum; once rendered, the messages of OpenAI's wire."""

    __slots__ = ("items", "messages", "sizes", "sum")
    messages: list[Any]

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.sizes: list[int] = []
        self.sum = 0


def size_of(item: Any) -> int:
    """Four tokens, and one for each four characters."""
    text = item.arguments if type(item) is PlainCall else item.content
    return 4 + len(text) // 4


class Floor(Adapter):
    name = "floor"
    package = "msgspec"
    by_tokens = True
    how: ClassVar = {
        "append": "struct without checks, `list.append`",
        "memory": "struct without checks in a list",
        "fork": "`list.copy`",
        "truncate": "walk back over the known sizes, slice the list",
        "tokens": "running sum",
        "codec": "msgspec on structs without checks",
        "render": "one loop over the structs; for one more message: one dictionary, `list.copy`",
    }

    def __init__(self) -> None:
        self.encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
        self.decode = msgspec.json.Decoder(list[PlainMessage | PlainCall | PlainResult]).decode

    def new(self) -> History:
        return History([])

    def add(self, history: History, chat: Sequence[Entry]) -> None:
        add_all(history.items.append, chat, KINDS)

    def length(self, history: History) -> int:
        return len(history.items)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"": lambda history: History(history.items.copy())}

    def spare(self, history: History) -> History:
        return history

    def truncate(self, history: History, limit: int) -> History:
        kept = 0
        for size in reversed(history.sizes):
            limit -= size
            if limit < 0:
                break
            kept += 1
        return History(history.items[-kept:])

    def total(self, history: History) -> int:
        for item in history.items[len(history.sizes) :]:
            history.sizes.append(size := size_of(item))
            history.sum += size
        return history.sum

    def dump(self, history: History) -> bytes:
        return self.encode(history.items)

    def load(self, data: bytes) -> History:
        return History(self.decode(data))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {"openai": _kept, "anthropic": _of(anthropic), "gemini": _of(gemini)}

    def again(self, history: History, _write: Callable[[Any], Any]) -> list[Any]:
        history.messages.append(said(history.items[-1]))
        return history.messages.copy()

    def turns(self, payload: Any) -> list[Any]:
        return payload if isinstance(payload, list) else payload.get("messages") or payload["contents"]


def _kept(history: History) -> list[Any]:
    history.messages = openai(history.items)
    return history.messages


def _of(write: Callable[[Sequence[Any]], Any]) -> Callable[[History], Any]:
    return lambda history: write(history.items)


LIBRARY = Floor()
