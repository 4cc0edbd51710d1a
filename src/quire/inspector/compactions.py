"""Compactions: what each took out of the main transcript, saved and cost; and what one would do now."""

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quire.compactors import (
    CLEARED,
    FORCED,
    Cascade,
    ClearToolResults,
    Compactor,
    Offload,
    Plan,
    Room,
    Summarize,
    TruncateOldest,
    handle_for,
)
from quire.context import DEFAULT_MODEL
from quire.errors import InvalidValue, Irreducible, UnknownId, cut
from quire.inspector.items import describe
from quire.inspector.source import Query, Source, text_in
from quire.items import Edit, Hide, Mask, Summary, Undo
from quire.session import Attempt, Session
from quire.state import Run, View
from quire.stores.streams import MAIN
from quire.tokens import Usage, cost, counter_for, facts_for

COMPACTORS: dict[str, Compactor] = {
    "summarize": Summarize(unit="tokens"),
    "clear-tool-results": ClearToolResults(),
    "offload": Offload(),
    "truncate-oldest": TruncateOldest(),
    "cascade": Cascade(Offload(), ClearToolResults(), TruncateOldest()),
}
"""The compactors that can be tried, by name. All but the first need no model."""

_ROWS, _MOST_ROWS = 30, 100
_SOURCES, _MOST_SOURCES = 50, 200
_MOST_EDITS = 50
"""Edits of one compaction that are described."""


class _Done(NamedTuple):
    """A compaction: the attempt, if one is on the record, and its edits by position."""

    attempt: Attempt | None
    edits: Mapping[int, Edit]

    @property
    def at(self) -> float:
        if self.attempt is not None:
            return self.attempt.ended_at or self.attempt.began_at
        return next(iter(self.edits.values())).created_at

    @property
    def fate(self) -> str:
        return "kept" if self.attempt is None else self.attempt.fate


def listed(source: Source, query: Query) -> dict[str, Any]:
    """A page of the compactions, newest first: those in force, undone, discarded, failed, and running."""
    session = source.session(query.text("address"))
    view, every = session.view(), all_done(session)
    start, limit = query.whole("start", 0), query.whole("limit", _ROWS, least=1, most=_MOST_ROWS)
    versions = source.store.versions_of(session.place, MAIN)
    spent = [one.attempt.cost for one in every if one.attempt is not None and one.attempt.cost is not None]
    return {
        "length": len(every),
        "start": start,
        "fates": Tally(one.fate for one in every),
        "cost": sum(spent) if spent else None,
        "compactors": list(COMPACTORS),
        "rows": [
            _described(one, view) | _tokens(one, session, view, versions)
            for one in every[start : start + limit]
        ],
    }


def all_done(session: Session) -> list[_Done]:
    """The compactions, newest first. An edit that no attempt names was made by hand, or is a parent's."""
    attempts, log, end = session.compaction.past(), session.view().log, session.view().end
    owners = {edit: number for number, one in enumerate(attempts) for edit in one.edits}
    edits: dict[int, dict[int, Edit]] = {number: {} for number in range(len(attempts))}
    for position in log.positions("edits", 0, end):
        edit = log.item(position)
        if isinstance(edit, Summary | Mask | Hide):
            edits.setdefault(owners.get(edit.id, ~position), {})[position] = edit
    found = [_Done(attempts[n] if n >= 0 else None, own) for n, own in edits.items()]
    return sorted(found, key=lambda one: one.at, reverse=True)


def _described(done: _Done, view: View) -> dict[str, Any]:
    in_force = view.edits_in_force.edits.values()
    undone = {undo.target: undo.id for undo in in_force if isinstance(undo, Undo)}
    shown, counter = {summary.id for summary in view.summaries()}, counter_for(DEFAULT_MODEL)

    def described(edit: Edit) -> dict[str, Any]:
        is_folded = isinstance(edit, Summary) and edit.id not in shown
        state = "undone" if edit.id in undone else "folded" if is_folded else "in force"
        own = {"does": _does(edit), "state": state, "undo": undone.get(edit.id)}
        return describe(edit, counter) | own | {"sources": len(_covered(edit, view))}

    return {
        "at": done.at,
        "fate": done.fate,
        "attempt": done.attempt,
        "does": Tally(map(_does, done.edits.values())),
        "edits": [described(edit) for edit in list(done.edits.values())[:_MOST_EDITS]],
        "is_forced": any(edit.extras.get(FORCED) for edit in done.edits.values()),
    }


def _does(edit: Edit) -> str:
    """What an edit does, in a word."""
    if isinstance(edit, Mask):
        is_kept = handle_for(edit.target) in edit.stub
        return "offloaded" if is_kept else "cleared" if edit.stub == CLEARED else "masked"
    return "summary" if isinstance(edit, Summary) else "hidden"


def _covered(edit: Edit, view: View) -> list[int]:
    """The positions of what an edit is about."""
    if isinstance(edit, Mask):
        return [view.position(edit.target)]
    assert isinstance(edit, Summary | Hide)
    found = {position for start, stop in view.log.area(edit, view.end) for position in range(start, stop)}
    return sorted(found.difference(view.log.positions("edits", 0, view.end)))


def _tokens(done: _Done, session: Session, view: View, versions: Sequence[int]) -> dict[str, int | None]:
    """The tokens of what was shown before and after; unknown where a fork has it from its parent."""
    inherited = view.end - len(versions)
    if not done.edits or min(done.edits) < inherited:
        return {"before": None, "after": None}
    first, last = versions[min(done.edits) - inherited], versions[max(done.edits) - inherited]
    then = {"before": first - 1, "after": last}
    counter = counter_for(DEFAULT_MODEL)
    return {name: session.at(version)[MAIN].tokens(counter) for name, version in then.items()}


def sources(source: Source, query: Query) -> dict[str, Any]:
    """A page of what one edit is about."""
    view, name = source.session(query.text("address")).view(), query.text("id")
    edit = view.get(name)
    if not isinstance(edit, Summary | Mask | Hide):
        raise UnknownId(f"{cut(name)!r} is no compaction")
    covered, start = _covered(edit, view), query.whole("start", 0)
    asked = covered[start : start + query.whole("limit", _SOURCES, least=1, most=_MOST_SOURCES)]
    return {"length": len(covered), "start": start, "rows": _items(view, asked)}


def _items(view: View, positions: Sequence[int]) -> list[dict[str, Any]]:
    view.log.load(Run(position, position + 1) for position in positions)
    return [describe(view.log.item(position), counter_for(DEFAULT_MODEL)) for position in positions]


# Trying one


def preview(source: Source, query: Query) -> dict[str, Any]:
    """What a compactor would do now. No model is asked, and nothing is written."""
    view, compactor = source.session(query.text("address")).view(), _named(query.text("by", "summarize"))
    try:
        plan = compactor.plan(view, room := _room(view, query.number("tokens")))
    except Irreducible as fault:
        return {"plan": None, "reason": str(fault)}
    if plan is None:
        return {"plan": None, "reason": f"{compactor.name} finds nothing to take out"}
    return {"plan": _planned(plan, view, room, query.text("model") or DEFAULT_MODEL), "reason": plan.reason}


def _planned(plan: Plan, view: View, room: Room, model: str) -> dict[str, Any]:
    edits, request, asked = list(plan.edits), plan.request, None
    if request is not None:
        edits.append(Summary("-", request.spans))
        size = room.counter.total(sum(map(room.counter.count, request.prompt)))
        price = cost(facts_for(model), Usage(input=size, output=request.size))
        asked = {"model": model, "prompt": size, "size": request.size, "cost": price}
    positions = sorted({position for edit in edits for position in _covered(edit, view)})
    return {
        "before": plan.before,
        "after": plan.after,
        "does": Tally(map(_does, edits)),
        "count": len(positions),
        "rows": _items(view, positions[:_SOURCES]),
        "request": asked,
    }


def run(source: Source, body: Mapping[str, Any]) -> dict[str, Any]:
    """Compact now with a compactor that needs no model."""
    session, name = source.session(text_in(body, "address")), text_in(body, "by")
    if name == "summarize":
        raise InvalidValue("the inspector asks no model: a summary is written where the agent runs")
    outcome = session.compaction.run(by=_named(name), room=_room(session.view(), body.get("tokens")))
    if outcome is None:
        return {"fate": None, "reason": f"{name} finds nothing to take out"}
    return {"fate": outcome.fate, "reason": outcome.reason}


def _named(name: str) -> Compactor:
    if name not in COMPACTORS:
        raise InvalidValue(f"there is no compactor {cut(name)!r}; there are {', '.join(COMPACTORS)}")
    return COMPACTORS[name]


def _room(view: View, tokens: int | None) -> Room:
    """The room for what is shown: so many tokens, or as many as it takes now."""
    counter = counter_for(DEFAULT_MODEL)
    return Room(view.tokens(counter) if tokens is None else tokens, counter, early=True)
