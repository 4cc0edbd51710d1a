"""The formats of logs, and how the one of a log is found."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from quire.integrations.logs.coding_agents import is_claude_code, is_codex, read_claude_code, read_codex
from quire.integrations.logs.conversation import Conversation, Entry, Log, Record, Window, moment, records_in
from quire.integrations.logs.requests import is_request_log, read_request_log
from quire.integrations.logs.traces import is_langsmith, is_otel, read_langsmith, read_otel
from quire.providers import entries_in, fields_in, strict_messages


def _is_ai_sdk(records: list[Record]) -> bool:
    """Whether these are messages of the AI SDK that no provider has: of an interface, or with its calls."""
    return any(_has_parts(message) for _, record in records for message in _messages(record))


def _has_parts(message: dict[str, Any]) -> bool:
    parts = [fields_in(part) for part in entries_in(message.get("parts"))]
    blocks = [fields_in(block).get("type") for block in entries_in(message.get("content"))]
    is_of_interface = any("type" in part and "content" not in part for part in parts)
    return is_of_interface or "tool-call" in blocks or "tool-result" in blocks


def _read_ai_sdk(records: list[Record]) -> Log:
    """All messages as one conversation; a record with a list of them is one of its own."""
    lists = [(number, _messages(record)) for number, record in records if "messages" in record]
    if not lists:
        lists = [(1, [record for _, record in records])]
    return Log("ai-sdk", "messages of the AI SDK", [_ai_sdk_chat(*one) for one in lists], Counter())


def _messages(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [fields_in(one) for one in entries_in(record.get("messages", [record]))]


def _ai_sdk_chat(number: int, messages: list[dict[str, Any]]) -> Conversation:
    entries = list[Entry]()
    for index, message in enumerate(messages):
        made = message.get("createdAt") or fields_in(message.get("metadata")).get("createdAt")
        own_id = message.get("id") if isinstance(message.get("id"), str) else None
        strict = strict_messages(message, f"$.messages[{index}]")
        entries += [Entry(one, own_id, moment(made)) for one in strict]
    return Conversation("openai", [Window(entries)], {}, number)


class _Format(NamedTuple):
    recognises: Callable[[list[Record]], bool]
    read: Callable[[list[Record]], Log]


FORMATS: dict[str, _Format] = {
    "claude-code": _Format(is_claude_code, read_claude_code),
    "codex": _Format(is_codex, read_codex),
    "langsmith": _Format(is_langsmith, read_langsmith),
    "otel": _Format(is_otel, read_otel),
    "ai-sdk": _Format(_is_ai_sdk, _read_ai_sdk),
    "requests": _Format(is_request_log, read_request_log),
}
"""The formats of logs by name, in the order in which they are tried."""


def read_log(values: Sequence[Any], format: str | None = None) -> Log | None:
    """The conversations in the lines of a log, or in a file of JSON, which is one value.

    Without a `format` the one that the values look like; None if they look like no log.
    """
    records = records_in(values)
    known = FORMATS if format is None else {format: FORMATS[format]}
    for one in known.values():
        if one.recognises(records):
            return one.read(records)
    return None
