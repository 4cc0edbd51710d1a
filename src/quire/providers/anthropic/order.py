"""Anthropic Messages: the order of the blocks in one turn of the model.

Thinking and calls go back in the order they came in. Words, and what the provider's own tools left, stand
before the first call: with any of them after a call, the API has missed the results of the call.
"""

from collections.abc import Collection, Container

from quire.items import Item
from quire.providers.anthropic.calling import as_own, called_by
from quire.providers.anthropic.deferred import HALF
from quire.providers.anthropic.thinking import THOUGHTS, asked_in, halves
from quire.providers.sheet import Json, Sheet


class Order:
    """The blocks of a turn as they come, and as they are written; what that changes is noted."""

    __slots__ = ("_before", "_overtaken", "_sheet", "_since", "answered", "waiting")

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._before: list[tuple[Item, Json]] = []
        self._since: list[tuple[Item, Json]] = []  # from the first call on
        self.waiting: dict[str, Item] = {}  # questions that a later turn may answer
        self.answered: set[str] = set()  # questions of earlier turns
        self._overtaken = False  # whether words went before a call that they came after

    def take(self, item: Item, blocks: list[Json]) -> None:
        """The next blocks, all of one item."""
        for block in blocks:
            if block["type"] == "tool_use" or (self._since and block["type"] in THOUGHTS):
                self._follow(item, block)
            else:
                self._before.append((item, block))
                if self._since and not self._overtaken:
                    self._overtaken = True
                    self._sheet.note(item, "words_moved", "nothing is said after a call here")

    def blocks(self, asked_before: Collection[str]) -> list[Json]:
        """All of them, without halves and without thinking that nothing follows."""
        written = self._before + self._since
        found = halves([block for _, block in written], asked_before)
        owners = {id(block): item for item, block in written}
        self.waiting = {call_id: owners[id(block)] for call_id, block in found.waiting.items()}
        self.answered = found.answered
        for half in found.lone:
            self._sheet.note(owners[id(half)], "reasoning_left_out", HALF)
        lone = {id(half) for half in found.lone}
        written = [(item, block) for item, block in written if id(block) not in lone]
        asked = {*asked_before, *(asked_in(block) for _, block in written)}
        written = [(item, _of_those(asked, block)) for item, block in written]
        while written and written[-1][1]["type"] in THOUGHTS:
            item, _ = written.pop()
            self._sheet.note(item, "reasoning_left_out", "nothing was said or called after it")
        return [block for _, block in written]

    def _follow(self, item: Item, block: Json) -> None:
        if self._overtaken and block["type"] in THOUGHTS:
            self._sheet.note(item, "state_stale", "what was said before it had to be moved")
        else:
            self._since.append((item, block))


def _of_those(asked: Container[str | None], block: Json) -> Json:
    """A block, as one of the model itself where the program that made it is not sent."""
    return block if called_by(block) in asked else as_own(block)
