"""Items of the Responses API, as OpenAI Agents hands them around, and how they are kept as items of Quire."""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from quire.errors import Damaged
from quire.items import Content, Item, Message, Note, Reasoning, Summary, ToolCall, ToolResult
from quire.providers import NO_NAME, content_for_model, provider_for

Json = dict[str, Any]

NATIVE = "openai_agents"
"""Where an item keeps what its own fields do not say."""
_WIRE = provider_for("openai-responses")
_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')  # in JSON


class ItemCodec:
    """Items of the SDK, which are items of the Responses API; each is one item here.

    A native item that its item does not give back is kept in the `extras`, as JSON in which numbers stand in
    place of the long texts that the item has.
    """

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str]] = {}  # by id: the type and the name

    def read(self, message: Json) -> Sequence[Item]:
        """The one item of a native item."""
        call_id = id_of(message, "_output")
        name = self._calls.get(call_id or "", ("", NO_NAME))[1]
        call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}
        try:
            found = _WIRE.read_history({"input": [call, message] if call_id else [message]})
        except Damaged:
            found = []
        item = found[-1] if found else Reasoning()  # kept as it is, and never shown in other words
        if isinstance(item, ToolCall):
            self._calls[item.call_id] = message["type"], item.name
        kept = json.dumps(message)
        if kept == json.dumps(_plain(item)):
            return [item]
        for number, text in enumerate(_long_texts(item)):
            kept = kept.replace(text, f"§{number}§")  # JSON is written in ASCII
        return [replace(item, extras={NATIVE: kept})]

    def native(self, item: Item) -> Json:
        """The native item that an item was read from."""
        kept: str = item.extras.get(NATIVE, "")
        for number, text in enumerate(_long_texts(item) if "§" in kept else ()):
            kept = kept.replace(f"§{number}§", text)
        native: Json = json.loads(kept) if kept else _plain(item)
        if isinstance(item, ToolCall):
            self._calls[item.call_id] = native["type"], item.name
        return native

    def write(self, items: Sequence[Item], origin: Json | None) -> Json:
        """A native item, or a copy of one with other content."""
        plain = _plain(items[0])
        if origin is not None:
            return origin | {k: plain[k] for k in ("content", "output", "arguments") if k in plain}
        kind = self._calls.get(plain.get("call_id", ""), ("function_call", ""))[0]
        return plain | {"type": f"{kind}_output"} if "output" in plain else plain

    def identity(self, message: Json) -> str:
        """All of a native item."""
        return json.dumps(message)


def _plain(item: Item) -> Json:
    """The usual native item of an item."""
    if isinstance(item, ToolCall):
        fields = {"arguments": item.arguments, "call_id": item.call_id, "name": item.name}
        return fields | {"type": "function_call"}
    if isinstance(item, Reasoning):
        blocks: list[Json] = json.loads(item.state.data) if item.state and item.state.data else []
        return blocks[0] if len(blocks) == 1 else {}
    if isinstance(item, ToolResult):
        return {"call_id": item.call_id, "output": _content(item.content), "type": "function_call_output"}
    content = _content(content_for_model(cast("Message | Note | Summary", item)))
    return {"content": content, "role": item.role if isinstance(item, Message) else "user"}


def _content(content: Content) -> Any:
    if isinstance(content, str):
        return content
    return _WIRE.render([Message("user", content)]).payload["input"][0]["content"]


def _long_texts(item: Item) -> list[str]:
    """The texts of an item, as JSON, of which a second copy would take room."""
    return [text for text in _TEXT.findall(json.dumps(_plain(item))) if len(text) > 24]


def id_of(item: Json, end: str = "_call") -> str | None:
    """The id of the call that an item is, or whose result it is if the end of its type is `_output`."""
    return item.get("call_id") if str(item.get("type")).endswith(end) else None
