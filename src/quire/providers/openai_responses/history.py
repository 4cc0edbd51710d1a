"""OpenAI Responses: an existing input as items."""

from collections.abc import Mapping
from typing import Any, cast

from quire.errors import Damaged, QuireError, cut
from quire.items import Content, Item, Message, ToolCall, ToolResult
from quire.providers.json_values import json_text
from quire.providers.native import native_note
from quire.providers.openai_chat.blocks import entries, fields, read_content, read_output, text_at
from quire.providers.openai_chat.elsewhere import content_if_any, content_of
from quire.providers.openai_responses.outputs import Maker, outputs_of
from quire.providers.openai_responses.states import KEPT, NAME
from quire.providers.provider import Answer, plain_json, words_in
from quire.providers.sheet import Json
from quire.providers.wording import unmarked

_NAMELESS = "unknown"
_FOR_FUNCTIONS = ("function_call_output", "custom_tool_call_output")
_OF_ITS_ITEM = ("type", "id", "call_id", "name", "status", "execution", "output")
_PUT_OUT = KEPT | {"reasoning", "program_output"}


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """An input, or a payload that has one, as items; what is of no known kind becomes a note."""
    reader = _Reader(model or "")
    if isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
        if "input" not in body:
            raise Damaged("the payload has no input", "input")
        payload, reader = body["input"], _Reader(words_in(body.get("model")) or model or "")
        reader.instructed(body.get("instructions"))
    if isinstance(payload, str):
        return [*reader.items, Message("user", payload)]
    reader.read(payload, "input")
    return reader.items


class _Reader:
    """Goes through an input, remembering which call was for which tool."""

    def __init__(self, model: str) -> None:
        self.items: list[Item] = []
        self._maker = Maker(model, None, Answer().tool)
        self._names: dict[str, str] = {}
        self._call_ids: dict[str, str] = {}  # of calls by the ids of their items, which some outputs name

    def instructed(self, instructions: Any) -> None:
        if isinstance(instructions, str):
            self.items += [Message("system", instructions)] if instructions else []
        elif instructions is not None:
            self.read(instructions, "instructions")

    def read(self, values: Any, path: str) -> None:
        for index, value in enumerate(entries(values, path)):
            place = f"{path}[{index}]"
            self._take(fields(value, place), place)

    def _take(self, item: Json, path: str) -> None:
        kind = item.get("type", "message")
        if kind == "message":
            self._said(item, path)
        elif not isinstance(kind, str):
            raise Damaged("a type is a text", f"{path}.type")
        elif kind in _PUT_OUT or kind.endswith("_call"):
            self._put_out(item, path)
        elif kind.endswith("_output") and isinstance(self._call_id(item), str):
            self._answered({**item, "call_id": self._call_id(item)}, path)
        elif kind.endswith("_output") and kind not in _FOR_FUNCTIONS:
            self._put_out(item, path)  # a tool that the service itself ran
        else:
            self.items.append(native_note(item, NAME))

    def _said(self, item: Json, path: str) -> None:
        role: Any = item.get("role")
        if role == "assistant":
            content_if_any(item, path)
            self._put_out({**item, "type": "message"}, path)
            return
        if role not in ("system", "developer", "user"):
            raise Damaged(f"no such role: {cut(words_in(role))!r}", f"{path}.role")
        content, strange = read_content(content_of(item, path), f"{path}.content", NAME)
        if content or not strange:
            self.items.append(Message(role, content))
        self.items += strange

    def _put_out(self, item: Json, path: str) -> None:
        outputs = outputs_of(item, path, self._maker)
        if isinstance(item.get("id"), str) and isinstance(item.get("call_id"), str):
            self._call_ids[item["id"]] = item["call_id"]
        self._names |= {made.call_id: made.name for made in outputs if isinstance(made, ToolCall)}
        self.items += outputs

    def _call_id(self, item: Json) -> Any:
        """The id of the call that an output is for; that of a local shell may have only the item's."""
        call_id, item_id = item.get("call_id"), item.get("id")
        if call_id is not None or not isinstance(item_id, str):
            return call_id
        return item_id if item_id in self._names else self._call_ids.get(item_id)

    def _answered(self, item: Json, path: str) -> None:
        call_id = text_at(item, "call_id", path)
        if not call_id:
            raise Damaged("a result has the id of its call", f"{path}.call_id")
        content = _output(item, f"{path}.output")
        name = self._names.get(call_id) or words_in(item.get("name")) or _NAMELESS
        content, is_error = unmarked(content)
        self.items.append(ToolResult(call_id, name, content, is_error))


def _output(item: Json, path: str) -> Content:
    """What a call gave; what tools of the service give in a form of their own is its own JSON."""
    output: Any = item.get("output")
    if item["type"] in _FOR_FUNCTIONS:
        return read_output(output, path)
    if output is None:
        # What a search for tools found is in a field of its own.
        rest = {name: value for name, value in item.items() if name not in _OF_ITS_ITEM and value}
        return json_text(rest, path) if rest else ""
    alone = isinstance(output, Mapping)  # a screenshot
    try:
        content, strange = read_content([cast(Any, output)] if alone else output, path, NAME)
    except QuireError:
        return json_text(output, path)
    return json_text(output, path) if strange else content
