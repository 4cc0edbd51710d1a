"""Items of the Responses API, which OpenAI Agents uses for its history, as items of Quire and back."""

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
"""The key of `extras` that holds the JSON of a native item."""
_WIRE = provider_for("openai-responses")
_JSON_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


class ItemCodec:
    """Reads and writes native items: those of the SDK, which are items of the Responses API.

    Each native item is one item of Quire. If a native item cannot be rebuilt from that item alone, its JSON
    is kept in the `extras`. Long texts that the item itself holds are replaced there: `§0§` is the first of
    them.
    """

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str]] = {}  # by call id: the type and the name of the tool

    def read(self, message: Json) -> Sequence[Item]:
        """The one item of a native item."""
        call_id = id_of(message, "_output")
        name = self._calls.get(call_id or "", ("", NO_NAME))[1]
        call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}
        try:
            items = _WIRE.read_history({"input": [call, message] if call_id else [message]})
        except Damaged:
            items = []
        item = items[-1] if items else Reasoning()  # holds the native item in its extras, and says nothing
        if isinstance(item, ToolCall):
            self._calls[item.call_id] = message["type"], item.name
        text = json.dumps(message)
        if text == json.dumps(_plain(item)):
            return [item]
        for number, long_text in enumerate(_long_texts(item)):
            text = text.replace(long_text, f"§{number}§")  # json.dumps writes ASCII: it never writes a §
        return [replace(item, extras={NATIVE: text})]

    def native(self, item: Item) -> Json:
        """The native item that an item was read from."""
        text: str = item.extras.get(NATIVE, "")
        for number, long_text in enumerate(_long_texts(item) if "§" in text else ()):
            text = text.replace(f"§{number}§", long_text)
        native: Json = json.loads(text) if text else _plain(item)
        if isinstance(item, ToolCall):
            self._calls[item.call_id] = native["type"], item.name
        return native

    def write(self, items: Sequence[Item], origin: Json | None) -> Json:
        """A native item, or a copy of the origin with other content."""
        plain = _plain(items[0])
        if origin is not None:
            return origin | {k: plain[k] for k in ("content", "output", "arguments") if k in plain}
        kind = self._calls.get(plain.get("call_id", ""), ("function_call", ""))[0]
        return plain | {"type": f"{kind}_output"} if "output" in plain else plain

    def identity(self, message: Json) -> str:
        """The whole native item as JSON."""
        return json.dumps(message)


def _plain(item: Item) -> Json:
    """A native item with the fields that an item of Quire has."""
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
    """The JSON strings of an item that are long enough to be worth replacing."""
    return [text for text in _JSON_STRING.findall(json.dumps(_plain(item))) if len(text) > 24]


def id_of(item: Json, suffix: str = "_call") -> str | None:
    """The call id of a native item whose type ends with `suffix` (`_call`, or `_output`); None for others."""
    return item.get("call_id") if str(item.get("type")).endswith(suffix) else None
