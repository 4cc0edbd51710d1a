"""What goes with every call of a tool, whoever makes it: hooks are heard, and what it gave is kept."""

from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from quire.agent.closing import refused
from quire.agent.tools import Outcome, given_now
from quire.errors import Conflict, StoreError
from quire.items import Item, Note, ToolCall, ToolResult
from quire.session import Called, Calling, Session, handle_of
from quire.stores.streams import OF, OUTPUTS

Instead = Callable[[ToolResult, Exception], ToolResult]

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


Write = Callable[..., Awaitable[tuple[Item, ...]]]
"""Records a result and what came with it: `write(result, *others, pooled=…, asks_hooks=…)`."""


def kept(call: ToolCall, outcome: Outcome, sources: Collection[str] = ()) -> list[Item]:
    """What is recorded of an outcome: the result, which names its `sources`, and the notes that came with it.

    Those with a key are put into the pool.
    """
    return [
        _result(call, outcome, sources),
        *(note if note.key is not None else given_now(note) for note in outcome.notes),
    ]


async def written(
    write: Write, result: ToolResult, *others: Item, instead: Instead = refused
) -> tuple[Item, ...]:
    """Record a result with what came with it; where hooks refuse some of it, words in its place."""
    pooled = [item for item in others if isinstance(item, Note) and item.key is not None]
    beside = [item for item in others if item not in pooled]
    try:
        return await write(result, *beside, pooled=pooled)
    except (StoreError, Conflict):
        raise
    except Exception as fault:
        return await write(instead(result, fault), asks_hooks=False)


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
