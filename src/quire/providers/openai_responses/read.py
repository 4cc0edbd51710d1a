"""OpenAI Responses: replies, streams and histories as items."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any, cast

from quire.errors import Damaged, cut
from quire.items import Content, Image, Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers.importers import ai_sdk, langchain
from quire.providers.media import bytes_of
from quire.providers.openai_chat.content import (
    anthropic_thought,
    read_content,
    read_output,
    read_usage,
    text_or_blocks,
)
from quire.providers.rules import without_failure
from quire.providers.state import ANY_MODEL, RESPONSES, blocks_text, made_by, pack
from quire.providers.stream import (
    HALF_CALL,
    CallIds,
    StreamErrors,
    TextPieces,
    arguments_text,
    error_in,
    error_text,
    finish_of,
    finished,
    is_complete,
    join_arguments,
)
from quire.providers.types import Answer, Parsed
from quire.providers.values import (
    Json,
    entries_in,
    fields_in,
    json_text,
    list_at,
    object_at,
    plain_json,
    text_at,
    text_in,
)

_CALL_INPUTS = {"function_call": "arguments", "custom_tool_call": "input"}
_CALL_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_CALL_FIELDS = ("namespace", "async")
_ITEM_FIELDS = ("type", "id", "call_id", "name", "status", "output")
_MODEL_ITEMS = frozenset(
    ("compaction", "mcp_list_tools", "mcp_approval_request", "agent_message", "reasoning", "program")
)
_TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_TEXT_ENDS = {"response.output_text.done": "text", "response.refusal.done": "refusal"}
_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed")}


# --- output items as items -------------------------------------------------------------------------------


class _Maker:
    """Makes items of output items of the model."""

    def __init__(self, answer: Answer, model: str, ids: CallIds, *, is_history: bool = False) -> None:
        self._answer = answer
        self._model = model
        self._ids = ids
        self._is_history = is_history

    def items(self, output: list[tuple[str, Json]]) -> list[Item]:
        """All items; consecutive output items that no item stands for become one `Reasoning`."""
        found: list[Item] = []
        for is_own, run in groupby(output, lambda pair: _is_own(pair[1])):
            if is_own:
                found += [item for path, fields in run for item in self._own(fields, path)]
            else:
                blocks = [fields for _, fields in run]
                found.append(Reasoning(blocks_text(RESPONSES, blocks), self._state(blocks)))
        return found

    def _own(self, item: Json, path: str) -> list[Item]:
        kind = item.get("type") or "message"
        if kind == "message":
            return self._said(item, path)
        if kind == "reasoning":
            raw = {name: value for name, value in item.items() if name != "status" and value is not None}
            return [Reasoning(blocks_text(RESPONSES, [raw]), self._state([raw], path))]
        if kind == "image_generation_call":
            data = bytes_of(item["result"])
            if not data:
                raise Damaged("the image is not base64", f"{path}.result")
            return [Message("assistant", (Image(data=data),))]
        return [self._call(item, path)]

    def _said(self, item: Json, path: str) -> list[Item]:
        content, phase = item.get("content"), item.get("phase")
        state = self._state([{"phase": phase}], path) if isinstance(phase, str) else None
        items: list[Item] = []
        rest: Any = content
        if isinstance(content, list | tuple):
            rest = []
            for block in cast("list[Any]", content):
                thought = self._thought(fields_in(block), path)
                if thought is None:
                    rest.append(block)
                else:
                    items += [*_message(rest, state, path), thought]
                    rest = []
        return [*items, *_message(rest, state, path)]

    def _thought(self, block: Json, path: str) -> Reasoning | None:
        """A thought among the blocks of a message, as libraries keep it."""
        foreign = anthropic_thought(block, self._model, path)
        thought = langchain.thought_in(block) if foreign is None else None
        return foreign if thought is None else Reasoning(thought[0], self._state((), path))

    def _call(self, item: Json, path: str) -> ToolCall:
        """A call of a function, of a custom tool, or of a tool of the service that the caller runs."""
        kind, wire_id = item["type"], item.get("call_id")
        if not isinstance(wire_id, str | None) or (self._is_history and not wire_id):
            raise Damaged("a call has an id", f"{path}.call_id")
        beside = {name: item[name] for name in _CALL_FIELDS if item.get(name)}
        if kind == "function_call":
            given: Any = item.get("arguments")
        elif kind == "custom_tool_call":
            given, beside = {"input": item.get("input")}, {"type": kind, **beside}
        else:  # whoever answers it knows its fields
            given = {name: value for name, value in item.items() if name not in _ITEM_FIELDS}
            item, beside = {"name": kind, **item}, {}
        tool = self._answer.tool(text_at(item, "name", path))
        if not tool:
            raise Damaged("a call has a name", f"{path}.name")
        arguments = arguments_text(self._answer, tool, given, path)
        state = pack(RESPONSES, ANY_MODEL, [{"type": kind, **beside}], path=path) if beside else None
        return ToolCall(self._ids.give(wire_id, tool), tool, arguments, state)

    def _state(self, blocks: Any, path: str = "$") -> Opaque:
        return made_by(RESPONSES, self._answer, self._model, blocks, path)


def _is_own(item: Json) -> bool:
    """Whether an item stands for an output item: text, a thought, an image, or a call for the caller."""
    kind = item.get("type") or "message"
    if kind in ("message", "reasoning", *_CALL_INPUTS):
        return True
    if kind == "image_generation_call":
        return isinstance(item.get("result"), str)
    return isinstance(kind, str) and kind.endswith("_call") and isinstance(item.get("call_id"), str)


def _message(content: Any, state: Opaque | None, path: str) -> list[Item]:
    said = read_content(content, f"{path}.content")
    return [Message("assistant", said, state=state)] if said else []


# --- a whole response ------------------------------------------------------------------------------------


def parse(response: Any, answer: Answer) -> Parsed:
    """A whole response."""
    body = plain_json(response)
    error = error_in(body)
    if not isinstance(body.get("output"), list | tuple):
        if error is None:
            raise Damaged("the response has no output", "output")
        return Parsed((), None, "other", text_in(body.get("model")) or None, error)
    return _assembled(body, list_at(body["output"], "output"), answer, error)


def _assembled(
    body: Json, output: list[Any], answer: Answer, error: str | None, *, ended: bool = True
) -> Parsed:
    """An answer from its output items and from the fields of its response."""
    model = text_in(body.get("model"))
    places = [(f"output[{index}]", item) for index, item in enumerate(output)]
    given = [(path, object_at(item, path)) for path, item in places]
    for path, item in given:
        if not isinstance(item.get("type"), str | None):
            raise Damaged("the type of an item is text", f"{path}.type")
    items = _Maker(answer, model, CallIds()).items(given)
    reason = _reason(body) if ended else None
    finish = finish_of(RESPONSES, reason)
    if finish == "stop" and any(_is_refusal(item) for _, item in given):
        finish = "refused"
    elif finish == "stop" and any(isinstance(item, ToolCall) for item in items):
        finish = "calls"
    usage = read_usage(body.get("usage"), "input_tokens", "output_tokens")
    return finished(items, reason, finish, error, usage=usage, model=model)


def _reason(body: Json) -> str:
    """Why an answer ended; other services than OpenAI's leave the status out."""
    status = text_in(body.get("status")) or "completed"
    if status != "incomplete":
        return status
    return text_in(fields_in(body.get("incomplete_details")).get("reason")) or status


def _is_refusal(item: Json) -> bool:
    blocks = entries_in(item.get("content")) if item.get("type") == "message" else []
    return any(fields_in(block).get("type") == "refusal" for block in blocks)


# --- a stream --------------------------------------------------------------------------------------------


class _Arriving:
    """An output item of a stream: as it was added, its text or arguments so far, and as it was done."""

    __slots__ = ("added", "closed", "done", "given", "is_given", "texts")

    def __init__(self, added: Json) -> None:
        self.added = added
        self.done: Json | None = None
        self.texts: list[str] = []
        self.closed = 0  # how many of the texts are complete
        self.given = ""
        self.is_given = False  # whether the arguments are complete

    @property
    def call_input(self) -> str | None:
        return _CALL_INPUTS.get(text_in((self.done or self.added).get("type")))

    def close_text(self, text: str) -> str:
        """Take a complete text; returns what had not arrived of it."""
        arrived = "".join(self.texts[self.closed :])
        is_repeated = not arrived and "".join(self.texts).endswith(text)
        more = text[len(arrived) :] if text.startswith(arrived) and not is_repeated else ""
        if arrived or more:
            self.texts[self.closed :] = [arrived + more]
            self.closed = len(self.texts)
        return more

    def item(self, *, ended: bool) -> Json | None:
        """The output item, as far as it can be used."""
        if self.call_input is not None:
            return self._call(self.call_input, ended)
        if not any(self.texts) or (self.done is not None and self.done.get("content")):
            return self.done
        block = {"type": "output_text", "text": "".join(self.texts)}
        fields = self.done or {"type": "message", "phase": self.added.get("phase")}
        return {**fields, "content": [block]}

    def _call(self, held: str, ended: bool) -> Json | None:
        """The call, with the arguments that arrived if it has none of its own."""
        fields = self.done or self.added
        own = fields.get(held)
        given = self.given if self.given and own in (None, "", "{}") else own or ""
        is_whole = self.done is not None or (ended and (self.is_given or is_complete(text_in(given))))
        return {**fields, held: given} if is_whole and text_in(fields.get("name")) else None


def _keys(fields: Json, item: Json) -> list[int | str]:
    """What an event names its item by, the surest first."""
    found = (fields.get("output_index"), fields.get("item_id"), item.get("id"), item.get("call_id"))
    return [key for key in found if isinstance(key, int | str) and key != ""]


class Stream:
    """Joins events to output items: by their index, else by their id, else in their order."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._items: list[_Arriving] = []
        self._places: dict[int | str, _Arriving] = {}
        self._response: Json = {}
        self._status: str | None = None
        self._errors = StreamErrors("an event of Responses")
        self._pieces = TextPieces()
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        """Take an event; returns the text that it added, if any."""
        fields = plain_json(event)
        kind = text_in(fields.get("type"))
        self._errors.look(fields, is_known=kind.startswith("response."))
        if kind in _TEXT_DELTAS:
            text = text_in(fields.get("delta"))
            self._at(fields, "message").texts.append(text)
            return self._pieces.next(text)
        if kind in _TEXT_ENDS:
            text = text_in(fields.get(_TEXT_ENDS[kind]))
            return self._pieces.next(self._at(fields, "message").close_text(text))
        if kind == "response.output_item.added":
            item = object_at(fields.get("item") or {}, "item")
            self._begin(fields, item)
        elif kind == "response.output_item.done":
            item = object_at(fields.get("item"), "item")
            (self._find(fields, item) or self._begin(fields, item)).done = item
        elif (call := kind.removeprefix("response.").rpartition(".")[0]).endswith(("_arguments", "_input")):
            self._take_input(call.rpartition("_")[0], fields)
        elif kind and fields.get("response") is not None:
            self._response = object_at(fields["response"], "response")
            self._status = _ENDS.get(kind)
        return ""

    def _take_input(self, call: str, fields: Json) -> None:
        """Take a piece of the arguments of a call, or all of them."""
        if call not in _CALL_INPUTS:
            return  # of a tool that the service runs
        item = self._at(fields, call)
        if fields["type"].endswith(".delta"):
            piece = text_in(fields.get("delta"))
            is_json = call == "function_call"
            item.given = join_arguments(item.given, piece) if is_json else item.given + piece
        elif whole := text_in(fields.get(_CALL_INPUTS[call])):
            item.given, item.is_given = whole, True

    def _find(self, fields: Json, item: Json) -> _Arriving | None:
        """The item of an event: by its index, else by an id, else the last one, if that is still open."""
        keys = _keys(fields, item)
        if keys and isinstance(keys[0], int):
            return self._places.get(keys[0])
        if keys:
            return next((self._places[key] for key in keys if key in self._places), None)
        last = self._items[-1] if self._items else None
        is_same = last is not None and last.added.get("type") == item.get("type") and last.done is None
        return last if is_same else None

    def _begin(self, fields: Json, item: Json) -> _Arriving:
        known = self._find(fields, item)
        is_again = known is not None and all(
            known.added.get(name) == item.get(name) for name in ("type", "id")
        )
        arriving = known if known is not None and is_again else _Arriving(item)
        if arriving is not known:
            self._items.append(arriving)
        for key in _keys(fields, item):
            self._places[key] = arriving
        return arriving

    def _at(self, fields: Json, kind: str) -> _Arriving:
        """The item of an event; some services send text without adding its item."""
        return self._find(fields, {"type": kind}) or self._begin(fields, {"type": kind})

    def close(self) -> Parsed:
        """The answer so far; an answer that did not come to its end is marked as interrupted."""
        if self._parsed is None:
            error = error_text(self._response.get("error")) or self._errors.error
            ended = self._status is not None
            body = {**self._response, "status": self._response.get("status") or self._status}
            parsed = _assembled(body, self._output(), self._answer, error, ended=ended)
            half = any(item.call_input and item.item(ended=True) is None for item in self._items)
            if ended and half and parsed.error is None and parsed.finish in ("stop", "calls"):
                parsed = parsed._replace(finish="other", error=HALF_CALL)
            self._parsed = parsed._replace(error=parsed.error or self._errors.unknown())
        return self._parsed

    def _output(self) -> list[Any]:
        """The output items that arrived, or those that the final response lists, if these are more.

        Services leave items out of the final response, or all of them (bytedance/deer-flow#1928).
        """
        ended = self._status is not None
        arrived = [found for item in self._items if (found := item.item(ended=ended)) is not None]
        final = list_at(self._response.get("output"), "response.output") if ended else []
        return final if len(final) > len(arrived) else arrived


# --- a history -------------------------------------------------------------------------------------------


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """An input, or a payload that has one, as items."""
    instructions: Any = None
    if isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
        if body.get("input") is None:
            raise Damaged("the payload has no input", "input")
        payload, model, instructions = (
            body["input"],
            text_in(body.get("model")) or model,
            body.get("instructions"),
        )
    if payload is None:
        raise Damaged("expected a list, not NoneType", "input")
    history = _History(model or "")
    if isinstance(instructions, str):
        history.items += [Message("system", instructions)] if instructions else []
    else:
        history.read(instructions, "instructions")
    history.read([{"role": "user", "content": payload}] if isinstance(payload, str) else payload, "input")
    return history.items


class _History:
    """Reads input items one by one."""

    def __init__(self, model: str) -> None:
        self.items: list[Item] = []
        self._ids = CallIds(is_history=True)
        self._maker = _Maker(Answer(model), model, self._ids, is_history=True)
        self._call_ids: dict[str, str] = {}  # of calls by the ids of their items, which some outputs name

    def read(self, values: Any, path: str) -> None:
        """Read a list of input items; output items in a row are read together."""
        output: list[tuple[str, Json]] = []
        for index, value in enumerate(list_at(values, path)):
            place = f"{path}[{index}]"
            item = object_at(value, place)
            if text_in(item.get("type")).endswith("_output"):
                self._read_output_items(output)  # it may belong to one of these
                output = []
            if self._is_output(item, place):
                output.append((place, item))
                continue
            self._read_output_items(output)
            output = []
            self._read_input_item(item, place)
        self._read_output_items(output)

    def _is_output(self, item: Json, path: str) -> bool:
        """Whether an item was put out by the model, or by a tool that its service ran."""
        kind = item.get("type", "message")
        if not isinstance(kind, str):
            raise Damaged("the type of an item is text", f"{path}.type")
        if kind == "message":
            return item.get("role") == "assistant"
        if kind.endswith("_output"):
            return kind not in _CALL_OUTPUTS and not self._ids.knows(self._answered_id(item))
        return kind in _MODEL_ITEMS or kind.endswith("_call")

    def _read_output_items(self, output: list[tuple[str, Json]]) -> None:
        for path, item in output:
            if item.get("type", "message") == "message":
                ai_sdk.refuse_ui_message(item, path)
        self.items += self._maker.items(output)
        for _, item in output:
            if isinstance(item.get("id"), str) and isinstance(item.get("call_id"), str):
                self._call_ids[item["id"]] = item["call_id"]

    def _read_input_item(self, item: Json, path: str) -> None:
        kind, role = text_in(item.get("type", "message")), item.get("role")
        if kind.endswith("_output"):
            self._read_result(item, path)
            return
        self._ids.end_round()
        if kind != "message":
            self.items.append(Message("user", json_text(item, path, ordered=True)))
            return
        if role not in ("system", "developer", "user"):
            raise Damaged(f"no such role: {cut(text_in(role))!r}", f"{path}.role")
        ai_sdk.refuse_ui_message(item, path)
        content = text_or_blocks(item, path)
        self.items.append(Message(cast(Any, role), read_content(content, f"{path}.content")))

    def _answered_id(self, item: Json) -> Any:
        """The id of the call that an output belongs to; a local shell may name the item of its call."""
        call_id, item_id = item.get("call_id"), item.get("id")
        return self._call_ids.get(item_id) if call_id is None and isinstance(item_id, str) else call_id

    def _read_result(self, item: Json, path: str) -> None:
        wire_id = self._answered_id(item)
        if not isinstance(wire_id, str) or not wire_id:
            raise Damaged("a result names its call", f"{path}.call_id")
        call_id, name = self._ids.answered(wire_id, item.get("name"))
        content, is_error = without_failure(_output(item, path))
        self.items.append(ToolResult(call_id, name, content, is_error))


def _output(item: Json, path: str) -> Content:
    """The output of a call; what tools of the service give in a form of their own is JSON."""
    if item.get("output") is not None or item["type"] in _CALL_OUTPUTS:
        return read_output(item.get("output"), f"{path}.output")
    own = (*_ITEM_FIELDS, "execution")
    rest = {name: value for name, value in item.items() if name not in own and value}
    return json_text(rest, path) if rest else ""
