"""Anthropic Messages: what is said of a call beside its name and its input.

A call may be one that the model's own program made, while a tool of the provider ran it. Its caller names the
question to that tool, and goes back only together with the question.
"""

from collections.abc import Container
from typing import Any

from quire.items import ToolCall
from quire.providers.anthropic.abilities import NAME
from quire.providers.json_values import fields_in
from quire.providers.native import BESIDE, beside, fields_beside
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended

CALLER = "caller"
_FAMILY = "toolset_name"


def beside_call(block: Json) -> dict[str, Any]:
    """The extras of a call with what was said of it; that the model itself called says nothing."""
    caller = block.get(CALLER) if called_by(block) is not None else None
    return beside(NAME, {CALLER: caller, _FAMILY: block.get(_FAMILY)})


def said_of(call: ToolCall, asked: Container[str], sheet: Sheet) -> Json:
    """The fields that go back on a call, by the questions that are sent and wait for their answers."""
    if BESIDE not in call.extras:
        return {}
    held = fields_beside(call, NAME)
    family, question = held.get(_FAMILY), called_by(held)
    written: Json = {_FAMILY: mended(family)} if isinstance(family, str) and family else {}
    if question is not None and question in asked:
        written[CALLER] = held[CALLER]
    elif question is not None:
        sheet.note(call, "fields_left_out", "the program that made the call is not sent")
    return written


def called_by(block: Json) -> str | None:
    """The id of the question whose program made a call; none where the model itself did."""
    match fields_in(block.get(CALLER)):
        case {"type": str(), "tool_id": str(question)} if question:
            return question
        case _:
            return None


def as_own(block: Json) -> Json:
    """A block that a program made as one of the model itself."""
    return {name: value for name, value in block.items() if name != CALLER}
