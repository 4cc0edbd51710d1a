"""Marks of a cache in messages of OpenAI's two wires: put on, and taken off for who does not know them."""

from typing import Any

from quire.providers.json_values import entries_in, fields_in
from quire.providers.sheet import Json

_FIELD = "prompt_cache_breakpoint"
_EXPLICIT = {"mode": "explicit"}
_TEXTS = ("text", "input_text")


def with_breakpoint(message: Json, field: str, blocks: list[Json]) -> Json:
    """A message with a mark on the last of the blocks in a field of it."""
    return {**message, field: [*blocks[:-1], {**blocks[-1], _FIELD: _EXPLICIT}]}


def without_breakpoints(payload: Json) -> Json:
    """A payload whose messages have no marks; a text that is a block for its mark alone is a text again."""
    for history in ("messages", "input"):
        messages = payload.get(history)
        if isinstance(messages, list):
            return {**payload, history: [_unmarked(message) for message in entries_in(messages)]}
    return payload


def _unmarked(message: Any) -> Any:
    for field in ("content", "output"):
        blocks = fields_in(message).get(field)
        if isinstance(blocks, list) and blocks and _FIELD in fields_in(blocks[-1]):
            last = {name: value for name, value in fields_in(blocks[-1]).items() if name != _FIELD}
            alone = len(entries_in(blocks)) == 1 and last.get("type") in _TEXTS
            return {**message, field: last["text"] if alone else [*entries_in(blocks)[:-1], last]}
    return message
