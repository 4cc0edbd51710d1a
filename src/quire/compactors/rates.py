"""What a token costs, by what becomes of it."""

from typing import NamedTuple

from quire.errors import InvalidValue, WrongType
from quire.tokens import Prices

RATIOS = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
"""What most providers charge, where a token of input costs one: used for models without a price."""


class Rates(NamedTuple):
    """USD for a million tokens: input, output, and input that a cache serves or takes in."""

    input: float
    output: float
    read: float
    write: float


def rates_of(prices: Prices) -> Rates:
    """The rates by some prices. Where a cache has no price of its own, it costs what input does."""
    if not isinstance(prices, Prices):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"prices are Prices, not {type(prices).__name__}")
    if prices.input is None or prices.output is None:
        raise InvalidValue("prices say what input costs, and what output does")
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write is None else prices.cache_write
    return Rates(prices.input, prices.output, read, write)


def known_prices(prices: Prices) -> Prices | None:
    """The prices of a model, if they are known well enough to work out a bill."""
    return None if prices.input is None or prices.output is None else prices
