"""What goes with every call of a tool, whoever makes it: hooks are heard, and what it gave is kept."""

from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from quire.agent.closing import refused
from quire.agent.tools import Outcome
from quire.agent.tools.gathering import given_now
from quire.errors import CodecError
from quire.items import JSON, Note, ToolCall, ToolResult
from quire.session import Called, Calling, Instead, Session, Unkept, handle_of
from quire.stores.streams import MAIN, OF, OUTPUTS

_running: ContextVar[ToolCall | None] = ContextVar("quire_running_call", default=None)


async def refused_by_hooks(session: Session, call: ToolCall) -> str | None:
    """Why a call may not be run, if a hook says so."""
    try:
        await session.hooks.fire(Calling(session.place, call.name, call.arguments))
    except Exception as fault:
        return f"it was refused: {type(fault).__name__}"
    return None


async def told_to_hooks(session: Session, call: ToolCall, outcome: Outcome) -> None:
    """Let hooks hear what a call gave."""
    fault = outcome.stop_reason if outcome.is_error else None
    heard = Called(session.place, call.name, call.arguments, outcome.content, fault)
    await session.hooks.fire(heard)


@contextmanager
def traced(session: Session, call: ToolCall) -> Generator[set[str], None, None]:
    """Run a call in this block: what it reads is collected by id, and a sub-agent knows whose task it has."""
    token = _running.set(call)
    try:
        with session.steps.tracing() as sources:
            yield sources
    finally:
        _running.reset(token)


def running_call() -> ToolCall | None:
    """The call that a tool runs for, if it was traced."""
    return _running.get()


async def kept(
    session: Session,
    call: ToolCall,
    outcome: Outcome,
    *,
    sources: Collection[str] = (),
    instead: Instead,
    to: str | None = MAIN,
) -> tuple[ToolResult, list[Note]]:
    """What is recorded of an outcome: the result, and the notes beside it; those with a key are pooled.

    The result names its `sources`. Where hooks refuse some of it, nothing is kept, and `instead` gives the
    result.
    """
    beside = [given_now(note) for note in outcome.notes if note.key is None]
    pooled = [note for note in outcome.notes if note.key is not None]
    result = _result(call, outcome, sources)
    try:
        JSON.encode(beside)
        # Notes are there before the result, which may speak of them.
        allowed = await session.steps.offer(result, *beside, pooled=pooled, to=to, instead=instead)
    except CodecError as fault:
        return refused(result, Unkept(str(fault))), []
    return allowed, beside if allowed is result else []


def _result(call: ToolCall, outcome: Outcome, sources: Collection[str]) -> ToolResult:
    handles = dict.fromkeys(filter(None, map(handle_of, outcome.notes)))
    return ToolResult(
        call.call_id,
        call.name,
        outcome.content,
        is_error=outcome.is_error,
        extras={
            **({OUTPUTS: list(handles)} if handles else {}),
            **({OF: sorted(sources)} if sources else {}),
        },
    )
