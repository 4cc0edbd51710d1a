"""The tokens of a payload, counted from the payload alone: nothing of how Quire counts its items is used.

For OpenAI's wires the text is counted exactly, with three tokens and the role for each message and three for
the reply, as OpenAI publishes it; entries that are no message get the same. Others publish neither, so their
text is estimated as that of their models, and nothing is added. Tools that a wire wants defined because the
history calls them are in the payload, and so they are counted.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from quire.tokens import Measured, counter_for
from quire.tokens.exact import exact

MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
MESSAGE, ROLE, REPLY = 3, 1, 3
UNREAD = frozenset(
    ("id", "type", "role", "call_id", "tool_call_id", "tool_use_id", "model", "status", "tool_choice")
    + ("cache_control", "is_error", "thoughtSignature", "signature", "encrypted_content", "store", "include")
)
"""Fields that no model reads as text."""

AS_JSON = frozenset(("input", "args", "input_schema", "parameters", "parametersJsonSchema"))
"""Fields whose objects are read as JSON."""


def payload_tokens(wire: str, payload: dict[str, Any]) -> int:
    """Tokens of all that a model reads in a payload."""
    if wire in MODELS:
        count = _estimated(wire)
        return sum(count(text) for text in texts(payload))
    count = exact("o200k_base")
    entries = payload.get("messages") or payload["input"]
    instructions = 1 if payload.get("instructions") else 0
    framed = (MESSAGE + ROLE) * (len(entries) + instructions) + REPLY
    return framed + sum(count(text) for text in texts(payload))


def texts(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a payload that a model reads."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and name in AS_JSON:
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict):
        for inner, field in value.items():
            if inner not in UNREAD:
                yield from texts(field, inner)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from texts(entry)


def _estimated(wire: str) -> Callable[[str], int]:
    counter = counter_for(MODELS[wire])
    assert isinstance(counter, Measured)
    return counter.text
