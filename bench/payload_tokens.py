"""The tokens of a payload, counted from the payload alone: nothing of how Quire counts its items is used.

For OpenAI's wires the text is counted exactly, with three tokens and the role for each message and three for
the reply, as OpenAI publishes it; entries that are no message get the same. Others publish neither, so their
text is estimated as that of their models, and nothing is added. Definitions of tools are counted apart: here
they are only those that a wire wants because the history has calls.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from quire.tokens import Measured, counter_for

MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
MESSAGE, ROLE, REPLY = 3, 1, 3
IDS = {"id", "call_id", "tool_call_id", "tool_use_id", "signature", "thoughtSignature", "encrypted_content"}
UNREAD = IDS | {"type", "role", "model", "status", "tool_choice", "cache_control", "is_error"}
"""Fields that no model reads as text."""

AS_JSON = {"input", "args", "input_schema", "parameters", "parametersJsonSchema"}
"""Fields whose objects are read as JSON, here without blanks; how a provider writes them is not published."""


def payload_tokens(wire: str, payload: dict[str, Any]) -> int:
    """Tokens of all that a model reads in a payload, but for the definitions of tools."""
    count = _measure(wire)
    text = sum(map(count, texts({name: value for name, value in payload.items() if name != "tools"})))
    if wire in MODELS:
        return text
    entries = payload.get("messages") or payload["input"]
    messages = len(entries) + bool(payload.get("instructions"))
    return text + (MESSAGE + ROLE) * messages + REPLY


def definition_tokens(wire: str, payload: dict[str, Any]) -> int:
    """Tokens of the definitions of tools."""
    config = payload.get("config") or {}
    return sum(map(_measure(wire), texts([payload.get("tools") or (), config.get("tools") or ()])))


def texts(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a payload that a model reads."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and name in AS_JSON:
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    elif isinstance(value, dict):
        for inner, field in value.items():
            if inner not in UNREAD:
                yield from texts(field, inner)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from texts(entry)


def _measure(wire: str) -> Callable[[str], int]:
    if wire not in MODELS:
        return Measured("o200k_base").text
    counter = counter_for(MODELS[wire])
    assert isinstance(counter, Measured)
    return counter.text
