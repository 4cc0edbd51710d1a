"""Counters for tests: by items, and by whatever a test wants to be given."""

from typing import Any

from quire.items import Item


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
