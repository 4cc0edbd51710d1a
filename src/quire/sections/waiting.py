"""Functions that people hand in, which answer at once or have to be waited for."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from quire.errors import WrongType

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


async def awaited(value: T | Awaitable[T]) -> T:
    """What a function gave, once it is there."""
    return await cast("Awaitable[T]", value) if isinstance(value, Awaitable) else value  # pyright: ignore


def function(value: F, what: str) -> F:
    """The value, if it can be called."""
    if not callable(value):
        raise WrongType(f"{what} is a function, not {type(value).__name__}")
    return value
