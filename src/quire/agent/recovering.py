"""Where a turn begins: with what the user says, or with what an earlier turn left behind.

A process may end between a call and its result. On the record stands whether the call was begun: one that was
not can still be run; one that was is run again only if its tool is declared idempotent, else it is marked.
None is run of which the content was forgotten meanwhile.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from quire.agent.acting import checked_decision
from quire.agent.closing import FORGOTTEN, answered, close_with, not_run, uncertain, with_those_behind
from quire.agent.speaker import Speaker
from quire.errors import Forgotten, InvalidValue, TurnBusy, UnknownId, cut
from quire.items import Item, Message, ToolCall, ToolResult
from quire.session import Session
from quire.state import View
from quire.stores.store import is_tombstone

_ENDED = "the process ended while it ran"
_OTHERWISE = "the user said something else first"
_MOST_NAMED = 5
"""Of how many calls under one id an error gives the ids of their items."""


async def left_behind(session: Session, speaker: Speaker) -> list[ToolCall]:
    """Settle what an earlier turn left in doubt; the calls that are still to be run or answered.

    `TurnBusy` where it was not left: another runs a call of it.
    """
    await session.aio.refresh()
    return await answered(session, lambda: _settled(session, speaker))


async def _settled(session: Session, speaker: Speaker) -> list[ToolCall]:
    left: list[ToolCall] = []
    settled: list[ToolCall] = []
    results: list[Item] = []
    for call, standing in session.steps.standing():
        held = session.steps.held(call)
        tool = speaker.tools.get(call.name)
        if session.steps.is_run(call):
            raise TurnBusy(f"the call {cut(call.call_id)!r} of {session.place} is being run by another")
        may_be_run = standing != "begun" or (tool is not None and tool.is_idempotent)
        if not held and may_be_run and not _is_gone(call, left):
            left.append(call)
            continue
        settled.append(call)
        closed = uncertain(call, _ENDED) if standing == "begun" else not_run(call, FORGOTTEN)
        results += held or (closed,)
    if results:
        await close_with(session, settled, results)
    return left


def _is_gone(call: ToolCall, left: Sequence[ToolCall]) -> bool:
    """Whether a call was forgotten and can be closed; one behind another under its id waits for that."""
    behind = with_those_behind((*left, call), {one.id for one in left})
    return is_tombstone(call) and call not in behind


async def heard(session: Session, speaker: Speaker, message: Message) -> list[ToolCall]:
    """Record what the user says; the calls that still wait for a person.

    Where a tool asked the user something, it is the answer to that, and no message of its own: then calls
    that wait for an approval go on waiting.
    """
    await session.aio.refresh()
    return await answered(session, lambda: _heard(session, speaker, message))


async def _heard(session: Session, speaker: Speaker, message: Message) -> list[ToolCall]:
    left = await _settled(session, speaker)
    if not left:
        await session.aio.append(message)
        return []
    first = next((call for call in left if _asks(speaker, call)), None)
    begun = {call.id for call, standing in session.steps.standing() if standing == "begun"}
    waiting = {call.id for call in left if _waits(speaker, call)} - begun
    kept = [] if first is None else with_those_behind(left, waiting)
    others = [call for call in left if call is not first and call not in kept]
    closed = [uncertain(call, _ENDED) if call.id in begun else not_run(call, _OTHERWISE) for call in others]
    if first is None:
        await close_with(session, others, closed)
        await session.aio.append(message)
    else:
        answer = ToolResult(first.call_id, first.name, message.content)
        await session.steps.answer([*others, first], *closed, answer, of_none=True)
    return [call for call in kept if call is not first]


def last_answer(view: View) -> Message | None:
    """The answer that a conversation ends with, if it is whole: then there is nothing to go on with."""
    for item in reversed(view):
        if isinstance(item, Message):
            return item if item.role == "assistant" and not item.interrupted else None
        if isinstance(item, ToolResult):
            return None
    return None


def check_forgotten(session: Session, decisions: Iterable[str]) -> None:
    """An error where a decision is about a call whose content was forgotten: nobody knows what he decides."""
    waiting = session.view().pending()
    for name in decisions:
        about = [call for call in waiting if name in (call.id, call.call_id)]
        if about and all(map(is_tombstone, about)):
            raise Forgotten(
                f"what the call {cut(name)!r} in {session.place} was to do was forgotten, and it is not run: "
                "the next message or `resume` goes on without it"
            )


def check_tools(session: Session, speaker: Speaker, decisions: Container[str]) -> None:
    """An error where a decision is about a call of another: who lacks its tool could only close it."""
    for call in session.view().pending():
        is_own = call.name in speaker.tools or call.name in speaker.handoffs
        if (call.call_id in decisions or call.id in decisions) and not is_own:
            raise InvalidValue(
                f"the call {cut(call.call_id)!r} in {session.place} is of the tool {cut(call.name)!r}, which "
                f"{cut(speaker.name)!r} does not have: an agent that has it decides it"
            )


def decided(
    left: Sequence[ToolCall], decisions: Mapping[str, bool | str], speaker: Speaker
) -> dict[str, bool | str]:
    """Decisions by the ids of the items they are about: call ids may come again, also within a reply."""
    found: dict[str, bool | str] = {}
    for name, decision in decisions.items():
        call = _meant(name, left)
        if _asks(speaker, call):
            raise InvalidValue(f"the call {cut(name)!r} asks the user something: `ask` answers it")
        if call.id in found:
            raise InvalidValue(f"the call {cut(call.call_id)!r} is decided twice, by both of its ids")
        found[call.id] = checked_decision(decision)
    _check_order(left, found, speaker)
    return found


def _meant(name: str, left: Sequence[ToolCall]) -> ToolCall:
    """The one call that an id is of: its own, or the one that the model gave it."""
    about = [call for call in left if name in (call.id, call.call_id)]
    if not about:
        raise UnknownId(f"no call {cut(str(name))!r} waits for a decision")
    if len(about) > 1:
        ids = ", ".join(cut(call.id) for call in about[:_MOST_NAMED])
        raise InvalidValue(
            f"{len(about)} calls wait under the id {cut(name)!r}: decide each by the id of its item, {ids}"
        )
    return about[0]


def _check_order(left: Sequence[ToolCall], found: Mapping[str, bool | str], speaker: Speaker) -> None:
    """An error where a call would be run before one that goes on waiting, and its result taken for that."""
    open_ones = {call.id for call in left if found.get(call.id) is None and _waits(speaker, call)}
    for call in with_those_behind(left, open_ones):
        if found.get(call.id) is not None:
            raise InvalidValue(
                f"the call {cut(call.id)!r} is behind another under the id {cut(call.call_id)!r} "
                "that is not decided yet: decide that too"
            )


def _asks(speaker: Speaker, call: ToolCall) -> bool:
    tool = speaker.tools.get(call.name)
    return tool is not None and tool.asks_person


def _waits(speaker: Speaker, call: ToolCall) -> bool:
    """Whether a person is to answer a call, or to approve of it."""
    tool = speaker.tools.get(call.name)
    return tool is not None and (tool.asks_person or tool.needs_approval(call.arguments))
