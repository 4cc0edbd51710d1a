"""OpenAI Responses: reads replies, streams and histories as items."""

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
_DELTA_EVENTS = {
    "response.output_text": ("message", "text"),
    "response.refusal": ("message", "refusal"),
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""By event: the type of its output item, and the field with the whole text in the last event."""
_STREAMED_FIELDS = {"message": "content", "function_call": "arguments", "custom_tool_call": "input"}
_STATUS_BY_EVENT = {f"response.{status}": status for status in ("completed", "incomplete", "failed")}


# --- output of the model ---------------------------------------------------------------------------------


def _kind(item: Json, path: str = "$") -> str:
    kind = item.get("type")
    if not isinstance(kind, str | None):
        raise Damaged("the type of an item must be text", f"{path}.type")
    return kind or "message"


def _is_readable(pair: WithPath) -> bool:
    """Whether Quire has a kind of item for it: text, thought, image, or a call that the caller runs."""
    path, item = pair
    kind = _kind(item, path)
    if kind == "image_generation_call":
        return isinstance(item.get("result"), str)
    return kind in ("message", "reasoning", *_CALLS) or _is_call(item)


def _is_call(item: Json) -> bool:
    """Whether an item is a call that the caller answers; the tool may be one of the service."""
    return text_in(item.get("type")).endswith("_call") and isinstance(item.get("call_id"), str)


def _add_output(output: Sequence[WithPath], builder: ItemBuilder) -> None:
    """Add output items; consecutive ones that Quire has no kind for become one `Reasoning`."""
    for is_readable, group in groupby(output, _is_readable):
        run = list(group)
        if not is_readable:
            builder.add_opaque([item for _, item in run], run[0][0])
            continue
        for path, item in run:
            _add_output_item(item, builder, path)


def _add_output_item(item: Json, builder: ItemBuilder, path: str) -> None:
    kind = _kind(item)
    if kind == "message":
        phase = item.get("phase")
        state = builder.pack_state([{"phase": phase}], path) if isinstance(phase, str) else None
        builder.add_message(read_content(item.get("content"), f"{path}.content"), state)
    elif kind == "reasoning":
        fields = {name: value for name, value in item.items() if name != "status" and value is not None}
        builder.add_thoughts([fields], path)
    elif kind == "image_generation_call":
        image = part_from(item["result"], family="image")
        if image is None:
            raise Damaged("the image is not base64", f"{path}.result")
        builder.add_message((image,))
    else:
        _add_call(item, kind, builder, path)


def _add_call(item: Json, kind: str, builder: ItemBuilder, path: str) -> None:
    """Add a call of a function, of a custom tool, or of a tool of the service that the caller runs."""
    name, extra = item.get("name"), {field: item[field] for field in _CALL_FIELDS if item.get(field)}
    if kind == "function_call":
        arguments: Any = item.get("arguments")
    elif kind == "custom_tool_call":
        arguments, extra = {"input": item.get("input")}, {"type": kind, **extra}
    else:  # a tool of the service: its own fields are the arguments
        arguments = {field: value for field, value in item.items() if field not in _ITEM_FIELDS}
        name, extra = item.get("name", kind), {}
    state = pack(RESPONSES, ANY_MODEL, [{"type": kind, **extra}], path=path) if extra else None
    builder.add_call(item.get("call_id"), name, arguments, path, state)


# --- a reply ---------------------------------------------------------------------------------------------


class _StreamedItem:
    """An output item of a stream, with its text or arguments so far."""

    __slots__ = ("fields", "is_done", "text")

    def __init__(self, fields: Json) -> None:
        self.fields = fields
        self.text = ""
        self.is_done = False

    def usable(self) -> Json | None:
        """The output item. If it is incomplete: the text or call so far, and None for other types."""
        field = _STREAMED_FIELDS.get(_kind(self.fields))
        if field is None or (self.is_done and self.fields.get(field)):
            return self.fields if self.is_done else None
        if field == "content":
            return {**self.fields, field: [{"type": "output_text", "text": self.text}]}
        return {**self.fields, field: self.text or self.fields.get(field)}


class ResponsesReader(ReplyReader):
    """Joins events into output items by their index, or by their id if they have no index."""

    wire = RESPONSES

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        super().__init__(sent, model)
        self._items: list[_StreamedItem] = []
        self._items_by_key: dict[int | str, _StreamedItem] = {}  # by index and by id
        self._final_output: list[Any] = []

    def read_event(self, event: Json) -> str:
        kind = text_in(event.get("type"))
        part, _, stage = kind.rpartition(".")
        if part in _DELTA_EVENTS:
            item_type, field = _DELTA_EVENTS[part]
            streamed, text = self._item_of(event, {"type": item_type}), text_in(event.get("delta"))
            if stage == "done":  # some services send the text only in this event
                text = "" if streamed.text else text_in(event.get(field))
            streamed.text += text
            return text if item_type == "message" else ""
        if part == "response.output_item":
            item = object_at(event.get("item"), "$.item")
            streamed = self._item_of(event, item, is_first=stage == "added")
            streamed.fields, streamed.is_done = item, stage == "done"
        elif kind and event.get("response") is not None:
            self._read_response(object_at(event["response"], "$.response"), _STATUS_BY_EVENT.get(kind))
        return ""

    def read_whole(self, body: Json) -> None:
        self._read_response(body, "completed")  # services of other makers leave the status out
        if not isinstance(body.get("output"), list):
            raise Damaged("the response has no output", "$.output")

    def _read_response(self, body: Json, status: str | None) -> None:
        self.model = text_in(body.get("model")) or self.model
        self.error = error_text(body.get("error")) or self.error
        self.add_usage(body.get("usage"))
        if status is None:
            return
        self._final_output = list_at(body.get("output"), "$.output")
        self.finish_reason = text_in(body.get("status")) or status
        if self.finish_reason == "incomplete":
            details = fields_in(body.get("incomplete_details"))
            self.finish_reason = text_in(details.get("reason")) or self.finish_reason

    def _item_of(self, event: Json, item: Json, *, is_first: bool = False) -> _StreamedItem:
        """The item of an event; a new one if there is none, because some services send no event for it."""
        item_id = item.get("id") or event.get("item_id")
        keys = [key for key in (event.get("output_index"), item_id) if isinstance(key, int | str)]
        if not keys:
            raise Damaged("an event of an item must have an index or an id", "$.output_index")
        known = self._items_by_key.get(keys[0])
        # Some services send the same index for all items.
        if known is None or ((is_first or known.is_done) and item_id not in (None, known.fields.get("id"))):
            known = _StreamedItem(item)
            self._items.append(known)
        self._items_by_key |= dict.fromkeys(keys, known)
        return known

    def build_items(self) -> None:
        """Use the streamed items, or those of the final response if it lists more.

        Some services leave items out of the final response (bytedance/deer-flow#1928).
        """
        streamed = [fields for item in self._items if (fields := item.usable()) is not None]
        output = objects_at(max(streamed, self._final_output, key=len), "$.output")
        blocks = [fields_in(block) for _, item in output for block in entries_in(item.get("content"))]
        self.is_refusal = any(block.get("type") == "refusal" for block in blocks)
        _add_output(output, self.builder)


# --- a history -------------------------------------------------------------------------------------------


def add_history(body: Json, builder: ItemBuilder) -> None:
    """Add the input of a payload."""
    for role, field in (("system", "instructions"), ("user", "input")):
        items = body.get(field)
        if isinstance(items, str):
            items = [{"role": role, "content": items}] if items else []
        _add_input(objects_at(items, f"$.{field}"), builder)


def _add_input(items: list[WithPath], builder: ItemBuilder) -> None:
    """Add input items; consecutive items of the model are read together."""
    call_ids = {item["call_id"] for _, item in items if _is_call(item)}

    def role_of(pair: WithPath) -> str:
        """Who made an item: the model, a tool of the caller, or the user."""
        path, item = pair
        kind = _kind(item, path)
        if kind == "message":
            return "model" if item.get("role") == "assistant" else "user"
        if kind.endswith("_output"):
            return "tool" if kind in _CALL_OUTPUTS or item.get("call_id") in call_ids else "model"
        return "model" if kind in _MODEL_ITEMS or kind.endswith("_call") else "user"

    for role, group in groupby(items, role_of):
        run = list(group)
        for path, item in run:
            if item.get("parts"):
                raise Damaged(
                    "this is a UIMessage (it has parts): read the history with the provider openai",
                    f"{path}.parts",
                )
            if role == "tool":
                _add_result(item, builder, path)
            elif role == "user":
                _add_input_item(item, builder, path)
        if role == "model":
            _add_output(run, builder)


def _add_input_item(item: Json, builder: ItemBuilder, path: str) -> None:
    role: Any = item.get("role")
    if _kind(item) != "message":
        builder.add_input("user", json_text(item, path, ordered=True))
    elif role in ("system", "developer", "user"):
        builder.add_input(role, needed_content(item, path))
    elif role is None and not item.get("type"):
        raise Damaged("an item must have a type or a role", f"{path}.type")
    else:
        raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")


def _add_result(item: Json, builder: ItemBuilder, path: str) -> None:
    if not text_in(item.get("call_id")):
        raise Damaged("a result must name its call", f"{path}.call_id")
    content, is_error = without_failure(read_output(item.get("output"), f"{path}.output"))
    builder.add_result(item["call_id"], text_in(item.get("name")), content, is_error)
