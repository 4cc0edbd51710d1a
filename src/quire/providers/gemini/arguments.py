"""Gemini: arguments are objects here, and JSON text in items."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.providers.json_values import json_text, nests_deeper
from quire.providers.sheet import Json
from quire.providers.wording import mended

_DEEPEST = 64  # levels that an object may have; what nests further is refused, if it can be read at all
_decoder = msgspec.json.Decoder()


def read_arguments(text: str) -> Json | None:
    """The arguments of a call as an object, or none if they are not one; no text is no arguments."""
    if text[:1] == "{" and text.isascii() and text.count("{") + text.count("[") <= _DEEPEST:
        # Nearly all arguments: nothing to mend, and not deep whatever they hold.
        try:
            arguments: Json = _decoder.decode(text)
        except msgspec.DecodeError:
            return None
        return arguments
    if not text or text.isspace():
        return {}
    value = read_value(text)
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def arguments_in(call: Mapping[str, Any], path: str) -> str:
    """The arguments of a call as text; some have them as text already, where an object should be."""
    given = call.get("args")
    return given if isinstance(given, str) and given else json_text(given or {}, path)


def read_value(text: str) -> Any:
    """The value that a text of JSON has; none where it is not one, or nests too deeply."""
    try:
        value: Any = _decoder.decode(text if text.isascii() else mended(text))
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if nests_deeper(text, _DEEPEST) else value
