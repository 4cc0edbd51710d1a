"""What counts tokens."""

from typing import Protocol

from quire.items import Item


class Counter(Protocol):
    """Items to tokens."""

    @property
    def key(self) -> str:
        """Names what is counted, so that counts kept under it can be used again."""
        ...

    def count(self, item: Item) -> int:
        """The tokens of one item: the same for ever, so that it is counted once."""
        ...

    def total(self, counted: int) -> int:
        """The tokens of a request whose items count this many."""
        ...
