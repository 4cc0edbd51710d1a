"""Calls that will not be run, or of which nobody knows whether they were: each gets a result that says so."""

from collections.abc import Awaitable, Callable, Container, Iterable
from typing import TypeVar

from quire.errors import Conflict
from quire.items import Handoff, Item, ToolCall, ToolResult
from quire.session import Session

T = TypeVar("T")

UNCERTAIN = "uncertain"
"""The mark, in the extras of a result, of a call that may have run."""


def not_run(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that was not run."""
    return ToolResult(call.call_id, call.name, f"This was not run: {why}.", is_error=True)


def uncertain(call: ToolCall, why: str) -> ToolResult:
    """The result of a call of which nobody knows whether it did what it was to do."""
    words = f"It is uncertain whether this was done: {why}. Look before you do it again."
    return ToolResult(call.call_id, call.name, words, is_error=True, extras={UNCERTAIN: True})


def refused(result: ToolResult, fault: Exception) -> ToolResult:
    """What is recorded in place of a result that a hook refuses: nothing of it, but for its marks."""
    words = f"What came of this was refused by a hook: {type(fault).__name__}."
    marks = {mark: True for mark, is_set in result.extras.items() if is_set is True}
    return ToolResult(result.call_id, result.name, words, is_error=True, extras=marks)


def handed_over(call: ToolCall, by: str, to: str) -> list[Item]:
    """What is recorded where an agent gives the conversation to another."""
    result = ToolResult(call.call_id, call.name, f"{to} goes on from here.")
    return [result, Handoff(to, by)]


async def close_calls(session: Session, why: str, keep: Iterable[str] = ()) -> tuple[Item, ...]:
    """Give each call that waits a result, but for some, by their ids; those that were begun are uncertain."""
    waiting = set(keep)

    async def close() -> tuple[Item, ...]:
        standings = session.standing()
        kept = with_those_behind((call for call, _ in standings), waiting)
        left = [(call, standing) for call, standing in standings if call not in kept]
        results: list[Item] = []
        for call, standing in left:
            closed = uncertain if standing == "begun" else not_run
            results += session.held(call) or (closed(call, why),)
        calls = [call for call, _ in left]
        return await session.answer(calls, *results, instead=refused) if results else ()

    return await answered(session, close)


def with_those_behind(calls: Iterable[ToolCall], waiting: Container[str]) -> list[ToolCall]:
    """Calls that wait, by the ids of their items, and those behind one of them under its call id and name.

    Of such calls a result is for the first that has none: the next may be answered only after it.
    """
    kept: list[ToolCall] = []
    names: set[tuple[str, str]] = set()
    for call in calls:
        name = call.call_id, call.name
        if call.id in waiting or name in names:
            kept.append(call)
            names.add(name)
    return kept


async def answered(session: Session, answer: Callable[[], Awaitable[T]]) -> T:
    """What answering the calls that wait comes to: again, as often as others answer some of them first."""
    while True:
        waiting = _waiting(session)
        try:
            return await answer()
        except Conflict:
            if _waiting(session) == waiting:  # then it is about something else
                raise


def _waiting(session: Session) -> set[str]:
    return {call.id for call in session.view().pending()}
