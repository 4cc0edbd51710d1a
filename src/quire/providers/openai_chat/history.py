"""OpenAI Chat Completions: an existing list of messages as items."""

from collections.abc import Mapping
from typing import Any

from quire.errors import Damaged, cut
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers.native import beside
from quire.providers.openai_chat.blocks import entries, fields, read_content, read_output, text_at
from quire.providers.openai_chat.outputs import LEGACY, outputs_of
from quire.providers.openai_chat.states import NAME, Maker
from quire.providers.provider import Answer, plain_json, words_in
from quire.providers.sheet import Json
from quire.providers.wording import unmarked

_NAMELESS = "unknown"


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages, or a payload that has one, as items; what is of no known kind becomes a note."""
    if isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
        if "messages" not in body:
            raise Damaged("the payload has no messages", "messages")
        model, payload = body.get("model") or model, body["messages"]
    reader = _Reader(words_in(model))
    for index, value in enumerate(entries(payload, "messages")):
        place = f"messages[{index}]"
        reader.take(fields(value, place), place)
    return reader.items


class _Reader:
    """Goes through messages, remembering which call was for which tool."""

    def __init__(self, model: str) -> None:
        self.items: list[Item] = []
        self._maker = Maker(model, None, Answer().tool)
        self._names: dict[str, str] = {}

    def take(self, message: Json, path: str) -> None:
        match message.get("role"):
            case "system" | "developer" | "user" as role:
                self._said(role, message, path)
            case "assistant":
                self._replied(message, path)
            case "tool":
                self._answered(text_at(message, "tool_call_id", path), message, path)
            case "function":
                self._answered(LEGACY, message, path)
            case role:
                raise Damaged(f"no such role: {cut(words_in(role))!r}", f"{path}.role")

    def _said(self, role: Any, message: Json, path: str) -> None:
        content, strange = read_content(message.get("content"), f"{path}.content", NAME)
        if content or not strange:
            named = beside(NAME, {"name": words_in(message.get("name"))})
            self.items.append(Message(role, content, extras=named))
        self.items += strange

    def _replied(self, message: Json, path: str) -> None:
        outputs = outputs_of(message, path, self._maker)
        self._names |= {item.call_id: item.name for item in outputs if isinstance(item, ToolCall)}
        self.items += outputs

    def _answered(self, call_id: str, message: Json, path: str) -> None:
        if not call_id:
            raise Damaged("a result has the id of its call", f"{path}.tool_call_id")
        content, strange = read_output(message.get("content"), f"{path}.content", NAME)
        name = self._names.get(call_id) or words_in(message.get("name")) or _NAMELESS
        content, is_error = unmarked(content)
        self.items.append(ToolResult(call_id, name, content, is_error))
        self.items += strange
