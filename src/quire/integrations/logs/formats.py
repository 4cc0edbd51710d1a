"""The formats of other programs. Each recognises and reads a log; some can write one for its program."""

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
"""By format, the provider whose messages it contains."""

OWN = "items"
"""Quire's own format, which holds everything; no other program reads it."""

WITH_LOG = (OWN, "claude-code", "codex")
"""The formats that can hold everything recorded, not only the items that are shown."""

WRITTEN = (OWN, *PROVIDERS, *(name for name, row in FORMATS.items() if row.write is not None), "markdown")
"""The formats in which a conversation can be written."""


def read_log(values: Sequence[Any], format: str | None = None) -> Log | None:
    """Read the conversations of a log. `values` has the JSON value of each line, or that of a whole file.

    Without `format`, the values tell the format. Returns None if no format is recognised.
    """
    records = records_in(values)
    candidates = FORMATS if format is None else {format: FORMATS[format]}
    for candidate in candidates.values():
        if candidate.recognises(records):
            return candidate.read(records)
    return None


def write_conversation(items: Sequence[Item], format: str, target: Target) -> Written:
    """Write items and their edits in a format; `Written.downgrades` says what the format cannot hold."""
    if format not in WRITTEN:
        raise InvalidValue(f"no format {cut(format)!r} is written; there are {', '.join(WRITTEN)}")
    if format == OWN:
        return Written(msgspec.json.decode(JSON.encode(items)))
    if not any(is_output(item) or is_user_message(item) for item in items):
        raise InvalidValue("the conversation has no message of a user or a model yet")
    own_writer = FORMATS[format].write if format in FORMATS else None
    writer = write_markdown if format == "markdown" else own_writer
    items = without_sealed(items, WIRES.get(format, ""))
    return _payload(items, format, target) if writer is None else writer(items, target)


def _payload(items: Sequence[Item], wire: str, target: Target) -> Written:
    rendered = provider_for(wire).render(target.shown(items), model=target.model or model_in(items, wire))
    return Written(rendered.payload, list(rendered.downgrades))
