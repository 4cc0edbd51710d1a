"""Anthropic Messages: thinking goes back only where it came from, and only after what it came after."""

from collections.abc import Sequence

from quire.items import Item, Reasoning
from quire.providers.anthropic.abilities import NAME
from quire.providers.anthropic.thinking import block_of
from quire.providers.anthropic.turns import Turns, spoken
from quire.providers.binding import unusable
from quire.providers.sheet import Json, Sheet
from quire.providers.wording import CONTINUE

_OPEN_LOOP = "; while this run of calls goes on, the API may want thinking to be off"


class Bound:
    """Says of the thoughts of one reply which may be sent, and where the reply begins."""

    __slots__ = ("_apart", "_sheet", "_turns")

    def __init__(self, sheet: Sheet, turns: Turns) -> None:
        self._sheet = sheet
        self._turns = turns
        self._apart = False  # whether the reply at hand answered a turn that was made up

    def thought(self, item: Reasoning, calls: bool) -> Json | None:
        """The block of a thought, or none, and why not is noted."""
        state, block = item.state, block_of(item)
        loop = _OPEN_LOOP if calls else ""
        if state is None or not state.data:
            self._sheet.note(item, "reasoning_left_out", f"it has no state that can be sent back{loop}")
            return None
        fault = unusable(
            state,
            NAME,
            self._sheet.asked,
            lambda: self._standing(state.prefix or ""),
            self._sheet.doubt(state),
        )
        if fault is None and block is None:
            fault = "reasoning_left_out", "its state cannot be read"
        if fault is not None:
            self._sheet.note(item, fault[0], f"{fault[1]}{loop}")
            return None
        return block

    def follows(self, outputs: Sequence[Item]) -> bool:
        """Whether a reply was made after all that stands here now, as far as it says."""
        states = (output.state for output in outputs if isinstance(output, Reasoning))
        made_after = next((state.prefix for state in states if state and state.prefix), None)
        return made_after is None or made_after == self._sheet.prefix.of(self._sheet.messages)

    def settle(self, thinks: bool) -> None:
        """Write the turn that the reply at hand answered, where it was made up and thinking depends on it."""
        if self._apart and thinks and self._turns.awaits_user():
            self._turns.go_on("the model was asked to go on")
        self._apart = False

    def _standing(self, wanted: str) -> str:
        """The digest of what comes before the reply, by the reading of it that is wanted, if there is one.

        Where the model spoke last, a reply goes on in the same turn, or it answered a turn that was made up
        so that the user speaks last. That turn was not counted where state is bound to the history alone.
        """
        messages, prefix = self._sheet.messages, self._sheet.prefix
        now = prefix.of(messages)
        if not self._turns.awaits_user():
            return now
        if messages and prefix.branch().of(messages[:-1]) == wanted:
            return wanted
        if wanted in (now, prefix.branch().of([*messages, spoken(CONTINUE)])):
            self._apart = True
            return wanted
        return ""
