"""OpenAI Responses: what is said of a call beside its name and its arguments.

The namespace says which of several tools of one name is meant. The caller is the program, written by the
model, that made the call: it goes back only together with the program.
"""

from typing import Any

from quire.items import ToolCall
from quire.providers.json_values import fields_in
from quire.providers.native import BESIDE, beside, fields_beside
from quire.providers.openai_responses.states import NAME
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import mended

PROGRAM = "program"
CALLER = "caller"


def beside_call(item: Json) -> dict[str, Any]:
    """The extras of a call with what was said of it; that the model itself called says nothing."""
    told: Json = {
        "namespace": item.get("namespace"),
        CALLER: item.get(CALLER) if _program_of(item.get(CALLER)) else None,
        "async": item.get("async") is True,
    }
    return beside(NAME, told)


class Programs:
    """The programs among what was written, by their ids; each message is looked at once."""

    __slots__ = ("_known", "_seen", "_sheet")

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._known: set[str] = set()
        self._seen = 0

    def branch(self, sheet: Sheet) -> "Programs":
        """The same programs, to go on in another way."""
        twin = Programs(sheet)
        twin._known, twin._seen = self._known.copy(), self._seen
        return twin

    def __contains__(self, call_id: object) -> bool:
        messages = self._sheet.messages
        for place in range(self._seen, len(messages)):
            known = messages[place].get("call_id") if messages[place].get("type") == PROGRAM else None
            if isinstance(known, str):
                self._known.add(known)
        self._seen = len(messages)
        return isinstance(call_id, str) and call_id in self._known


def said_of(call: ToolCall, programs: Programs, sheet: Sheet) -> Json:
    """The fields that go back on a call, by the programs that were written before it."""
    if BESIDE not in call.extras:
        return {}
    held = fields_beside(call, NAME)
    written: Json = {"async": True} if held.get("async") is True else {}
    if isinstance(held.get("namespace"), str):
        written["namespace"] = mended(held["namespace"])
    program = _program_of(held.get(CALLER))
    if program and program in programs:
        written[CALLER] = {"type": PROGRAM, "caller_id": program}
    elif program:
        sheet.note(call, "fields_left_out", "the program that made the call is not sent")
    return written


def _program_of(caller: Any) -> str | None:
    """The id of the program that made a call; none where the model itself did."""
    held = fields_in(caller)
    call_id = held.get("caller_id") if held.get("type") == PROGRAM else None
    return call_id if isinstance(call_id, str) and call_id and mended(call_id) == call_id else None
