"""What is known of calls that wait: which were begun, and what is held back of them until their turn."""

from collections.abc import Collection, Iterable, Mapping

from quire.items import Item, Note, ToolCall, ToolResult

_BEGUN = "begun"


class Steps:
    """The state of the calls of a conversation. Of those that were answered nothing is kept."""

    def __init__(self) -> None:
        self.begun: dict[str, Note] = {}
        """What says that calls were about to be run, by the ids of their items: call ids may come again."""
        self.held: dict[str, tuple[Item, ...]] = {}
        """What came before its turn: a result and what came with it, by call id."""
        self._last = ""

    def take(self, items: Iterable[Item], pending: Collection[ToolCall]) -> None:
        """Take in what stands in the stream of steps; `pending` are the calls without a result."""
        waiting, calls = {call.id for call in pending}, {call.call_id for call in pending}
        self.begun = {item_id: note for item_id, note in self.begun.items() if item_id in waiting}
        self.held = {call: items for call, items in self.held.items() if call in calls}
        for item in items:
            if isinstance(item, ToolResult):
                self._last = item.call_id
                self.held[item.call_id] = (item,)
            elif not isinstance(item, Note) or item.key is None:
                self.held[self._last] = (*self.held.get(self._last, ()), item)
            elif item.content is not None:  # of a forgotten one nothing is known
                self.begun |= dict.fromkeys(item.content[_BEGUN], item)


def begun(calls: Iterable[ToolCall], claim: Mapping[str, object]) -> Note:
    """The note that says that calls are about to be run, and by whom. Notes that tools give have no key."""
    return Note(content={**claim, _BEGUN: [call.id for call in calls]}, key=_BEGUN)
