"""The story that the demonstration plays: a customer of a lamp shop, its tools, and what is said."""

from typing import Literal, NamedTuple

from quire.agent import Tool, tool
from quire.agent.builtin import bringing_back_tools
from quire.cli.stage import Cue
from quire.items import ToolCall, new_id

INSTRUCTIONS = "You help the customers of a lamp shop. Answer in one short sentence."
SUMMARY = (
    "The customer asked for three parcels, got a broken shade and wants the money back for return R-2049."
)
PROMPT = "Say in one sentence what the customer wants and what was done.\n\n{conversation}"
ANSWER = 24
"""Tokens of an answer that is live."""

Order = Literal["4711", "4712", "4713"]
_STATIONS = ("Hamburg", "Bremen", "Kassel", "Erfurt")
_PLACES = ("gate", "belt", "ramp")


class Turn(NamedTuple):
    """What the customer says, and what is said to it."""

    asked: str
    cues: tuple[Cue, ...]


def shop_tools() -> list[Tool]:
    """What the shop's agent can do."""
    return [tool(track_parcel), tool(refund, approve=True), *bringing_back_tools(tokens=60)]


def track_parcel(order: Order) -> str:
    """Tell where the parcel of an order was seen."""
    seen = "\n".join(
        f"at {hour} in {_STATIONS[(hour + int(order)) % 4]}, at the {_PLACES[hour % 3]}"
        for hour in range(6, 16)
    )
    return f"order {order}: a reading lamp of brass, seen\n{seen}"


def refund(return_number: str) -> str:
    """Give the money back for a return."""
    return f"{return_number} has not arrived yet: nothing was paid back"


def opening() -> list[Turn]:
    """How it begins: a question that the real model answers."""
    return [
        _tracked("Hello, I ordered three lamps. Where is order 4711?", "4711", "4711 comes tomorrow.", True)
    ]


def more_parcels() -> list[Turn]:
    """What is replayed until there is more than fits."""
    return [
        _said(
            "By the way, my doorbell is broken. The courier should knock at the green gate.",
            "I have told the courier.",
        ),
        _tracked("And order 4712?", "4712", "4712 is a day behind, and comes on Thursday.", False),
        _tracked("And the third one, 4713?", "4713", "4713 left Kassel this morning.", False),
    ]


def middle() -> list[Turn]:
    """What is replayed while a summary of the beginning is written."""
    paid_back = _call("refund", '{"return_number":"R-2049"}')
    return [
        _said(
            "One of them came with a broken shade.", "I am sorry. You can have a new one, or the money back."
        ),
        Turn(
            "The money back, please. The return is R-2049.",
            (Cue(paid_back), Cue("Your return is still on its way; I pay when it is here.")),
        ),
        _said("May I keep the bulb?", "Yes, the bulb is yours."),
    ]


def brought_back(handles: list[str]) -> Turn:
    """A question that needs what was moved out of the conversation."""
    call = Cue(_call("read_back", f'{{"handle":"{handles[0]}"}}'), True, {"handle": handles}, most=48)
    return Turn("Where was parcel 4711 at six in the morning?", (call, _answer("It was in Bremen at six.")))


def ending() -> Turn:
    """The last word."""
    return Turn("Thank you, that is all.", (_answer("You are welcome. Goodbye!"),))


def small_talk() -> list[tuple[str, str]]:
    """What is said later, and has nothing to do with it."""
    return [
        (f"Do you have {colour} {thing}?", f"Yes, we have {thing} in {colour}.")
        for thing in ("shades", "bulbs", "cables", "switches", "stands", "hooks")
        for colour in ("white", "black", "red", "blue", "yellow", "grey", "brown", "silver", "gold", "copper")
    ]


def far_question() -> Turn:
    """A question about something that was said long before."""
    return Turn(
        "How does the courier reach me without a doorbell?",
        (_answer("The courier knocks at the green gate."),),
    )


def _tracked(asked: str, order: str, answer: str, is_live: bool) -> Turn:
    call = _call("track_parcel", f'{{"order":"{order}"}}')
    return Turn(asked, (Cue(call, is_live), _answer(answer, is_live)))


def _said(asked: str, answer: str) -> Turn:
    return Turn(asked, (Cue(answer),))


def _answer(answer: str, is_live: bool = True) -> Cue:
    return Cue(answer, is_live, most=ANSWER)


def _call(name: str, arguments: str) -> ToolCall:
    return ToolCall(f"call_{new_id()}", name, arguments)
