"""Combining compactors: a cascade from the cheapest on, and a planner that chooses by expected cost.

Tokens in a provider's cache cost little, and a compaction makes the provider read much of the rest again. So
it pays after some calls, or not at all. The planner assumes that the calls to come add as much as those so
far, and that a conversation of n calls goes on for about n more.
"""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

from msgspec.structs import replace

from quire.compactors.plan import Compactor, Forecast, Plan, Room, checked_compactor
from quire.errors import InvalidLimit, InvalidValue, Irreducible
from quire.items import Item, Mask, Pin, Undo
from quire.state import Run, View, checked_view, is_output, view_after
from quire.tokens import Counter, Prices, facts_for, number

RATIOS = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
"""What most providers charge, relative to a token of input: used for models without prices."""

_FREE = 4
"""One part in so many of the room should be free after a compaction."""

_LOOKS = 64
"""How often an early compaction is considered while a room fills up."""

_MILLION = 1_000_000


class Cascade:
    """Asks each compactor about what the ones before it leave, and joins their plans to one.

    At most one summary is requested, by the last compactor of the plan, because its size is not known in
    advance. A compactor is skipped if it raises `Irreducible`, unless none of the others makes the view fit;
    or if its summary would not make the view fit. If the view was above the room, compactors are asked until
    a quarter of the room is free: the next message needs room too.
    """

    name = "cascade"

    def __init__(self, *compactors: Compactor) -> None:
        if not compactors:
            raise InvalidValue("a cascade needs at least one compactor")
        self.compactors = tuple(map(checked_compactor, compactors))

    def __repr__(self) -> str:
        return f"Cascade({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return the plans of all compactors as one."""
        plans: list[Plan] = []
        fault: Irreducible | None = None
        left = view
        for compactor in self.compactors:
            try:
                plan = compactor.plan(left, _next_room(view, left, room))
            except Irreducible as error:
                fault = error
                continue
            if plan is None or plan.saved <= 0:
                continue
            if plan.request is not None:
                if plan.leads_into(room):
                    plans.append(plan)
                    break
                continue
            plans.append(plan)
            left = view_after(left, plan.edits)
        if fault is not None and (not plans or not plans[-1].leads_into(room)):
            raise fault
        return self._joined(plans, view) if plans else None

    def _joined(self, plans: list[Plan], view: View) -> Plan:
        request = plans[-1].request
        return Plan(
            self.name,
            "; ".join(f"{plan.by}: {plan.reason}" for plan in plans),
            plans[0].before,
            plans[-1].after,
            tuple(edit for plan in plans for edit in plan.edits),
            tuple(note for plan in plans for note in plan.notes),
            # The summary is compared with the view before any of these edits.
            request and request._replace(revision=view.revision),
        )


def _next_room(view: View, left: View, room: Room) -> Room:
    """Return the room for the next compactor: early, if those before it freed something but too little."""
    if left is view or room.early or view.tokens(room.counter) <= room.tokens:
        return room
    is_enough = left.tokens(room.counter) <= room.tokens - room.tokens // _FREE
    return room if is_enough else replace(room, early=True)


class Planner:
    """Asks each compactor for a plan, and chooses the one with the lowest expected cost.

    Above the room the cheapest plan is taken. Below it a plan is made only if waiting would cost more, and
    never while less than `patience` of the room is taken, because a model does better with more of the
    conversation. The prices and the cache lifetime are those of the `model`; other `prices` may be given.
    Without a price for cached tokens, these cost as much as other input.
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
            raise InvalidLimit("patience is a fraction of the room, from 0.0 to 1.0")
        self._cascade = Cascade(*compactors)
        self.compactors = self._cascade.compactors
        self._patience = patience
        facts = facts_for(model) if model is not None else None
        self._lifetime = facts.cache_seconds if facts else None
        self._rates = rates_of(prices or (known_prices(facts.prices) if facts else None) or RATIOS)

    def __repr__(self) -> str:
        return f"Planner({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return the plan with the lowest expected cost and its forecast, or None while it can wait."""
        held = checked_view(view).tokens(room.counter)
        pace = _pace_of(view, room.counter)
        if held > room.tokens:
            fitting = (plan for plan in self._plans(view, room, pace) if plan.after <= room.tokens)
            return min(fitting, key=_per_call, default=None) or self._together(view, room, pace)
        if view.end == view.shape.tail:
            return None  # an edit was recorded last, and its effect was not even sent
        step = max(room.tokens // _LOOKS, 1)
        if held < self._patience * room.tokens:
            return None
        if not self._is_cold(pace) and held // step == (held - pace.latest) // step:
            return None  # little has changed since the last look
        early = self._plans(view, replace(room, early=True), pace)
        return min((plan for plan in early if self._is_due(plan, pace)), key=_per_call, default=None)

    def _plans(self, view: View, room: Room, pace: "_Pace") -> Iterator[Plan]:
        for compactor in self.compactors:
            try:
                plan = compactor.plan(view, room)
            except Irreducible:
                continue
            if plan is not None and plan.saved > 0:
                yield self._with_forecast(view, room, plan, pace)

    def _together(self, view: View, room: Room, pace: "_Pace") -> Plan | None:
        """Return the plan of all compactors, because none is enough by itself."""
        plan = self._cascade.plan(view, room)
        return None if plan is None else self._with_forecast(view, room, plan, pace)

    def _is_due(self, plan: Plan, pace: "_Pace") -> bool:
        """Whether waiting would cost more, and the conversation is expected to last long enough."""
        once, rate = self._cost_once(plan, pace), self._rates.read
        if not rate:
            return False
        return plan.saved >= sqrt(2 * once * pace.growth / rate) and plan.saved * rate * pace.calls >= once

    def _with_forecast(self, view: View, room: Room, plan: Plan, pace: "_Pace") -> Plan:
        rewritten = max(plan.after - _unchanged_tokens(view, plan, room.counter), 0)
        plan = plan._replace(forecast=Forecast(1, rewritten, plan.saved, 0.0, 0.0))
        once, rate = self._cost_once(plan, pace), self._rates.read
        most = max((room.tokens - plan.after) / pace.growth, 1.0)
        best = sqrt(2 * once / (rate * pace.growth)) if rate else most
        calls = min(max(best, 1.0), most)
        per_call = once / calls + rate * (plan.after + pace.growth * calls / 2)
        gain = rate * plan.saved * calls - once
        forecast = Forecast(int(calls), rewritten, plan.saved, per_call / _MILLION, gain / _MILLION)
        return plan._replace(
            by=f"{self.name}: {plan.by}",
            reason=f"{plan.reason}; {rewritten:,} tokens are read again once, {plan.saved:,} are saved with "
            f"each call; the next {forecast.calls:,} calls are expected to cost "
            f"{abs(forecast.gain):.6f} {'less' if forecast.gain >= 0 else 'more'}",
            forecast=forecast,
        )

    def _is_cold(self, pace: "_Pace") -> bool:
        """Whether the conversation paused for so long that the provider's cache has expired."""
        return self._lifetime is not None and pace.idle > self._lifetime

    def _cost_once(self, plan: Plan, pace: "_Pace") -> float:
        """Return what a plan costs by itself: what is read again, and the summary.

        With a cold cache everything is read again in any case, so that is the best time to shrink.
        """
        rewritten = plan.forecast.rewritten if plan.forecast else plan.after
        once = 0.0 if self._is_cold(pace) else rewritten * (self._rates.write - self._rates.read)
        if plan.request is not None:
            once += plan.before * self._rates.input + plan.request.size * self._rates.output
        return max(once, 0.0)


def _per_call(plan: Plan) -> float:
    return plan.forecast.per_call if plan.forecast else 0.0


def _unchanged_tokens(view: View, plan: Plan, counter: Counter) -> int:
    """Return the counts of what is shown before the first item that a plan changes."""
    first = min(map(view.position, _changed_ids(plan)), default=view.end)
    counted = 0
    for run in view.runs():
        if run.start >= first:
            break
        is_whole = run.stop <= first or run.stand_in is not None
        counted += view.run_tokens(run if is_whole else Run(run.start, first), counter)
    return counted


def _changed_ids(plan: Plan) -> Iterator[str]:
    for edit in plan.edits:
        if isinstance(edit, Mask | Pin | Undo):
            yield edit.target
        else:
            yield from (span.first for span in edit.spans)
    if plan.request is not None:
        yield from (span.first for span in plan.request.spans)


class _Outputs:
    """Counts the model's outputs: about one for each call of the model."""

    key = "quire.outputs"

    def count(self, item: Item) -> int:
        return int(is_output(item))

    def total(self, counted: int) -> int:
        return counted


class _Pace(NamedTuple):
    """How fast a conversation grows, hidden items included."""

    calls: int  # so far
    growth: float  # tokens per call
    latest: int  # tokens since the last call
    idle: float  # seconds between the model's last output and the last item


_OUTPUTS = _Outputs()


def _pace_of(view: View, counter: Counter) -> _Pace:
    log, end = view.log, view.end
    calls = max(log.tokens(0, end, _OUTPUTS), 1)
    reply_end = end
    while reply_end > 0 and not is_output(log.item(reply_end - 1)):
        reply_end -= 1
    reply_start = reply_end
    while reply_start > 0 and is_output(log.item(reply_start - 1)):
        reply_start -= 1
    idle = log.time(end - 1) - log.time(reply_end - 1) if reply_end else 0.0
    growth = max(log.tokens(0, end, counter) / calls, 1.0)
    return _Pace(calls, growth, log.tokens(reply_start, end, counter), max(idle, 0.0))


class Rates(NamedTuple):
    """USD per million tokens: input, output, and input that a cache serves or stores."""

    input: float
    output: float
    read: float
    write: float


def rates_of(prices: Prices) -> Rates:
    """Return the rates by some prices. A cache without a price of its own costs as much as input."""
    if prices.input is None or prices.output is None:
        raise InvalidValue("prices must have input and output")
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write is None else prices.cache_write
    return Rates(prices.input, prices.output, read, write)


def known_prices(prices: Prices) -> Prices | None:
    """Return the prices of a model if input and output are known."""
    return None if prices.input is None or prices.output is None else prices
