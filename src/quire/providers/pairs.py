"""Items in the order that providers take them, for those who write the messages themselves."""

from collections.abc import Sequence

from quire.items import ConfigChange, Item, Message, Note, Summary, ToolResult
from quire.providers.profiles import profile_for
from quire.providers.rules import NO_RESULT
from quire.providers.turns import ModelTurn, Turns, Writer


def paired(items: Sequence[Item]) -> list[Item]:
    """The items with a result directly after the calls of each reply, as every provider demands.

    A call without a result gets one that says so. A result that comes after the model went on is a message
    of the user. A result without a call is left out.
    """
    pairs = _Pairs()
    turns = Turns(pairs)
    turns.feed(items)
    turns.close()
    return pairs.items


class _Pairs(Writer):
    """Writes no wire: it collects the items of whole turns."""

    wire = "openai"

    def __init__(self) -> None:
        super().__init__(profile_for(self.wire, None), ())
        self.writes_plainly = False
        self.items: list[Item] = []

    def user(self, item: Message | Note | Summary) -> None:
        self.items.append(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        self.items.append(item)

    def reply(self, reply: ModelTurn) -> None:
        self.items += reply.outputs
        for call, result in zip(reply.calls, reply.results, strict=True):
            missing = ToolResult(call.call_id, call.name, NO_RESULT, is_error=True, id=f"{call.id}/result")
            self.items.append(result or missing)
