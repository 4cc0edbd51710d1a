"""What a counter is, and the checks of numbers and names that callers pass in. Nothing here counts."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast, runtime_checkable

from quire.errors import InvalidLimit, InvalidValue, WrongType, cut
from quire.items import Item

Definition = Mapping[str, Any]
"""One tool as a provider takes it: a name, a description and a JSON schema of its parameters."""

MOST = 2**53
"""More than any count of tokens or items, and exact as a float."""


@runtime_checkable
class Counter(Protocol):
    """Counts the tokens of items."""

    @property
    def key(self) -> str:
        """Names what is counted: counts cached under a key hold for every counter with that key."""
        ...

    def count(self, item: Item) -> int:
        """Tokens of one item, with the provider's framing; always the same for the same item."""
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


def checked_counter(counter: Any) -> Counter:
    """The counter, or an error if the object has no `key`, `count` and `total`."""
    # Not by `isinstance`: for a protocol that takes longer than counting the new items of a long view.
    if isinstance(counter, type) or not (hasattr(counter, "count") and hasattr(counter, "total")):
        what = "a class" if isinstance(counter, type) else type(counter).__name__
        raise WrongType(f"a counter has key, count and total, as that of counter_for(model) has; not {what}")
    if not isinstance(counter.key, str):
        raise WrongType(f"the key of a counter is a text, not {type(counter.key).__name__}")
    return cast(Counter, counter)


def count_by(counter: Counter, item: Item) -> int:
    """Tokens of one item, or an error that names the counter."""
    given = counter.count(item)
    return given if type(given) is int and 0 <= given <= MOST else checked_count(given, counter, "count")


def total_by(counter: Counter, counted: int) -> int:
    """Tokens of a request whose items add up to `counted`, or an error that names the counter."""
    given = counter.total(counted)
    return given if type(given) is int and 0 <= given <= MOST else checked_count(given, counter, "total")


def checked_count(given: Any, counter: Any, method: str) -> int:
    """What a method of a counter gave, or an error if it is not a number of tokens."""
    return whole(given, f"the result of `{method}` of the counter {cut(counter.key)!r}", least=0)


def whole(value: Any, what: str, least: int = -MOST) -> int:
    """The value, or an error that names it if it is not a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(f"{what} is a whole number, not {type(value).__name__}")
    if value < least:
        raise InvalidLimit(f"{what} is {value:,}; it is at least {least}")
    if value > MOST:
        raise InvalidLimit(f"{what} is above {MOST:,}")
    return value


def number(value: Any, what: str, least: float) -> float:
    """The value, or an error that names it if it is not a number of at least `least`."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongType(f"{what} is a number, not {type(value).__name__}")
    if not least <= value <= MOST:  # so that NaN fails too
        raise InvalidLimit(f"{what} is not between {least} and {MOST:,}")
    return value


def named(value: Any, what: str) -> str:
    """The value, or an error that names it if it is not a text or is empty."""
    if not isinstance(value, str):
        raise WrongType(f"{what} is a text, not {type(value).__name__}")
    if not value:
        raise InvalidValue(f"{what} is empty")
    return value
