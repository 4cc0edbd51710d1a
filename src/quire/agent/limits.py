"""Limits of one question, and the meter of what it has used, nested agents included."""

from contextvars import ContextVar, Token
from time import monotonic
from typing import Literal, Self

import msgspec

from quire.errors import InvalidValue, cut
from quire.items import OptionsMeta
from quire.models import AnyModel
from quire.session import Session, Spending
from quire.tokens import number, whole

Limit = Literal["requests", "seconds", "calls", "cost"]


class Limits(msgspec.Struct, metaclass=OptionsMeta, frozen=True, kw_only=True):
    """Limits of one question: requests to the model, seconds, tool calls, and USD; `None` is no limit.

    Agents that a tool asks count towards the cost, but not towards requests and calls. A cost limit needs
    known prices: after a request with an unknown price, the next raises `InvalidValue`.
    """

    requests: int | None = 100
    seconds: float | None = 600.0
    calls: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        if self.requests is not None:
            whole(self.requests, "Limits.requests", least=1)
        if self.calls is not None:
            whole(self.calls, "Limits.calls", least=0)
        for name, value in (("seconds", self.seconds), ("cost", self.cost)):
            if value is not None:
                number(value, f"Limits.{name}", 0)


class Meter:
    """Measures what one question uses inside its `with` block, nested agents included.

    A meter that is entered inside the block of another counts for both.
    """

    def __init__(self, limits: Limits, session: Session) -> None:
        self.requests = 0
        self.calls = 0
        self._limits = limits
        self._session = session
        self._spent_before = Spending()
        self._began_at = 0.0
        self._outer: Meter | None = None
        self._inner: list[Meter] = []
        self._token: Token[Meter | None] | None = None
        self._total: Spending | None = None  # once it has ended

    def __enter__(self) -> Self:
        self._spent_before, self._began_at = self._session.spending, monotonic()
        outer = _current.get()
        if outer is not None and outer._total is None:
            self._outer = outer
            outer._inner.append(self)
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _current.reset(self._token)
        self._total = self.spent  # later turns of the conversation do not count

    @property
    def spent(self) -> Spending:
        """Tokens and USD, as far as prices are known."""
        if self._total is not None:
            return self._total
        spent = self._session.spending.since(self._spent_before)
        for inner in self._inner:
            spent += inner.spent
        return spent

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit; `None` if there is none."""
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (monotonic() - self._began_at)

    @property
    def calls_left(self) -> int | None:
        """How many tool calls may still run; `None` if there is no limit."""
        return None if self._limits.calls is None else max(self._limits.calls - self.calls, 0)

    @property
    def is_cost_reached(self) -> bool:
        """Whether the cost limit of this question, or of one around it, is reached."""
        max_cost = self._limits.cost
        if max_cost is not None and self.spent.cost >= max_cost:
            return True
        return self._outer is not None and self._outer.is_cost_reached

    def reached(self) -> Limit | None:
        """The limit that forbids another request, if one does."""
        limits, left = self._limits, self.seconds_left
        if limits.requests is not None and self.requests >= limits.requests:
            return "requests"
        if self.is_cost_reached:
            return "cost"
        return "seconds" if left is not None and left <= 0 else None

    def check_prices(self, model: AnyModel) -> None:
        """Raise `InvalidValue` if a cost limit cannot be enforced because a price is not known.

        Local models cost nothing.
        """
        is_local = getattr(model, "context", None) is not None
        unpriced = next(iter(self.spent.unknown), None)
        if unpriced is not None and self._has_cost_limit and not is_local:
            raise InvalidValue(
                f"Limits.cost cannot be enforced: the price of {cut(unpriced or model.name)!r} is not known; "
                "give it to the session, as in prices={name: Prices(input=3, output=15)}, or limit requests"
            )

    @property
    def _has_cost_limit(self) -> bool:
        return self._limits.cost is not None or (self._outer is not None and self._outer._has_cost_limit)


_current: ContextVar[Meter | None] = ContextVar("quire.agent.meter", default=None)
