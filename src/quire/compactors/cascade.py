"""Several compactors, the cheapest first."""

from typing import Any

from quire.compactors.foreseeing import foreseen
from quire.compactors.plan import Compactor, Plan, Room
from quire.errors import InvalidValue, Irreducible, WrongType
from quire.state import View


class Cascade:
    """Asks each compactor about what those before it would leave, and makes one plan of what they say.

    One that finds enough done says nothing. Words are asked for once, by the last that has something to say:
    nobody can foresee what they will leave. One that is at its end is passed over, unless none of the others
    makes the view fit.
    """

    name = "cascade"

    def __init__(self, *compactors: Compactor) -> None:
        if not compactors:
            raise InvalidValue("a cascade is of at least one compactor")
        self.compactors = tuple(map(_checked, compactors))

    def __repr__(self) -> str:
        return f"Cascade({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """The plans of all that have something to say, as one."""
        plans: list[Plan] = []
        fault: Irreducible | None = None
        left = view
        for compactor in self.compactors:
            try:
                plan = compactor.plan(left, room)
            except Irreducible as error:
                fault = error
                continue
            if plan is not None:
                plans.append(plan)
                if plan.request is not None:
                    break
                left = foreseen(left, plan.edits)
        if fault is not None and (not plans or plans[-1].after > room.tokens):
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


def _checked(compactor: Any) -> Compactor:
    if not (callable(getattr(compactor, "plan", None)) and isinstance(getattr(compactor, "name", None), str)):
        raise WrongType(f"a compactor has a name and a plan, not {type(compactor).__name__}")
    return compactor  # type: ignore[no-any-return]
