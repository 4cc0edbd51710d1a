"""Anthropic Messages: questions to the provider's tools that it answers in a later turn of the model.

It does so where the model called tools of the caller in the same turn: a program of the model waits for what
they give, or a search is put off until they are done. Until then nothing but results may be said, and the
container in which a program waits is named. A question that never gets its answer, or whose container nobody
knows, is taken back with all that depends on it.
"""

from collections.abc import Collection, Container, Sequence

from quire.items import Item
from quire.providers.anthropic.calling import as_own, called_by
from quire.providers.anthropic.limits import without_thinking
from quire.providers.anthropic.thinking import THOUGHTS, asked_in, container_of
from quire.providers.provider import words_in
from quire.providers.sheet import Json, Sheet

HALF = "a tool of the provider was asked or answered, not both"
_ADRIFT = "a program of the model waits, and in which container is not known"
_PROGRAMS = "code_execution"  # how the names end of the tools that run them


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

    @property
    def container(self) -> str | None:
        """The container of the question that was asked last, of those that wait in one."""
        known = (container_of(item) for item, _ in reversed(self._waiting.values()))
        return next(filter(None, known), None)

    def unanswered(self, answered: Container[str | None]) -> set[str]:
        """The ids of those that wait for other answers than these."""
        return {call_id for call_id in self._waiting if call_id not in answered}

    def settle(self, questions: dict[str, Item], answered: Collection[str]) -> None:
        """Take the questions of the message that was written last, and let go of those it answered."""
        place = len(self._sheet.messages) - 1
        for call_id in answered:
            del self._waiting[call_id]
        self._waiting |= {call_id: (item, place) for call_id, item in questions.items()}

    def close(self) -> None:
        """Take back what would be refused: programs that wait, and what they asked, without a container."""
        if self._waiting and self.container is None:
            start = min(place for _, place in self._waiting.values())
            adrift = _programs(self._sheet.messages[start:]) & self._waiting.keys()
            if adrift:
                self.take_back(adrift, _ADRIFT)

    def take_back(self, gone: set[str], reason: str = HALF) -> None:
        """Take back some that wait, the callers that name them, and thinking that came after them."""
        messages, lost = self._sheet.messages, [self._waiting.pop(call_id) for call_id in sorted(gone)]
        start, count = min(place for _, place in lost), 0
        for place in range(start, len(messages)):
            if messages[place]["role"] == "assistant":
                messages[place], stale = _without(messages[place], gone)
                count += stale
        messages[:], later = without_thinking(messages, start + 1)
        count += later
        for item, _ in lost:
            self._sheet.note(item, "reasoning_left_out", reason)
        if count:
            self._sheet.note(None, "state_stale", f"{count} blocks of thinking: what came before changed")
        # What was counted of these messages is counted anew.
        self._sheet.prefix = self._sheet.prefix.anew()


def _programs(messages: Sequence[Json]) -> set[str]:
    """The ids of the questions in messages that are programs, or that programs asked."""
    blocks = [block for message in messages for block in message["content"]]
    programs: set[str | None] = {called_by(block) for block in blocks}
    for block in blocks:
        if words_in(block.get("name")).endswith(_PROGRAMS) or called_by(block) is not None:
            programs.add(asked_in(block))
    return {call_id for call_id in programs if call_id is not None}


def _without(message: Json, gone: set[str]) -> tuple[Json, int]:
    """A copy of a message without questions, and with calls that are nobody's but the model's.

    Thinking goes that came after a question in it; how many blocks of it that were is told.
    """
    kept: list[Json] = []
    asked, stale = False, 0
    for block in message["content"]:
        if asked_in(block) in gone:
            asked = True
        elif asked and block["type"] in THOUGHTS:
            stale += 1
        else:
            kept.append(as_own(block) if called_by(block) in gone else block)
    return {**message, "content": kept}, stale
