"""Compactions: what each took out of the main transcript, saved and cost; and what one would do now."""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from quire.compactors import Compactor, Room
from quire.context import DEFAULT_MODEL, KEEP_ALL, POLICIES
from quire.errors import InvalidValue, Irreducible, UnknownId, cut
from quire.inspector.items import describe
from quire.inspector.source import Query, Source, text_in
from quire.items import Edit, Hide, Mask, Summary, Undo, kind_of
from quire.session import Attempt, Session
from quire.state import Run, View, subject
from quire.tokens import Usage, cost, counter_for, facts_for

_MOST_ROWS, _MOST_EDITS, _MOST_SOURCES = 200, 50, 200


def all_done(session: Session) -> list[tuple[Attempt | None, list[Edit]]]:
    """The compactions, newest first, each with its edits.

    An edit that no attempt names was made by hand, or where the conversation was forked from.
    """
    attempts, view = session.compaction.past(), session.view()
    owners = {edit: number for number, one in enumerate(attempts) for edit in one.edits}
    edits: dict[int, list[Edit]] = {number: [] for number in range(len(attempts))}
    for position in view.log.positions("edits", 0, view.end):
        edit = view.log.item(position)
        if isinstance(edit, Summary | Mask | Hide):
            edits.setdefault(owners.get(edit.id, ~position), []).append(edit)
    found = [(attempts[number] if number >= 0 else None, own) for number, own in edits.items()]
    return sorted(found, key=lambda one: one[1][0].created_at if one[0] is None else one[0].began_at)[::-1]


def listed(source: Source, query: Query) -> dict[str, Any]:
    """The compactions, newest first: those in force, undone, discarded, failed, and running."""
    session = source.session(query.text("address"))
    view, every = session.view(), all_done(session)
    in_force = view.edits_in_force.edits.values()
    undone = {undo.target: undo.id for undo in in_force if isinstance(undo, Undo)}
    shown, counter = {summary.id for summary in view.summaries()}, counter_for(DEFAULT_MODEL)

    def described(edit: Edit) -> dict[str, Any]:
        is_folded = isinstance(edit, Summary) and edit.id not in shown
        state = "undone" if edit.id in undone else "folded" if is_folded else "in force"
        sources = sum(stop - start for start, stop in subject(view, edit))
        return describe(edit, counter) | {"state": state, "undo": undone.get(edit.id), "sources": sources}

    return {
        "length": len(every),
        "policies": [name for name in POLICIES if name != KEEP_ALL],
        "rows": [
            {
                "attempt": attempt,
                "kinds": Tally(map(kind_of, edits)),
                "regrets": 0 if attempt is None else len(attempt.regrets),
                "edits": [described(edit) for edit in edits[:_MOST_EDITS]],
            }
            for attempt, edits in every[:_MOST_ROWS]
        ],
    }


def sources(source: Source, query: Query) -> dict[str, Any]:
    """Some of what one edit is about, from `start` on."""
    view = source.session(query.text("address")).view()
    name, start = query.text("id"), query.number("start", 0)
    edit = view.get(name)
    if not isinstance(edit, Summary | Mask | Hide):
        raise UnknownId(f"{cut(name)!r} is no compaction")
    covered = _positions(view, [edit])
    return {"length": len(covered), "rows": _items(view, covered[start : start + _MOST_SOURCES])}


def _positions(view: View, edits: Iterable[Edit]) -> list[int]:
    stretches = chain.from_iterable(subject(view, edit) for edit in edits)
    return sorted({position for start, stop in stretches for position in range(start, stop)})


def _items(view: View, positions: Sequence[int]) -> list[dict[str, Any]]:
    view.log.load(Run(position, position + 1) for position in positions)
    return [describe(view.log.item(position), counter_for(DEFAULT_MODEL)) for position in positions]


def preview(source: Source, query: Query) -> dict[str, Any]:
    """What a policy would do now. No model is asked, and nothing is written."""
    view, name = source.session(query.text("address")).view(), query.text("by", "summarize")
    room = _room(view, query.number("tokens", None))
    try:
        plan, reason = _policy(name).plan(view, room), f"{name} finds nothing to take out"
    except Irreducible as fault:
        plan, reason = None, str(fault)
    if plan is None:
        return {"plan": None, "reason": reason}
    edits, asked = list(plan.edits), None
    if plan.request is not None:
        edits.append(Summary("-", plan.request.spans))
        used = Usage(sum(map(room.counter.count, plan.request.prompt)), plan.request.size)
        asked = {"model": DEFAULT_MODEL, "usage": used, "cost": cost(facts_for(DEFAULT_MODEL), used)}
    positions = _positions(view, edits)
    taken = {"kinds": Tally(map(kind_of, edits)), "rows": _items(view, positions[:_MOST_SOURCES])}
    sizes = {"before": plan.before, "after": plan.after, "count": len(positions)}
    return {"plan": taken | sizes | {"request": asked}, "reason": plan.reason}


def run(source: Source, body: Mapping[str, Any]) -> dict[str, Any]:
    """Compact now by a policy that needs no model."""
    session, name = source.session(text_in(body, "address")), text_in(body, "by")
    if name == "summarize":
        raise InvalidValue("the inspector asks no model: a summary is written where the agent runs")
    outcome = session.compaction.run(by=_policy(name), room=_room(session.view(), body.get("tokens")))
    return {"fate": None} if outcome is None else {"fate": outcome.fate, "reason": outcome.reason}


def _policy(name: str) -> Compactor:
    found = POLICIES.get(name)
    if found is None:
        raise InvalidValue(f"no policy {cut(name)!r} compacts; the policies are {', '.join(POLICIES)}")
    return found


def _room(view: View, tokens: int | None) -> Room:
    """The room for what is shown: so many tokens, or as many as it takes now."""
    counter = counter_for(DEFAULT_MODEL)
    return Room(view.tokens(counter) if tokens is None else tokens, counter, early=True)
