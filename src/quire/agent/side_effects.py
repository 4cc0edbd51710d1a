"""Side effects of work that failed: errors that say so, and sentences about the tools that were called."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from quire.errors import cut
from quire.items import Item, ToolCall, ToolResult

UNCERTAIN = "uncertain"
"""The mark, in the extras of a result, of a call that may have run."""

_MAX_TOOLS = 20
"""Tools that an error names."""

_Fault = TypeVar("_Fault", bound=BaseException)


def has_acted(fault: BaseException | None) -> bool:
    """Whether an error, or one that caused it, is marked `has_acted`: side effects happened before it."""
    if fault is None:
        return False
    if getattr(fault, "has_acted", False) is True:
        return True
    causes = [fault.__cause__ or fault.__context__]
    if isinstance(fault, BaseExceptionGroup):
        causes += fault.exceptions  # pyright: ignore[reportUnknownMemberType]
    return any(map(has_acted, causes))


def mark_acted(fault: _Fault, text: str = "") -> _Fault:
    """Mark an error as `has_acted`, with a note about the side effects that models also read."""
    fault.__dict__["has_acted"] = True
    if text:
        fault.add_note(text.strip())
    return fault


def mark_called(fault: _Fault, items: Sequence[Item]) -> _Fault:
    """Mark an error with the tools that were called in these items, if any were."""
    text = describe_calls_in(items)
    return mark_acted(fault, text) if text else fault


def describe_calls_in(items: Sequence[Item]) -> str:
    """A sentence about the tool calls in these items and their outcomes; empty if there are none."""
    calls: list[tuple[ToolCall, ToolResult | None]] = []
    for item in items:
        if isinstance(item, ToolCall):
            calls.append((item, None))
        elif isinstance(item, ToolResult):  # a later reply may reuse the id of an answered call
            for index, (call, result) in enumerate(calls):
                if result is None and call.call_id == item.call_id:
                    calls[index] = (call, item)
                    break
    counts: dict[str, Counter[str]] = {}
    for call, result in calls:
        if result is None or UNCERTAIN in result.extras:
            outcome = "uncertain"
        else:
            outcome = "failed" if result.is_error else "done"
        counts.setdefault(call.name, Counter())[outcome] += 1
    if not counts:
        return ""
    tools = [
        f"{cut(name)} ({', '.join(f'{number} {outcome}' for outcome, number in count.items())})"
        for name, count in counts.items()
    ]
    more = f" and {len(tools) - _MAX_TOOLS} more" if len(tools) > _MAX_TOOLS else ""
    return f"\nIt had called {', '.join(tools[:_MAX_TOOLS])}{more}: look before you do it again."
