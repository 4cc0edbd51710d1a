"""What goes with every call of a tool, whoever makes it: hooks are heard, and what it gave is kept."""

from quire.agent.closing import refused
from quire.agent.tools import Outcome
from quire.agent.tools.gathering import given_now
from quire.errors import CodecError
from quire.items import JSON, Note, ToolCall, ToolResult
from quire.session import Called, Calling, Session
from quire.session.handles import OUTPUTS, handle_of
from quire.session.offering import Instead, Unkept
from quire.stores.streams import MAIN


async def refused_by_hooks(session: Session, call: ToolCall) -> str | None:
    """Why a call may not be run, if a hook says so."""
    try:
        await session.hooks.fire_and_wait(Calling(session.place, call.name, call.arguments))
    except Exception as fault:
        return f"it was refused: {type(fault).__name__}"
    return None


async def told_to_hooks(session: Session, call: ToolCall, outcome: Outcome) -> None:
    """Let hooks hear what a call gave."""
    fault = outcome.stop_reason if outcome.is_error else None
    heard = Called(session.place, call.name, call.arguments, outcome.content, fault)
    await session.hooks.fire_and_wait(heard)


async def kept(
    session: Session,
    call: ToolCall,
    outcome: Outcome,
    *,
    instead: Instead,
    to: str | None = MAIN,
) -> tuple[ToolResult, list[Note]]:
    """What is recorded of an outcome: the result, and the notes beside it; those with a key are pooled.

    Where hooks refuse some of it, nothing is kept, and `instead` gives the result.
    """
    beside = [given_now(note) for note in outcome.notes if note.key is None]
    pooled = [note for note in outcome.notes if note.key is not None]
    result = _result(call, outcome)
    try:
        JSON.encode(beside)
        # Notes are there before the result, which may speak of them.
        allowed = await session.steps.offer(
            result, *beside, pooled=pooled, given_by=call, to=to, instead=instead
        )
    except CodecError as fault:
        return refused(result, Unkept(str(fault))), []
    return allowed, beside if allowed is result else []


def _result(call: ToolCall, outcome: Outcome) -> ToolResult:
    handles = dict.fromkeys(filter(None, map(handle_of, outcome.notes)))
    return ToolResult(
        call.call_id,
        call.name,
        outcome.content,
        is_error=outcome.is_error,
        extras={OUTPUTS: list(handles)} if handles else {},
    )
