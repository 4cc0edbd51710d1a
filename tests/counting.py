"""Counters for tests: by four characters to a token, by items, and by whatever a test wants to be given."""

from typing import Any

from quire.items import Item, Message, Summary, ToolCall, ToolResult


class FourCharacters:
    """The plainest counter there is."""

    key = "four-characters"

    def count(self, item: Item) -> int:
        if isinstance(item, Message | ToolResult | Summary):
            return 4 + len(item.text) // 4
        return 4 + (len(item.arguments) // 4 if isinstance(item, ToolCall) else 0)

    def total(self, counted: int) -> int:
        return counted + 3


class Items:
    """Counts items."""

    key = "items"

    def count(self, item: Item) -> int:
        return 1

    def total(self, counted: int) -> int:
        return counted


class Gives:
    """Gives what it was made with, whether that is a count or not."""

    key = "gives"

    def __init__(self, count: Any = 1, total: Any = 1) -> None:
        self._count, self._total = count, total

    def count(self, item: Item) -> int:
        return self._count  # type: ignore[no-any-return]

    def total(self, counted: int) -> int:
        return self._total  # type: ignore[no-any-return]
