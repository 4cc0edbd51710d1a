"""The protocol of counters, and checks of the numbers and names that callers pass in."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.items import Item

Definition = Mapping[str, Any]
"""One tool as a provider takes it: a name, a description and a JSON schema of its parameters."""

MAX_COUNT = 2**53
"""More than any count of tokens or items, and exact as a float."""


class Counter(Protocol):
    """Counts the tokens of items.

    A counter may also have `count_tools(tools)`: the tokens that tool definitions add to a request. Without
    it, their JSON is counted.
    """

    @property
    def key(self) -> str:
        """Names the way of counting: counts cached under a key are valid for every counter with that key."""
        ...

    def count(self, item: Item) -> int:
        """Tokens of one item, with the provider's framing; always the same for the same item."""
        ...

    def total(self, counted: int) -> int:
        """Tokens of a request whose items add up to `counted`; never decreases as that grows."""
        ...


def checked_counter(counter: Any) -> Counter:
    """The counter, or an error if the object has no `key`, `count` and `total`."""
    # `isinstance` with a protocol takes longer than counting the new items of a long view.
    if isinstance(counter, type) or not (hasattr(counter, "count") and hasattr(counter, "total")):
        what = "a class" if isinstance(counter, type) else type(counter).__name__
        raise WrongType(f"a counter must have key, count and total, as counter_for(model) has; not {what}")
    if not isinstance(counter.key, str):
        raise WrongType(f"the key of a counter must be a text, not {type(counter.key).__name__}")
    return cast(Counter, counter)


class Tally:
    """A counter that adds up a function of items."""

    def __init__(self, key: str, count: Callable[[Item], int]) -> None:
        self.key = key
        self._count = count

    def count(self, item: Item) -> int:
        """Return the function's value as a whole number."""
        return int(self._count(item))

    def total(self, counted: int) -> int:
        """Return the sum itself."""
        return counted


def largest_sum(tokens: int, counter: Counter) -> int:
    """The largest `n` for which `counter.total(n)` is at most `tokens`; -1 if there is none."""
    bound = max(tokens, 1)
    while bound < MAX_COUNT and counter.total(bound) <= tokens:
        bound *= 2
    return bisect_right(range(min(bound, MAX_COUNT) + 1), tokens, key=counter.total) - 1


def whole(value: Any, what: str, least: int = -MAX_COUNT) -> int:
    """Return a whole number of at least `least`. Any other value raises an error that calls it `what`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(f"{what} must be a whole number, not {type(value).__name__}")
    if value < least:
        raise InvalidLimit(f"{what} must be at least {least}, not {value:,}")
    if value > MAX_COUNT:
        raise InvalidLimit(f"{what} must be at most {MAX_COUNT:,}")
    return value


def number(value: Any, what: str, least: float) -> float:
    """Return a number of at least `least`. Any other value raises an error that calls it `what`."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongType(f"{what} must be a number, not {type(value).__name__}")
    if not least <= value <= MAX_COUNT:  # so that NaN fails too
        raise InvalidLimit(f"{what} must be between {least} and {MAX_COUNT:,}")
    return value


def named(value: Any, what: str) -> str:
    """Return a text that is not empty. Any other value raises an error that calls it `what`."""
    if not isinstance(value, str):
        raise WrongType(f"{what} must be a text, not {type(value).__name__}")
    if not value:
        raise InvalidValue(f"{what} must not be empty")
    return value
