"""Anthropic Messages: questions to the provider's tools that it answers in a later turn of the model.

It does so where the model called tools of the caller in the same turn: a program of the model waits for what
they give, or a search is put off until they are done. Until then nothing but results may be said. A question
that never gets its answer is taken back, with all that depends on it.
"""

from collections.abc import Collection, Container

from quire.items import Item
from quire.providers.anthropic.calling import CALLER, called_by
from quire.providers.anthropic.limits import without_thinking
from quire.providers.anthropic.thinking import asked_in
from quire.providers.sheet import Json, Sheet

HALF = "a tool of the provider was asked or answered, not both"


class Deferred:
    """The questions that wait, by their ids: which item each is, and in which message it stands."""

    __slots__ = ("_sheet", "_waiting")

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._waiting: dict[str, tuple[Item, int]] = {}

    def branch(self, sheet: Sheet) -> "Deferred":
        """The same questions, to go on in another way."""
        twin = Deferred(sheet)
        twin._waiting = self._waiting.copy()
        return twin

    @property
    def ids(self) -> Collection[str]:
        """The ids of the questions that wait."""
        return self._waiting.keys()

    def unanswered(self, answered: Container[str | None]) -> set[str]:
        """The ids of those that wait for other answers than these."""
        return {call_id for call_id in self._waiting if call_id not in answered}

    def settle(self, questions: dict[str, Item], answered: Collection[str]) -> None:
        """Take the questions of the message that was written last, and let go of those it answered."""
        place = len(self._sheet.messages) - 1
        for call_id in answered:
            del self._waiting[call_id]
        self._waiting |= {call_id: (item, place) for call_id, item in questions.items()}

    def take_back(self, gone: set[str]) -> None:
        """Take back some that wait, the callers that name them, and thinking that came after them."""
        messages, lost = self._sheet.messages, [self._waiting.pop(call_id) for call_id in sorted(gone)]
        start = min(place for _, place in lost)
        for place in range(start, len(messages)):
            if messages[place]["role"] == "assistant":
                messages[place] = _without(messages[place], gone)
        messages[:], count = without_thinking(messages, start + 1)
        for item, _ in lost:
            self._sheet.note(item, "reasoning_left_out", HALF)
        if count:
            self._sheet.note(None, "state_stale", f"{count} blocks of thinking: what came before changed")
        # What was counted of these messages is counted anew.
        self._sheet.prefix = self._sheet.prefix.anew()


def _without(message: Json, gone: set[str]) -> Json:
    """A copy of a message without questions, and with calls that are nobody's but the model's."""
    kept = [block for block in message["content"] if asked_in(block) not in gone]
    return {**message, "content": [_own(block) if called_by(block) in gone else block for block in kept]}


def _own(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != CALLER}
