"""Calls that will not be run, or of which nobody knows whether they were: each gets a result that says so."""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from typing import TypeVar

from quire.errors import CodecError, Conflict, DuplicateId, StoreError
from quire.items import Handoff, Item, ToolCall, ToolResult
from quire.session import Session
from quire.stores.store import is_tombstone
from quire.stores.streams import MAIN

T = TypeVar("T")

UNCERTAIN = "uncertain"
"""The mark, in the extras of a result, of a call that may have run."""

FORGOTTEN = "what it was to do was forgotten"
"""Why a call is not run whose content is gone: what stands in its place is no arguments of anybody's."""


def not_run(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that was not run."""
    return ToolResult(call.call_id, call.name, f"This was not run: {why}.", is_error=True)


def uncertain(call: ToolCall, why: str) -> ToolResult:
    """The result of a call of which nobody knows whether it did what it was to do."""
    words = f"It is uncertain whether this was done: {why}. Look before you do it again."
    return ToolResult(call.call_id, call.name, words, is_error=True, extras={UNCERTAIN: True})


def is_forgotten(session: Session, call: ToolCall, name: str = MAIN) -> bool:
    """Whether the content of a call was forgotten, by now: whoever holds the call may have it from before."""
    waiting = (one for one in session.view(name).pending() if one.id == call.id)
    return is_tombstone(call) or any(map(is_tombstone, waiting))


def refused(result: ToolResult, fault: Exception) -> ToolResult:
    """What stands in place of a result that a hook refuses, or that cannot be kept: its marks are left."""
    if isinstance(fault, CodecError | DuplicateId):
        words = f"It was run, and what it gave could not be kept: {fault}."
    else:
        words = f"What came of this was refused by a hook: {type(fault).__name__}."
    marks = {mark: True for mark, is_set in result.extras.items() if is_set is True}
    return ToolResult(result.call_id, result.name, words, is_error=True, extras=marks)


def handed_over(call: ToolCall, by: str, to: str) -> list[Item]:
    """What is recorded where an agent gives the conversation to another."""
    result = ToolResult(call.call_id, call.name, f"{to} goes on from here.")
    return [result, Handoff(to, by)]


async def close_calls(
    session: Session,
    calls: Iterable[ToolCall],
    why: str,
    keep: Container[str] = (),
    unrun: Mapping[str, str] | None = None,
) -> tuple[Item, ...]:
    """Give each of some calls that waits a result, but for those of some ids, and those that another runs.

    Of one that was begun nobody knows whether it was done, unless it is said why it was not run.
    """
    known = unrun or {}
    own = {call.id for call in calls if call.id not in keep}

    async def close() -> tuple[Item, ...]:
        standings = session.steps.standing()
        others = {call.id for call, _ in standings if call.id not in own or session.steps.is_run(call)}
        kept = with_those_behind((call for call, _ in standings), others)
        left = [(call, standing) for call, standing in standings if call not in kept]
        results: list[Item] = []
        for call, standing in left:
            closed = uncertain if standing == "begun" and call.id not in known else not_run
            results += session.steps.held(call) or (closed(call, known.get(call.id, why)),)
        closing = [call for call, _ in left]
        return await close_with(session, closing, results) if results else ()

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


async def close_with(session: Session, calls: Sequence[ToolCall], items: Sequence[Item]) -> tuple[Item, ...]:
    """Close calls that nobody runs; where hooks refuse it, with words that say so."""
    try:
        return await session.steps.answer(calls, *items, of_none=True)
    except (StoreError, Conflict):
        raise
    except Exception as fault:
        said = [refused(item, fault) for item in items if isinstance(item, ToolResult)]
        return await session.steps.answer(calls, *said, of_none=True, asks_hooks=False)


async def answered(session: Session, answer: Callable[[], Awaitable[T]]) -> T:
    """What answering the calls that wait comes to: again, as often as others answer or run some first."""
    while True:
        waiting = _waiting(session)
        try:
            return await answer()
        except Conflict:
            if _waiting(session) == waiting:  # then it is about something else
                raise


def _waiting(session: Session) -> set[tuple[str, bool]]:
    return {(call.id, session.steps.is_run(call)) for call in session.view().pending()}
