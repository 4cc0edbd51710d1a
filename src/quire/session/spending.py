"""What a conversation has used and cost so far, and what it may."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quire.errors import CapReached, InvalidValue, WrongType, cut
from quire.items import Item, Note
from quire.stores.tombstones import is_tombstone
from quire.tokens import ModelFacts, Prices, Usage, cost, facts_for, model_named

OwnPrices = Mapping[str, Prices]
"""What models cost by one's own account, by name."""

NO_PRICES: OwnPrices = {}


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """What may be spent before a turn is stopped: tokens and USD, of a conversation or of a whole scope."""

    tokens: int | None = None
    cost: float | None = None
    scope_tokens: int | None = None
    scope_cost: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            cap = getattr(self, name)
            if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int | float)):
                raise WrongType(f"a cap of {name} is a number, not {type(cap).__name__}")

    @property
    def is_for_scope(self) -> bool:
        """Whether what other conversations spent matters."""
        return self.scope_tokens is not None or self.scope_cost is not None

    @property
    def is_for_cost(self) -> bool:
        """Whether prices matter."""
        return self.cost is not None or self.scope_cost is not None


class Unpriced(NamedTuple):
    """What a model took whose price is not known."""

    requests: int
    usage: Usage


class Spending:
    """What requests took together. `cost` is in USD; `unpriced` counts those whose price is not known."""

    __slots__ = ("cost", "requests", "unknown", "usage")

    def __init__(self) -> None:
        self.usage = Usage()
        self.cost = 0.0
        self.requests = 0
        self.unknown: Mapping[str, Unpriced] = {}
        """What has no price, by the name of the model; an empty one where it was not said. It is replaced,
        never changed: a copy has it too."""

    def __repr__(self) -> str:
        return f"<Spending of {self.requests} requests, {self.tokens:,} tokens, {self.cost:.4f} USD>"

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.usage.input + self.usage.output

    @property
    def unpriced(self) -> int:
        """How many requests have no price."""
        return sum(one.requests for one in self.unknown.values())

    def __add__(self, other: "Spending") -> "Spending":
        """The sum of two."""
        total = Spending()
        total.usage = self.usage + other.usage
        total.cost = self.cost + other.cost
        total.requests = self.requests + other.requests
        total.unknown = self.unknown
        for model, one in other.unknown.items():
            total._leave_open(model, one)
        return total

    def since(self, earlier: "Spending") -> "Spending":
        """What came to it since it was another."""
        more = Spending()
        more.usage = _less(self.usage, earlier.usage)
        more.cost = self.cost - earlier.cost
        more.requests = self.requests - earlier.requests
        for model, one in self.unknown.items():
            before = earlier.unknown.get(model, _NOTHING)
            if one.requests > before.requests:
                more._leave_open(
                    model, Unpriced(one.requests - before.requests, _less(one.usage, before.usage))
                )
        return more

    def priced(self, prices: OwnPrices) -> "Spending":
        """The same, with a price for what has none yet, as far as these prices say it."""
        total = self + _NOT_SPENT
        total.unknown = {}
        for model, one in self.unknown.items():
            price = price_of(one.usage, model, prices)
            if price is None:
                total._leave_open(model, one)
            else:
                total.cost += price
        return total

    def take(self, items: Iterable[Item]) -> None:
        """Add what stands in the stream of usage."""
        for item in items:
            if isinstance(item, Note) and not is_tombstone(item):
                self._add(item.content)

    def _add(self, content: Mapping[str, Any]) -> None:
        usage = msgspec.convert(content.get("usage", {}), Usage)
        self.usage += usage
        self.requests += 1
        cost = content.get("cost")
        if isinstance(cost, int | float):
            self.cost += cost
        else:
            self._leave_open(str(content.get("model") or ""), Unpriced(1, usage))

    def _leave_open(self, model: str, more: Unpriced) -> None:
        known = self.unknown.get(model, _NOTHING)
        both = Unpriced(known.requests + more.requests, known.usage + more.usage)
        self.unknown = {**self.unknown, model: both}


_NOTHING = Unpriced(0, Usage())
_NOT_SPENT = Spending()


def _less(usage: Usage, earlier: Usage) -> Usage:
    return Usage(**{name: getattr(usage, name) - getattr(earlier, name) for name in usage.__struct_fields__})


def own_prices(prices: Mapping[str, Prices]) -> OwnPrices:
    """Prices by the names of models as tables spell them."""
    for price in prices.values():
        if not isinstance(price, Prices):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"what a model costs is told by Prices, not by {type(price).__name__}")
    return {model_named(model): price for model, price in prices.items()}


def price_of(usage: Usage, model: str, prices: OwnPrices = NO_PRICES) -> float | None:
    """USD for what a model took, by one's own account or else by the list, or None if that is not known."""
    return cost(_facts(model, prices), usage) if model else None


def check_priced(model: str, prices: OwnPrices = NO_PRICES) -> None:
    """Nothing, unless what a model takes has no known price: then nobody can tell when so much is spent."""
    if _missing_rates(model, prices):
        raise InvalidValue(_unknown_price(model, prices))


def _missing_rates(model: str, prices: OwnPrices) -> list[str]:
    rates = _facts(model, prices).prices if model else Prices()
    return [name for name in _RATES if getattr(rates, name) is None]


_RATES = ("input", "output")
"""What every request takes, and what has to have a price therefore; the rest then has one."""


def _unknown_price(model: str, prices: OwnPrices) -> str:
    named = f"of {cut(model)!r}" if model else "of a model that was not named"
    missing = _missing_rates(model, prices)
    which = f" for {missing[0]} tokens" if len(missing) == 1 else ""
    return (
        f"what is spent is capped in USD, and the price {named} is not known{which}: "
        "give it to the session, as in prices={name: Prices(input=3, output=15)}, or cap tokens"
    )


def _facts(model: str, prices: OwnPrices) -> ModelFacts:
    """What is known of a model; of two rows that fit, the one for the longer name."""
    known, name = facts_for(model), model_named(model)
    said = max((own for own in prices if _is_of(name, own)), key=len, default="")
    is_own = len(said) >= max(len(known.prefix), 1)
    return replace(known, prices=(prices[said] if is_own else known.prices).for_all_input())


def _is_of(name: str, own: str) -> bool:
    """Whether a model is the one that is told of: what serves it may stand before, a release behind."""
    before, found, behind = name.rpartition(own)
    return bool(found) and before[-1:] in ("", "/", ":") and behind[:1] in ("", "-", ":", "@")


def spent_on(usage: Usage, model: str | None, prices: OwnPrices = NO_PRICES) -> Note:
    """The item that records what one request took."""
    content: dict[str, Any] = {"usage": msgspec.to_builtins(usage), "model": model}
    price = price_of(usage, model or "", prices)
    if price is not None:
        content["cost"] = price
    return Note(content=content, description="usage")


def check_caps(
    caps: Caps,
    spending: Spending,
    scope: Spending | None,
    prices: OwnPrices = NO_PRICES,
    model: str | None = None,
) -> None:
    """Nothing, unless a cap is reached, or nobody could tell when it is: then the turn is not to be sent."""
    if model and caps.is_for_cost:
        check_priced(model, prices)
    _check(spending.priced(prices), caps.tokens, caps.cost, "", prices)
    if scope is not None:
        _check(scope.priced(prices), caps.scope_tokens, caps.scope_cost, " of the scope", prices)


def _check(spending: Spending, tokens: int | None, cost: float | None, whose: str, prices: OwnPrices) -> None:
    pairs = (("tokens", spending.tokens, tokens), ("USD", spending.cost, cost))
    for what, spent, cap in pairs:
        if cap is not None and spent >= cap:
            raise CapReached(f"{spent:,g} {what}{whose} are spent; {cap:,g} are allowed")
    if cost is not None:
        for model in spending.unknown:
            raise InvalidValue(_unknown_price(model, prices))
