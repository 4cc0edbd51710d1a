"""Choosing by expected money: what a compaction saves with each call to come, against what it costs now.

Tokens that a provider has in its cache cost little, and a compaction makes it read much of what is left
anew. So it pays after so many calls, or not at all. What the calls to come will look like is told from those
so far: how much each added, and that a conversation of n calls goes on for about n more.
"""

from collections.abc import Iterator
from math import sqrt

from msgspec.structs import replace

from quire.compactors.cascade import Cascade
from quire.compactors.limits import checked_room
from quire.compactors.pace import Pace, pace_of
from quire.compactors.plan import Compactor, Forecast, Plan, Room
from quire.compactors.rates import RATIOS, known_prices, rates_of
from quire.compactors.rewriting import unchanged_tokens
from quire.errors import InvalidLimit, Irreducible
from quire.state import View, checked_view
from quire.tokens import Prices, facts_for, number

_LOOKS = 64
"""How often, while a room fills up, it is worked out whether to compact early."""

_MILLION = 1_000_000


class Planner:
    """Asks each compactor what it would do, and chooses by what the calls to come are expected to cost.

    Above the room something has to be done, and the cheapest way is taken. Below it a plan is made only once
    waiting any longer would cost more, and never while less than `patience` of the room is taken: what money
    does not tell is that a model does better with more of the conversation. `model` says whose prices count,
    and how long its provider keeps a cache; other `prices` may be given. Without a price for what a cache
    serves, that costs what all input does.
    """

    name = "planner"

    def __init__(
        self,
        *compactors: Compactor,
        model: str | None = None,
        prices: Prices | None = None,
        patience: float = 0.6,
    ) -> None:
        if not 0 <= number(patience, "patience", least=0) <= 1:
            raise InvalidLimit("patience is a part of the room, from 0.0 to 1.0")
        self._cascade = Cascade(*compactors)
        self.compactors = self._cascade.compactors
        self._patience = patience
        facts = facts_for(model) if model is not None else None
        self._lifetime = facts.cache_seconds if facts else None
        if prices is None:
            prices = (known_prices(facts.prices) if facts else None) or RATIOS
        self._rates = rates_of(prices)

    def __repr__(self) -> str:
        return f"Planner({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """The plan that is expected to cost least, with what it is expected to do; none while it can wait."""
        held = checked_view(view).tokens(checked_room(room).counter)
        pace = pace_of(view, room.counter)
        if held > room.tokens:
            return self._cheapest(self._fitting(view, room, pace)) or self._together(view, room, pace)
        if view.end == view.shape.tail:
            return None  # an edit was recorded last: what it changed has not even been sent
        step = max(room.tokens // _LOOKS, 1)
        if held < self._patience * room.tokens:
            return None
        if not self._is_cold(pace) and held // step == (held - pace.latest) // step:
            return None  # as it was at the call before
        early = replace(room, early=True)
        due = (plan for plan in self._plans(view, early, pace) if self._is_due(plan, pace))
        return self._cheapest(due)

    def _together(self, view: View, room: Room, pace: Pace) -> Plan | None:
        """The plan of all of them, where none is enough by itself."""
        plan = self._cascade.plan(view, room)
        return None if plan is None else self._foretold(view, room, plan, pace)

    def _fitting(self, view: View, room: Room, pace: Pace) -> Iterator[Plan]:
        """Plans of one compactor each that are enough by themselves."""
        return (plan for plan in self._plans(view, room, pace) if plan.after <= room.tokens)

    def _plans(self, view: View, room: Room, pace: Pace) -> Iterator[Plan]:
        for compactor in self.compactors:
            try:
                plan = compactor.plan(view, room)
            except Irreducible:
                continue
            if plan is not None and plan.saved > 0:
                yield self._foretold(view, room, plan, pace)

    def _cheapest(self, plans: Iterator[Plan]) -> Plan | None:
        return min(plans, key=_per_call, default=None)

    def _is_due(self, plan: Plan, pace: Pace) -> bool:
        """Whether waiting longer would cost more, and the conversation may be taken to last long enough."""
        once = self._once(plan, pace)
        if not self._rates.read:
            return False
        economic = sqrt(2 * once * pace.growth / self._rates.read)
        return plan.saved >= economic and plan.saved * self._rates.read * pace.calls >= once

    def _foretold(self, view: View, room: Room, plan: Plan, pace: Pace) -> Plan:
        rewritten = max(plan.after - unchanged_tokens(view, plan, room.counter), 0)
        plan = plan._replace(forecast=Forecast(1, rewritten, plan.saved, 0.0, 0.0))
        once = self._once(plan, pace)
        most = max((room.tokens - plan.after) / pace.growth, 1.0)
        best = sqrt(2 * once / (self._rates.read * pace.growth)) if self._rates.read else most
        calls = min(max(best, 1.0), most)
        per_call = once / calls + self._rates.read * (plan.after + pace.growth * calls / 2)
        gain = self._rates.read * plan.saved * calls - once
        forecast = Forecast(int(calls), rewritten, plan.saved, per_call / _MILLION, gain / _MILLION)
        told = f"{rewritten:,} tokens are read anew once, {plan.saved:,} are saved with each call"
        return plan._replace(
            by=f"{self.name}: {plan.by}",
            reason=f"{plan.reason}; {told}; the next {forecast.calls:,} calls are expected to cost "
            f"{abs(forecast.gain):.6f} {'less' if forecast.gain >= 0 else 'more'}",
            forecast=forecast,
        )

    def _is_cold(self, pace: Pace) -> bool:
        """Whether nobody spoke for so long that the provider has let go of what it had cached."""
        return self._lifetime is not None and pace.idle > self._lifetime

    def _once(self, plan: Plan, pace: Pace) -> float:
        """What a plan costs by itself: what is read anew, and the words that are still to be written.

        Once a cache has gone cold all is read anew in any case, and the best time to shrink is then.
        """
        rewritten = plan.forecast.rewritten if plan.forecast else plan.after
        once = 0.0 if self._is_cold(pace) else rewritten * (self._rates.write - self._rates.read)
        if plan.request is not None:
            once += plan.before * self._rates.input + plan.request.size * self._rates.output
        return max(once, 0.0)


def _per_call(plan: Plan) -> float:
    return plan.forecast.per_call if plan.forecast else 0.0
