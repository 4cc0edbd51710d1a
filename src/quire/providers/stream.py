"""What the readers of the four wires share: errors, calls in pieces, ids of calls, and the end of an answer.

A reader makes items from blocks, passes them to `finished`, and returns what that returns. A stream joins its
events to the blocks of a whole answer first, so both are read by the same code.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from quire.errors import Damaged, QuireError
from quire.items import Content, Item, Message, Part, Reasoning, ToolCall, new_id, replace_surrogates
from quire.providers.media import without_bytes
from quire.providers.rules import FAILURE_REASONS, FINISHES
from quire.providers.state import unpack
from quire.providers.types import Answer, Finish, Parsed
from quire.providers.values import (
    Json,
    decoded,
    json_text,
    object_in,
    plain_json,
    text_in,
)
from quire.tokens import Usage

HALF_CALL = "a call did not arrive whole"
NO_NAME = "unknown"
"""The name of the tool in a result whose call is not in the history."""

_KEEP_ALIVE = ("ping", "keepalive")
_LONGEST_ERROR = 500  # characters
_LONGEST_EVENT = 300  # characters of an unknown event that are quoted
_THOUGHT_KINDS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_GEMINI_TOOLS = frozenset(("executableCode", "codeExecutionResult", "toolCall", "toolResponse"))


# --- errors ----------------------------------------------------------------------------------------------


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


class StreamErrors:
    """Looks at every event of a stream for errors, and for events that are not of the wire at all."""

    __slots__ = ("_expected", "_first", "_is_known", "error")

    def __init__(self, expected: str) -> None:
        self._expected = expected
        self._first: str | None = None  # the first event, if it was not of the wire
        self._is_known = False
        self.error: str | None = None
        """The latest error that an event reported."""

    def look(self, event: Json, *, is_known: bool) -> None:
        """Take an event; `is_known` says that it is one of the wire."""
        if not event or event.get("type") in _KEEP_ALIVE:
            return
        error = error_in(event)
        self.error = error or self.error
        self._is_known = self._is_known or is_known or error is not None
        if self._first is None:
            self._first = "" if self._is_known else _quoted(event)

    def unknown(self) -> str | None:
        """The error of a stream that had events, none of them of its wire."""
        if self._is_known or self._first is None:
            return None
        return f"no event was {self._expected}; the first was {self._first}"


def _quoted(event: Json) -> str:
    try:
        return _cut(json_text(event, "$"), _LONGEST_EVENT)
    except QuireError:
        return "not JSON"


class TextPieces:
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


# --- calls -----------------------------------------------------------------------------------------------


def join_arguments(arguments: str, piece: str) -> str:
    """The arguments of a call with one more piece.

    Some services send an empty object first (microsoft/autogen#6843), and some send all arguments again
    (mudler/cogito#66). No JSON text goes on with another object after a complete one.
    """
    if piece.lstrip().startswith("{") and (
        arguments.strip() == "{}" or (is_complete(arguments) and decoded(arguments) == decoded(piece))
    ):
        return piece
    return arguments + piece


def is_complete(arguments: str) -> bool:
    """Whether arguments are a complete JSON object."""
    return arguments.rstrip().endswith("}") and object_in(arguments) is not None


def arguments_text(answer: Answer, tool: str, given: Any, path: str) -> str:
    """The arguments of a call as JSON text, under the tool's own parameter names.

    Some services send an object where a text belongs (can1357/oh-my-pi#1779). A text stays as the model wrote
    it, right or not.
    """
    if isinstance(given, str):
        fields = object_in(given) if tool in answer.parameters else None
        return given if fields is None else json_text(answer.arguments(tool, fields), path)
    return json_text(answer.arguments(tool, {} if given is None else given), path)


class _Call(NamedTuple):
    own_id: str
    wire_id: str
    name: str


class CallIds:
    """Gives every call an id of its own, and finds the call that a result belongs to.

    Services repeat ids within a reply (HKUDS/nanobot#3943, #4473) or leave them out. A repeated id gets a
    number. In a reply a missing id is made anew, in a history it is counted, so that it stays the same each
    time the history is read.
    """

    __slots__ = ("_calls", "_count", "_is_history", "_is_round_over", "_open", "_used")

    def __init__(self, *, is_history: bool = False) -> None:
        self._is_history = is_history
        self._used: set[str] = set()
        self._count = 0
        self._calls: dict[str, _Call] = {}  # the latest call, by its wire id
        self._open: list[_Call] = []  # calls of the latest round without a result
        self._is_round_over = False

    def give(self, wire_id: Any, name: str) -> str:
        """The id of a call that has this id on the wire, or none."""
        given = text_in(wire_id)
        own, number = given or self._new_id(), 1
        while own in self._used:
            number += 1
            own = f"{given}_{number}"
        if self._is_round_over:
            self._open, self._is_round_over = [], False
        call = _Call(own, given, name)
        self._used.add(own)
        self._open.append(call)
        self._calls[given or own] = call
        return own

    def knows(self, wire_id: Any) -> bool:
        """Whether there was a call with this id on the wire."""
        return isinstance(wire_id, str) and wire_id in self._calls

    def end_round(self) -> None:
        """Somebody else than the model speaks: a call after this one starts a new round."""
        self._is_round_over = True

    def answered(self, wire_id: Any, name: Any = None) -> tuple[str, str]:
        """The id and the tool name of the call that a result belongs to.

        A result without an id belongs to the first open call of its tool, or to the only open call.
        """
        self.end_round()
        given, named = text_in(wire_id), text_in(name)
        if given:
            fitting = [call for call in self._open if call.wire_id == given]
            call = fitting[0] if fitting else self._calls.get(given)
        else:
            fitting = [call for call in self._open if call.name == named]
            if not fitting and (not named or len(self._open) == 1):
                fitting = self._open
            call = fitting[0] if fitting else None
        if call is None:
            return given or self._new_id(), named or NO_NAME
        if call in self._open:
            self._open.remove(call)
        return call.own_id, call.name

    def _new_id(self) -> str:
        if not self._is_history:
            return f"call_{new_id()}"
        while (made := f"call_{self._count}") in self._used:
            self._count += 1
        self._count += 1
        return made


# --- blocks ----------------------------------------------------------------------------------------------


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


_BLOCK_FIELDS = frozenset(
    (
        *(
            "type",
            "index",
            "text",
            "refusal",
            "url",
            "image_url",
            "file",
            "file_id",
            "file_url",
            "source",
            "data",
        ),
        *(
            "image",
            "resource",
            "base64",
            "title",
            "filename",
            "detail",
            "mediaType",
            "mimeType",
            "mime_type",
            "source_type",
        ),
        *("cache_control", "citations", "context", "annotations", "_meta", "logprobs", "metadata", "extras"),
        *("providerOptions", "providerMetadata", "prompt_cache_breakpoint"),
    )
)
"""The fields of blocks of all wires and libraries."""


def _is_program_value(block: Json, part: Part) -> bool:
    """Whether a block in a result is a value of a program that only looks like a text or an address.

    It has other fields than blocks have, and would lose them. Bytes are media whatever stands beside them.
    """
    if not isinstance(part, str) and part.data is not None:
        return False
    # Ids that LangChain and OpenAI made.
    made_id = "source_type" in block or text_in(block.get("id")).startswith(("lc_", "msg_"))
    known = {*_BLOCK_FIELDS, "id"} if made_id else _BLOCK_FIELDS
    return any(name not in known for name, value in block.items() if value is not None)


def output_from(content: Any, read_part: Callable[[Json, str], Part | None], path: str) -> Content:
    """The output of a call in a history. A value that is no list of texts and blocks is its JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    values: list[Any] = list(cast("list[Any]", content)) if isinstance(content, list | tuple) else [content]
    blocks = [value if isinstance(value, str) else _block(value) for value in values]
    parts = [block if isinstance(block, str) else _output_part(block, read_part, path) for block in blocks]
    is_value = None in parts or all(isinstance(block, str) for block in blocks)
    if values and is_value and all(isinstance(part, str | None) for part in parts):
        return short_json(content, path)
    pairs = zip(values, parts, strict=True)
    return content_from([short_json(value, path) if part is None else part for value, part in pairs])


def _block(value: Any) -> Json:
    return plain_json(value) if isinstance(value, Mapping) or hasattr(value, "model_dump") else {}


def _output_part(block: Json, read_part: Callable[[Json, str], Part | None], path: str) -> Part | None:
    """The part of a block in a result; None for a value of a program that only looks like a block."""
    try:
        part = read_part(block, path)
    except Damaged:
        return None
    return None if part is not None and _is_program_value(block, part) else part


# --- the end of an answer --------------------------------------------------------------------------------


def spelled(reason: Any) -> str:
    """A reason in the spelling of `rules.FINISHES`."""
    return text_in(reason).lower().replace("-", "_")


def finish_of(wire: str, reason: Any) -> Finish:
    """Why a model stopped, from the wire's own reason."""
    return FINISHES[wire].get(spelled(reason), "other")


def failure_in(reason: Any) -> str | None:
    """The error of an answer whose reason is a word for a failure."""
    word = spelled(reason)
    if word not in FAILURE_REASONS:
        return None
    # "server_error" marks it as not the caller's fault, so it is retryable.
    return error_text({"type": "server_error", "code": word, "message": "the service broke off the answer"})


def finished(
    items: Sequence[Item],
    reason: str | None,
    finish: Finish,
    error: str | None,
    *,
    usage: Usage | None = None,
    model: str | None = None,
    half_call: bool = False,
) -> Parsed:
    """An answer from its items and from the reason why it ended; a stream that broke off has no reason.

    Half calls of an answer that did not end well are left out, and its last message is marked as interrupted.
    Malformed calls of an answer that ended well stay, so that the model hears of them. `half_call` says that
    the reader left one out already.
    """
    failure = failure_in(reason)
    unsure = error is not None or finish in ("length", "other")
    whole = _complete_calls(items) if unsure else list(items)
    half_call = half_call or len(whole) < len(items)
    if half_call and reason is not None and finish not in ("length", "refused"):
        failure = failure or HALF_CALL
    if reason is None or failure is not None:
        whole = _interrupted(whole)
    named = replace_surrogates(model) if model else None
    return settle(Parsed(tuple(whole), usage, finish, named, error or failure))


def _complete_calls(items: Sequence[Item]) -> list[Item]:
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
            items[place] = replace(message, interrupted=True)
            break
    return items


def settle(parsed: Parsed) -> Parsed:
    """An answer as it may be recorded.

    A refused answer has no calls, and an error means that the answer did not end well. Thoughts without any
    text or call after them lose their state: no wire takes them back, and they must not join the next answer.
    """
    items = parsed.items
    if parsed.finish == "refused":
        items = tuple(item for item in items if not isinstance(item, ToolCall))
    if items and all(_is_thought(item) for item in items):
        items = tuple(replace(cast("Reasoning", item), state=None) for item in items)
    return parsed._replace(items=items, finish="other" if parsed.error is not None else parsed.finish)


def _is_thought(item: Item) -> bool:
    """Whether an item is a thought, and not a search or another block that stays without text."""
    if not isinstance(item, Reasoning):
        return False
    for block in unpack(item.state):
        if text_in(block.get("type", "thinking")) not in _THOUGHT_KINDS or block.keys() & _GEMINI_TOOLS:
            return False
    return True
