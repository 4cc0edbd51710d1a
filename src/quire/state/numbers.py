"""Numbers that callers hand in: whole, and not a boolean that slipped through."""

from typing import Any

from quire.errors import WrongType


def whole(value: Any, what: str) -> int:
    """The value, if it is a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongType(f"{what} is a whole number, not {type(value).__name__}")
    return value
