"""Tool calls: what each was given and returned, how long it took, and those that wait for a person."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple, cast

from quire.agent.side_effects import UNCERTAIN
from quire.context import DEFAULT_MODEL
from quire.inspector.items import describe
from quire.inspector.source import Query, Source, text_in
from quire.items import ToolCall, ToolResult
from quire.session import Session, wait_for
from quire.session.steps import Progress
from quire.stores.streams import MAIN
from quire.tokens import counter_for

_MOST_ITEMS = 20_000
"""Items that are looked through for calls, from the newest back."""
_ROWS, _MOST_ROWS = 50, 200
_OPEN = ("waiting", "foreign", "approved", "uncertain")
"""How far calls are that a person decides, or should look after."""


class _Step(NamedTuple):
    """A call, its result if there is one, when it was begun, and how far it is."""

    call: ToolCall
    result: ToolResult | None
    begun_at: float | None
    status: str
    tokens: int

    @property
    def seconds(self) -> float | None:
        if self.result is None or self.begun_at is None:
            return None
        return max(self.result.created_at - self.begun_at, 0.0)


def listed(source: Source, query: Query) -> dict[str, Any]:
    """A page of the calls, newest first, those that a person decides, and the figures of each tool."""
    session, name = source.session(query.text("address")), query.text("transcript", MAIN)
    steps = _steps(session, name)
    start, limit = query.whole("start", 0), query.whole("limit", _ROWS, least=1, most=_MOST_ROWS)
    return {
        "length": len(steps),
        "start": start,
        "longest": max((step.seconds or 0.0 for step in steps), default=0.0),
        "rows": [_described(step) for step in steps[start : start + limit]],
        "open": [_described(step) for step in steps if step.result is None and step.status in _OPEN],
        "tools": _tools(steps),
    }


def _steps(session: Session, name: str) -> list[_Step]:
    """The calls of a transcript, newest first."""
    view, begun, counter = session.view(name), session.steps.begun_at(), counter_for(DEFAULT_MODEL)
    standing: dict[str, Progress] = {call.id: how for call, how in session.steps.standing(name)}
    results, latest, calls = dict[int, int](), dict[str, int](), dict[int, ToolCall]()
    first = max(view.end - _MOST_ITEMS, 0)
    items = view.log.items(first, view.end)
    for position, item in enumerate(items, first):
        if isinstance(item, ToolCall):
            calls[position], latest[item.call_id] = item, position  # a call id may come again
        elif isinstance(item, ToolResult) and item.call_id in latest:
            results[latest[item.call_id]] = position
    steps: list[_Step] = []
    for position, call in reversed(calls.items()):
        at = results.get(position)
        result = cast(ToolResult, items[at - first]) if at is not None else None
        counted = [one for one in (position, at) if one is not None]
        tokens = sum(view.log.tokens(one, one + 1, counter) for one in counted)
        status = _status(session, call, result, standing.get(call.id))
        steps.append(_Step(call, result, begun.get(call.id), status, tokens))
    return steps


def _status(session: Session, call: ToolCall, result: ToolResult | None, progress: Progress | None) -> str:
    """How far a call is, in a word. One that was begun and is not run any more may have been done."""
    if result is not None or progress is None:
        is_uncertain = result is None or result.extras.get(UNCERTAIN)
        return "uncertain" if is_uncertain else "failed" if result and result.is_error else "done"
    if progress == "held":
        held = session.steps.held(call)[0]
        return "refused" if isinstance(held, ToolResult) and held.is_error else "held"
    if progress == "begun":
        return "running" if session.steps.is_run(call) else "uncertain"
    return "approved" if session.steps.is_approved(call) else progress


def _described(step: _Step) -> dict[str, Any]:
    return {
        "call": describe(step.call),
        "result": None if step.result is None else describe(step.result),
        "status": step.status,
        "made_at": step.call.created_at,
        "begun_at": step.begun_at,
        "seconds": step.seconds,
        "tokens": step.tokens,
    }


def _tools(steps: Sequence[_Step]) -> list[dict[str, Any]]:
    """The figures of each tool, the one that was called most first."""
    by_name: dict[str, list[_Step]] = {}
    for step in steps:
        by_name.setdefault(step.call.name, []).append(step)
    rows: list[dict[str, Any]] = []
    for name, own in by_name.items():
        seconds = [step.seconds for step in own if step.seconds is not None]
        statuses = [step.status for step in own]
        rows.append(
            {
                "name": name,
                "calls": len(own),
                "failed": statuses.count("failed"),
                "uncertain": statuses.count("uncertain"),
                "median": median(seconds) if seconds else None,
                "tokens": sum(step.tokens for step in own),
            }
        )
    return sorted(rows, key=lambda row: -row["calls"])


def decide(source: Source, body: Mapping[str, Any]) -> dict[str, Any]:
    """Record that a person approves a call (true) or refuses it (false, or a reason)."""
    session, call = source.session(text_in(body, "address")), text_in(body, "id")
    wait_for(session.steps.decide(call, cast(bool, body.get("verdict"))))  # it is checked there
    return {"id": call, "version": session.version}
