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
    Part,
    Reasoning,
    Role,
    ToolCall,
    ToolResult,
    new_id,
    replace_surrogates,
)
from quire.providers.media import without_bytes
from quire.providers.rules import FAILURE_REASONS, FINISHES
from quire.providers.state import blocks_text, made_by, unpack
from quire.providers.types import Answer, Finish, Parsed
from quire.providers.values import (
    Json,
    decoded,
    dumped,
    entries_in,
    fields_in,
    json_text,
    object_in,
    plain_copy,
    plain_json,
    text_in,
)
from quire.tokens import Usage

NO_NAME = "unknown"
"""The name of the tool in a result whose call is not in the history."""

_HALF_CALL = "a call did not arrive whole"
_KEEP_ALIVE = ("ping", "keepalive")
_LONGEST_ERROR = 500  # characters
_LONGEST_EVENT = 300  # characters of an unknown event that are quoted


# --- values ----------------------------------------------------------------------------------------------


def plain_history(payload: Any, field: str) -> Json:
    """A request as plain JSON values; anything but an object is what its `field` would hold.

    Objects of clients may stand anywhere in it.
    """
    if not isinstance(payload, str | list | tuple | Mapping) and not hasattr(payload, "model_dump"):
        raise WrongType(f"expected a request or its {field}, not {type(payload).__name__}")
    try:
        plain = msgspec.json.decode(msgspec.json.encode(payload, enc_hook=_plain_object))
    except (TypeError, ValueError, OverflowError, RecursionError):
        try:
            plain = plain_copy(payload)
        except InvalidValue as fault:
            raise Damaged(f"it cannot be kept: {fault}", "$") from None
    return fields_in(plain) if isinstance(plain, dict) else {field: plain}


def _plain_object(value: Any) -> Any:
    plain = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else dumped(value)
    if plain is None:
        raise TypeError
    return plain


def short_json(value: Any, path: str) -> str:
    """A value that no part stands for as JSON text, without long base64."""
    json_text(value, path)  # refuses what nests too deep, before anything goes through it
    return json_text(without_bytes(value), path)


def content_from(parts: Sequence[Part]) -> Content:
    """Parts as the content of an item; a single text stays a text."""
    if not parts:
        return ""
    first = parts[0]
    return first if len(parts) == 1 and isinstance(first, str) else tuple(parts)


def output_from(content: Any, read_part: Callable[[Json, str], Part | None], path: str) -> Content:
    """The output of a call in a history: text, or blocks. Any other value is its JSON."""
    if content is None or isinstance(content, str):
        return content or ""

    def part_of(value: Any) -> Part | None:
        try:
            return read_part(cast("Json", value), path) if isinstance(value, dict) else None
        except Damaged:
            return None

    values = entries_in(content) or [content]
    parts = [part_of(value) for value in values]
    if content == []:
        return ""
    if all(part is None for part in parts):
        return short_json(content, path)
    texts = [value if isinstance(value, str) else short_json(value, path) for value in values]
    return content_from([text if part is None else part for text, part in zip(texts, parts, strict=True)])


_USAGE: dict[str, dict[str, Any]] = msgspec.json.decode(Path(__file__).with_name("usage.json").read_bytes())
"""Where each wire reports its usage; input and output are sums of several fields."""


def _usage_from(wire: str, report: Json) -> Usage | None:
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


# --- calls -----------------------------------------------------------------------------------------------


def join_arguments(arguments: str, piece: str) -> str:
    """The arguments of a call with one more piece; some services send an empty object first.

    Source: microsoft/autogen#6843.
    """
    return piece if arguments.strip() == "{}" and piece.lstrip().startswith("{") else arguments + piece


class Items:
    """Collects the items of a reply or of a history on one wire.

    Services repeat ids of calls within a reply (HKUDS/nanobot#3943, #4473) or leave them out. A repeated id
    gets a number, unless the whole call is repeated (mudler/cogito#66): a tool must not run twice. In a reply
    a missing id is made anew, in a history it is counted, so that it stays the same each time the history is
    read.
    """

    def __init__(self, wire: str, answer: Answer, *, is_history: bool = False) -> None:
        self.all: list[Item] = []
        self.model = answer.model or ""
        """The model that the state is bound to."""
        self.has_kept = False
        self._wire = wire
        self._answer = answer
        self._is_history = is_history
        self._used: set[str] = set()  # ids
        self._calls: dict[str, ToolCall] = {}  # the latest call, by its id on the wire
        self._open: list[tuple[str, ToolCall]] = []  # calls of the latest round without a result, by that id
        self._is_round_over = False

    def state(self, blocks: Sequence[Json], path: str) -> Opaque:
        """The state of an item that stands for these raw blocks."""
        return made_by(self._wire, self._answer, self.model, blocks, path)

    def say(self, content: Content, state: Opaque | None = None) -> None:
        """Add a message of the model, unless it is empty."""
        if content:
            self.all.append(Message("assistant", content, state=state))

    def think(self, blocks: Sequence[Json], path: str) -> None:
        """Add thoughts."""
        self.all.append(Reasoning(blocks_text(self._wire, blocks), self.state(blocks, path)))

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
            raise Damaged("the call has no name", path)
        tool = self._answer.tool(name)
        if isinstance(given, str):
            fields = object_in(given) if tool in self._answer.parameters else None
            text = given if fields is None else json_text(self._answer.arguments(tool, fields), path)
        else:
            text = json_text(self._answer.arguments(tool, {} if given is None else given), path)
        same = self._calls.get(wire_id or "")
        if not self._is_history and same is not None and (same.name, same.arguments) == (tool, text):
            return
        call = ToolCall(self._new_id(wire_id or ""), tool, text, state)
        self.all.append(call)
        if self._is_round_over:
            self._open, self._is_round_over = [], False
        self._open.append((wire_id or "", call))
        self._calls[wire_id or call.call_id] = call

    def result(self, wire_id: Any, name: Any, content: Content, is_error: bool) -> None:
        """Add the result of a call.

        Without an id, it belongs to the first open call of its tool; without a name, to the first open one.
        """
        self._is_round_over = True
        given, tool = text_in(wire_id), text_in(name)
        if given:
            fitting = [pair for pair in self._open if pair[0] == given]
        else:
            fitting = [pair for pair in self._open if not tool or pair[1].name == tool]
        call = fitting[0][1] if fitting else self._calls.get(given)
        self._open = [pair for pair in self._open if pair[1] is not call]
        if call is None:
            call_id, tool = given or self._new_id(""), tool or NO_NAME
        else:
            call_id, tool = call.call_id, call.name
        self.all.append(ToolResult(call_id, tool, content, is_error))

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


# --- errors and pieces of text ---------------------------------------------------------------------------


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


class _TextPieces:
    """Pieces of text for a listener. Half of a surrogate pair waits for its other half.

    Services split characters over two events (elie222/rakazo#416, elizaOS/eliza#30904).
    """

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def next(self, piece: str) -> str:
        """The text that can be shown now."""
        if piece.isascii() and not (piece and self._half):
            return piece
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return replace_surrogates(text)


# --- a reply ---------------------------------------------------------------------------------------------


def spelled(reason: Any) -> str:
    """A reason in the spelling of `rules.FINISHES`."""
    return text_in(reason).lower().replace("-", "_")


class ReplyReader(ABC):
    """Reads an answer from its events. A wire adds how it joins events and makes items."""

    wire: ClassVar[str]
    expected: ClassVar[str]
    """What an event of the wire is called in an error."""

    def __init__(self, answer: Answer) -> None:
        self.made = Items(self.wire, answer)
        self.model = ""
        self.usage: Json = {}
        self.reason: str | None = None
        """Why the answer ended; None until it did."""
        self.error: str | None = None
        self.is_refusal = False
        self.has_half_call = False
        """Whether the wire left out a call that is not complete."""
        self._is_known = False
        self._stranger: Json | None = None  # the first event that is not of the wire
        self._pieces = _TextPieces()
        self._parsed: Parsed | None = None

    @abstractmethod
    def knows(self, event: Json) -> bool:
        """Whether an event is of the wire."""

    @abstractmethod
    def take(self, event: Json) -> str:
        """Take an event; returns the text that it added."""

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
        if not fields or fields.get("type") in _KEEP_ALIVE:
            return ""
        error = error_in(fields)
        self.error = error or self.error
        if error is not None or self.knows(fields):
            self._is_known = True
        elif self._stranger is None:
            self._stranger = fields
        return self._pieces.next(self.take(fields))

    def read(self, response: Any) -> Parsed:
        """The answer of a whole response."""
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

    @property
    def finish(self) -> Finish:
        """Why the model stopped, from the wire's own reason."""
        return FINISHES[self.wire].get(spelled(self.reason), "other")

    @property
    def is_cut(self) -> bool:
        """Whether the answer ended too early, so that its last call may not be complete."""
        return self.finish == "length" or spelled(self.reason) in FAILURE_REASONS

    def close(self) -> Parsed:
        """The answer so far. An answer that did not come to its end is marked as interrupted."""
        if self._parsed is None:
            self.made.model = self.made.model or self.model
            self.make_items()
            self._parsed = self._finished()
        return self._parsed

    def _finished(self) -> Parsed:
        """The answer as it may be recorded.

        Half calls of an answer that did not end well are left out, and its last message is marked as
        interrupted. Malformed calls of an answer that ended well stay, so that the model hears of them. A
        refused answer has no calls, and an error means that the answer did not end well.
        """
        items, finish, failure = self.made.all, self.finish, self._failure()
        if finish == "stop" and self.is_refusal:
            finish = "refused"
        elif finish == "stop" and any(isinstance(item, ToolCall) for item in items):
            finish = "calls"  # some services say that they stopped where they called
        is_unsure = self.error is not None or self.has_half_call or finish in ("length", "other")
        whole = _complete_calls(items) if is_unsure else items
        has_half_call = self.has_half_call or len(whole) < len(items)
        if has_half_call and self.reason is not None and finish not in ("length", "refused"):
            failure = failure or _HALF_CALL
        if self.reason is None or failure is not None:
            whole = _interrupted(whole)
        error = self.error or failure
        if error is None and self._stranger is not None and not self._is_known:
            error = f"no event was {self.expected}; the first was {_cut(str(self._stranger), _LONGEST_EVENT)}"
        if finish == "refused":
            whole = [item for item in whole if not isinstance(item, ToolCall)]
        if not self.made.has_kept and all(isinstance(item, Reasoning) for item in whole):
            # No wire takes thoughts alone back, and they must not join the next answer.
            whole = [replace(cast("Reasoning", item), state=None) for item in whole]
        model = replace_surrogates(self.model) or None
        usage = _usage_from(self.wire, self.usage)
        return Parsed(tuple(whole), usage, "other" if error is not None else finish, model, error)

    def _failure(self) -> str | None:
        """The error of an answer whose reason is a word for a failure."""
        word = spelled(self.reason)
        if word not in FAILURE_REASONS:
            return None
        # "server_error" marks it as not the caller's fault, so it is retryable.
        message = "the service broke off the answer"
        return error_text({"type": "server_error", "code": word, "message": message})


def _complete_calls(items: list[Item]) -> list[Item]:
    """Items without calls whose arguments are not complete.

    Nothing tells whether the text of a custom call is complete, so a custom call at the end is left out.
    """
    if items and isinstance(last := items[-1], ToolCall) and _is_custom(last):
        items = items[:-1]
    return [item for item in items if not isinstance(item, ToolCall) or _is_closed(item.arguments)]


def _is_custom(call: ToolCall) -> bool:
    return any(block.get("type") in ("custom", "custom_tool_call") for block in unpack(call.state))


def _is_closed(arguments: str) -> bool:
    return isinstance(decoded(arguments), dict | list | str)


def _interrupted(items: list[Item]) -> list[Item]:
    """Items whose last message is marked as interrupted."""
    for place in range(len(items) - 1, -1, -1):
        if isinstance(message := items[place], Message):
            return [*items[:place], replace(message, interrupted=True), *items[place + 1 :]]
    return items
