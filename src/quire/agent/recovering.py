"""Where a turn begins: with what the user says, or with what an earlier turn left behind.

A process may end between a call and its result. On the record stands whether the call was begun: one that was
not can still be run; one that was is run again only if its tool is declared idempotent, else it is marked.
"""

from collections.abc import Container, Mapping

from quire.agent.acting import checked_verdict
from quire.agent.closing import answered, not_run, refused, uncertain
from quire.agent.speaker import Speaker
from quire.errors import InvalidValue, TurnBusy, UnknownId, cut
from quire.items import Item, Message, ToolCall, ToolResult
from quire.session import Session
from quire.session.stepping import Instead
from quire.state import View

_ENDED = "the process ended while it ran"
_OTHERWISE = "the user said something else first"


async def left_behind(session: Session, speaker: Speaker) -> list[ToolCall]:
    """Settle what an earlier turn left in doubt; the calls that are still to be run or answered.

    `TurnBusy` where it was not left: another runs a call of it.
    """
    await session.look()
    return await answered(session, lambda: _settled(session, speaker))


async def _settled(session: Session, speaker: Speaker) -> list[ToolCall]:
    left: list[ToolCall] = []
    settled: list[ToolCall] = []
    results: list[Item] = []
    for call, standing in session.standing():
        held = session.held(call)
        tool = speaker.tools.get(call.name)
        if session.is_run(call):
            raise TurnBusy(f"the call {cut(call.call_id)!r} of {session.place} is being run by another")
        if not held and (standing != "begun" or (tool is not None and tool.is_idempotent)):
            left.append(call)
            continue
        settled.append(call)
        results += held or (uncertain(call, _ENDED),)
    if results:
        await session.answer(settled, *results, instead=refused)
    return left


async def heard(session: Session, speaker: Speaker, message: Message) -> list[ToolCall]:
    """Record what the user says; the calls that still wait for a person.

    Where a tool asked the user something, it is the answer to that, and no message of its own: then calls
    that wait for an approval go on waiting.
    """
    await session.look()
    return await answered(session, lambda: _heard(session, speaker, message))


async def _heard(session: Session, speaker: Speaker, message: Message) -> list[ToolCall]:
    left = await _settled(session, speaker)
    if not left:
        await session.say(message)
        return []
    first = next((call for call in left if _asks(speaker, call)), None)
    begun = {call.id for call, standing in session.standing() if standing == "begun"}
    kept = [] if first is None else [call for call in left if _waits(speaker, call) and call.id not in begun]
    others = [call for call in left if call is not first and call not in kept]
    closed = [uncertain(call, _ENDED) if call.id in begun else not_run(call, _OTHERWISE) for call in others]
    if first is None:
        await session.answer(others, *closed, message, instead=refused)
    else:
        answer = ToolResult(first.call_id, first.name, message.content)
        await session.answer([*others, first], *closed, answer, instead=_unless_it_is(answer))
    return [call for call in kept if call is not first]


def _unless_it_is(answer: ToolResult) -> Instead:
    """Words in place of results that are refused. Who says something hears that it was refused."""

    def instead(result: ToolResult, fault: Exception) -> ToolResult:
        if result.id == answer.id:
            raise fault
        return refused(result, fault)

    return instead


def last_answer(view: View) -> Message | None:
    """The answer that a conversation ends with, if it is whole: then there is nothing to go on with."""
    for item in reversed(view):
        if isinstance(item, Message):
            return item if item.role == "assistant" and not item.interrupted else None
        if isinstance(item, ToolResult):
            return None
    return None


def check_tools(session: Session, speaker: Speaker, decisions: Container[str]) -> None:
    """An error where a decision is about a call of another: who lacks its tool could only close it."""
    for call in session.view().pending():
        is_own = call.name in speaker.tools or call.name in speaker.handoffs
        if call.call_id in decisions and not is_own:
            raise InvalidValue(
                f"the call {cut(call.call_id)!r} in {session.place} is of the tool {cut(call.name)!r}, which "
                f"{cut(speaker.name)!r} does not have: an agent that has it decides it"
            )


def decided(
    left: list[ToolCall], decisions: Mapping[str, bool | str], speaker: Speaker
) -> dict[str, bool | str]:
    """Decisions by the ids of the items they are about: call ids may come again."""
    found: dict[str, bool | str] = {}
    for call_id, decision in decisions.items():
        about = [call for call in left if call.call_id == call_id]
        if not about:
            raise UnknownId(f"no call {cut(str(call_id))!r} waits for a decision")
        if any(_asks(speaker, call) for call in about):
            raise InvalidValue(f"the call {cut(call_id)!r} asks the user something: `ask` answers it")
        checked_verdict(decision)
        found |= {call.id: decision for call in about}
    return found


def _asks(speaker: Speaker, call: ToolCall) -> bool:
    tool = speaker.tools.get(call.name)
    return tool is not None and tool.asks_person


def _waits(speaker: Speaker, call: ToolCall) -> bool:
    """Whether a person is to answer a call, or to approve of it."""
    tool = speaker.tools.get(call.name)
    return tool is not None and (tool.asks_person or tool.needs_approval(call.arguments))
