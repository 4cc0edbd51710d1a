"""How far one question may go, and how far it has come."""

from time import monotonic
from typing import Literal

import msgspec

from quire.session import Session, Spending
from quire.tokens.numbers import number, whole

Limit = Literal["requests", "seconds", "calls", "cost"]
"""What is limited."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one question may take: so many requests to the model, seconds, calls of tools, and USD."""

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


class Tally:
    """What one question has taken so far."""

    def __init__(self, limits: Limits, session: Session) -> None:
        self._limits = limits
        self._session = session
        self._before = session.spending + Spending()  # a copy: the session's own goes on
        self._began = monotonic()
        self.requests = 0
        self.calls = 0

    @property
    def spent(self) -> Spending:
        """Tokens and USD, as far as prices are known."""
        return self._session.spending.since(self._before)

    @property
    def seconds_left(self) -> float | None:
        """Until the time is over."""
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (monotonic() - self._began)

    def reached(self) -> Limit | None:
        """The name of the limit that is reached, if one is."""
        limits, left = self._limits, self.seconds_left
        if limits.requests is not None and self.requests >= limits.requests:
            return "requests"
        if limits.cost is not None and self.spent.cost >= limits.cost:
            return "cost"
        return "seconds" if left is not None and left <= 0 else None

    def allows(self, calls: int) -> int:
        """How many of some calls may still be run."""
        if self._limits.calls is None:
            return calls
        return max(min(calls, self._limits.calls - self.calls), 0)
