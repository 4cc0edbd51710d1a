"""Closing calls that will never be answered, because the conversation went on elsewhere."""

from quire.items import Item, ToolResult
from quire.state.view import View, checked_view

CLOSED = "quire.closed"
"""The key of `extras` that marks a result no tool gave; its value says what closed the call."""


def closing_results(view: View) -> list[Item]:
    """A neutral result for every call that waits, marked as such: what a fork needs to go on."""
    words = "No result: the conversation was forked while this call was running."
    return [
        ToolResult(call.call_id, call.name, words, extras={CLOSED: "fork"})
        for call in checked_view(view).pending()
    ]


def is_closing(item: Item) -> bool:
    """Whether an item is a result that no tool gave."""
    return isinstance(item, ToolResult) and CLOSED in item.extras
