"""Whether what failed had acted before. Who raises says that it did nothing, unless the error says otherwise.

An error says so by an attribute `has_acted` that is true, as those of the engine have, and any other may.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from quire.agent.closing import UNCERTAIN
from quire.agent.tools import TOLD_BESIDE
from quire.errors import cut
from quire.items import Item, ToolCall, ToolResult

_Fault = TypeVar("_Fault", bound=BaseException)

_MOST_NAMED = 20
"""Tools that a fault names."""

_MOST_BEHIND = 100
"""Errors behind an error that are looked at."""


def has_acted(fault: BaseException | None) -> bool:
    """Whether an error, or one that it comes from, says that something had been done before it."""
    left, seen = [fault], 0
    while left and seen < _MOST_BEHIND:
        one, seen = left.pop(), seen + 1
        if one is None:
            continue
        if getattr(one, "has_acted", False) is True:
            return True
        left += (one.__cause__, one.__context__)
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions  # pyright: ignore[reportUnknownMemberType]
    return False


def having_acted(fault: _Fault, told: str = "") -> _Fault:
    """An error that says of itself that something had been done: of its own type, with words on what."""
    if told:
        _tell(fault, told)
    fault.__dict__["has_acted"] = True
    return fault


def _tell(fault: BaseException, told: str) -> None:
    before = fault.args
    try:
        fault.args = (f"{fault}{told}", *before[1:])
        is_told = str(fault).endswith(told)
    except Exception:  # its words may be as broken as what raised it
        is_told = False
    if not is_told:  # as with those of the system, which make their words of something else
        fault.args = before
        fault.add_note(told.strip())
        fault.__dict__[TOLD_BESIDE] = str(getattr(fault, TOLD_BESIDE, "")) + told


def having_called(fault: _Fault, items: Sequence[Item]) -> _Fault:
    """An error that ended what some items are the record of: if tools were called, it says so."""
    told = told_of_items(items)
    return having_acted(fault, told) if told else fault


def told_of_items(items: Sequence[Item]) -> str:
    """Which tools were called in what some items are the record of; nothing where there were none."""
    results = {item.call_id: item for item in items if isinstance(item, ToolResult)}
    calls = [item for item in items if isinstance(item, ToolCall)]
    return told_of_calls((call.name, results.get(call.call_id)) for call in calls)


def told_of_calls(called: Iterable[tuple[str, ToolResult | None]]) -> str:
    """Which tools were called, how often, and what came of that; nothing where there were none."""
    counts: dict[str, Counter[str]] = {}
    for name, result in called:
        counts.setdefault(name, Counter())[_came_of(result)] += 1
    if not counts:
        return ""
    named = [f"{cut(name)} ({_counted(count)})" for name, count in counts.items()]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"\nIt had called {', '.join(named[:_MOST_NAMED])}{more}: look before you do it again."


def _came_of(result: ToolResult | None) -> str:
    if result is None or UNCERTAIN in result.extras:
        return "uncertain"
    return "failed" if result.is_error else "done"


def _counted(count: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in count.items())
