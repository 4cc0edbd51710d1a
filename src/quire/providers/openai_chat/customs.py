"""Tools that take any text, and calls of them, which OpenAI has on both of its wires."""

from typing import Any

import msgspec

from quire.errors import cut
from quire.items import ToolCall
from quire.providers.definitions import Tool
from quire.providers.json_values import fields_in
from quire.providers.native import form_of, formed
from quire.providers.provider import words_in
from quire.providers.sheet import Sheet
from quire.providers.wording import mended

_KIND = "custom"
_WIRES = ("openai", "openai-responses")
_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
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


def is_custom(tool: Tool) -> bool:
    """Whether a tool takes any text."""
    return tool.native is not None and tool.native.get("type") == _KIND


def as_function(tool: Tool, sheet: Sheet) -> Tool:
    """Such a tool as a function, for who has none: calls of it have the same arguments either way."""
    reason = f"{cut(tool.name)!r} takes any text, and is a function of one text here"
    sheet.note(None, "fields_left_out", reason)
    told = fields_in(tool.native)
    described = words_in((fields_in(told.get(_KIND)) or told).get("description"))
    return tool._replace(native=None, description=described, schema=_TEXT)
