"""How a turn begins and is tidied up: the user's message, decisions, and calls that are left open.

A process may end between a call and its result. The record says whether the call was begun. One that was not
can still run; one that was runs again only if its tool is idempotent, and is marked as uncertain otherwise.
"""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from quire.agent.calls import FORGOTTEN, Ran, needs_person, not_run, uncertain, write
from quire.agent.handoff import Speaker
from quire.errors import Conflict, Forgotten, InvalidValue, TurnBusy, UnknownId, cut
from quire.items import Item, Message, ToolCall, ToolResult
from quire.session import Session
from quire.state import View
from quire.stores.store import is_tombstone

T = TypeVar("T")

_ENDED = "the process ended while it ran"
_SUPERSEDED = "the user said something else first"


# Beginning


async def record_message(session: Session, speaker: Speaker, message: Message) -> list[ToolCall]:
    """Record the user's message, and return the calls that still wait for approval.

    If a tool has asked the user something, the message is its result. Otherwise open calls are closed.
    """
    await session.aio.refresh()
    return await _retried(session, lambda: _record_message(session, speaker, message))


async def _record_message(session: Session, speaker: Speaker, message: Message) -> list[ToolCall]:
    left = await _runnable_calls(session, speaker)
    if not left:
        await session.aio.append(message)
        return []
    begun = {call.id for call, standing in session.steps.standing() if standing == "begun"}
    question = next((call for call in left if _asks(speaker, call)), None)
    waiting = [
        call
        for call in left
        if question is not None and call.id not in begun and needs_person(speaker.tools.get(call.name), call)
    ]
    others = [call for call in left if call is not question and call not in waiting]
    closed = [uncertain(call, _ENDED) if call.id in begun else not_run(call, _SUPERSEDED) for call in others]
    if question is None:
        await session.steps.answer(others, *closed, message, if_unclaimed=True)
    else:
        answer = ToolResult(question.call_id, question.name, message.content)
        await session.steps.answer([*others, question], *closed, answer, if_unclaimed=True)
    return [call for call in waiting if call is not question]


async def open_calls(session: Session, speaker: Speaker) -> list[ToolCall]:
    """The calls that an earlier turn left and that may still run, once those that may not are closed.

    `TurnBusy` if another process runs one of them.
    """
    await session.aio.refresh()
    return await _retried(session, lambda: _runnable_calls(session, speaker))


async def _runnable_calls(session: Session, speaker: Speaker) -> list[ToolCall]:
    left: list[ToolCall] = []
    closed: list[tuple[ToolCall, Sequence[Item]]] = []
    for call, standing in session.steps.standing():
        if session.steps.is_run(call):
            raise TurnBusy(f"the call {cut(call.call_id)!r} of {session.place} is being run by another")
        tool, held = speaker.tools.get(call.name), session.steps.held(call)
        may_run = standing != "begun" or (tool is not None and tool.is_idempotent)
        if held:
            closed.append((call, held))
        elif may_run and not is_tombstone(call):
            left.append(call)
        else:
            result = uncertain(call, _ENDED) if standing == "begun" else not_run(call, FORGOTTEN)
            closed.append((call, [result]))
    for call, items in closed:
        await _close(session, call, items)
    return left


def last_answer(view: View) -> Message | None:
    """The answer that a conversation ends with, if it is complete: then there is nothing to resume.

    `InvalidValue` if nothing was said at all.
    """
    for item in reversed(view):
        if isinstance(item, Message):
            return item if item.role == "assistant" and not item.interrupted else None
        if isinstance(item, ToolResult):
            return None
    raise InvalidValue("there is nothing to resume: the conversation is empty")


# Decisions


def check_decisions(session: Session, speaker: Speaker, decisions: Container[str]) -> None:
    """Raise an error if a decision is about a forgotten call, or one of a tool that the agent lacks."""
    for call in session.view().pending():
        if call.call_id not in decisions and call.id not in decisions:
            continue
        if is_tombstone(call):
            raise Forgotten(
                f"the call {cut(call.call_id)!r} in {session.place} was forgotten and is not run: "
                "the next message or `resume` closes it"
            )
        if call.name not in speaker.tools and call.name not in speaker.handoffs:
            raise InvalidValue(
                f"the call {cut(call.call_id)!r} in {session.place} is of the tool {cut(call.name)!r}, which "
                f"{cut(speaker.name)!r} does not have: an agent that has it decides it"
            )


def decisions_by_item(
    left: Sequence[ToolCall], decisions: Mapping[str, bool | str], speaker: Speaker
) -> dict[str, bool | str]:
    """Decisions by the ids of the items of calls; a person gives either id of a call."""
    found: dict[str, bool | str] = {}
    for name, decision in decisions.items():
        call = next((call for call in left if name in (call.id, call.call_id)), None)
        if call is None:
            raise UnknownId(f"no call {cut(str(name))!r} waits for a decision")
        if _asks(speaker, call):
            raise InvalidValue(f"the call {cut(name)!r} asks the user something: `ask` answers it")
        if call.id in found:
            raise InvalidValue(f"the call {cut(call.call_id)!r} is decided twice, by both of its ids")
        found[call.id] = decision
    return found


def _asks(speaker: Speaker, call: ToolCall) -> bool:
    tool = speaker.tools.get(call.name)
    return tool is not None and tool.asks_person and needs_person(tool, call)


# Closing


async def close_calls(
    session: Session,
    calls: Iterable[ToolCall],
    why: str,
    keep: Container[str] = (),
    refused: Mapping[str, str] | None = None,
) -> list[Item]:
    """Give open calls a result that says why there is none, or the result that is held; returns the results.

    Calls with an id in `keep`, and those that another runs, stay open. A call that was begun is uncertain,
    unless it was `refused`: by the id of its item, why.
    """
    reasons = refused or {}
    own = {call.id for call in calls if call.id not in keep}
    recorded: list[Item] = []

    async def close() -> None:
        for call, standing in session.steps.standing():
            if call.id not in own or session.steps.is_run(call):
                continue
            is_unknown = standing == "begun" and call.id not in reasons
            result = uncertain(call, why) if is_unknown else not_run(call, reasons.get(call.id, why))
            recorded.extend(await _close(session, call, session.steps.held(call) or [result]))

    await _retried(session, close)
    return recorded


async def _close(session: Session, call: ToolCall, items: Sequence[Item]) -> tuple[Item, ...]:
    result, *others = items
    assert isinstance(result, ToolResult)
    return await write(partial(session.steps.answer, [call], if_unclaimed=True), Ran(result, tuple(others)))


async def _retried(session: Session, work: Callable[[], Awaitable[T]]) -> T:
    """Do work on open calls again for as long as others answer or begin some of them meanwhile."""
    while True:
        before = _standing(session)
        try:
            return await work()
        except Conflict:
            if _standing(session) == before:
                raise


def _standing(session: Session) -> set[tuple[str, bool]]:
    return {(call.id, session.steps.is_run(call)) for call in session.view().pending()}
