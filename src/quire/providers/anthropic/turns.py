"""Anthropic Messages: the turns so far, alternating as the wire wants them.

A turn of the user may have instructions that apply from its end on, under `then`: on the wire they are a
message of their own, which stands between a turn of the user and one of the model and nowhere else. Kept
with their turn, they need not be taken back when the user says more.
"""

from quire.items import Item
from quire.providers import wording
from quire.providers.sheet import Json, Sheet


class Turns:
    """Writes into a sheet: what one side says in a row is one message."""

    __slots__ = ("_ordered", "_orders", "_sheet")

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._ordered = False  # whether any turn has instructions
        self._orders: tuple[Item, ...] = ()  # those of the turn at hand that nothing was said after

    def branch(self, sheet: Sheet) -> "Turns":
        """The same turns, to go on in another way."""
        twin = Turns(sheet)
        twin._ordered, twin._orders = self._ordered, self._orders
        return twin

    def awaits_user(self) -> bool:
        """Whether it is the user's turn: at the start, and after the model's."""
        messages = self._sheet.messages
        return not messages or messages[-1]["role"] == "assistant"

    def say(self, blocks: list[Json]) -> None:
        """Something that the user says."""
        messages = self._sheet.messages
        if self.awaits_user():
            messages.append({"role": "user", "content": blocks})
            return
        for order in self._orders:
            self._sheet.note(order, "instructions_moved", "they apply from the end of the user's turn on")
        self._orders = ()
        self._sheet.open_message()["content"].extend(blocks)

    def order(self, item: Item, block: Json) -> None:
        """Instructions that apply from here on."""
        if self.awaits_user():
            self._sheet.messages.append({"role": "user", "content": [], "then": [block]})
        else:
            self._sheet.open_message().setdefault("then", []).append(block)
        self._orders = (*self._orders, item)
        self._ordered = True

    def answer(self, blocks: list[Json]) -> None:
        """Something that the model says."""
        messages = self._sheet.messages
        if messages and messages[-1]["role"] == "assistant":
            self._sheet.open_message()["content"].extend(blocks)
            return
        if not messages:
            self._sheet.note(None, "turn_added", "the user speaks first here")
            messages.append(spoken(wording.BEGIN))
        self.close()
        messages.append({"role": "assistant", "content": blocks})

    def go_on(self, reason: str) -> None:
        """A turn of the user that asks the model to speak."""
        self._sheet.note(None, "turn_added", reason)
        self._sheet.messages.append(spoken(wording.CONTINUE))

    def close(self) -> None:
        """Say of instructions that the user said nothing before how they are written."""
        if self._orders and not self._sheet.messages[-1]["content"]:
            for order in self._orders:
                reason = "instructions follow a turn of the user here, and there is none"
                self._sheet.note(order, "instructions_as_text", reason)
        self._orders = ()

    def spread(self, turns: list[Json]) -> list[Json]:
        """Turns as messages of the wire, in a list of their own."""
        return [message for turn in turns for message in _messages(turn)] if self._ordered else turns.copy()


def spoken(text: str) -> Json:
    """A turn of the user."""
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _messages(turn: Json) -> tuple[Json, ...]:
    if "then" not in turn:
        return (turn,)
    if turn["content"]:
        return {"role": "user", "content": turn["content"]}, {"role": "system", "content": turn["then"]}
    return ({"role": "user", "content": [_tagged(block) for block in turn["then"]]},)


def _tagged(block: Json) -> Json:
    return {"type": "text", "text": wording.instructed(block["text"])}
