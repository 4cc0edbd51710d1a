"""What requests took, as providers report it, and what a million tokens cost. Both are plain values."""

from typing import Any

import msgspec
from msgspec.structs import replace

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.tokens.numbers import MOST, count_of


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """Tokens of one request, or the sum of many; what a part counts is in its whole too.

    `input` is all input: what was read from the cache, what was written to it, and the rest. `output` is all
    output, `reasoning` included. Anthropic reports input without its cached parts and Gemini output without
    its thoughts: add them up first. A part above its whole is refused, so forgetting it does not go unseen.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            count_of(getattr(self, name), f"Usage.{name}")
        if self.cache_read + self.cache_write > self.input:
            raise InvalidValue("Usage.cache_read and cache_write are parts of Usage.input, yet above it")
        if self.reasoning > self.output:
            raise InvalidValue("Usage.reasoning is a part of Usage.output, yet above it")

    @property
    def fresh(self) -> int:
        """Input tokens that the cache had no part in."""
        return self.input - self.cache_read - self.cache_write

    def __add__(self, other: "Usage") -> "Usage":
        """The tokens of both."""
        if not isinstance(other, Usage):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a Usage is added to a Usage, not to {type(other).__name__}")
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            reasoning=self.reasoning + other.reasoning,
        )


class Prices(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """USD for a million tokens of each sort; None where it is not known or not billed separately.

    `cache_write_long` is for entries that outlive the usual ones, as those of one hour do at Anthropic.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_long: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _check_price(getattr(self, name), f"Prices.{name}")

    def for_all_input(self) -> "Prices":
        """The same, where cached input that has no rate of its own costs what other input does.

        That is rather too much than too little: what a cache gives is cheaper wherever it has a price.
        """
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        return replace(self, cache_read=read, cache_write=written)


def _check_price(price: Any, what: str) -> None:
    if price is None:
        return
    if not isinstance(price, int | float) or isinstance(price, bool):
        raise WrongType(f"{what} is a number or None, not {type(price).__name__}")
    # Written so that what is not a number fails too.
    if not 0 <= price <= MOST:
        raise InvalidLimit(f"{what} is neither zero nor a price")
