"""What callers hand in: numbers, not booleans that slipped through and not too small, and names."""

from typing import Any

from quire.errors import InvalidLimit, InvalidValue, WrongType

MOST = 2**53
"""Beyond any count of tokens or items there will be, and exact as a float."""


def digits(value: int) -> str:
    """A whole number for a message: Python writes no numbers of thousands of digits."""
    return f"{value:,}" if abs(value) <= MOST else f"{'below -' if value < 0 else 'above '}{MOST:,}"


def whole(value: Any, what: str, least: int | None = None) -> int:
    """The value, if it is a whole number and not below the least one."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(f"{what} is a whole number, not {type(value).__name__}")
    if value > MOST:
        raise InvalidLimit(f"{what} is above {MOST:,}")
    if least is not None and value < least:
        raise InvalidLimit(f"{what} is {digits(value)}; it is at least {least}")
    return value


def number(value: Any, what: str, least: float) -> float:
    """The value, if it is a number and not below the least one."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongType(f"{what} is a number, not {type(value).__name__}")
    # Written so that what is not a number fails too.
    if not least <= value <= MOST:
        raise InvalidLimit(f"{what} is not between {least} and {MOST:,}")
    return value


def named(value: Any, what: str) -> str:
    """The value, if it is a text that names something."""
    if not isinstance(value, str):
        raise WrongType(f"{what} is a text, not {type(value).__name__}")
    if not value:
        raise InvalidValue(f"{what} is empty")
    return value


def count_of(value: int, what: str) -> int:
    """The value, if it is a count; the common case costs two comparisons."""
    return value if type(value) is int and 0 <= value <= MOST else whole(value, what, least=0)
