"""What the readers of the four wires share.

`Items` collects the items that blocks of a wire stand for, in a reply or in a history. `ReplyReader` joins
the events of a stream to blocks and takes a whole response as such blocks, so both give the same items.
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
    decoded,
    dumped,
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

Placed = tuple[str, Json]
"""A block of a wire with its path."""

NO_NAME = "unknown"
"""The name of the tool in a result whose call is not in the history."""

_KEEP_ALIVE = ("ping", "keepalive")
_LONGEST_ERROR = 500  # characters
_LONGEST_EVENT = 300  # characters of an unknown event that are quoted


# --- values ----------------------------------------------------------------------------------------------


def placed(values: Any, path: str) -> list[Placed]:
    """The objects of a list with their paths."""
    found = [(f"{path}[{index}]", value) for index, value in enumerate(list_at(values, path))]
    return [(place, object_at(value, place)) for place, value in found]


_USAGE: dict[str, dict[str, Any]] = msgspec.json.decode(Path(__file__).with_name("usage.json").read_bytes())
"""Where each wire reports its usage; input and output are sums of several fields."""


def usage_from(wire: str, report: Json) -> Usage | None:
    """The usage that a wire reports. A part is never more than its whole."""
    if not report:
        return None

    def counts(name: str) -> list[int]:
        pairs = (path.rpartition(".") for path in _USAGE[wire][name])
        found = [(fields_in(report.get(head)) if head else report).get(field) for head, _, field in pairs]
        return [0, *(value for value in found if isinstance(value, int))]

    given, output = max(sum(counts("input")), 0), max(sum(counts("output")), 0)
    cached = min(max(counts("cache_read")), given)
    written = min(max(counts("cache_write")), given - cached)
    return Usage(given, output, cached, written, min(max(counts("reasoning")), output))


# --- items -----------------------------------------------------------------------------------------------


class Items:
    """Collects the items of a reply or of a history on one wire.

    Services repeat ids of calls within a reply (HKUDS/nanobot#3943, #4473) or leave them out. A repeated id
    gets a number, unless the whole call is repeated (mudler/cogito#66): a tool must not run twice. In a reply
    a missing id is made anew, in a history it is counted, so that it stays the same each time the history is
    read.
    """

    def __init__(
        self, wire: str, model: str | None, sent: Rendered | None = None, *, is_history: bool = False
    ) -> None:
        self.all: list[Item] = []
        self.model = model or (None if sent is None else sent.model) or ""
        """The model that the state is bound to."""
        self.has_kept = False
        self.has_half_call = False
        """Whether a call without a name was left out of a reply."""
        self._reply_id = None if is_history else new_id()
        self._wire = wire
        self._prefix = sent.prefix if sent is not None else None
        self._names: Mapping[str, str] = sent.names if sent is not None else {}
        self._parameters: Mapping[str, Mapping[str, str]] = sent.parameters if sent is not None else {}
        self._is_history = is_history
        self._used: set[str] = set()  # ids
        self._calls: dict[str, ToolCall] = {}  # the latest call, by its id on the wire
        self._open: list[tuple[str, ToolCall]] = []  # calls of the latest round without a result, by that id
        self._is_round_over = False

    def begin_reply(self) -> None:
        """Items added from here on are of a new reply.

        On a wire whose history is a flat list this is never called, and `groups` guesses.
        """
        self._reply_id = new_id()

    def state(self, blocks: Sequence[Json], path: str) -> Opaque:
        """The state of an item that stands for these raw blocks."""
        return pack(self._wire, self.model, blocks, self._prefix, path)

    def say(self, content: Content, state: Opaque | None = None) -> None:
        """Add a message of the model, unless it is empty."""
        if content:
            self.all.append(Message("assistant", content, state=state, reply_id=self._reply_id))

    def think(self, blocks: Sequence[Json], path: str) -> None:
        self.add_reasoning(blocks_text(self._wire, blocks), self.state(blocks, path))

    def add_reasoning(self, text: str, state: Opaque) -> None:
        self.all.append(Reasoning(text, state, self._reply_id))

    def keep(self, blocks: Sequence[Json], path: str) -> None:
        """Add blocks that no item stands for, such as a search that the service ran."""
        self.has_kept = True
        self.think(blocks, path)

    def hear(self, role: Role, content: Content, state: Opaque | None = None) -> None:
        """Add a message of somebody else than the model: a call after it starts a new round."""
        self.all.append(Message(role, content, state=state))
        self._is_round_over = True

    def call(self, wire_id: Any, name: Any, given: Any, path: str, state: Opaque | None = None) -> None:
        """Add a call; its arguments are JSON text, which stays as the model wrote it, or a value."""
        if not isinstance(wire_id, str | None):
            raise Damaged("the id of the call is not text", path)
        if not isinstance(name, str) or not name:
            if self._is_history:
                raise Damaged("the call has no name", path)
            self.has_half_call = True
            return
        tool = self._names.get(name, name)
        text = self._arguments(tool, given, path)
        same = self._calls.get(wire_id or "")
        if not self._is_history and same is not None and (same.name, same.arguments) == (tool, text):
            return
        call = ToolCall(self._new_id(wire_id or ""), tool, text, state, self._reply_id)
        self.all.append(call)
        if self._is_round_over:
            self._open, self._is_round_over = [], False
        self._open.append((wire_id or "", call))
        self._calls[wire_id or call.call_id] = call

    def result(self, wire_id: str, tool: str, content: Content, is_error: bool) -> None:
        """Add the result of a call.

        Without an id, it belongs to the first open call of its tool; without a name, to the first open one.
        """
        self._is_round_over = True
        if wire_id:
            fitting = [pair for pair in self._open if pair[0] == wire_id]
        else:
            fitting = [pair for pair in self._open if not tool or pair[1].name == tool]
        call = fitting[0][1] if fitting else self._calls.get(wire_id)
        self._open = [pair for pair in self._open if pair[1] is not call]
        if call is None:
            call_id, tool = wire_id or self._new_id(""), tool or NO_NAME
        else:
            call_id, tool = call.call_id, call.name
        self.all.append(ToolResult(call_id, tool, content, is_error))

    def _arguments(self, tool: str, given: Any, path: str) -> str:
        """The arguments of a call as text, under the tool's own parameter names."""
        own = self._parameters.get(tool)
        fields = object_in(given) if isinstance(given, str) and own is not None else given
        if own is not None and isinstance(fields, dict):
            given = {own.get(name, name): value for name, value in fields_in(fields).items()}
        return given if isinstance(given, str) else json_text({} if given is None else given, path)

    def _new_id(self, wire_id: str) -> str:
        """An id that no call has yet."""
        if not wire_id:
            wire_id = f"call_{len(self._used)}" if self._is_history else f"call_{new_id()}"
        own, number = wire_id, 1
        while own in self._used:
            number += 1
            own = f"{wire_id}_{number}"
        self._used.add(own)
        return own


# --- a reply ---------------------------------------------------------------------------------------------


class ReplyReader(ABC):
    """Reads an answer from its events. A wire adds how it joins events and makes items."""

    wire: ClassVar[str]

    def __init__(self, sent: Rendered | None = None, model: str | None = None) -> None:
        self.made = Items(self.wire, model, sent)
        self.model = ""
        self.usage: Json = {}
        self.reason: str | None = None
        """Why the answer ended; None until it did."""
        self.error: str | None = None
        self.is_refusal = False
        self._first: Json | None = None
        self._parsed: Parsed | None = None

    @abstractmethod
    def take(self, event: Json) -> str:
        """Take an event; returns the text that it added. An event of an unknown kind adds nothing."""

    @abstractmethod
    def take_whole(self, body: Json) -> None:
        """Take a whole response; `Damaged` if it is none."""

    @abstractmethod
    def make_items(self) -> None:
        """Add the items of the answer to `made`."""

    def plain(self, event: Any) -> Json:
        """An event or a response as a JSON object."""
        return plain_json(event)

    def feed(self, event: Any) -> str:
        """Take an event of a stream; returns the text that it added, if any."""
        fields = self.plain(event)
        if fields.get("type") not in _KEEP_ALIVE:
            self._first = self._first or fields
        self.error = error_in(fields) or self.error
        return replace_surrogates(self.take(fields))

    def read(self, response: Any) -> Parsed:
        body = self.plain(response)
        self.error = error_in(body)
        try:
            self.take_whole(body)
        except Damaged:
            if self.error is None:
                raise
        self.reason = self.reason or ""
        return self.close()

    def count(self, report: Any) -> None:
        """Take a report of the usage so far: a later count replaces an earlier one."""
        if report:
            self.usage |= {name: value for name, value in fields_in(report).items() if value is not None}

    def close(self) -> Parsed:
        """The answer so far. An answer that did not come to its end is marked as interrupted."""
        if self._parsed is None:
            self.made.model = self.made.model or self.model
            self.make_items()
            self._parsed = self._finished()
        return self._parsed

    def _finished(self) -> Parsed:
        """The answer as it may be recorded.

        An answer that ended well keeps malformed calls, so that the model hears of them. A refused answer has
        no calls. An error means that the answer did not end well: its last message is marked as interrupted.
        """
        items, finish = self.made.all, FINISHES[self.wire].get(spelled(self.reason), "other")
        if finish == "stop" and self.is_refusal:
            finish = "refused"
        elif finish == "stop" and any(isinstance(item, ToolCall) for item in items):
            finish = "calls"  # some services say that they stopped where they called
        error = self.error or self._failure()
        whole = self._complete_calls(finish, has_failed=error is not None)
        has_half_call = self.made.has_half_call or len(whole) < len(items)
        if has_half_call and self.reason is not None and finish not in ("length", "refused"):
            error = error or "a call did not arrive whole"
        if self.reason is None or error is not None:
            whole = _interrupted(whole)
        if finish == "refused":
            whole = [item for item in whole if not isinstance(item, ToolCall)]
        if not self.made.has_kept and all(isinstance(item, Reasoning) for item in whole):
            # No wire takes thoughts alone back, and they must not join the next answer.
            whole = [replace(cast("Reasoning", item), state=None) for item in whole]
        model, usage = replace_surrogates(self.model) or None, usage_from(self.wire, self.usage)
        return Parsed(tuple(whole), usage, "other" if error is not None else finish, model, error)

    def _failure(self) -> str | None:
        """The error of an answer whose reason is a word for a failure, or of events of another wire."""
        word = spelled(self.reason)
        if word in FAILURE_REASONS:
            # "server_error" marks it as not the caller's fault, so it is retryable.
            message = "the service broke off the answer"
            return error_text({"type": "server_error", "code": word, "message": message})
        if self._first and not (self.made.all or self.made.has_half_call or self.model or self.reason):
            return f"no event was of this provider; the first was {_cut(str(self._first), _LONGEST_EVENT)}"
        return None

    def _complete_calls(self, finish: Finish, *, has_failed: bool) -> list[Item]:
        """Items without half calls.

        Nothing tells whether the last call of an answer that was cut off is complete, so it is left out. Of
        earlier calls, and where the reason of the end is not known, closed JSON tells.
        """
        items = self.made.all
        is_cut = has_failed or self.reason is None or finish == "length"
        if is_cut and items and isinstance(items[-1], ToolCall):
            items = items[:-1]
        if not is_cut and not self.made.has_half_call and finish != "other":
            return items
        return [item for item in items if not isinstance(item, ToolCall) or _is_closed(item.arguments)]


def _is_closed(arguments: str) -> bool:
    return isinstance(decoded(arguments), dict | list | str)


def _interrupted(items: list[Item]) -> list[Item]:
    """Items whose last message is marked as interrupted."""
    for place in range(len(items) - 1, -1, -1):
        if isinstance(message := items[place], Message):
            return [*items[:place], replace(message, interrupted=True), *items[place + 1 :]]
    return items


def spelled(reason: Any) -> str:
    """A reason in the spelling of `rules.FINISHES`."""
    return text_in(reason).lower().replace("-", "_")


def error_text(value: Any) -> str | None:
    """The error that a provider reports, as its kind, code and message; None if there is none."""
    if isinstance(value, str):
        return _cut(value, _LONGEST_ERROR) or None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, Any]", value)
    found = (fields.get(name) for name in ("type", "status", "code"))
    kinds = dict.fromkeys(str(kind) for kind in found if isinstance(kind, str | int) and kind != "error")
    text = ": ".join(filter(None, (" ".join(kinds), text_in(fields.get("message")))))
    return _cut(text or "an error without a message", _LONGEST_ERROR)


def error_in(body: Json) -> str | None:
    """The error that a response or an event holds, or is."""
    held = body.get("error")
    is_error = held is None and "error" in (body.get("object"), body.get("type"))
    return error_text(body if is_error else held)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


# --- a history -------------------------------------------------------------------------------------------


def read_history(
    wire: str, add: Callable[[Json, Items], None], payload: Any, model: str | None
) -> list[Item]:
    """A payload, or what its conversation field would hold, as items; `add` adds those of a payload.

    Objects of clients may stand anywhere in it. `model` is the model that made the state in it.
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
            raise Damaged(f"it cannot be kept: {fault}", "$") from None
    body = fields_in(plain) if isinstance(plain, dict) else {field: plain}
    if body.get(field) is None:
        raise Damaged(f"the payload has no {field}", f"$.{field}")
    made = Items(wire, model or text_in(body.get("model")), is_history=True)
    add(body, made)
    return made.all


def _plain_object(value: Any) -> Any:
    plain = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else dumped(value)
    if plain is None:
        raise TypeError
    return plain
