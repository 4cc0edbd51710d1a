"""Tool calls: their arguments, results and durations, and those that wait for a person."""

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple, cast

from quire.agent.side_effects import UNCERTAIN
from quire.items import ToolCall, ToolResult
from quire.reading.items import describe
from quire.reading.source import Count, Limit, Source, counter_of
from quire.session import Session, begun_at, log_of
from quire.stores.streams import MAIN

_MAX_ITEMS = 20_000
"""The newest items, which are searched for calls."""
_OPEN = ("waiting", "foreign", "approved", "uncertain")
"""The states of calls that a person must decide or check."""


class _Step(NamedTuple):
    call: ToolCall
    result: ToolResult | None
    status: str
    tokens: int
    begun_at: float | None

    @property
    def seconds(self) -> float | None:
        if self.result is None or self.begun_at is None or self.status == "uncertain":
            return None
        return max(self.result.created_at - self.begun_at, 0.0)

    def row(self) -> dict[str, Any]:
        result = None if self.result is None else describe(self.result)
        return self._asdict() | {"call": describe(self.call), "result": result, "seconds": self.seconds}


def list_calls(
    source: Source, address: str, transcript: str = MAIN, start: Count = 0, limit: Limit = 50
) -> dict[str, Any]:
    """Return a page of the calls, newest first, those that a person must decide, and figures by tool."""
    steps = _steps(source.session(address), transcript)
    by_tool: dict[str, list[_Step]] = {}
    for step in steps:
        by_tool.setdefault(step.call.name, []).append(step)
    names = sorted(by_tool, key=lambda name: -len(by_tool[name]))
    return {
        "length": len(steps),
        "start": start,
        "rows": [step.row() for step in steps[start : start + limit]],
        "open": [step.row() for step in steps if step.result is None and step.status in _OPEN],
        "tools": [_figures(name, by_tool[name]) for name in names],
    }


def _figures(name: str, steps: Sequence[_Step]) -> dict[str, Any]:
    """Sum up the calls of a tool."""
    statuses = [step.status for step in steps]
    seconds = [step.seconds for step in steps if step.seconds is not None]
    counts = {status: statuses.count(status) for status in ("failed", "uncertain")}
    figures = {"tokens": sum(step.tokens for step in steps), "median": median(seconds) if seconds else None}
    return {"name": name, "calls": len(steps), **figures, **counts}


def _steps(session: Session, name: str) -> list[_Step]:
    """The calls of a transcript, newest first."""
    view, begun, counter = session.view(name), begun_at(log_of(session)), counter_of(session)
    calls, latest, results = dict[int, ToolCall](), dict[str, int](), dict[int, int]()
    first = max(view.end - _MAX_ITEMS, 0)
    items = view.log.items(first, view.end)
    for position, item in enumerate(items, first):
        if isinstance(item, ToolCall):
            calls[position], latest[item.call_id] = item, position  # call ids may repeat
        elif isinstance(item, ToolResult) and item.call_id in latest:
            results[latest[item.call_id]] = position
    steps: list[_Step] = []
    for position, call in reversed(calls.items()):
        at = results.get(position)
        result = None if at is None else cast(ToolResult, items[at - first])
        positions = [position] if at is None else [position, at]
        tokens = sum(view.log.tokens(p, p + 1, counter) for p in positions)
        status = _progress(session, call, name) if result is None else _outcome(result)
        steps.append(_Step(call, result, status, tokens, begun.get(call.id)))
    return steps


def _outcome(result: ToolResult) -> str:
    return "uncertain" if result.extras.get(UNCERTAIN) else "failed" if result.is_error else "done"


def _progress(session: Session, call: ToolCall, name: str) -> str:
    """The state of an open call; uncertain if it was begun and nothing runs it any more."""
    open_calls = session.calls.list_open(name)
    progress = next((state for open_call, state in open_calls if open_call.id == call.id), "begun")
    return "uncertain" if progress == "begun" else progress
