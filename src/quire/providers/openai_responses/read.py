"""OpenAI Responses: replies, streams and histories as items."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from quire.errors import Damaged, cut
from quire.providers.parts import needed_content, part_from, read_content, read_output
from quire.providers.rules import without_failure
from quire.providers.state import ANY_MODEL, RESPONSES, pack
from quire.providers.stream import ItemBuilder, ReplyReader, WithPath, error_text, objects_at
from quire.providers.types import Rendered
from quire.providers.values import Json, entries_in, fields_in, json_text, list_at, object_at, text_in

_CALLS = ("function_call", "custom_tool_call")
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
_PIECES = {
    "response.output_text": ("message", "text"),
    "response.refusal": ("message", "refusal"),
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""By the events of pieces, the kind of the item and the field of the whole at the end."""
_GROWING = {"message": "content", "function_call": "arguments", "custom_tool_call": "input"}
_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed")}


# --- output items as items -------------------------------------------------------------------------------


def _kind(item: Json, path: str = "$") -> str:
    kind = item.get("type")
    if not isinstance(kind, str | None):
        raise Damaged("the type of an item is text", f"{path}.type")
    return kind or "message"


def _is_own(pair: WithPath) -> bool:
    """Whether an item stands for an output item: text, a thought, an image, or a call for the caller."""
    path, item = pair
    kind = _kind(item, path)
    if kind == "image_generation_call":
        return isinstance(item.get("result"), str)
    return kind in ("message", "reasoning", *_CALLS) or _is_call(item)


def _is_call(item: Json) -> bool:
    """Whether an item is a call that the caller answers, also of a tool of the service."""
    return text_in(item.get("type")).endswith("_call") and isinstance(item.get("call_id"), str)


def _add_output(output: Sequence[WithPath], builder: ItemBuilder) -> None:
    """Add output items; consecutive ones that no item stands for become one `Reasoning`."""
    for is_own, run in groupby(output, _is_own):
        found = list(run)
        if not is_own:
            builder.add_opaque([item for _, item in found], found[0][0])
            continue
        for path, item in found:
            _add_own(item, builder, path)


def _add_own(item: Json, builder: ItemBuilder, path: str) -> None:
    kind = _kind(item)
    if kind == "message":
        phase = item.get("phase")
        state = builder.pack_state([{"phase": phase}], path) if isinstance(phase, str) else None
        builder.add_message(read_content(item.get("content"), f"{path}.content"), state)
    elif kind == "reasoning":
        builder.add_thoughts([{k: v for k, v in item.items() if k != "status" and v is not None}], path)
    elif kind == "image_generation_call":
        image = part_from(item["result"], family="image")
        if image is None:
            raise Damaged("the image is not base64", f"{path}.result")
        builder.add_message((image,))
    else:
        _add_call(item, kind, builder, path)


def _add_call(item: Json, kind: str, builder: ItemBuilder, path: str) -> None:
    """Add a call of a function, of a custom tool, or of a tool of the service that the caller runs."""
    name, beside = item.get("name"), {field: item[field] for field in _CALL_FIELDS if item.get(field)}
    if kind == "function_call":
        given: Any = item.get("arguments")
    elif kind == "custom_tool_call":
        given, beside = {"input": item.get("input")}, {"type": kind, **beside}
    else:  # the caller, who runs the tool, knows its fields
        given = {field: value for field, value in item.items() if field not in _ITEM_FIELDS}
        name, beside = item.get("name", kind), {}
    state = pack(RESPONSES, ANY_MODEL, [{"type": kind, **beside}], path=path) if beside else None
    builder.add_call(item.get("call_id"), name, given, path, state)


# --- a reply ---------------------------------------------------------------------------------------------


class _Arriving:
    """An output item of a stream, and its text or arguments so far."""

    __slots__ = ("fields", "is_done", "text")

    def __init__(self, fields: Json) -> None:
        self.fields = fields
        self.text = ""
        self.is_done = False

    def whole(self) -> Json | None:
        """The output item; None if it did not arrive whole. Of a text or a call the beginning is enough."""
        field = _GROWING.get(_kind(self.fields))
        if field is None or (self.is_done and self.fields.get(field)):
            return self.fields if self.is_done else None
        if field == "content":
            return {**self.fields, field: [{"type": "output_text", "text": self.text}]}
        return {**self.fields, field: self.text or self.fields.get(field)}


class ResponsesReader(ReplyReader):
    """Joins events to output items, by their index, else by their id."""

    wire = RESPONSES

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        super().__init__(sent, model)
        self._items: list[_Arriving] = []
        self._places: dict[int | str, _Arriving] = {}
        self._final: list[Any] = []

    def read_event(self, event: Json) -> str:
        kind = text_in(event.get("type"))
        part, _, stage = kind.rpartition(".")
        if part in _PIECES:
            of, field = _PIECES[part]
            arriving, text = self._at(event, {"type": of}), text_in(event.get("delta"))
            if stage == "done":  # some services send a text at its end only
                text = "" if arriving.text else text_in(event.get(field))
            arriving.text += text
            return text if of == "message" else ""
        if part == "response.output_item":
            item = object_at(event.get("item"), "$.item")
            arriving = self._at(event, item, begins=stage == "added")
            arriving.fields, arriving.is_done = item, stage == "done"
        elif kind and event.get("response") is not None:
            self._read_response(object_at(event["response"], "$.response"), _ENDS.get(kind))
        return ""

    def read_whole(self, body: Json) -> None:
        self._read_response(body, "completed")  # other services than OpenAI's leave the status out
        if not isinstance(body.get("output"), list):
            raise Damaged("the response has no output", "$.output")

    def _read_response(self, body: Json, status: str | None) -> None:
        self.model = text_in(body.get("model")) or self.model
        self.error = error_text(body.get("error")) or self.error
        self.add_usage(body.get("usage"))
        if status is None:
            return
        self._final = list_at(body.get("output"), "$.output")
        self.finish_reason = text_in(body.get("status")) or status
        if self.finish_reason == "incomplete":
            self.finish_reason = (
                text_in(fields_in(body.get("incomplete_details")).get("reason")) or self.finish_reason
            )

    def _at(self, event: Json, item: Json, *, begins: bool = False) -> _Arriving:
        """The item that an event names; some services send text without adding its item."""
        item_id = item.get("id") or event.get("item_id")
        keys = [key for key in (event.get("output_index"), item_id) if isinstance(key, int | str)]
        if not keys:
            raise Damaged("an event of an item has an index or an id", "$.output_index")
        known = self._places.get(keys[0])
        # Some services give all items one index.
        if known is None or ((begins or known.is_done) and item_id not in (None, known.fields.get("id"))):
            known = _Arriving(item)
            self._items.append(known)
        self._places |= dict.fromkeys(keys, known)
        return known

    def build_items(self) -> None:
        """Takes the items that arrived, or those that the final response lists, if these are more.

        Services leave items out of the final response, or all of them (bytedance/deer-flow#1928).
        """
        arrived = [item for arriving in self._items if (item := arriving.whole()) is not None]
        output = objects_at(max(arrived, self._final, key=len), "$.output")
        blocks = [fields_in(block) for _, item in output for block in entries_in(item.get("content"))]
        self.is_refusal = any(block.get("type") == "refusal" for block in blocks)
        _add_output(output, self.builder)


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the input of a payload."""
    for role, field in (("system", "instructions"), ("user", "input")):
        given = body.get(field)
        if isinstance(given, str):
            given = [{"role": role, "content": given}] if given else []
        _add_input(objects_at(given, f"$.{field}"), builder)


def _add_input(items: list[WithPath], builder: ItemBuilder) -> None:
    """Add input items; output items in a row are read together."""
    calls = {item["call_id"] for _, item in items if _is_call(item)}

    def role_of(pair: WithPath) -> str:
        """Who made an item: the model, a tool of the caller, or somebody else."""
        path, item = pair
        kind = _kind(item, path)
        if kind == "message":
            return "model" if item.get("role") == "assistant" else "user"
        if kind.endswith("_output"):
            return "tool" if kind in _CALL_OUTPUTS or item.get("call_id") in calls else "model"
        return "model" if kind in _MODEL_ITEMS or kind.endswith("_call") else "user"

    for role, run in groupby(items, role_of):
        found = list(run)
        for path, item in found:
            if item.get("parts"):
                raise Damaged(
                    "a message of a user interface: read it as a history of openai", f"{path}.parts"
                )
            if role == "tool":
                _add_result(item, builder, path)
            elif role == "user":
                _add_said(item, builder, path)
        if role == "model":
            _add_output(found, builder)


def _add_said(item: Json, builder: ItemBuilder, path: str) -> None:
    role: Any = item.get("role")
    if _kind(item) != "message":
        builder.add_input("user", json_text(item, path, ordered=True))
    elif role in ("system", "developer", "user"):
        builder.add_input(role, needed_content(item, path))
    elif role is None and not item.get("type"):
        raise Damaged("an item has a type or a role", f"{path}.type")
    else:
        raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")


def _add_result(item: Json, builder: ItemBuilder, path: str) -> None:
    if not text_in(item.get("call_id")):
        raise Damaged("a result names its call", f"{path}.call_id")
    content, is_error = without_failure(read_output(item.get("output"), f"{path}.output"))
    builder.add_result(item["call_id"], text_in(item.get("name")), content, is_error)
