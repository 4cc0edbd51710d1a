"""Combining compactors: a cascade from the cheapest on, and a planner that chooses by expected cost.

Tokens in a provider's cache cost little, and a compaction makes the provider read much of the rest again. So
it pays after some calls, or not at all. The planner assumes that the calls to come add as much as those so
far, and that a conversation of n calls goes on for about n more.
"""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

from msgspec.structs import replace

from quire.compactors.plan import Compactor, Plan, Room, checked_compactor
from quire.compactors.truncate import Tally
from quire.errors import InvalidValue, Irreducible
from quire.items import Mask, Pin, Undo
from quire.state import View, is_output, view_after
from quire.tokens import Counter, Prices, facts_for


class Rates(NamedTuple):
    """USD per million tokens: input, output, and input that a cache serves or stores."""

    input: float
    output: float
    read: float
    write: float


RATES = Rates(1.0, 5.0, 0.1, 1.25)
"""What most providers charge, relative to a token of input: used for models without prices."""


def rates_of(prices: Prices) -> Rates | None:
    """Return the rates if input and output have prices. A cache without a price costs as much as input."""
    if prices.input is None or prices.output is None:
        return None
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write is None else prices.cache_write
    return Rates(prices.input, prices.output, read, write)


_FREE = 4
"""One part in so many of the room should be free after a compaction."""

_PATIENCE = 0.6
"""The part of the room below which a planner does nothing."""

_OUTPUTS = Tally("quire.outputs", is_output)
"""Counts the model's outputs: about one for each call of the model."""


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
            if plan is None or plan.saved <= 0 or (plan.request is not None and not _fits(plan, room)):
                continue
            plans.append(plan)
            if plan.request is not None:
                break
            left = view_after(left, plan.edits)
        if fault is not None and not (plans and _fits(plans[-1], room)):
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


def _fits(plan: Plan, room: Room) -> bool:
    """Whether the view fits the room afterwards, or after further requests about the rest."""
    return plan.after <= room.tokens or (plan.request is not None and plan.request.is_part)


def _next_room(view: View, left: View, room: Room) -> Room:
    """Return the room for the next compactor: early, if those before it freed something but too little."""
    if left is view or room.early or view.tokens(room.counter) <= room.tokens:
        return room
    is_enough = left.tokens(room.counter) <= room.tokens - room.tokens // _FREE
    return room if is_enough else replace(room, early=True)


class Planner:
    """Asks each compactor for a plan, and chooses the one with the lowest expected cost.

    Above the room the cheapest plan is taken. Below it a plan is made only if waiting would cost more, and
    never while less than 0.6 of the room is taken, because a model does better with more of the conversation.
    The rates and the cache lifetime are those of the `model`; other `rates` may be given.
    """

    name = "planner"

    def __init__(self, *compactors: Compactor, model: str | None = None, rates: Rates | None = None) -> None:
        self._cascade = Cascade(*compactors)
        self.compactors = self._cascade.compactors
        facts = facts_for(model) if model is not None else None
        self._lifetime = facts.cache_seconds if facts else None
        self._rates = rates or (rates_of(facts.prices) if facts else None) or RATES

    def __repr__(self) -> str:
        return f"Planner({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return the plan with the lowest expected cost and its forecast, or None while it can wait."""
        held = view.tokens(room.counter)
        if held > room.tokens:
            fitting = [one for one in self._priced(view, room) if one.plan.after <= room.tokens]
            if not fitting:  # none is enough by itself
                plan = self._cascade.plan(view, room)
                fitting = [] if plan is None else [self._price(view, room, plan)]
        elif held < _PATIENCE * room.tokens or view.end == view.shape.tail:
            return None  # or an edit was recorded last, and its effect was not even sent
        else:
            fitting = [one for one in self._priced(view, replace(room, early=True)) if one.is_due]
        return min(fitting, key=lambda one: one.per_call).plan if fitting else None

    def _priced(self, view: View, room: Room) -> Iterator["_Priced"]:
        for compactor in self.compactors:
            try:
                plan = compactor.plan(view, room)
            except Irreducible:
                continue
            if plan is not None and plan.saved > 0:
                yield self._price(view, room, plan)

    def _price(self, view: View, room: Room, plan: Plan) -> "_Priced":
        pace, rate = _pace_of(view, room.counter), self._rates.read
        rewritten = max(plan.after - _unchanged_tokens(view, plan, room.counter), 0)
        once = self._cost_once(plan, rewritten, pace)
        most = max((room.tokens - plan.after) / pace.growth, 1.0)
        best = sqrt(2 * once / (rate * pace.growth)) if rate else most
        calls = min(max(best, 1.0), most)
        per_call = once / calls + rate * (plan.after + pace.growth * calls / 2)
        gain = rate * plan.saved * calls - once
        planned = plan._replace(
            by=f"{self.name}: {plan.by}",
            reason=f"{plan.reason}; {rewritten:,} tokens are read again once, {plan.saved:,} are saved with "
            f"each call; the next {int(calls):,} calls are expected to cost "
            f"{abs(gain) / 1_000_000:.6f} {'less' if gain >= 0 else 'more'}",
        )
        # Waiting costs more, and the conversation is expected to last long enough.
        is_due = rate > 0 and plan.saved >= max(
            sqrt(2 * once * pace.growth / rate), once / (rate * pace.calls)
        )
        return _Priced(planned, per_call, is_due)

    def _cost_once(self, plan: Plan, rewritten: int, pace: "_Pace") -> float:
        """Return what a plan costs by itself: what is read again, and the summary.

        With a cold cache everything is read again in any case, so that is the best time to shrink.
        """
        is_cold = self._lifetime is not None and pace.idle > self._lifetime
        once = 0.0 if is_cold else rewritten * (self._rates.write - self._rates.read)
        if plan.request is not None:
            once += plan.before * self._rates.input + plan.request.size * self._rates.output
        return max(once, 0.0)


class _Priced(NamedTuple):
    plan: Plan
    per_call: float
    is_due: bool  # although the room is not full


def _unchanged_tokens(view: View, plan: Plan, counter: Counter) -> int:
    """Return the counts of what is shown before the first item that a plan changes."""
    ids = [edit.target for edit in plan.edits if isinstance(edit, Mask | Pin | Undo)]
    covers = [edit.spans for edit in plan.edits if not isinstance(edit, Mask | Pin | Undo)]
    covers += [plan.request.spans] if plan.request is not None else []
    ids += [span.first for spans in covers for span in spans]
    first = min(map(view.position, ids), default=view.end)
    return view.counted_before(view.index_of(first), counter)


class _Pace(NamedTuple):
    """How fast a conversation grows, hidden items included."""

    calls: int  # so far
    growth: float  # tokens per call
    idle: float  # seconds between the model's last output and the last item


def _pace_of(view: View, counter: Counter) -> _Pace:
    log, end = view.log, view.end
    calls = max(log.tokens(0, end, _OUTPUTS), 1)
    outputs = (position for position in range(end - 1, -1, -1) if is_output(log.item(position)))
    last = next(outputs, end - 1)
    idle = log.item(end - 1).created_at - log.item(last).created_at if end else 0.0
    return _Pace(calls, max(log.tokens(0, end, counter) / calls, 1.0), max(idle, 0.0))
