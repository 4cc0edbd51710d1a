"""The spending of a conversation in tokens and USD, and caps for it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from quire.errors import CapReached, InvalidValue, WrongType, cut
from quire.items import Note, OptionsMeta
from quire.tokens import ModelFacts, Prices, Usage, cost, facts_for, model_named

PricesByName = Mapping[str, Prices]


class Caps(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """How much a conversation may spend: once a cap is reached, no request is built."""

    tokens: int | None = None
    cost: float | None = None
    """In USD."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            cap = getattr(self, name)
            if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int | float)):
                raise WrongType(f"a cap of {name} must be a number, not {type(cap).__name__}")


class Spending(msgspec.Struct, frozen=True):
    """The sum of the usage and cost of several requests; immutable."""

    usage: Usage = Usage()
    cost: float = 0.0
    """In USD, without the requests in `unknown`."""
    requests: int = 0
    unknown: Mapping[str, int] = {}
    """How many requests have no known price, by model; the name is empty if it was not reported."""

    def __repr__(self) -> str:
        return f"<Spending of {self.requests} requests, {self.tokens:,} tokens, {self.cost:.4f} USD>"

    @property
    def tokens(self) -> int:
        """All tokens of input and output."""
        return self.usage.input + self.usage.output

    @property
    def unpriced(self) -> int:
        """How many requests have no known price."""
        return sum(self.unknown.values())

    @property
    def cached(self) -> float | None:
        """The share of the input that was served from a cache; `None` if no input was reported."""
        return self.usage.cache_read / self.usage.input if self.usage.input else None

    def __add__(self, other: "Spending") -> "Spending":
        """The sum of two spendings."""
        usage, requests = self.usage + other.usage, self.requests + other.requests
        unknown = Counter(self.unknown) + Counter(other.unknown)
        return Spending(usage, self.cost + other.cost, requests, dict(unknown))

    def since(self, earlier: "Spending") -> "Spending":
        """The difference to an earlier spending."""
        fields = self.usage.__struct_fields__
        usage = {name: getattr(self.usage, name) - getattr(earlier.usage, name) for name in fields}
        return Spending(
            Usage(**usage),
            self.cost - earlier.cost,
            self.requests - earlier.requests,
            dict(Counter(self.unknown) - Counter(earlier.unknown)),
        )

    def with_usage(self, content: Mapping[str, Any]) -> "Spending":
        """The sum with one entry of the stream `USAGE`."""
        usage, price = msgspec.convert(content.get("usage", {}), Usage), content.get("cost")
        unknown = {str(content.get("model") or ""): 1} if price is None else {}
        return self + Spending(usage, price or 0.0, 1, unknown)


def named_prices(prices: Mapping[str, Prices]) -> PricesByName:
    """Prices by the normalized names of the models."""
    for price in prices.values():
        if not isinstance(price, Prices):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the price of a model must be given as Prices, not as {type(price).__name__}")
    return {model_named(model): price for model, price in prices.items()}


def price_of(usage: Usage, model: str, prices: PricesByName) -> float | None:
    """The price of some usage in USD, or `None` if the price of the model is not known."""
    return cost(_facts(model, prices), usage) if model else None


def usage_note(usage: Usage, model: str | None, prices: PricesByName, receipt: str | None = None) -> Note:
    """The note that records the usage of one request, with the id of its receipt."""
    content: dict[str, Any] = {"usage": msgspec.to_builtins(usage), "model": model}
    price = price_of(usage, model or "", prices)
    if price is not None:
        content["cost"] = price
    if receipt is not None:
        content["receipt"] = receipt
    return Note(content=content, description="usage")


def check_priced(model: str, prices: PricesByName) -> None:
    """Raise `InvalidValue` if the price of a model is not known: a cap in USD could not be enforced."""
    rates = _facts(model, prices).prices if model else Prices()
    missing = [name for name in ("input", "output") if getattr(rates, name) is None]
    if missing:
        whose = f"of {cut(model)!r}" if model else "of a model that was not named"
        which = f" for {missing[0]} tokens" if len(missing) == 1 else ""
        raise InvalidValue(
            f"what is spent is capped in USD, and the price {whose} is not known{which}: "
            "give it to the session, as in prices={name: Prices(input=3, output=15)}, or cap tokens"
        )


def _facts(model: str, prices: PricesByName) -> ModelFacts:
    """The facts of a model, with the caller's prices unless the built-in ones are for a longer name."""
    facts, name = facts_for(model), model_named(model)
    own_name = max((priced for priced in prices if _is_of(name, priced)), key=len, default="")
    is_own = len(own_name) >= max(len(facts.prefix), 1)
    return replace(facts, prices=(prices[own_name] if is_own else facts.prices).for_all_input())


def _is_of(name: str, priced: str) -> bool:
    """Whether the name of a model is `priced`, with a vendor before it or a release after it."""
    before, match, behind = name.rpartition(priced)
    return bool(match) and before[-1:] in ("", "/", ":") and behind[:1] in ("", "-", ":", "@")


def check_caps(caps: Caps, spent: Spending, prices: PricesByName, model: str | None) -> None:
    """Raise `CapReached` if a cap is reached, and `InvalidValue` if a cap in USD cannot be enforced."""
    if caps.cost is not None and model:
        check_priced(model, prices)
    for name in spent.unknown if caps.cost is not None else ():
        raise InvalidValue(
            f"what is spent is capped in USD, and requests of {cut(name)!r} were recorded without a price: "
            "cap tokens"
        )
    for what, amount, cap in (("tokens", spent.tokens, caps.tokens), ("USD", spent.cost, caps.cost)):
        if cap is not None and amount >= cap:
            raise CapReached(f"{amount:,g} {what} are spent; {cap:,g} are allowed")
