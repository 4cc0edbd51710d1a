"""How far one question may go, and how far it has come."""

from contextvars import ContextVar, Token
from time import monotonic
from typing import Literal, Self

import msgspec

from quire.errors import InvalidValue, WrongType, cut
from quire.models import AnyModel, Scripted
from quire.providers import Parsed
from quire.session import Session, Spending
from quire.tokens import number, whole

Limit = Literal["requests", "seconds", "calls", "cost"]
"""What is limited."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one question may take: so many requests to the model, seconds, calls of tools, and USD.

    The money is also that of agents that are asked on the way, by a tool; the requests and calls are not. It
    can be limited where prices are known: after a request whose price is not, the next one is `InvalidValue`.
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


def limits_or(otherwise: Limits, given: Limits | None) -> Limits:
    """The limits that are given, or others where none are."""
    if given is None:
        return otherwise
    if not isinstance(given, Limits):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"limits are Limits, such as Limits(requests=3), not {type(given).__name__}")
    return given


class Tally:
    """What one question has taken so far, with what agents took that were asked on the way to its answer.

    It counts while it is entered; whoever is asked meanwhile, from the same context, finds it and counts for
    it too.
    """

    def __init__(self, limits: Limits, session: Session) -> None:
        self._limits = limits
        self._session = session
        self._before = session.spending
        self._began = monotonic()
        self._outer: Tally | None = None
        self._inner: list[Tally] = []
        self._taken: Spending | None = None  # by those that have ended
        self._entered: Token[Tally | None] | None = None
        self._unpriced: str | None = None  # a model that was paid, and nobody knows how much
        self.requests = 0
        self.calls = 0

    def __enter__(self) -> Self:
        outer = _counting.get()
        self._outer = outer if outer is not None and outer._entered is not None else None
        if self._outer is not None and not self._outer._counts(self._session):
            self._outer._inner.append(self)
        self._entered = _counting.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._entered is not None:
            _counting.reset(self._entered)
            self._entered = None
        if self._outer is not None:
            self._outer._unpriced = self._outer._unpriced or self._unpriced
        if self._outer is not None and self in self._outer._inner:
            # From here on the conversation spends for others.
            self._outer._inner.remove(self)
            taken = self._outer._taken
            self._outer._taken = self.spent if taken is None else taken + self.spent

    @property
    def spent(self) -> Spending:
        """Tokens and USD, as far as prices are known."""
        spent = self._session.spending.since(self._before)
        if self._taken is not None:
            spent += self._taken
        for inner in tuple(self._inner):
            spent += inner.spent
        return spent

    @property
    def seconds_left(self) -> float | None:
        """Until the time is over."""
        if self._limits.seconds is None:
            return None
        return self._limits.seconds - (monotonic() - self._began)

    @property
    def is_spent(self) -> bool:
        """Whether the money is, its own or that of the question on whose way it is."""
        most = self._limits.cost
        if most is not None and self.spent.cost >= most:
            return True
        return self._around is not None and self._around.is_spent

    def take(self, parsed: Parsed, model: AnyModel) -> None:
        """Take in an answer that is recorded; a model that runs here is not paid."""
        if self._has_limited_cost and not _runs_here(model) and (parsed.model or "") in self.spent.unknown:
            self._unpriced = parsed.model or model.name

    def check_prices(self) -> None:
        """An error where money is limited and more was spent than is known: the limit would not hold."""
        if self._unpriced is not None and self._has_limited_cost:
            raise InvalidValue(
                f"Limits.cost cannot be held: the price of {cut(self._unpriced)!r} is not known; "
                "give it to the session, as in prices={name: Prices(input=3, output=15)}, or limit requests"
            )

    @property
    def _has_limited_cost(self) -> bool:
        return self._limits.cost is not None or (self._around is not None and self._around._has_limited_cost)

    @property
    def _around(self) -> "Tally | None":
        """The question on whose way it is, while that is on its way itself."""
        return self._outer if self._outer is not None and self._outer._entered is not None else None

    def reached(self) -> Limit | None:
        """The name of the limit that is reached, if one is."""
        limits, left = self._limits, self.seconds_left
        if limits.requests is not None and self.requests >= limits.requests:
            return "requests"
        if self.is_spent:
            return "cost"
        return "seconds" if left is not None and left <= 0 else None

    def allows(self, calls: int) -> int:
        """How many of some calls may still be run."""
        if self._limits.calls is None:
            return calls
        return max(min(calls, self._limits.calls - self.calls), 0)

    def _counts(self, session: Session) -> bool:
        """Whether what a session spends is counted already: it is the one of this question, or around it."""
        if is_same_conversation(self._session, session):
            return True
        return self._outer is not None and self._outer._counts(session)


def _runs_here(model: AnyModel) -> bool:
    """Whether nobody is paid for a model: it runs here, or says what it was given to say."""
    return isinstance(model, Scripted) or getattr(model, "context", None) is not None


def is_same_conversation(one: Session, other: Session) -> bool:
    """Whether two sessions are of one conversation: all that are open in a process share what it spent."""
    return one.place == other.place


_counting: ContextVar[Tally | None] = ContextVar("quire.agent.counting", default=None)
