"""Tool calls: approval, running one call, and running the calls of one response concurrently.

Every call passes through these steps:

1. It is approved, refused, or waits for a person.
2. The session notes that it begins. After a crash such a call is uncertain: it may have run.
3. The tool runs. Hooks are called before and after.
4. Its result is recorded when it arrives. A request shows the results in the order of the calls.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from quire.agent.repeats import Earlier, copied_result, earlier_call, must_report_repeats, repeated_result
from quire.agent.reply import CallEnded, CallStarted
from quire.agent.side_effects import UNCERTAIN
from quire.agent.speaker import Approver, Speaker
from quire.agent.toolbox import FoundTools
from quire.agent.tools import (
    IF_UNTRUSTED,
    Misfit,
    Outcome,
    Room,
    Tool,
    call_tool,
    failed,
    read_json,
    with_new_id,
)
from quire.agent.turn import Emit, no_reader, shield, wait_ended
from quire.agent.window import narrowed, room_for
from quire.errors import Conflict, StoreError, WrongType, cut
from quire.items import Handoff, Item, Note, Origin, ToolCall, ToolResult, lowest
from quire.providers import FOUND_TOOLS
from quire.session import (
    NOT_APPROVED,
    Called,
    Calling,
    Session,
    Turn,
    beside_loop,
    handle_of,
    hooks_of,
    not_run,
    tracing,
)
from quire.stores.store import is_tombstone
from quire.stores.streams import MAIN, OUTPUTS, RUN_BY_CALLER, SOURCES, UNTRUSTED
from quire.tokens import MAY_HAVE_RUN

logger = logging.getLogger("quire.agent")

_MAX_UNTRUSTED = 100
"""Untrusted items that a call names at most."""

FORGOTTEN = "its content was forgotten"
"""Why a call whose content was forgotten is not run."""


# Results that no tool returned


def uncertain(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that may have run."""
    text = MAY_HAVE_RUN.format(why=why)
    return ToolResult(call.call_id, call.name, text, is_error=True, extras={UNCERTAIN: True})


def _refused_result(result: ToolResult, fault: Exception) -> ToolResult:
    """The result to record in place of one that a hook refuses, or that cannot be recorded."""
    text = f"The result of this call was refused: {type(fault).__name__}."
    marks = {name: True for name, value in result.extras.items() if value is True}
    return ToolResult(result.call_id, result.name, text, is_error=True, extras=marks)


# Approval


def is_run_by_caller(call: ToolCall) -> bool:
    """Whether the caller of the agent runs a call, and gives its result."""
    return RUN_BY_CALLER in call.extras


def mark_caller_calls(items: Iterable[Item], names: Collection[str]) -> tuple[Item, ...]:
    """The items of a response, with calls of the named tools marked as calls that the caller runs."""
    return tuple(
        replace(item, extras={**item.extras, RUN_BY_CALLER: True})
        if isinstance(item, ToolCall) and item.name in names
        else item
        for item in items
    )


def list_untrusted_in_calls(
    items: Iterable[Item], tools: Mapping[str, Tool], untrusted: Callable[[], Sequence[str]]
) -> tuple[Item, ...]:
    """The items of a response. Calls of tools with `names_untrusted` list the request's untrusted items."""
    return tuple(
        replace(item, extras={**item.extras, UNTRUSTED: list(untrusted()[:_MAX_UNTRUSTED])})
        if isinstance(item, ToolCall) and (tool := tools.get(item.name)) is not None and tool.names_untrusted
        else item
        for item in items
    )


def needs_person(tool: Tool | None, call: ToolCall) -> bool:
    """Whether the caller or a person has to answer or approve a call. Wrong arguments fail without asking.

    A call without a list of untrusted items may have seen some.
    """
    if is_run_by_caller(call):
        return True
    if tool is None or (tool.approve == IF_UNTRUSTED and not call.extras.get(UNTRUSTED, True)):
        return False
    if not tool.asks_person:
        return tool.needs_approval(call.arguments)
    try:
        tool.signature.read(read_json(call.arguments))
    except Misfit:
        return False
    return True


async def approval_of(
    call: ToolCall, tool: Tool | None, approver: Approver | None, *, is_foreign: bool = False
) -> Literal[True] | str | None:
    """Whether a call may run: True, the reason why not, or `None` if it waits for a person.

    A foreign call, which no turn of an agent made, always needs approval.
    """
    if not is_foreign and not needs_person(tool, call):
        return True
    if approver is None or is_run_by_caller(call) or (tool is not None and tool.asks_person):
        return None
    verdict = approver(call)
    return _checked_verdict(await verdict if isawaitable(verdict) else verdict)


def _checked_verdict(verdict: Any) -> Literal[True] | str | None:
    """A verdict of an approver or a person; only True itself lets a call run."""
    if verdict is True or verdict is None:
        return verdict
    if verdict is False or isinstance(verdict, str):
        return verdict or NOT_APPROVED
    kind = type(verdict).__name__
    raise WrongType(f"a decision on a call must be True, False or a reason, not {kind}")


# One call


class EndedCall(NamedTuple):
    """A call that has ended, to be recorded."""

    result: ToolResult
    following: tuple[Item, ...] = ()
    """Items to record after the result."""
    pooled: tuple[Note, ...] = ()
    """Notes to keep in the pool."""
    outcome: Outcome | None = None
    """The outcome of the tool; `None` if there is no tool."""


RecordCall = Callable[[EndedCall], Coroutine[Any, Any, ToolResult]]
"""Records an ended call, and returns its result as recorded."""


async def execute_call(
    session: Session,
    call: ToolCall,
    tool: Tool,
    record: RecordCall,
    *,
    to: str = MAIN,
    room: Room | None = None,
) -> ToolResult:
    """Run one call of the transcript `to` between its hooks, and record it. A `Calling` hook may refuse it.

    If it is cancelled after the tool has ended, the result is recorded before the cancellation is raised.
    """
    calling = Calling(session.place, call.name, call.arguments, call.call_id)
    async with AsyncExitStack() as stack:
        try:
            fire_after = await stack.enter_async_context(hooks_of(session).around(calling))
        except Exception as fault:
            return await _refuse(call, f"a hook refused it: {type(fault).__name__}", record)
        if _is_forgotten(session, call, to):  # perhaps while hooks ran
            return await _refuse(call, FORGOTTEN, record)
        with _tracing(session, call) as sources:
            outcome, cancelled = await call_tool(tool, call.arguments, session=session, room=room)
        called = Called(*calling[:3], outcome.content, _fault_of(outcome), call.call_id)

        async def finish() -> ToolResult:
            await fire_after(called)
            return await record(_ended_call(call, outcome, sources, tool.trust))

        result = await shield(finish())
        if cancelled is not None:
            raise cancelled
        return result


def _fault_of(outcome: Outcome) -> str | None:
    if not outcome.is_error:
        return None
    return outcome.stop_reason if outcome.error is None else type(outcome.error).__name__


async def _refuse(call: ToolCall, why: str, record: RecordCall) -> ToolResult:
    result = not_run(call, why)
    return await shield(record(EndedCall(result, outcome=failed(result.text, "refused"))))


async def write_result(
    write: Callable[..., Awaitable[tuple[Item, ...]]], ended: EndedCall
) -> tuple[Item, ...]:
    """Record a result with its other items; if a hook refuses one of them, record an error instead.

    `write` is `Turn.answer` with the call filled in.
    """
    try:
        return await write(ended.result, *ended.following, pooled=ended.pooled)
    except (StoreError, Conflict):
        raise
    except Exception as fault:
        logger.warning("a result of %s was refused: %s", cut(ended.result.name), type(fault).__name__)
        return await write(_refused_result(ended.result, fault), asks_hooks=False)


def running_call() -> ToolCall | None:
    """The tool call that the current code runs for, if any.

    A call that runs again after a crash has the same id: give it to a service as an idempotency key.
    """
    return _running.get()


_running: ContextVar[ToolCall | None] = ContextVar("quire_running_call", default=None)


@contextmanager
def _tracing(session: Session, call: ToolCall) -> Generator[set[str], None, None]:
    """Collect the ids of what a call reads, and make it the running call."""
    token = _running.set(call)
    try:
        with tracing() as sources:
            yield sources
    finally:
        _running.reset(token)


def _is_forgotten(session: Session, call: ToolCall, transcript: str) -> bool:
    """Whether an open call was forgotten after it was read."""
    pending = session.view(transcript).pending()
    return any(is_tombstone(item) for item in pending if item.id == call.id)


def _ended_call(call: ToolCall, outcome: Outcome, sources: Iterable[str], trust: Origin) -> EndedCall:
    handles = dict.fromkeys(filter(None, map(handle_of, outcome.notes)))
    found_tools = outcome.value.names if isinstance(outcome.value, FoundTools) else ()
    extras = {OUTPUTS: list(handles), SOURCES: sorted(sources), FOUND_TOOLS: list(found_tools)}
    result = ToolResult(
        call.call_id,
        call.name,
        outcome.content,
        is_error=outcome.is_error,
        extras={name: value for name, value in extras.items() if value},
        origin=None if trust == "tool" else trust,
    )
    notes = [replace(note, origin=lowest((note.origin or trust, trust))) for note in outcome.notes]
    shown = tuple(with_new_id(note) for note in notes if note.key is None)
    return EndedCall(result, shown, tuple(note for note in notes if note.key is not None), outcome)


# The calls of a response


class Batch:
    """The calls of one response. Each is approved, refused, or waits; the approved ones run concurrently."""

    def __init__(
        self, session: Session, turn: Turn, speaker: Speaker, emit: Emit, recorded: list[Item]
    ) -> None:
        """Make a batch that appends what it records to `recorded`, also if it is cancelled."""
        self.refused: dict[str, str] = {}
        """Why calls may not run, by the ids of their items."""
        self.waiting: list[ToolCall] = []
        """Calls that wait for a person, or for a result of the caller."""
        self._session, self._turn = session, turn
        self._speaker = speaker
        self._emit = emit
        self._running_count = 0
        self._recorded = recorded
        self._conflict: Conflict | None = None  # another process answered a call; raised when all have ended

    async def judge(
        self,
        calls: Sequence[ToolCall],
        decisions: Mapping[str, bool | str],
        max_calls: int | None,
        foreign: Collection[str] = (),
    ) -> list[ToolCall]:
        """Approve or refuse each call, or let it wait; return the calls within the limit.

        Refused calls do not count. `decisions` are those of a person, by the ids of the calls' items.
        `foreign` are the ids of calls that no turn of an agent made.
        """
        within_limit: list[ToolCall] = []
        left = len(calls) if max_calls is None else max_calls
        for call in calls:
            if left == 0 and decisions.get(call.id, True) is True:
                continue  # beyond the limit, only refusals are taken
            tool = self._speaker.tools.get(call.name)
            if call.id in decisions:
                verdict = _checked_verdict(decisions[call.id])
            else:
                approver = self._speaker.approver
                if approver is not None:
                    await self._turn.flush()  # a person may be asked
                verdict = await approval_of(call, tool, approver, is_foreign=call.id in foreign)
            if verdict is None:
                self.waiting.append(call)
            if isinstance(verdict, str):
                self.refused[call.id] = verdict
            else:
                left -= 1
            within_limit.append(call)
        return within_limit

    async def execute(self, calls: Sequence[ToolCall]) -> None:
        """Run approved calls, and answer refused ones."""
        speaker = self._speaker
        decided = [call for call in calls if call not in self.waiting]
        room = room_for(narrowed(speaker.template), speaker.model, len(decided))
        for call in decided:  # refusals first: they are not begun, so after a crash they are not uncertain
            if call.id in self.refused:
                await self._execute_one(call, room)
        approved = [call for call in decided if call.id not in self.refused]
        self._running_count = len(approved)
        await self._turn.check_claims()
        async with self._session.calls.running(*approved):
            await run_concurrently(self._execute_one(call, room) for call in approved)
        if self._conflict is not None:
            raise self._conflict

    async def must_wait(self) -> bool:
        """Whether the turn has to wait for a person after the other calls have run.

        If two processes decide calls of one response at the same time, the one that records last continues.
        """
        if not self.waiting:
            return False
        await self._session.aio.refresh()
        view = self._session.view()
        pending = {call.id for call in view.pending()}
        self.waiting[:] = [call for call in self.waiting if call.id in pending]
        last = next((item for item in reversed(view) if isinstance(item, ToolResult)), None)
        return bool(self.waiting) or last is None or last.id not in {item.id for item in self._recorded}

    async def _execute_one(self, call: ToolCall, room: Room) -> None:
        await self._emit(CallStarted(call))
        try:
            result = await self._answer_call(call, room)
        except Conflict as conflict:  # another process answered it; the remaining calls still run
            self._conflict = conflict
        else:
            await self._emit(CallEnded(result))

    async def _answer_call(self, call: ToolCall, room: Room) -> ToolResult:
        speaker, why_not = self._speaker, self.refused.get(call.id)
        tool, next_speaker = speaker.tools.get(call.name), speaker.handoffs.get(call.name)
        if why_not is None and tool is not None:
            session, earlier = self._session, None
            if must_report_repeats(session, tool):
                earlier = await beside_loop(session, lambda: earlier_call(session, call))
            if earlier is not None and tool.once and not earlier.result.is_error:
                return await shield(self._record(call, EndedCall(copied_result(call, earlier))))
            record = partial(self._record, call, earlier=earlier)
            return await execute_call(session, call, tool, record, room=room)
        if why_not is None and next_speaker is not None:
            result = ToolResult(call.call_id, call.name, f"{next_speaker.name} takes over from here.")
            ended = EndedCall(result, (Handoff(next_speaker.name, speaker.name),))
        else:
            box = speaker.toolbox or ()
            known = ", ".join(sorted(name for name in speaker.tools if name not in box)) or "none"
            ended = EndedCall(
                not_run(call, why_not or f"there is no tool {cut(call.name)!r}; the tools are: {known}")
            )
        return await shield(self._record(call, ended))

    async def _record(self, call: ToolCall, ended: EndedCall, earlier: Earlier | None = None) -> ToolResult:
        if earlier is not None and not earlier.is_visible:
            ended = ended._replace(result=repeated_result(ended.result, earlier))
        if call.id not in self.refused:
            self._running_count -= 1
        is_last = not (self._running_count or self.waiting or ended.pooled)
        # The last result is stored with the next receipt, unless a stream shows it before.
        stages = is_last and self._emit is no_reader
        items = await write_result(partial(self._turn.answer, [call], stages=stages), ended)
        self._recorded += items
        assert isinstance(items[0], ToolResult)
        return items[0]


async def run_concurrently(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines concurrently. If one fails, the others are cancelled and waited for."""
    coroutines = list(work)
    if len(coroutines) == 1:
        await coroutines[0]
        return
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await wait_ended(*tasks)
        raise
