"""Gemini: what a call gave, as the object that it is here and as the text that it is in items.

An object of other fields than `output` or `error` is its own JSON in an item, and so is a value that is no
text. That it was one is kept in `extras`, so that it goes back as it came and not as a text of JSON.
"""

from collections.abc import Mapping
from typing import Any

from quire.items import ToolResult
from quire.providers import wording
from quire.providers.gemini.arguments import read_value
from quire.providers.json_values import json_text
from quire.providers.sheet import Json

GIVEN_AS = "given_as"
"""The key in `extras` for what the text of a result was on the wire: an `object`, or a `value` in one."""

_KEYS = ("output", "error")


def read_response(
    response: Mapping[str, Any] | list[Any] | str, path: str
) -> tuple[str, bool, dict[str, Any]]:
    """The words of an answer, whether they tell of an error, and the extras of an item that has them.

    Some write a text or a list where an object should be: that is what the call gave.
    """
    if isinstance(response, str | list):
        response = {"output": response}
    for key in _KEYS:
        if set(response) == {key}:
            value = response[key]
            if isinstance(value, str):
                return value, key == "error", {}
            return json_text(value, path), key == "error", {GIVEN_AS: "value"}
    return json_text(response, path), False, {GIVEN_AS: "object"}


def response_of(result: ToolResult, text: str) -> Json:
    """The answer to a call; a text that was changed since, and is no JSON any more, is a text."""
    key = "error" if result.is_error else "output"
    given_as = result.extras.get(GIVEN_AS) if result.extras else None
    if given_as in ("object", "value"):
        value = read_value(text)
        if given_as == "object" and isinstance(value, dict) and not result.is_error:
            return value  # pyright: ignore[reportUnknownVariableType]
        if given_as == "value" and (value is not None or text == "null"):
            return {key: value}
    return {key: wording.mended(text)}
