"""A counter for tests: a token for each four characters, and four for each item."""

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
