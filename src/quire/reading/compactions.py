"""Compactions: what each removed from the main view, saved and cost; and what one would do now."""

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec

from quire.compactors import Compactor, Room
from quire.context import DEFAULT_MODEL, KEEP_ALL, POLICIES
from quire.errors import InvalidValue, Irreducible, UnknownId, cut
from quire.items import Edit, Hide, Mask, Summary, Undo, kind_of
from quire.reading.items import Shown, describe
from quire.reading.source import MAX_ROWS, Count, Source, counter_of
from quire.session import Attempt, Session
from quire.state import Run, View, subject
from quire.tokens import Counter, Usage, cost, facts_for

_MAX_EDITS, _MAX_SOURCES = 50, 200


def past_compactions(session: Session) -> list[tuple[Attempt | None, list[Edit]]]:
    """Return the compactions, newest first, each with its edits.

    An edit without an attempt was made by hand, or before the conversation was forked.
    """
    attempts, view = session.compaction.past(), session.view()
    number_by_edit = {edit: number for number, attempt in enumerate(attempts) for edit in attempt.edits}
    edits: dict[int, list[Edit]] = {number: [] for number in range(len(attempts))}
    for position in view.log.positions("edits", 0, view.end):
        edit = view.log.item(position)
        if isinstance(edit, Summary | Mask | Hide):  # without an attempt it gets a negative number of its own
            edits.setdefault(number_by_edit.get(edit.id, ~position), []).append(edit)
    rows = [(attempts[number] if number >= 0 else None, own) for number, own in edits.items()]
    return sorted(rows, key=lambda row: row[0].began_at if row[0] else row[1][0].created_at)[::-1]


def list_compactions(source: Source, address: str) -> dict[str, Any]:
    """Return the compactions, newest first: those in force, undone, discarded, failed, and running."""
    session = source.session(address)
    view, past, counter = session.view(), past_compactions(session), counter_of(session)
    in_force = view.edits_in_force.edits.values()
    undone = {undo.target: undo.id for undo in in_force if isinstance(undo, Undo)}
    shown = {summary.id for summary in view.summaries()}

    def row(edit: Edit) -> dict[str, Any]:
        is_folded = isinstance(edit, Summary) and edit.id not in shown
        state = "undone" if edit.id in undone else "folded" if is_folded else "in force"
        sources = sum(stop - start for start, stop in subject(view, edit))
        fields: dict[str, Any] = msgspec.to_builtins(describe(edit, counter, view=view))
        return fields | {"state": state, "undo": undone.get(edit.id), "sources": sources}

    return {
        "length": len(past),
        "policies": [name for name in POLICIES if name != KEEP_ALL],
        "rows": [
            {
                "attempt": attempt,
                "kinds": Tally(map(kind_of, edits)),
                "regrets": 0 if attempt is None else len(attempt.regrets),
                "edits": [row(edit) for edit in edits[:_MAX_EDITS]],
            }
            for attempt, edits in past[:MAX_ROWS]
        ],
    }


def read_sources(source: Source, address: str, id: str, start: Count = 0) -> dict[str, Any]:
    """Return a page of the items that an edit is about, from `start` on."""
    session = source.session(address)
    view = session.view()
    edit = view.get(id)
    if not isinstance(edit, Summary | Mask | Hide):
        raise UnknownId(f"{cut(id)!r} is not a summary, a mask or a hide")
    covered = _positions(view, [edit])
    rows = _items(view, covered[start : start + _MAX_SOURCES], counter_of(session))
    return {"length": len(covered), "rows": rows}


def _positions(view: View, edits: Iterable[Edit]) -> list[int]:
    stretches = chain.from_iterable(subject(view, edit) for edit in edits)
    return sorted({position for start, stop in stretches for position in range(start, stop)})


def _items(view: View, positions: Sequence[int], counter: Counter) -> list[Shown]:
    view.log.load(Run(position, position + 1) for position in positions)
    return [describe(view.log.item(position), counter, view=view) for position in positions]


def preview_compaction(
    source: Source, address: str, by: str = "summarize", tokens: Count | None = None
) -> dict[str, Any]:
    """Return what a policy would do now. No model is asked, and nothing is written."""
    session = source.session(address)
    view, room = session.view(), room_of(session, tokens)
    try:
        plan, reason = policy_named(by).plan(view, room), f"{by} finds nothing to take out"
    except Irreducible as fault:
        plan, reason = None, str(fault)
    if plan is None:
        return {"plan": None, "reason": reason}
    edits, request = list(plan.edits), None
    if plan.request is not None:
        edits.append(Summary("-", plan.request.spans))
        usage = Usage(sum(map(room.counter.count, plan.request.prompt)), plan.request.size)
        request = {"model": DEFAULT_MODEL, "usage": usage, "cost": cost(facts_for(DEFAULT_MODEL), usage)}
    positions = _positions(view, edits)
    sizes = {"before": plan.before, "after": plan.after, "count": len(positions), "request": request}
    rows = _items(view, positions[:_MAX_SOURCES], room.counter)
    return {"plan": {"kinds": Tally(map(kind_of, edits)), "rows": rows} | sizes, "reason": plan.reason}


def policy_named(name: str) -> Compactor:
    """Return a compactor by the name of its policy."""
    policy = POLICIES.get(name)
    if policy is None:
        raise InvalidValue(f"no policy {cut(name)!r} compacts; the policies are {', '.join(POLICIES)}")
    return policy


def room_of(session: Session, tokens: int | None) -> Room:
    """Return the room for the view: `tokens`, or by default its present size."""
    counter = counter_of(session)
    return Room(session.view().tokens(counter) if tokens is None else tokens, counter, early=True)
