"""Items in the order that providers take them, for those who write the messages themselves."""

from operator import is_

from quire.items import ConfigChange, Item, Message, Note, Summary, ToolResult
from quire.providers.profiles import profile_for
from quire.providers.rules import NO_RESULT
from quire.providers.turns import ModelTurn, Turns, Writer
from quire.state import Scroll


class Pairing:
    """Puts the results of calls directly after each reply, as every provider demands.

    A call without a result gets one that says so. A result that comes after the model went on is a message of
    the user. A result without a call is left out. Items that were paired before are not paired again.
    """

    def __init__(self) -> None:
        self._turns = Turns(_Pairs())
        self._taken: list[Item] = []

    def pair(self, scroll: Scroll) -> list[Item]:
        """The items of a request, every call with its result."""
        items, stable = list(scroll), scroll.stable_length
        known = len(self._taken)
        if known > stable or not all(map(is_, self._taken, items)):
            self._turns, known = Turns(_Pairs()), 0
        self._turns.feed(items[known:stable])
        self._taken = items[:stable]
        pairs = _Pairs(self._turns.writer)
        rest = self._turns.branch(pairs)
        rest.feed(items[stable:])
        rest.close()
        return pairs.items


class _Pairs(Writer):
    """Writes no wire: it collects the items of whole turns."""

    wire = "openai"

    def __init__(self, before: Writer | None = None) -> None:
        super().__init__(profile_for(self.wire, None), ())
        self.writes_plainly = False
        self.items: list[Item] = before.items.copy() if isinstance(before, _Pairs) else []

    def user(self, item: Message | Note | Summary) -> None:
        self.items.append(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        self.items.append(item)

    def reply(self, reply: ModelTurn) -> None:
        self.items += reply.outputs
        for call, result in zip(reply.calls, reply.results, strict=True):
            if result is None:
                result = ToolResult(call.call_id, call.name, NO_RESULT, is_error=True, id=f"{call.id}/result")
            self.items.append(result)
