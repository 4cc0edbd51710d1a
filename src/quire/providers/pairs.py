"""Items in the order that providers accept, for code that writes its own messages."""

from operator import is_

from quire.items import ConfigChange, Item, Message, Note, Summary, ToolResult
from quire.providers.profiles import profile_for
from quire.providers.rules import NO_RESULT
from quire.providers.turns import ModelTurn, Turns, Writer
from quire.state import Scroll


class Pairing:
    """Puts the results of calls directly after the reply that made them, as every provider demands.

    A call without a result gets one that says so. A result that arrives after the model's next reply becomes
    a user message. A result without a call is left out. If the items of a request begin with the stable items
    of the one before, `pair` reads only the rest.
    """

    def __init__(self) -> None:
        self._turns = Turns(_Pairs())
        self._paired: list[Item] = []  # stable items that `_turns` has

    def pair(self, scroll: Scroll) -> list[Item]:
        """The items of a request, each call followed by its result."""
        items, stable = list(scroll), scroll.stable_length
        start = len(self._paired)
        if start > stable or not all(map(is_, self._paired, items)):
            self._turns, start = Turns(_Pairs()), 0
        self._turns.feed(items[start:stable])
        self._paired = items[:stable]
        pairs = _Pairs(self._turns.writer)
        rest = self._turns.branch(pairs)
        rest.feed(items[stable:])
        rest.close()
        return pairs.items


class _Pairs(Writer):
    """Collects the items of whole turns instead of writing messages."""

    wire = "openai"

    def __init__(self, before: Writer | None = None) -> None:
        super().__init__(profile_for(self.wire, None), ())
        self.can_write_fast = False
        self.items: list[Item] = before.items.copy() if isinstance(before, _Pairs) else []

    def add_user(self, item: Message | Note | Summary) -> None:
        self.items.append(item)

    def add_instructions(self, item: Message | ConfigChange) -> None:
        self.items.append(item)

    def add_reply(self, reply: ModelTurn) -> None:
        self.items += reply.outputs
        for call, result in zip(reply.calls, reply.results, strict=True):
            if result is None:
                result = ToolResult(call.call_id, call.name, NO_RESULT, is_error=True, id=f"{call.id}/result")
            self.items.append(result)
