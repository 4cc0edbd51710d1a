"""What a program may take before it is stopped. Plain numbers; the sandbox holds them."""

from math import isfinite
from typing import Any

import msgspec

from quire.errors import InvalidLimit, WrongType

_NUMBERS = ("seconds", "wall")
_WHOLE = {"memory": 1 << 20, "depth": 1, "calls": 0, "printed": 0, "answer": 2, "handed": 0}
"""Whole numbers, each with the least it may be: below a mebibyte the interpreter itself has no room."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one run of a program.

    `seconds` is its own computing, `wall` all of it with the waiting for tools (None is any), `memory` its
    bytes, `depth` of calls within calls, `calls` of functions that it is given, `printed` the characters
    that it prints, `answer` those of its answer as JSON, and of what it gives to one function. `handed` are
    those of all that it gives to functions and is given by them.
    """

    seconds: float = 10.0
    wall: float | None = 600.0
    memory: int = 64 << 20
    depth: int = 200
    calls: int = 1_000
    printed: int = 100_000
    answer: int = 1_000_000
    handed: int = 32_000_000

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            if name != "wall" or self.wall is not None:
                _check_seconds(getattr(self, name), f"Bounds.{name}")
        for name, least in _WHOLE.items():
            _check_whole(getattr(self, name), f"Bounds.{name}", least)


def _check_seconds(given: Any, what: str) -> None:
    if not isinstance(given, int | float) or isinstance(given, bool):
        raise WrongType(f"{what} is a number of seconds, not {type(given).__name__}")
    if not isfinite(given) or given <= 0:
        raise InvalidLimit(f"{what} must be finite and more than zero")


def _check_whole(given: Any, what: str, least: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool):
        raise WrongType(f"{what} is a whole number, not {type(given).__name__}")
    if given < least:
        raise InvalidLimit(f"{what} must be at least {least}")
