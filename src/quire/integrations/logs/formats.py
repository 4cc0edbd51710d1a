"""The formats of other programs: what recognises a log, reads it, and writes one that its program resumes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from quire.errors import InvalidValue, cut
from quire.integrations.logs.ai_sdk import is_ai_sdk, read_ai_sdk, write_ai_sdk
from quire.integrations.logs.claude_code import is_claude_code, read_claude_code, write_claude_code
from quire.integrations.logs.codex import is_codex, read_codex, write_codex
from quire.integrations.logs.conversation import Log, Record, Target, Written, records_in
from quire.integrations.logs.langgraph import is_langgraph, read_langgraph, write_langgraph
from quire.integrations.logs.markdown import write_markdown
from quire.integrations.logs.requests import is_request_log, read_request_log
from quire.integrations.logs.traces import is_langsmith, is_otel, read_langsmith, read_otel
from quire.integrations.logs.windows import model_in, without_sealed
from quire.items import JSON, Item
from quire.providers import PROVIDERS, provider_for
from quire.state import is_output, is_user_message

Writer = Callable[[Sequence[Item], Target], Written]


class _Format(NamedTuple):
    recognises: Callable[[list[Record]], bool]
    read: Callable[[list[Record]], Log]
    write: Writer | None = None


FORMATS: dict[str, _Format] = {
    "claude-code": _Format(is_claude_code, read_claude_code, write_claude_code),
    "codex": _Format(is_codex, read_codex, write_codex),
    "langsmith": _Format(is_langsmith, read_langsmith),
    "otel": _Format(is_otel, read_otel),
    "ai-sdk": _Format(is_ai_sdk, read_ai_sdk, write_ai_sdk),
    "langgraph": _Format(is_langgraph, read_langgraph, write_langgraph),
    "requests": _Format(is_request_log, read_request_log),
}
"""The formats of logs by name, in the order in which they are tried."""

WIRES = {"claude-code": "anthropic", "codex": "openai-responses", **{name: name for name in PROVIDERS}}
"""The formats that have a provider's messages, with the provider."""

OWN = "items"
"""The format that has all, and that Quire alone reads."""

WITH_LOG = (OWN, "claude-code", "codex")
"""The formats that have all that was recorded beside what is shown."""

WRITTEN = (
    OWN,
    *PROVIDERS,
    *(name for name, one in FORMATS.items() if one.write is not None),
    "markdown",
)
"""The formats that a conversation is written in."""


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


def write_conversation(items: Sequence[Item], format: str, target: Target) -> Written:
    """Items with their edits in a format, and what it does not carry."""
    if format not in WRITTEN:
        raise InvalidValue(f"no format {cut(format)!r} is written; there are {', '.join(WRITTEN)}")
    if format == OWN:
        return Written(msgspec.json.decode(JSON.encode(items)))
    if not any(is_output(item) or is_user_message(item) for item in items):
        raise InvalidValue("nobody has said anything in it yet")
    writer = write_markdown if format == "markdown" else FORMATS[format].write if format in FORMATS else None
    items = without_sealed(items, WIRES.get(format, ""))
    return _payload(items, format, target) if writer is None else writer(items, target)


def _payload(items: Sequence[Item], wire: str, target: Target) -> Written:
    rendered = provider_for(wire).render(target.shown(items), model=target.model or model_in(items, wire))
    return Written(rendered.payload, list(rendered.downgrades))
