"""Numbers that callers hand in: whole, not a boolean that slipped through, and not too small."""

from typing import Any

from quire.errors import InvalidLimit, WrongType

MOST = 2**53
"""Beyond any count of tokens or items there will be, and exact as a float."""


def whole(value: Any, what: str, least: int | None = None) -> int:
    """The value, if it is a whole number and not below the least one."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(f"{what} is a whole number, not {type(value).__name__}")
    if value > MOST:
        raise InvalidLimit(f"{what} is above {MOST:,}")
    if least is not None and value < least:
        raise InvalidLimit(f"{what} is {value:,}; it is at least {least}")
    return value
