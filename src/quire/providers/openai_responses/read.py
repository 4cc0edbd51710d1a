"""OpenAI Responses: replies, streams and histories as items."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from quire.errors import Damaged, cut
from quire.items import Content, Image, Item
from quire.providers.importers import messages
from quire.providers.media import bytes_of
from quire.providers.openai_chat.content import read_content, read_output, text_or_blocks
from quire.providers.rules import without_failure
from quire.providers.state import ANY_MODEL, RESPONSES, pack
from quire.providers.stream import Items, ReplyReader, error_text, join_arguments, plain_history
from quire.providers.types import Answer
from quire.providers.values import (
    Json,
    entries_in,
    fields_in,
    json_text,
    list_at,
    object_at,
    object_in,
    text_in,
)

_CALL_INPUTS = {"function_call": "arguments", "custom_tool_call": "input"}
_CALL_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_CALL_FIELDS = ("namespace", "async")
_ITEM_FIELDS = ("type", "id", "call_id", "name", "status", "output", "execution")
_MODEL_ITEMS = (
    "compaction",
    "mcp_list_tools",
    "mcp_approval_request",
    "agent_message",
    "reasoning",
    "program",
)
_TEXTS = {"response.output_text": "text", "response.refusal": "refusal"}
_INPUTS = {
    "response.function_call_arguments": "function_call",
    "response.custom_tool_call_input": "custom_tool_call",
}
_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed")}

_Placed = tuple[str, Json]
"""An item of the wire with its path."""


# --- output items as items -------------------------------------------------------------------------------


def _placed(values: Any, path: str) -> list[_Placed]:
    found = [(f"{path}[{index}]", value) for index, value in enumerate(list_at(values, path))]
    items = [(place, object_at(value, place)) for place, value in found]
    for place, item in items:
        if not isinstance(item.get("type"), str | None):
            raise Damaged("the type of an item is text", f"{place}.type")
    return items


def _kind(item: Json) -> str:
    return text_in(item.get("type")) or "message"


def _add_output(output: Sequence[_Placed], made: Items) -> None:
    """Add output items; consecutive ones that no item stands for become one `Reasoning`."""
    for is_own, run in groupby(output, lambda pair: _is_own(pair[1])):
        found = list(run)
        if not is_own:
            made.keep([item for _, item in found], found[0][0])
            continue
        for path, item in found:
            _add_own(item, made, path)


def _is_own(item: Json) -> bool:
    """Whether an item stands for an output item: text, a thought, an image, or a call for the caller."""
    kind = _kind(item)
    if kind == "image_generation_call":
        return isinstance(item.get("result"), str)
    return kind in ("message", "reasoning", *_CALL_INPUTS) or _is_call(item)


def _is_call(item: Json) -> bool:
    """Whether an item is a call that the caller answers, also of a tool of the service."""
    return _kind(item).endswith("_call") and isinstance(item.get("call_id"), str)


def _add_own(item: Json, made: Items, path: str) -> None:
    kind = _kind(item)
    if kind == "message":
        phase = item.get("phase")
        state = made.state([{"phase": phase}], path) if isinstance(phase, str) else None
        made.say(read_content(item.get("content"), f"{path}.content"), state)
    elif kind == "reasoning":
        made.think([{k: v for k, v in item.items() if k != "status" and v is not None}], path)
    elif kind == "image_generation_call":
        data = bytes_of(item["result"])
        if not data:
            raise Damaged("the image is not base64", f"{path}.result")
        made.say((Image(data=data),))
    else:
        _add_call(item, kind, made, path)


def _add_call(item: Json, kind: str, made: Items, path: str) -> None:
    """Add a call of a function, of a custom tool, or of a tool of the service that the caller runs."""
    name, beside = item.get("name"), {field: item[field] for field in _CALL_FIELDS if item.get(field)}
    if kind == "function_call":
        given: Any = item.get("arguments")
    elif kind == "custom_tool_call":
        given, beside = {"input": item.get("input")}, {"type": kind, **beside}
    else:  # whoever answers it knows its fields
        given = {field: value for field, value in item.items() if field not in _ITEM_FIELDS}
        name, beside = item.get("name", kind), {}
    state = pack(RESPONSES, ANY_MODEL, [{"type": kind, **beside}], path=path) if beside else None
    made.call(item.get("call_id"), name, given, path, state)


# --- a reply ---------------------------------------------------------------------------------------------


class _Arriving:
    """An output item of a stream, and its text or arguments so far."""

    __slots__ = ("fields", "is_done", "pieces")

    def __init__(self, fields: Json) -> None:
        self.fields = fields
        self.pieces = text_in(fields.get(_CALL_INPUTS.get(_kind(fields), "")))
        self.is_done = False

    @property
    def is_call(self) -> bool:
        return _kind(self.fields) in _CALL_INPUTS

    def complete(self, *, has_ended: bool) -> Json | None:
        """The output item; None if it is not complete. Of a text the beginning is enough."""
        if self.is_call:
            held = _CALL_INPUTS[_kind(self.fields)]
            given = (self.is_done and self.fields.get(held)) or self.pieces
            is_whole = self.is_done or (has_ended and (held == "input" or object_in(given) is not None))
            return {**self.fields, held: given} if is_whole and self.fields.get("name") else None
        if not self.pieces or (self.is_done and self.fields.get("content")):
            return self.fields if self.is_done else None
        return {**self.fields, "content": [{"type": "output_text", "text": self.pieces}]}


class ResponsesReader(ReplyReader):
    """Joins events to output items, by their index, else by their id."""

    wire, expected = RESPONSES, "an event of Responses"

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._items: list[_Arriving] = []
        self._places: dict[int | str, _Arriving] = {}
        self._final: list[Any] = []

    def knows(self, event: Json) -> bool:
        return text_in(event.get("type")).startswith("response.")

    def take(self, event: Json) -> str:
        kind = text_in(event.get("type"))
        part, _, stage = kind.rpartition(".")
        if part in _TEXTS:
            message = self._at(event, {"type": "message"})
            text = text_in(event.get("delta"))
            if stage == "done":  # some services send a text at its end only
                whole = text_in(event.get(_TEXTS[part]))
                text = whole[len(message.pieces) :] if whole.startswith(message.pieces) else ""
            message.pieces += text
            return text
        if part == "response.output_item":
            item = object_at(event.get("item"), "$.item")
            arriving = self._at(event, item, begins=stage == "added")
            if arriving.is_done and arriving.fields.get("id") != item.get("id"):
                raise Damaged("two items have one index", "$.output_index")
            arriving.fields, arriving.is_done = item, stage == "done"
        elif part in _INPUTS:
            call = self._at(event, {"type": _INPUTS[part]})
            if stage == "delta":
                call.pieces = join_arguments(call.pieces, text_in(event.get("delta")))
            else:
                call.pieces = text_in(event.get(_CALL_INPUTS[_INPUTS[part]])) or call.pieces
        elif kind and event.get("response") is not None:
            self._take_response(object_at(event["response"], "$.response"), _ENDS.get(kind))
        return ""

    def take_whole(self, body: Json) -> None:
        self._take_response(body, "completed")  # other services than OpenAI's leave the status out
        if not isinstance(body.get("output"), list):
            raise Damaged("the response has no output", "$.output")

    def _take_response(self, body: Json, status: str | None) -> None:
        self.model = text_in(body.get("model")) or self.model
        self.error = error_text(body.get("error")) or self.error
        self.count(body.get("usage"))
        if status is None:
            return
        self._final = list_at(body.get("output"), "$.output")
        self.reason = text_in(body.get("status")) or status
        if self.reason == "incomplete":
            self.reason = text_in(fields_in(body.get("incomplete_details")).get("reason")) or self.reason

    def _at(self, event: Json, item: Json, *, begins: bool = False) -> _Arriving:
        """The item that an event names; some services send text without adding its item."""
        found = (event.get("output_index"), event.get("item_id"), item.get("id"))
        keys = [key for key in found if isinstance(key, int | str)]
        if not keys:
            raise Damaged("an event of an item has an index or an id", "$.output_index")
        known = self._places.get(keys[0])
        if known is None or (begins and known.fields.get("id") != item.get("id")):
            known = _Arriving(item)
            self._items.append(known)
        self._places |= dict.fromkeys(keys, known)
        return known

    def make_items(self) -> None:
        """Takes the items that arrived, or those that the final response lists, if these are more.

        Services leave items out of the final response, or all of them (bytedance/deer-flow#1928).
        """
        arrived: list[Any] = []
        for item in self._items:
            complete = item.complete(has_ended=self.reason is not None)
            if complete is not None:
                arrived.append(complete)
            elif item.is_call:
                self.has_half_call = True
        output = _placed(self._final if len(self._final) > len(arrived) else arrived, "$.output")
        blocks = [fields_in(block) for _, item in output for block in entries_in(item.get("content"))]
        self.is_refusal = any(block.get("type") == "refusal" for block in blocks)
        _add_output(output, self.made)


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """An input, or a payload that has one, as items."""
    body = plain_history(payload, "input")
    if body.get("input") is None:
        raise Damaged("the payload has no input", "$.input")
    made = Items(RESPONSES, Answer(model or text_in(body.get("model"))), is_history=True)
    given, instructions = body["input"], body.get("instructions")
    if isinstance(instructions, str):
        instructions = [{"role": "system", "content": instructions}] if instructions else None
    _add_input(_placed(instructions, "$.instructions"), made)
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    _add_input(_placed(given, "$.input"), made)
    return made.all


def _add_input(items: list[_Placed], made: Items) -> None:
    """Add input items; output items in a row are read together."""
    calls = {item["call_id"] for _, item in items if _is_call(item)}

    def role_of(pair: _Placed) -> str:
        """Who made an item: the model, a tool of the caller, or somebody else."""
        kind, item = _kind(pair[1]), pair[1]
        if kind == "message":
            return "model" if item.get("role") == "assistant" else "user"
        if kind.endswith("_output"):
            return "tool" if kind in _CALL_OUTPUTS or item.get("call_id") in calls else "model"
        return "model" if kind in _MODEL_ITEMS or kind.endswith("_call") else "user"

    for role, run in groupby(items, role_of):
        found = list(run)
        for path, item in found:
            if _kind(item) == "message":
                messages.refuse_ui_message(item, path)
            if role == "tool":
                _add_result(item, made, path)
            elif role == "user":
                _add_said(item, made, path)
        if role == "model":
            _add_output(found, made)


def _add_said(item: Json, made: Items, path: str) -> None:
    role: Any = item.get("role")
    if _kind(item) != "message":
        made.hear("user", json_text(item, path, ordered=True))
    elif role in ("system", "developer", "user"):
        made.hear(role, read_content(text_or_blocks(item, path), f"{path}.content"))
    else:
        raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")


def _add_result(item: Json, made: Items, path: str) -> None:
    if not text_in(item.get("call_id")):
        raise Damaged("a result names its call", f"{path}.call_id")
    content, is_error = without_failure(_output(item, path))
    made.result(item["call_id"], item.get("name"), content, is_error)


def _output(item: Json, path: str) -> Content:
    """The output of a call; what tools of the service give in a form of their own is JSON."""
    if item.get("output") is not None or item["type"] in _CALL_OUTPUTS:
        return read_output(item.get("output"), f"{path}.output")
    rest = {name: value for name, value in item.items() if name not in _ITEM_FIELDS and value}
    return json_text(rest, path) if rest else ""
