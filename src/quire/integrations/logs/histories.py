"""Reads histories from files: JSON, JSON lines of messages or of histories, or logs of other programs."""

import json
import re
from typing import Any, NamedTuple, cast

import msgspec

from quire.errors import Damaged, InvalidValue, cut
from quire.integrations.logs.conversation import Conversation, Log
from quire.integrations.logs.formats import FORMATS as LOGS, OWN as OWN, read_log
from quire.integrations.logs.requests import wire_of
from quire.items import JSON, Item
from quire.providers import HISTORY, PROVIDERS, entries_in, fields_in, provider_for

PAYLOADS = (*PROVIDERS, OWN)
"""The formats of requests and of items, which `convert` writes; `export` also writes those of programs."""

_LINES = (".jsonl", ".ndjson")
_lone_surrogate = re.compile("[\ud800-\udfff]")


class History(NamedTuple):
    """One history of a file. `line` is its line, or None if the whole file is one history.

    `is_in_lines` tells whether the file is written again as JSON lines: of histories, or of messages.
    For a log of another program, `payload` is the last request, `conversation` has everything, and `log` is
    the log of the conversation.
    """

    payload: Any
    line: int | None = None
    is_in_lines: bool = False
    conversation: Conversation | None = None
    log: Log | None = None

    @property
    def place(self) -> str:
        """The line as the start of an error text; empty if the whole file is one history."""
        return "" if self.line is None else f"line {self.line}: "

    @property
    def tools(self) -> list[Any]:
        """The tool definitions, in the format of any provider."""
        fields = fields_in(self.payload)
        tools = fields.get("tools") or fields_in(fields.get("config")).get("tools")
        return [tools] if fields_in(tools) else entries_in(tools)

    @property
    def model(self) -> str | None:
        """The model that the payload names."""
        model = fields_in(self.payload).get("model")
        return model if isinstance(model, str) and model else None

    def format(self, source: str | None = None) -> str:
        """The format of the payload: `source`, or a guess."""
        if self.conversation is not None:
            return self.conversation.wire
        return format_of(self.payload) if source is None else known_format(source, (*PAYLOADS, *LOGS))

    def items(self, source: str | None = None, model: str | None = None) -> list[Item]:
        """The items. `model` is the model that made the opaque state, if the payload does not name it."""
        wire = self.format(source)
        if self.conversation is not None:
            items = self.conversation.items(self.model or model)
        elif wire == OWN:
            items = JSON.decode(msgspec.json.encode(self.payload))
        else:
            items = provider_for(wire).read_history(self.payload, model=self.model or model)
        if not items:
            raise InvalidValue(f"{self.place}no messages were found; is the format right?")
        return items


# Reading


def histories_in(data: bytes, name: str, source: str | None = None) -> list[History]:
    """The histories in the content of a file. `source` is their format; without it, the format is guessed.

    The ending of `name` shows whether the file has JSON lines. The name also begins error texts.
    """
    values, is_in_lines = _values(data, name)
    log = read_log([value for _, value in values], source) if source is None or source in LOGS else None
    if log is not None and log.conversations:
        if len(log.conversations) == 1:
            return [History(log.conversations[0].payload, None, False, log.conversations[0], log)]
        return [History(each.payload, each.number, True, each, log) for each in log.conversations]
    if source in LOGS:
        raise Damaged(f"it has no conversation in the format {source}", name)
    return _from_lines(values, name) if is_in_lines else [History(_checked(values[0][1], name))]


def has_lines(name: str) -> bool:
    """Whether a file has JSON lines, by the ending of its name."""
    return name.lower().endswith(_LINES)


def _values(data: bytes, name: str) -> tuple[list[tuple[int, Any]], bool]:
    """The JSON values of a file with their line numbers, and whether each value has its own line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Damaged("it is not UTF-8", name) from None
    if not text.strip():
        raise Damaged("there is nothing in it", name)
    is_one_line = has_lines(name) and "\n" not in text.strip()
    try:
        return [(1, _decoded(text))], is_one_line
    except msgspec.DecodeError as fault:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        return _decoded_lines(lines, name, fault), True


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if "\\ud" not in text.lower():
            raise
    try:  # Python writes lone surrogates, and no provider accepts them
        return msgspec.json.decode(
            _lone_surrogate.sub("\ufffd", json.dumps(json.loads(text), ensure_ascii=False))
        )
    except ValueError as fault:
        raise msgspec.DecodeError(str(fault)) from None


def _decoded_lines(lines: list[tuple[int, str]], name: str, fault: Exception) -> list[tuple[int, Any]]:
    values: list[tuple[int, Any]] = []
    for number, line in lines:
        try:
            values.append((number, _decoded(line)))
        except msgspec.DecodeError as inner:
            if not values or len(lines) < 2:
                raise Damaged(f"it is not JSON: {fault}", name) from None
            raise Damaged(f"it is not JSON: {inner}", f"{name}, line {number}") from None
    return values


def _from_lines(values: list[tuple[int, Any]], name: str) -> list[History]:
    """One history per line if every line is a history; otherwise the lines are messages of one history."""
    if all(_is_history(value) for _, value in values):
        return [History(value, number, is_in_lines=True) for number, value in values]
    for number, value in values:
        if not isinstance(value, dict) or _is_history(value):
            raise Damaged("every line must be a message, or every line a history", f"{name}, line {number}")
    return [History([value for _, value in values], is_in_lines=True)]


def _checked(value: Any, name: str) -> Any:
    fields = fields_in(value)
    if not _is_history(value) and ("role" in fields or "type" in fields):
        return [value]  # a single message
    if not isinstance(value, dict | list):
        raise Damaged("a history is a list of messages, or an object that has one", name)
    return cast(Any, value)


def _is_history(value: Any) -> bool:
    return isinstance(value, list) or any(key in fields_in(value) for key in HISTORY.values())


# Formats


def known_format(name: str, formats: tuple[str, ...] = PAYLOADS) -> str:
    """Return the name of a format. For an unknown name, raise `InvalidValue` with all formats."""
    if name not in formats:
        raise InvalidValue(f"no format {cut(name)!r}; there are {', '.join(formats)}")
    return name


def format_of(payload: Any) -> str:
    """A guess at the format of a payload: a provider's, or items of Quire."""
    messages = entries_in(fields_in(payload).get("messages") or payload)
    return OWN if any("kind" in fields_in(message) for message in messages) else wire_of(payload)


def other_format(payload: Any, provider: str) -> str | None:
    """The format of a payload if it is clearly another one than the provider's; else None."""
    guess, fields = format_of(payload), fields_in(payload)
    messages = [fields_in(message) for message in entries_in(fields.get("messages") if fields else payload)]
    is_chat = any(row.get("tool_calls") or row.get("role") in ("tool", "function") for row in messages)
    if guess == provider:
        return None
    if guess == "openai":  # messages with only text are valid in several formats
        has_messages_field = "messages" in fields and provider == "openai-responses"
        return guess if is_chat or has_messages_field or provider == "gemini" else None
    return None if is_chat else guess
