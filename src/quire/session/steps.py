"""What is known of calls that wait: which were begun, and which results are held back until their turn."""

from collections.abc import Collection, Iterable

from quire.items import Item, Note, ToolCall, ToolResult


class Steps:
    """The state of the calls of a conversation. Of those that were answered nothing is kept."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        """Calls that were about to be run: they may have been, or have not."""
        self.held: dict[str, ToolResult] = {}
        """Results that came before those of earlier calls, by call."""

    def take(self, items: Iterable[Item], waiting: Collection[str]) -> None:
        """Take in what stands in the stream of steps; `waiting` are the calls without a result."""
        self.begun = {call for call in self.begun if call in waiting}
        self.held = {call: result for call, result in self.held.items() if call in waiting}
        for item in items:
            if isinstance(item, ToolResult):
                self.held[item.call_id] = item
            elif isinstance(item, Note) and item.content is not None:  # of a forgotten one nothing is known
                self.begun.update(item.content["begun"])


def begun(calls: Iterable[ToolCall]) -> Note:
    """The note that says that calls are about to be run."""
    return Note(content={"begun": [call.call_id for call in calls]}, description="begun")
