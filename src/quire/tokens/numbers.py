"""Numbers that callers hand in: whole, not a boolean that slipped through, and not too small."""

from typing import Any

from quire.errors import InvalidLimit, WrongType


def whole(value: Any, what: str, least: int | None = None) -> int:
    """The value, if it is a whole number and not below the least one."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(f"{what} is a whole number, not {type(value).__name__}")
    if least is not None and value < least:
        raise InvalidLimit(f"{what} is {value:,}; it is at least {least}")
    return value
