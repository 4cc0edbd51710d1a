"""The parts that the readers of the four wires share.

`ItemBuilder` collects the items of a reply or of a history. `ReplyReader` joins the events of a stream into
blocks, and reads a whole response as such blocks, so that both give the same items.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
from msgspec.structs import replace

from quire.errors import Damaged, InvalidValue, WrongType
from quire.items import (
    Content,
    Item,
    Message,
    Opaque,
    Reasoning,
    Role,
    ToolCall,
    ToolResult,
    new_id,
    replace_surrogates,
)
from quire.providers.rules import FAILURE_REASONS, FINISHES
from quire.providers.state import blocks_text, pack
from quire.providers.types import HISTORY, Finish, Parsed, Rendered
from quire.providers.values import (
    Json,
    decode_json,
    dump_model,
    fields_in,
    json_text,
    list_at,
    object_at,
    object_in,
    plain_copy,
    plain_json,
    text_in,
)
from quire.tokens import Usage

WithPath = tuple[str, Json]
"""The path of a JSON object, and the object."""

NO_NAME = "unknown"
"""The tool name in a result whose call is not in the history."""

_KEEP_ALIVE = ("ping", "keepalive")
_MAX_ERROR_LENGTH = 500  # characters
_MAX_QUOTED_LENGTH = 300  # characters of an unknown event


# --- values ----------------------------------------------------------------------------------------------


def objects_at(values: Any, path: str) -> list[WithPath]:
    """The objects of a list with their paths; `Damaged` if it is no list of objects."""
    with_paths = [(f"{path}[{index}]", value) for index, value in enumerate(list_at(values, path))]
    return [(place, object_at(value, place)) for place, value in with_paths]


_USAGE: dict[str, dict[str, Any]] = msgspec.json.decode(Path(__file__).with_name("usage.json").read_bytes())
"""The fields in which each wire reports its usage; input and output are sums of several fields."""


def usage_from(wire: str, report: Json) -> Usage | None:
    """The usage that a wire reports. Cached tokens are capped at input, reasoning tokens at output."""
    if not report:
        return None

    def counts(name: str) -> list[int]:
        numbers = [0]
        for path in _USAGE[wire][name]:
            head, _, field = path.rpartition(".")
            value = (fields_in(report.get(head)) if head else report).get(field)
            numbers += [value] if isinstance(value, int) else []
        return numbers

    input_tokens, output = max(sum(counts("input")), 0), max(sum(counts("output")), 0)
    cached = min(max(counts("cache_read")), input_tokens)
    written = min(max(counts("cache_write")), input_tokens - cached)
    return Usage(input_tokens, output, cached, written, min(max(counts("reasoning")), output))


# --- items -----------------------------------------------------------------------------------------------


class ItemBuilder:
    """Collects the items of a reply or of a history on one wire.

    Services repeat ids of calls within a reply (HKUDS/nanobot#3943, #4473) or leave them out. A repeated id
    gets a number as suffix. A call that is repeated as a whole (mudler/cogito#66) is left out, because a tool
    must not run twice. A missing id is random in a reply; in a history it is a counter, so that reading the
    same history again gives the same id.
    """

    def __init__(
        self, wire: str, model: str | None, sent: Rendered | None = None, *, is_history: bool = False
    ) -> None:
        self.items: list[Item] = []
        self.model = model or (None if sent is None else sent.model) or ""
        """The model that made the opaque state."""
        self.has_opaque_blocks = False
        self.has_incomplete_call = False
        """Whether a call was left out because it has no name."""
        self._reply_id = None if is_history else new_id()
        self._wire = wire
        self._prefix = sent.prefix if sent is not None else None
        self._names: Mapping[str, str] = sent.names if sent is not None else {}
        self._parameters: Mapping[str, Mapping[str, str]] = sent.parameters if sent is not None else {}
        self._is_history = is_history
        self._used_ids: set[str] = set()
        self._calls_by_id: dict[str, ToolCall] = {}  # the latest call for each wire id
        self._open_calls: list[tuple[str, ToolCall]] = []  # (wire id, call) without a result
        self._is_round_over = False  # whether the next call closes the calls that are open now

    def begin_reply(self) -> None:
        """Begin a new reply: items that are added from now on belong to it.

        On a wire whose history is a flat list this is never called, and `groups` guesses the replies.
        """
        self._reply_id = new_id()

    def pack_state(self, blocks: Sequence[Json], path: str) -> Opaque:
        """The state of an item made from these raw blocks."""
        return pack(self._wire, self.model, blocks, self._prefix, path)

    def add_message(self, content: Content, state: Opaque | None = None) -> None:
        """Add a message of the model, unless it is empty."""
        if content:
            self.items.append(Message("assistant", content, state=state, reply_id=self._reply_id))

    def add_thoughts(self, blocks: Sequence[Json], path: str) -> None:
        self.add_reasoning(blocks_text(self._wire, blocks), self.pack_state(blocks, path))

    def add_reasoning(self, text: str, state: Opaque) -> None:
        self.items.append(Reasoning(text, state, self._reply_id))

    def add_opaque(self, blocks: Sequence[Json], path: str) -> None:
        """Add blocks without an item type, such as a search that the service ran, as one `Reasoning`."""
        self.has_opaque_blocks = True
        self.add_thoughts(blocks, path)

    def add_input(self, role: Role, content: Content, state: Opaque | None = None) -> None:
        """Add a message that is not the model's; a call after it starts a new round."""
        self.items.append(Message(role, content, state=state))
        self._is_round_over = True

    def add_call(
        self, wire_id: Any, name: Any, arguments: Any, path: str, state: Opaque | None = None
    ) -> None:
        """Add a call; arguments in JSON text are kept exactly as the model wrote them."""
        if not isinstance(wire_id, str | None):
            raise Damaged("the id of the call is not text", path)
        if not isinstance(name, str) or not name:
            if self._is_history:
                raise Damaged("the call has no name", path)
            self.has_incomplete_call = True
            return
        tool = self._names.get(name, name)
        text = self._arguments(tool, arguments, path)
        known = self._calls_by_id.get(wire_id or "")
        if not self._is_history and known is not None and (known.name, known.arguments) == (tool, text):
            return
        call = ToolCall(self._new_id(wire_id or ""), tool, text, state, self._reply_id)
        self.items.append(call)
        if self._is_round_over:
            self._open_calls, self._is_round_over = [], False
        self._open_calls.append((wire_id or "", call))
        self._calls_by_id[wire_id or call.call_id] = call

    def add_result(self, wire_id: str, tool: str, content: Content, is_error: bool) -> None:
        """Add the result of a call.

        A result without an id belongs to the first open call of its tool; if it has no tool name either, to
        the first open call.
        """
        self._is_round_over = True
        if wire_id:
            matches = [call for own_id, call in self._open_calls if own_id == wire_id]
        else:
            matches = [call for _, call in self._open_calls if not tool or call.name == tool]
        call = matches[0] if matches else self._calls_by_id.get(wire_id)
        self._open_calls = [pair for pair in self._open_calls if pair[1] is not call]
        if call is None:
            call_id, tool = wire_id or self._new_id(""), tool or NO_NAME
        else:
            call_id, tool = call.call_id, call.name
        self.items.append(ToolResult(call_id, tool, content, is_error))

    def _arguments(self, tool: str, arguments: Any, path: str) -> str:
        """The arguments of a call as JSON text, with the tool's own parameter names."""
        own_names = self._parameters.get(tool)
        fields = object_in(arguments) if isinstance(arguments, str) and own_names is not None else arguments
        if own_names is not None and isinstance(fields, dict):
            arguments = {own_names.get(name, name): value for name, value in fields_in(fields).items()}
        if isinstance(arguments, str):
            return arguments
        return json_text({} if arguments is None else arguments, path)

    def _new_id(self, wire_id: str) -> str:
        """A call id that is not used yet: the wire id, if need be with a number."""
        if not wire_id:
            wire_id = f"call_{len(self._used_ids)}" if self._is_history else f"call_{new_id()}"
        call_id, number = wire_id, 1
        while call_id in self._used_ids:
            number += 1
            call_id = f"{wire_id}_{number}"
        self._used_ids.add(call_id)
        return call_id


# --- a reply ---------------------------------------------------------------------------------------------


class ReplyReader(ABC):
    """Reads an answer, whole or streamed. A subclass reads the events of its wire and builds the items."""

    wire: ClassVar[str]

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        self.builder = ItemBuilder(self.wire, model, sent)
        self.model = ""
        self.usage: Json = {}
        self.finish_reason: str | None = None
        """The finish reason of the wire; None until the answer has ended."""
        self.error: str | None = None
        self.is_refusal = False
        self._first_event: Json | None = None
        self._parsed: Parsed | None = None

    @abstractmethod
    def read_event(self, event: Json) -> str:
        """Read an event of the stream; return the text that it adds. Unknown events add nothing."""

    @abstractmethod
    def read_whole(self, body: Json) -> None:
        """Read a whole response; `Damaged` if it is none."""

    @abstractmethod
    def build_items(self) -> None:
        """Add the items of the answer to `self.builder`."""

    def as_json(self, event: Any) -> Json:
        """An event or a response as a JSON object."""
        return plain_json(event)

    def feed(self, event: Any) -> str:
        """Read an event of a stream; return the text that it adds, or an empty text."""
        fields = self.as_json(event)
        if fields.get("type") not in _KEEP_ALIVE:
            self._first_event = self._first_event or fields
        self.error = error_in(fields) or self.error
        return replace_surrogates(self.read_event(fields))

    def read(self, response: Any) -> Parsed:
        body = self.as_json(response)
        self.error = error_in(body)
        try:
            self.read_whole(body)
        except Damaged:
            if self.error is None:
                raise
        self.finish_reason = self.finish_reason or ""
        return self.close()

    def add_usage(self, report: Any) -> None:
        """Read a usage report; its counts replace those of earlier reports."""
        if report:
            self.usage |= {name: value for name, value in fields_in(report).items() if value is not None}

    def close(self) -> Parsed:
        """The answer so far. If the stream broke off, its last message is marked as interrupted."""
        if self._parsed is None:
            self.builder.model = self.builder.model or self.model
            self.build_items()
            self._parsed = self._finished()
        return self._parsed

    def _finished(self) -> Parsed:
        """The answer in the form in which it is recorded.

        A complete answer keeps malformed calls, so that their results can tell the model. A refused answer
        loses its calls. An answer with an error is incomplete: its last message is marked as interrupted.
        """
        items, reason = self.builder.items, reason_key(self.finish_reason)
        finish = FINISHES[self.wire].get(reason, "other")
        if finish == "stop" and self.is_refusal:
            finish = "refused"
        elif finish == "stop" and any(isinstance(item, ToolCall) for item in items):
            finish = "calls"  # some services report "stop" for answers with calls
        error = self.error or self._failure()
        usable = self._without_incomplete_calls(finish, has_failed=error is not None)
        has_incomplete_call = self.builder.has_incomplete_call or len(usable) < len(items)
        if has_incomplete_call and self.finish_reason is not None and finish not in ("length", "refused"):
            error = error or "a call did not arrive whole"
        if self.finish_reason is None or error is not None:
            usable = _interrupted(usable)
        if finish == "refused":
            usable = [item for item in usable if not isinstance(item, ToolCall)]
        if not self.builder.has_opaque_blocks and all(isinstance(item, Reasoning) for item in usable):
            # No wire accepts thoughts alone, and they must not become part of the next answer.
            usable = [replace(cast("Reasoning", item), state=None) for item in usable]
        model, usage = replace_surrogates(self.model) or None, usage_from(self.wire, self.usage)
        return Parsed(tuple(usable), usage, "other" if error is not None else finish, model, error)

    def _failure(self) -> str | None:
        """The error if the finish reason means a failure, or if all events are of another provider."""
        reason, builder = reason_key(self.finish_reason), self.builder
        if reason in FAILURE_REASONS:
            # "server_error" means that the caller is not at fault, so the request may be retried.
            message = "the service broke off the answer"
            return error_text({"type": "server_error", "code": reason, "message": message})
        has_content = builder.items or builder.has_incomplete_call or self.model or self.finish_reason
        if self._first_event and not has_content:
            event = _cut(str(self._first_event), _MAX_QUOTED_LENGTH)
            return f"no event was of this provider; the first was {event}"
        return None

    def _without_incomplete_calls(self, finish: Finish, *, has_failed: bool) -> list[Item]:
        """Items without the calls that did not arrive whole.

        The last call of an answer that was cut off may be incomplete, so it is left out. In that case, or if
        the finish reason is unknown, other calls are kept only if their arguments are valid JSON.
        """
        items = self.builder.items
        is_cut_off = has_failed or self.finish_reason is None or finish == "length"
        if is_cut_off and items and isinstance(items[-1], ToolCall):
            items = items[:-1]
        if not is_cut_off and not self.builder.has_incomplete_call and finish != "other":
            return items
        return [item for item in items if not isinstance(item, ToolCall) or _is_valid_json(item.arguments)]


def _is_valid_json(arguments: str) -> bool:
    return isinstance(decode_json(arguments), dict | list | str)


def _interrupted(items: list[Item]) -> list[Item]:
    """Items whose last message is marked as interrupted."""
    for index in range(len(items) - 1, -1, -1):
        if isinstance(message := items[index], Message):
            return [*items[:index], replace(message, interrupted=True), *items[index + 1 :]]
    return items


def reason_key(reason: Any) -> str:
    """A finish reason as a key of `rules.FINISHES`."""
    return text_in(reason).lower().replace("-", "_")


def error_text(value: Any) -> str | None:
    """An error object of a provider as text: its kind, code and message; None if it is no error."""
    if isinstance(value, str):
        return _cut(value, _MAX_ERROR_LENGTH) or None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, Any]", value)
    values = (fields.get(name) for name in ("type", "status", "code"))
    kinds = dict.fromkeys(str(kind) for kind in values if isinstance(kind, str | int) and kind != "error")
    text = ": ".join(filter(None, (" ".join(kinds), text_in(fields.get("message")))))
    return _cut(text or "an error without a message", _MAX_ERROR_LENGTH)


def error_in(body: Json) -> str | None:
    """The error in a response or an event, or the response itself if it is an error; as text."""
    error = body.get("error")
    is_error = error is None and "error" in (body.get("object"), body.get("type"))
    return error_text(body if is_error else error)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


# --- a history -------------------------------------------------------------------------------------------


def read_history(
    wire: str, add: Callable[[Json, ItemBuilder], None], payload: Any, model: str | None
) -> list[Item]:
    """A payload, or the value of its conversation field, as items. `add` adds the items of a payload.

    The payload may contain objects of an SDK. `model` is the model that made the opaque state in it.
    """
    field = HISTORY[wire]
    if not isinstance(payload, str | list | tuple | Mapping) and not hasattr(payload, "model_dump"):
        raise WrongType(f"expected a request or its {field}, not {type(payload).__name__}")
    try:
        plain = msgspec.json.decode(msgspec.json.encode(payload, enc_hook=_plain_object))
    except (TypeError, ValueError, OverflowError, RecursionError):
        try:
            plain = plain_copy(payload)
        except InvalidValue as fault:
            raise Damaged(f"it cannot be recorded: {fault}", "$") from None
    body = fields_in(plain) if isinstance(plain, dict) else {field: plain}
    if body.get(field) is None:
        raise Damaged(f"the payload has no {field}", f"$.{field}")
    builder = ItemBuilder(wire, model or text_in(body.get("model")), is_history=True)
    add(body, builder)
    return builder.items


def _plain_object(value: Any) -> Any:
    plain = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else dump_model(value)
    if plain is None:
        raise TypeError
    return plain
