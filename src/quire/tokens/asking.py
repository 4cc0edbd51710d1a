"""Asking a counter, which anybody may have written: what it gives is a count, or an error that names it."""

from typing import Any, cast

from quire.errors import InvalidLimit, WrongType, cut
from quire.items import Item
from quire.tokens.counter import Counter
from quire.tokens.numbers import MOST, whole

MOST_OF_ONE = 2**40
"""Beyond any one item there will be, and so little that no log is long enough for its sums to overflow."""


def checked_counter(counter: Any) -> Counter:
    """The counter, if it is one: an object, not its class, that has all a counter has."""
    # Not by its protocol: asking for that takes longer than counting what is new of a long view.
    if isinstance(counter, type) or not (hasattr(counter, "count") and hasattr(counter, "total")):
        raise WrongType(
            "a counter has key, count and total, and counter_for(model) gives one; "
            f"this is {'a class' if isinstance(counter, type) else type(counter).__name__}, and not one"
        )
    key = getattr(counter, "key", None)
    if not isinstance(key, str):
        raise WrongType(f"the key of a counter is a text, not {type(key).__name__}")
    return cast(Counter, counter)


def count_by(counter: Counter, item: Item) -> int:
    """Tokens of one item; the common case costs two comparisons."""
    given = counter.count(item)
    return given if type(given) is int and 0 <= given <= MOST_OF_ONE else _of_one(given, counter)


def total_by(counter: Counter, counted: int) -> int:
    """Tokens of a request whose items add up to `counted`."""
    given = counter.total(counted)
    return given if type(given) is int and 0 <= given <= MOST else believed(given, counter, "total")


def believed(given: Any, counter: Any, method: str) -> int:
    """What a method of a counter gave, if it is a number of tokens."""
    return whole(given, f"what `{method}` of the counter {cut(str(counter.key))!r} gives", least=0)


def _of_one(given: Any, counter: Counter) -> int:
    counted = believed(given, counter, "count")
    if counted > MOST_OF_ONE:
        name = cut(counter.key)
        raise InvalidLimit(
            f"what `count` of the counter {name!r} gives for one item is above {MOST_OF_ONE:,}"
        )
    return counted
