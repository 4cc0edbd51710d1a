"""What a conversation has used and cost so far, and what it may."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quire.errors import CapReached, WrongType
from quire.items import Item, Note
from quire.tokens import Usage, cost, facts_for


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


class Spending:
    """What requests took together. `cost` is in USD; `unpriced` counts those whose price is not known."""

    __slots__ = ("cost", "requests", "unpriced", "usage")

    def __init__(self) -> None:
        self.usage = Usage()
        self.cost = 0.0
        self.requests = 0
        self.unpriced = 0

    def __repr__(self) -> str:
        return f"<Spending of {self.requests} requests, {self.tokens:,} tokens, {self.cost:.4f} USD>"

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.usage.input + self.usage.output

    def __add__(self, other: "Spending") -> "Spending":
        """The sum of two."""
        total = Spending()
        total.usage = self.usage + other.usage
        total.cost = self.cost + other.cost
        total.requests = self.requests + other.requests
        total.unpriced = self.unpriced + other.unpriced
        return total

    def since(self, earlier: "Spending") -> "Spending":
        """What came to it since it was another."""
        more = Spending()
        names = self.usage.__struct_fields__
        more.usage = Usage(**{n: getattr(self.usage, n) - getattr(earlier.usage, n) for n in names})
        more.cost = self.cost - earlier.cost
        more.requests = self.requests - earlier.requests
        more.unpriced = self.unpriced - earlier.unpriced
        return more

    def take(self, items: Iterable[Item]) -> None:
        """Add what stands in the stream of usage."""
        for item in items:
            if isinstance(item, Note):
                self._add(item.content)

    def _add(self, content: Mapping[str, Any]) -> None:
        self.usage += msgspec.convert(content.get("usage", {}), Usage)
        self.requests += 1
        cost = content.get("cost")
        if isinstance(cost, int | float):
            self.cost += cost
        else:
            self.unpriced += 1


def spent_on(usage: Usage, model: str | None) -> Note:
    """The item that records what one request took."""
    content: dict[str, Any] = {"usage": msgspec.to_builtins(usage), "model": model}
    price = None if model is None else cost(facts_for(model), usage)
    if price is not None:
        content["cost"] = price
    return Note(content=content, description="usage")


def check_caps(caps: Caps, spending: Spending, scope: Spending | None) -> None:
    """Nothing, unless one of the caps is reached: then the turn is not to be sent."""
    pairs = [("tokens", spending.tokens, caps.tokens), ("USD", spending.cost, caps.cost)]
    if scope is not None:
        pairs += [
            ("tokens of the scope", scope.tokens, caps.scope_tokens),
            ("USD of the scope", scope.cost, caps.scope_cost),
        ]
    for what, spent, cap in pairs:
        if cap is not None and spent >= cap:
            raise CapReached(f"{spent:,g} {what} are spent; {cap:,g} are allowed")
