"""Gemini: arguments are objects here, and JSON text in items."""

import re
from typing import Any

import msgspec

from quire.providers.sheet import Json
from quire.providers.wording import mended

_DEEPEST = 64  # levels that an object may have; what nests further is refused, if it can be read at all
_decoder = msgspec.json.Decoder()
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)


def read_arguments(text: str) -> Json | None:
    """The arguments of a call as an object, or none if they are not one; no text is no arguments."""
    if text == "{}" or not text or text.isspace():
        return {}
    try:
        value: Any = _decoder.decode(text if text.isascii() else mended(text))
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_flat(text) else None  # pyright: ignore[reportUnknownVariableType]


def write_arguments(arguments: Any) -> str:
    """The arguments of a call as JSON text."""
    return msgspec.json.encode(arguments).decode()


def _is_flat(text: str) -> bool:
    if len(text) <= _DEEPEST or text.count("{") + text.count("[") <= _DEEPEST:
        return True
    depth = deepest = 0
    for token in _BRACKETS.findall(text):
        depth += (token in "[{") - (token in "]}")
        deepest = max(deepest, depth)
    return deepest <= _DEEPEST
