"""Histories in files: JSON, JSON lines with a message or a history on each, or a log of another program."""

import json
import re
from typing import Any, NamedTuple, cast

import msgspec

from quire.cli.phrases import fields_of, listed
from quire.cli.terminal import note, read_bytes, write_json, write_lines
from quire.errors import Damaged, InvalidValue, QuireError, cut
from quire.integrations.logs import FORMATS as LOGS, Conversation, read_log, wire_of
from quire.items import JSON, Item, Message, ToolCall, ToolResult
from quire.providers import HISTORY, NO_NAME, PROVIDERS, Downgrade, provider_for
from quire.state import Transcript, is_edit

OWN = "quire"
FORMATS = (*PROVIDERS, OWN)
"""The formats that histories are written in; logs of other programs are read and never written."""

READ: dict[str, set[str]] = {
    "openai": {"messages", "tools"},
    "openai-responses": {"input", "instructions", "tools"},
    "anthropic": {"messages", "system", "tools"},
    "gemini": {"contents", "system_instruction", "systemInstruction", "tools"},
}
"""The fields of a payload that become items and tools."""

_LINES = (".jsonl", ".ndjson")
_MOST_FIELDS = 20
_lone_surrogate = re.compile("[\ud800-\udfff]")


class History(NamedTuple):
    """One history. `line` is its line, or None where the whole file is one history.

    Of a log of another program, `payload` is what was sent last, `conversation` is all of it, and `log` the
    format of the log.
    """

    payload: Any
    line: int | None = None
    is_in_lines: bool = False
    conversation: Conversation | None = None
    log: str | None = None

    @property
    def place(self) -> str:
        """The line, to begin a sentence with; empty where the history is the whole file."""
        return "" if self.line is None else f"line {self.line}: "

    @property
    def tools(self) -> list[Any]:
        """The tool definitions, in whichever format."""
        fields = fields_of(self.payload)
        tools = fields.get("tools") or fields_of(fields.get("config")).get("tools")
        return [tools] if fields_of(tools) else _list(tools)

    @property
    def model(self) -> str | None:
        """The model that the payload names."""
        model = fields_of(self.payload).get("model")
        return model if isinstance(model, str) and model else None

    def format(self, given: str | None = None) -> str:
        """The format of the payload as given, or guessed; OpenAI's where nothing else is found."""
        if self.conversation is not None:
            return self.conversation.wire
        return format_of(self.payload) if given is None else known_format(given, (*FORMATS, *LOGS))

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


def read_histories(name: str, source: str | None = None) -> list[History]:
    """The histories in a file; `-` is standard input. `source` is a format that they are known to have.

    What a log of another program is, and what in it is no part of a conversation, is printed.
    """
    values, is_in_lines = _values(name)
    log = read_log([value for _, value in values], source) if source is None or source in LOGS else None
    if log is not None and log.conversations:
        note(f"{name}: {log}")
        has_several = len(log.conversations) > 1
        return [
            History(one.payload, one.number if has_several else None, has_several, one, log.format)
            for one in log.conversations
        ]
    if source in LOGS:
        raise Damaged(f"there is no conversation in it in the format {source}", name)
    return _from_lines(values, name) if is_in_lines else [History(_checked(values[0][1], name))]


def is_log(name: str) -> bool:
    """Whether a file with lines is a log of another program, and no store."""
    try:
        values = _values(name)[0] if name.lower().endswith(_LINES) else []
        log = read_log([value for _, value in values])
    except QuireError:
        return False
    return log is not None and bool(log.conversations)


def _values(name: str) -> tuple[list[tuple[int, Any]], bool]:
    """The JSON values of a file with their lines, and whether each has a line of its own."""
    try:
        text = read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Damaged("it is not UTF-8", name) from None
    if not text.strip():
        raise Damaged("there is nothing in it", name)
    is_one_line = name.lower().endswith(_LINES) and "\n" not in text.strip()
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
    fields = fields_of(value)
    if not _is_whole(value) and ("role" in fields or "type" in fields):
        return [value]  # a single message
    if not isinstance(value, dict | list):
        raise Damaged("a history is a list of messages, or an object that has one", name)
    return cast(Any, value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, list) or any(key in fields_of(value) for key in HISTORY.values())


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", cast(object, value)) if isinstance(value, list) else []


# Formats


def known_format(name: str, formats: tuple[str, ...] = FORMATS) -> str:
    """The name of a format, or an error that lists all."""
    if name not in formats:
        raise InvalidValue(f"no format {cut(name)!r}; there are {', '.join(formats)}")
    return name


def format_of(payload: Any) -> str:
    """The format that a payload looks like: a provider's, or items of Quire."""
    messages = _list(fields_of(payload).get("messages") or payload)
    return OWN if any("kind" in fields_of(message) for message in messages) else wire_of(payload)


def other_format(payload: Any, provider: str) -> str | None:
    """The format that a payload clearly has, if it is not the provider's."""
    guess, fields = format_of(payload), fields_of(payload)
    messages = [fields_of(message) for message in _list(fields.get("messages") if fields else payload)]
    is_chat = any(one.get("tool_calls") or one.get("role") in ("tool", "function") for one in messages)
    if guess == "openai":  # plain messages are of several formats
        has_fields = "messages" in fields and provider == "openai-responses"
        return guess if provider != guess and (is_chat or has_fields or provider == "gemini") else None
    return guess if guess != provider and not is_chat else None


def located(
    history: History, source: str, items: list[Item], downgrades: tuple[Downgrade, ...]
) -> tuple[Downgrade, ...]:
    """Downgrades whose reasons begin with the message: its place in the payload, role and call id."""
    places = _places(history, source, items)
    by_id = {item.id: item for item in items}
    found: list[Downgrade] = []
    for one in downgrades:
        item = by_id.get(one.item_id or "")
        words = [] if item is None else [*filter(None, [places.get(item.id)]), *_traits(item)]
        found.append(one._replace(reason=f"{', '.join(words)}: {one.reason}") if words else one)
    return tuple(found)


def _traits(item: Item) -> list[str]:
    if isinstance(item, ToolCall | ToolResult):
        role, kind = ("assistant", "call") if isinstance(item, ToolCall) else ("tool", "result of call")
        name = "an unknown tool" if item.name == NO_NAME else cut(item.name)
        return [role, f"{kind} {cut(item.call_id)!r} of {name}"]
    return [item.role] if isinstance(item, Message) else []


def _places(history: History, source: str, items: list[Item]) -> dict[str, str]:
    """The messages of items, by id; empty if the messages one by one do not give the same items."""
    field, fields = HISTORY.get(source, ""), fields_of(history.payload)
    if history.conversation is not None:  # a log has more items than its last request
        return {}
    messages, read = _list(fields.get(field) if fields else history.payload), list[str]()
    for index, message in enumerate(messages) if field else ():
        try:
            count = len(provider_for(source).read_history([message]))
        except QuireError:
            return {}
        read += [f"{field}[{index}]"] * count
    before = len(items) - len(read)  # instructions that the payload keeps apart
    return dict(zip((item.id for item in items[before:]), read, strict=True)) if 0 <= before <= 1 else {}


def render(
    items: list[Item], to: str, *, model: str | None = None, tools: list[Any] | None = None
) -> tuple[Any, tuple[Downgrade, ...]]:
    """Items in a format, and what the format could not carry; a provider's format holds what edits leave."""
    if known_format(to) == OWN:
        return msgspec.json.decode(JSON.encode(items)), ()
    shown = list(Transcript(items).view) if any(map(is_edit, items)) else items
    rendered = provider_for(to).render(shown, model=model, tools=tools or [])
    return rendered.payload, rendered.downgrades


def unwritten(history: History, source: str, to: str) -> str | None:
    """A sentence on fields that are not written: settings are no part of a conversation."""
    read = READ.get(source, set())
    fields = {name: value for name, value in fields_of(history.payload).items() if name not in read}
    config = fields_of(fields.pop("config", None)) if source == "gemini" else {}
    fields |= {f"config.{name}": value for name, value in config.items() if name not in read}
    names = [cut(name) for name, value in fields.items() if value is not None]
    if to == OWN and history.tools:
        names.append("tools")
    return f"not written: {listed(names, _MOST_FIELDS)}" if names else None


# Writing


def write_payloads(payloads: list[Any], histories: list[History], name: str | None) -> None:
    """Write payloads as they came: one as JSON, histories on lines, or messages on lines."""
    if not histories[0].is_in_lines:
        write_json(payloads[0], name)
    elif histories[0].line is None and isinstance(payloads[0], list):
        write_lines(_list(payloads[0]), name)
    else:
        write_lines(payloads, name)


def note_downgrades(history: History, downgrades: tuple[Downgrade, ...], remark: str | None = None) -> None:
    """Print what a format could not carry, and a remark, to standard error."""
    for downgrade in downgrades:
        note(f"{history.place}{downgrade.reason} ({downgrade.change})")
    if remark is not None:
        note(f"{history.place}{remark}")
