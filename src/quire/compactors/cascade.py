"""Several compactors, the cheapest first."""

from msgspec.structs import replace

from quire.compactors.foreseeing import view_after
from quire.compactors.plan import Compactor, Plan, Room, checked_compactor
from quire.errors import InvalidValue, Irreducible
from quire.state import View

_FREE = 4
"""One part in so many of a room is to be free after a compaction."""


class Cascade:
    """Asks each compactor about what those before it would leave, and makes one plan of what they say.

    One that finds enough done says nothing. Words are asked for once, by the last that has something to say:
    nobody can foresee what they will leave. One that is at its end is passed over, unless none of the others
    makes the view fit; so is one whose words would not make it fit. Where the view was above the room, those
    to come are asked for as long as less than a quarter of it is free: the next message needs room too. Where
    nobody writes, or whoever does has failed, those to come have their turn.
    """

    name = "cascade"

    def __init__(self, *compactors: Compactor) -> None:
        if not compactors:
            raise InvalidValue("a cascade is of at least one compactor")
        self.compactors = tuple(map(checked_compactor, compactors))

    def __repr__(self) -> str:
        return f"Cascade({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """The plans of all that have something to say, as one."""
        plans: list[Plan] = []
        fault: Irreducible | None = None
        left = view
        for compactor in self.compactors:
            try:
                plan = compactor.plan(left, _going_on(view, left, room))
            except Irreducible as error:
                fault = error
                continue
            if plan is not None and _helps(plan, room):
                plans.append(plan)
                if plan.request is not None:
                    break
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
            # What the words are about is compared with what was shown before any of this.
            request and request._replace(revision=view.revision),
        )


def _going_on(view: View, left: View, room: Room) -> Room:
    """The room as the next compactor is asked: early, where those before it did something, and too little."""
    if left is view or room.early or view.tokens(room.counter) <= room.tokens:
        return room
    is_enough = left.tokens(room.counter) <= room.tokens - room.tokens // _FREE
    return room if is_enough else replace(room, early=True)


def _helps(plan: Plan, room: Room) -> bool:
    """Whether a plan makes the view smaller, and words, after which there is nobody to ask, make it fit."""
    return plan.saved > 0 and (plan.request is None or plan.leads_into(room))
