"""Loom's token counter: the engine's, by the name of a model."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from quire.bridges.loom.converting import Said
from quire.context import DEFAULT_MODEL
from quire.errors import WrongType
from quire.items import Item, Message
from quire.sections import items_of
from quire.tokens import Counter, counter_for


class TokenCounter:
    """Counts as the budget of a context does: what it says of messages is what they take of `max_tokens`."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self.counter = counter_for(model)

    def count(self, text: str) -> int:
        """Tokens of a bare text, in whatever script it is written."""
        return self.counter.text(text)

    def count_messages(self, messages: Sequence[Mapping[str, Any] | Said]) -> int:
        """Tokens of messages with what a request wraps around them."""
        items = items_of(list(messages), "messages")
        return self.counter.total(sum(map(self.counter.count, items)))


@runtime_checkable
class CountsMessages(Protocol):
    """A counter of somebody's own."""

    def count_messages(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """Tokens of messages."""
        ...


class Foreign:
    """A counter of somebody's own as one of the engine's: each message counts as if sent alone."""

    def __init__(self, counter: CountsMessages) -> None:
        self._counter = counter
        self.key = f"loom/{type(counter).__qualname__}/{id(counter)}"

    def count(self, item: Item) -> int:
        """Tokens of one message."""
        assert isinstance(item, Message)  # a context of tasks has nothing else
        return self._counter.count_messages([{"role": item.role, "content": item.text}])

    def total(self, counted: int) -> int:
        """Their sum."""
        return counted


def engine_counter(given: object) -> Counter:
    """What counts for a context."""
    if type(given) is TokenCounter:
        return given.counter
    if isinstance(given, CountsMessages):
        return Foreign(given)
    raise WrongType(f"a token counter has count_messages; {type(given).__name__} has not")
