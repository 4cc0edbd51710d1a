"""What a counter is. Nothing here counts."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from quire.items import Item

Definition = Mapping[str, Any]
"""One tool as a provider is told of it: a name, a description and a JSON schema of its parameters."""


@runtime_checkable
class Counter(Protocol):
    """Says how many tokens items take."""

    @property
    def key(self) -> str:
        """Names what is counted: counts cached under one key are good for every counter with that key."""
        ...

    def count(self, item: Item) -> int:
        """Tokens of one item, with what the provider wraps around it; the same for the same item for ever."""
        ...

    def total(self, counted: int) -> int:
        """Tokens of a request whose items add up to `counted`; never less for more."""
        ...


@runtime_checkable
class CountsTools(Protocol):
    """A counter that also knows how its provider writes tool definitions."""

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens that the definitions add to a request."""
        ...
