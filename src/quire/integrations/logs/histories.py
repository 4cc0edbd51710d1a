"""Histories in files: JSON, JSON lines with a message or a history on each, or a log of another program."""

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
"""The formats of requests, and of items: `convert` writes these, and `export` those of other programs too."""

_LINES = (".jsonl", ".ndjson")
_lone_surrogate = re.compile("[\ud800-\udfff]")


class History(NamedTuple):
    """One history. `line` is its line, or None where the whole file is one history.

    Of a log of another program, `payload` is what was sent last, `conversation` is all of it, and `log` the
    log that it is in.
    """

    payload: Any
    line: int | None = None
    is_in_lines: bool = False
    conversation: Conversation | None = None
    log: Log | None = None

    @property
    def place(self) -> str:
        """The line, to begin a sentence with; empty where the history is the whole file."""
        return "" if self.line is None else f"line {self.line}: "

    @property
    def tools(self) -> list[Any]:
        """The tool definitions, in whichever format."""
        fields = fields_in(self.payload)
        tools = fields.get("tools") or fields_in(fields.get("config")).get("tools")
        return [tools] if fields_in(tools) else entries_in(tools)

    @property
    def model(self) -> str | None:
        """The model that the payload names."""
        model = fields_in(self.payload).get("model")
        return model if isinstance(model, str) and model else None

    def format(self, given: str | None = None) -> str:
        """The format of the payload as given, or guessed; OpenAI's where nothing else is found."""
        if self.conversation is not None:
            return self.conversation.wire
        return format_of(self.payload) if given is None else known_format(given, (*PAYLOADS, *LOGS))

    def items(self, source: str | None = None, model: str | None = None) -> list[Item]:
        """The items. `model` is the one that made opaque state in it, where the payload names none."""
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
    """The histories in the content of a file. `source` is a format that they are known to have.

    The name says whether a single line is one of several, and begins errors.
    """
    values, is_in_lines = _values(data, name)
    log = read_log([value for _, value in values], source) if source is None or source in LOGS else None
    if log is not None and log.conversations:
        has_several = len(log.conversations) > 1
        return [
            History(one.payload, one.number if has_several else None, has_several, one, log)
            for one in log.conversations
        ]
    if source in LOGS:
        raise Damaged(f"there is no conversation in it in the format {source}", name)
    return _from_lines(values, name) if is_in_lines else [History(_checked(values[0][1], name))]


def has_lines(name: str) -> bool:
    """Whether a file is one of lines by its name."""
    return name.lower().endswith(_LINES)


def _values(data: bytes, name: str) -> tuple[list[tuple[int, Any]], bool]:
    """The JSON values of a file with their lines, and whether each has a line of its own."""
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
    found: list[tuple[int, Any]] = []
    for number, line in lines:
        try:
            found.append((number, _decoded(line)))
        except msgspec.DecodeError as inner:
            if not found or len(lines) < 2:
                raise Damaged(f"it is not JSON: {fault}", name) from None
            raise Damaged(f"it is not JSON: {inner}", f"{name}, line {number}") from None
    return found


def _from_lines(values: list[tuple[int, Any]], name: str) -> list[History]:
    """Each line a history, if all lines are; else each a message of one history."""
    if all(_is_whole(value) for _, value in values):
        return [History(value, number, is_in_lines=True) for number, value in values]
    for number, value in values:
        if not isinstance(value, dict) or _is_whole(value):
            raise Damaged("lines are messages, or lines are histories, not both", f"{name}, line {number}")
    return [History([value for _, value in values], is_in_lines=True)]


def _checked(value: Any, name: str) -> Any:
    fields = fields_in(value)
    if not _is_whole(value) and ("role" in fields or "type" in fields):
        return [value]  # a single message
    if not isinstance(value, dict | list):
        raise Damaged("a history is a list of messages, or an object that has one", name)
    return cast(Any, value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, list) or any(key in fields_in(value) for key in HISTORY.values())


# Formats


def known_format(name: str, formats: tuple[str, ...] = PAYLOADS) -> str:
    """The name of a format, or an error that lists all."""
    if name not in formats:
        raise InvalidValue(f"no format {cut(name)!r}; there are {', '.join(formats)}")
    return name


def format_of(payload: Any) -> str:
    """The format that a payload looks like: a provider's, or items of Quire."""
    messages = entries_in(fields_in(payload).get("messages") or payload)
    return OWN if any("kind" in fields_in(message) for message in messages) else wire_of(payload)


def other_format(payload: Any, provider: str) -> str | None:
    """The format that a payload clearly has, if it is not the provider's."""
    guess, fields = format_of(payload), fields_in(payload)
    messages = [fields_in(message) for message in entries_in(fields.get("messages") if fields else payload)]
    is_chat = any(one.get("tool_calls") or one.get("role") in ("tool", "function") for one in messages)
    if guess == "openai":  # plain messages are of several formats
        has_fields = "messages" in fields and provider == "openai-responses"
        return guess if provider != guess and (is_chat or has_fields or provider == "gemini") else None
    return guess if guess != provider and not is_chat else None
