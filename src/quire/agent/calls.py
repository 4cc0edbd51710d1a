"""Tool calls: approval, running one call, and running the calls of one reply side by side.

Every call passes through these steps:

1. It is approved, refused, or waits for a person.
2. The session notes that it begins. After a crash such a call is uncertain: it may have run.
3. The tool runs. Hooks hear of it before and after.
4. Its result is recorded, in the order of the calls. A result that comes early is held on the record.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from typing import Any, Literal, NamedTuple, TypeVar

from quire.agent.handoff import Approver as Approver, Speaker
from quire.agent.reply import Began, Ended
from quire.agent.run import Emit, shield, wait_ended
from quire.agent.tools import (
    ADDED_TEXT,
    Misfit,
    Outcome,
    Room,
    Tool,
    failed,
    given_now,
    read_json,
    run_or_stop,
)
from quire.agent.window import narrowed, room_for
from quire.errors import (
    CodecError,
    Conflict,
    EditRefused,
    InvalidValue,
    StoreError,
    UnknownId,
    WrongType,
    cut,
)
from quire.items import Handoff, Item, Note, ToolCall, ToolResult
from quire.session import Called, Calling, Session, handle_of
from quire.stores.store import is_tombstone
from quire.stores.streams import MAIN, OF, OUTPUTS

UNCERTAIN = "uncertain"
"""The mark, in the extras of a result, of a call that may have run."""

FORGOTTEN = "its content was forgotten"
"""Why a call whose content was forgotten is not run."""

_UNFIT = (InvalidValue, CodecError, WrongType, UnknownId, EditRefused)
"""Errors of what a tool returned, and not of a hook that refuses it."""

_Fault = TypeVar("_Fault", bound=BaseException)


# Results that no tool returned


def not_run(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that was not run."""
    return ToolResult(call.call_id, call.name, f"This was not run: {why}.", is_error=True)


def uncertain(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that may have run."""
    text = f"It is uncertain whether this was done: {why}. Look before you do it again."
    return ToolResult(call.call_id, call.name, text, is_error=True, extras={UNCERTAIN: True})


def refused(result: ToolResult, fault: Exception) -> ToolResult:
    """What is recorded in place of a result that a hook refuses, or that cannot be recorded."""
    if isinstance(fault, _UNFIT):
        text = f"It was run, and its result could not be kept: {fault}."
    else:
        text = f"The result of this call was refused by a hook: {type(fault).__name__}."
    marks = {name: True for name, value in result.extras.items() if value is True}
    return ToolResult(result.call_id, result.name, text, is_error=True, extras=marks)


def is_forgotten(session: Session, call: ToolCall, transcript: str = MAIN) -> bool:
    """Whether the content of an open call was forgotten; the call that the caller holds may be older."""
    return is_tombstone(call) or any(
        is_tombstone(one) for one in session.view(transcript).pending() if one.id == call.id
    )


# Approval


def needs_person(tool: Tool | None, call: ToolCall) -> bool:
    """Whether a person has to answer or approve a call. A call with wrong arguments fails without asking."""
    if tool is None or not tool.asks_person:
        return tool is not None and tool.needs_approval(call.arguments)
    try:
        tool.signature.read(read_json(call.arguments))
    except Misfit:
        return False
    return True


async def approval_of(call: ToolCall, tool: Tool, approver: Approver | None) -> Literal[True] | str | None:
    """Whether a call may run: True, the reason why not, or `None` if it waits for a person."""
    if not needs_person(tool, call):
        return True
    if tool.asks_person or approver is None:
        return None
    given = approver(call)
    return checked_verdict(await given if isawaitable(given) else given)


def checked_verdict(given: Any) -> Literal[True] | str | None:
    """A verdict of an approver or a person; only True itself lets a call run."""
    if given is True or given is None:
        return given
    if given is False:
        return "it was not approved"
    if isinstance(given, str):
        return given or "it was not approved"
    kind = type(given).__name__
    raise WrongType(f"a call is approved by True, and refused by False or a reason, not by {kind}")


# One call


class Ran(NamedTuple):
    """A call that has ended, and what is recorded for it."""

    result: ToolResult
    others: tuple[Item, ...] = ()
    """Items that are recorded behind the result."""
    pooled: tuple[Note, ...] = ()
    """Notes that are kept in the pool."""
    outcome: Outcome | None = None
    """What the tool did; `None` if there is no tool."""


Record = Callable[[Ran], Coroutine[Any, Any, ToolResult]]
"""Records a call that has ended, and returns the result as it was recorded."""


async def run_call(
    session: Session,
    call: ToolCall,
    tool: Tool,
    record: Record,
    *,
    arguments: str | Mapping[str, Any] | None = None,
    to: str | None = MAIN,
    room: Room | None = None,
) -> ToolResult:
    """Run one call with hooks, and record it. `to` is the transcript of the call, if it is in one.

    A hook of `Calling` may refuse it; `arguments` replace those of the call. Once the tool has ended, a
    cancellation is raised only after the result was recorded.
    """
    why_not = await _refused_by_hooks(session, call)
    if to is not None and is_forgotten(session, call, to):  # also while hooks were asked
        why_not = FORGOTTEN
    if why_not is not None:
        result = not_run(call, why_not)
        return await shield(record(Ran(result, outcome=failed(result.text, "refused"))))
    with _tracing(session, call) as sources:
        given = call.arguments if arguments is None else arguments
        outcome, cancelled = await run_or_stop(tool, given, session=session, room=room)

    async def finish() -> ToolResult:
        fault = outcome.stop_reason if outcome.is_error else None
        if session.hooks.all:
            await session.hooks.fire(Called(session.place, call.name, call.arguments, outcome.content, fault))
        return await record(_ran(call, outcome, sources))

    result = await shield(finish())
    if cancelled is not None:
        raise cancelled
    return result


async def write(record: Callable[..., Awaitable[tuple[Item, ...]]], ran: Ran) -> tuple[Item, ...]:
    """Record a result and what came with it; if a hook refuses any of it, words in place of all of it.

    `record` is `steps.answer` or `steps.hold`, with the call filled in.
    """
    try:
        return await record(ran.result, *ran.others, pooled=ran.pooled)
    except (StoreError, Conflict):
        raise
    except Exception as fault:
        return await record(refused(ran.result, fault), asks_hooks=False)


def running_call() -> ToolCall | None:
    """The call that the current code runs for."""
    return _running.get()


_running: ContextVar[ToolCall | None] = ContextVar("quire_running_call", default=None)


@contextmanager
def _tracing(session: Session, call: ToolCall) -> Generator[set[str], None, None]:
    """Collect the ids of what a call reads, and make it the running call."""
    token = _running.set(call)
    try:
        with session.steps.tracing() as sources:
            yield sources
    finally:
        _running.reset(token)


async def _refused_by_hooks(session: Session, call: ToolCall) -> str | None:
    try:
        if session.hooks.all:
            await session.hooks.fire(Calling(session.place, call.name, call.arguments))
    except Exception as fault:
        return f"a hook refused it: {type(fault).__name__}"
    return None


def _ran(call: ToolCall, outcome: Outcome, sources: Iterable[str]) -> Ran:
    handles = dict.fromkeys(filter(None, map(handle_of, outcome.notes)))
    extras = {OUTPUTS: list(handles), OF: sorted(sources)}
    result = ToolResult(
        call.call_id,
        call.name,
        outcome.content,
        is_error=outcome.is_error,
        extras={name: value for name, value in extras.items() if value},
    )
    beside = tuple(given_now(note) for note in outcome.notes if note.key is None)
    return Ran(result, beside, tuple(note for note in outcome.notes if note.key is not None), outcome)


# The calls of a turn


class Calls:
    """The calls of one turn: verdicts, those that wait for a person, and running the others."""

    def __init__(self, session: Session, emit: Emit) -> None:
        self._session = session
        self._emit = emit
        self.decided: dict[str, bool | str] = {}
        """Decisions of a person, by the ids of the items of calls."""
        self.refused: dict[str, str] = {}
        """Why calls may not run, by the ids of their items."""
        self.waiting: list[ToolCall] = []
        self.handed_to: Speaker | None = None
        """The agent that goes on after the calls."""

    async def judge(self, calls: Sequence[ToolCall], speaker: Speaker, most: int | None) -> list[ToolCall]:
        """The calls within the limit, now judged. Refused calls do not count towards it."""
        within: list[ToolCall] = []
        left = len(calls) if most is None else most
        for call in calls:
            if left == 0 and self.decided.get(call.id, True) is True:
                continue
            verdict = await self._verdict(call, speaker)
            if verdict is None:
                self.waiting.append(call)
            if isinstance(verdict, str):
                self.refused[call.id] = verdict
            else:
                left -= 1
            within.append(call)
        return within

    async def _verdict(self, call: ToolCall, speaker: Speaker) -> Literal[True] | str | None:
        if call.id in self.decided:
            return checked_verdict(self.decided[call.id])
        tool = speaker.tools.get(call.name)
        return True if tool is None else await approval_of(call, tool, speaker.approver)

    async def run(self, calls: Sequence[ToolCall], speaker: Speaker, recorded: list[Item]) -> None:
        """Run judged calls that do not wait, and append what is recorded, also if this is cancelled."""
        waiting = {call.id for call in self.waiting}
        ready = [call for call in calls if call.id not in waiting]
        room = room_for(narrowed(speaker.template, speaker.model), speaker.model, len(ready))
        results = _Results(self._session, ready, recorded)
        async with self._session.steps.running(*ready):
            # Refusals are recorded first: after a crash they are not uncertain.
            await _side_by_side(
                self._run(call, speaker, room, results) for call in ready if call.id in self.refused
            )
            await _side_by_side(
                self._run(call, speaker, room, results) for call in ready if call.id not in self.refused
            )
        if results.conflict is not None:
            raise results.conflict

    async def _run(self, call: ToolCall, speaker: Speaker, room: Room, results: "_Results") -> None:
        await self._emit(Began(call))
        try:
            result = await self._result(call, speaker, room, partial(results.record, call))
        except Conflict as conflict:  # another answered it: the other calls run to their end
            results.conflict = conflict
        else:
            await self._emit(Ended(result))

    async def _result(self, call: ToolCall, speaker: Speaker, room: Room, record: Record) -> ToolResult:
        tool, other = speaker.tools.get(call.name), speaker.handoffs.get(call.name)
        if call.id in self.refused:
            return await shield(record(Ran(not_run(call, self.refused[call.id]))))
        if tool is not None:
            return await run_call(self._session, call, tool, record, room=room)
        if other is None:
            known = ", ".join(sorted(speaker.tools)) or "none"
            why_not = f"there is no tool {cut(call.name)!r}; the tools are: {known}"
            return await shield(record(Ran(not_run(call, why_not))))
        name = other.speaker.name
        handed = Ran(
            ToolResult(call.call_id, call.name, f"{name} goes on from here."), (Handoff(name, speaker.name),)
        )
        result = await shield(record(handed))
        if not result.is_error:
            self.handed_to = other.speaker
        return result

    async def still_wait(self, recorded: Sequence[Item]) -> bool:
        """Whether calls still wait for a person, now that the others have run.

        Two processes may decide calls of one reply at the same time. The one that records last goes on.
        """
        if not self.waiting:
            return False
        await self._session.aio.refresh()
        view = self._session.view()
        pending = {call.id for call in view.pending()}
        waiting = [call for call in self.waiting if call.id in pending]
        if not waiting:
            last = next((item.id for item in reversed(view) if isinstance(item, ToolResult)), None)
            if last not in {item.id for item in recorded}:
                return True
        self.waiting = waiting
        return bool(waiting)


class _Results:
    """Records results in the order of their calls; one that comes early is held on the record."""

    def __init__(self, session: Session, calls: Sequence[ToolCall], recorded: list[Item]) -> None:
        self._steps = session.steps
        self._left = list(calls)
        self._recorded = recorded
        self._held: dict[str, tuple[Item, ...]] = {}
        self._lock = asyncio.Lock()
        self.conflict: Conflict | None = None
        """Raised once all calls have ended: another answered one of them."""

    async def record(self, call: ToolCall, ran: Ran) -> ToolResult:
        """Record the result of a call, and those that were held for it, or hold it."""
        async with self._lock:
            if call is not self._left[0]:
                held = self._held[call.id] = await write(partial(self._steps.hold, of=call), ran)
                return _first(held)
            self._left.pop(0)
            try:
                result = await self._answer(call, ran)
            finally:
                while self._left and self._left[0].id in self._held:
                    await self._answer_held(self._left.pop(0))
            return result

    async def _answer(self, call: ToolCall, ran: Ran) -> ToolResult:
        items = await write(partial(self._steps.answer, [call]), ran)
        self._recorded += items
        return _first(items)

    async def _answer_held(self, call: ToolCall) -> None:
        result, *others = self._held.pop(call.id)
        assert isinstance(result, ToolResult)
        try:
            await self._answer(call, Ran(result, tuple(others)))
        except Conflict as conflict:
            self.conflict = conflict


def _first(items: Sequence[Item]) -> ToolResult:
    assert isinstance(items[0], ToolResult)
    return items[0]


async def _side_by_side(work: Iterable[Any]) -> None:
    """Run coroutines side by side. If one fails, the others are cancelled and waited for."""
    each = list(work)
    if len(each) == 1:
        await each[0]
        return
    tasks = [asyncio.ensure_future(one) for one in each]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await wait_ended(*tasks)
        raise


# Side effects of what failed

_MOST_NAMED = 20
"""Tools that an error names."""

_MOST_CAUSES = 100
"""Errors behind an error that are looked at."""


def has_acted(fault: BaseException | None) -> bool:
    """Whether an error, or one behind it, has a true attribute `has_acted`: side effects came before it."""
    left, seen = [fault], 0
    while left and seen < _MOST_CAUSES:
        one, seen = left.pop(), seen + 1
        if one is None:
            continue
        if getattr(one, "has_acted", False) is True:
            return True
        left += (one.__cause__, one.__context__)
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions  # pyright: ignore[reportUnknownMemberType]
    return False


def mark_acted(fault: _Fault, text: str = "") -> _Fault:
    """The error, marked as `has_acted`, with a text about the side effects at the end of its message."""
    fault.__dict__["has_acted"] = True
    if not text:
        return fault
    before = fault.args
    try:
        fault.args = (f"{fault}{text}", *before[1:])
        is_shown = str(fault).endswith(text)
    except Exception:  # the `str` of a foreign error may raise
        is_shown = False
    if not is_shown:  # such as an OSError, which computes its message
        fault.args = before
        fault.add_note(text.strip())
        fault.__dict__[ADDED_TEXT] = str(getattr(fault, ADDED_TEXT, "")) + text
    return fault


def mark_called(fault: _Fault, items: Sequence[Item]) -> _Fault:
    """The error, with the tools that were called in some items, if any were."""
    text = describe_calls_in(items)
    return mark_acted(fault, text) if text else fault


def describe_calls_in(items: Sequence[Item]) -> str:
    """A sentence about the tools that were called in some items; empty if there were none."""
    called: list[tuple[ToolCall, ToolResult | None]] = []
    for item in items:
        if isinstance(item, ToolCall):
            called.append((item, None))
        elif isinstance(item, ToolResult):  # a later reply may use the id of an answered call again
            for place, (call, result) in enumerate(called):
                if result is None and call.call_id == item.call_id:
                    called[place] = (call, item)
                    break
    return describe_calls((call.name, result) for call, result in called)


def describe_calls(called: Iterable[tuple[str, ToolResult | None]]) -> str:
    """A sentence about tools that were called, how often and with what outcome; empty if there are none."""
    counts: dict[str, Counter[str]] = {}
    for name, result in called:
        if result is None or UNCERTAIN in result.extras:
            outcome = "uncertain"
        else:
            outcome = "failed" if result.is_error else "done"
        counts.setdefault(name, Counter())[outcome] += 1
    if not counts:
        return ""
    named = [
        f"{cut(name)} ({', '.join(f'{number} {outcome}' for outcome, number in count.items())})"
        for name, count in counts.items()
    ]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"\nIt had called {', '.join(named[:_MOST_NAMED])}{more}: look before you do it again."
