"""Calls of tools that take any text, which OpenAI has on both of its wires."""

from typing import Any

import msgspec

from quire.items import ToolCall
from quire.providers.native import form_of, formed
from quire.providers.wording import mended

_KIND = "custom"
_WIRES = ("openai", "openai-responses")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def custom() -> dict[str, Any]:
    """The extras of a call of such a tool; its text is the argument `input`."""
    return formed(_KIND, *_WIRES)


def input_of(call: ToolCall) -> str | None:
    """The text that such a tool is called with; none for a call of a function."""
    if not call.extras or form_of(call, _WIRES[0]) != _KIND:
        return None
    try:
        text = _decode(call.arguments).get("input")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return mended(text) if isinstance(text, str) else None
