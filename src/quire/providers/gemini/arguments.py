"""Gemini: arguments are objects here, and JSON text in items."""

from typing import Any

import msgspec

from quire.providers.json_values import nests_deeper
from quire.providers.sheet import Json
from quire.providers.wording import mended

_DEEPEST = 64  # levels that an object may have; what nests further is refused, if it can be read at all
_decoder = msgspec.json.Decoder()


def read_arguments(text: str) -> Json | None:
    """The arguments of a call as an object, or none if they are not one; no text is no arguments."""
    if text == "{}" or not text or text.isspace():
        return {}
    value = read_value(text)
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def read_value(text: str) -> Any:
    """The value that a text of JSON has; none where it is not one, or nests too deeply."""
    try:
        value: Any = _decoder.decode(text if text.isascii() else mended(text))
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if nests_deeper(text, _DEEPEST) else value
