"""Compaction beside the conversation: a turn does not wait for it, and never sees half of it.

A plan that needs words is noted in the log under a lease before a model is asked, so that one process works
on it at a time. The model works on a snapshot; what it wrote is kept only if what it is about is still shown
as it was.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from quire.compactors import (
    FORCED_REASON,
    Compactor,
    Outcome,
    Plan,
    Regret,
    Request,
    Room,
    checked_compactor,
    plan_around_undone,
    record,
    regrets_in,
    shown_again,
)
from quire.context import DEFAULT_MODEL
from quire.errors import InvalidValue, Irreducible, QuireError, WindowExceeded
from quire.items import Note, ToolResult, now, prepared
from quire.models import AnyModel, model_of, summarized
from quire.session.aio import AWAITED, BLOCKED, BLOCKING, IO, Writer, plain
from quire.session.entries import Lease
from quire.session.heard import Metered
from quire.session.hooks import Compacted, Compacting
from quire.session.leases import is_live, lease, renewed
from quire.session.log import Entries, Guard, Log, unclaimed
from quire.session.spending import Caps, PricesByName, Spending, check_priced
from quire.session.state import State, Written, ended_plan
from quire.state import View
from quire.stores.streams import MAIN, PLANS, POOL, USAGE
from quire.tokens import Counter, Usage, counter_for, facts_for

logger = logging.getLogger("quire.session")

_Task = asyncio.Task[Outcome | None]

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 600.0  # seconds
_LOOK = 0.05  # seconds between looks at a task of another event loop


class Metrics(msgspec.Struct):
    """What the compaction of a conversation did in this process."""

    started: int = 0
    completed: int = 0
    discarded: int = 0
    failed: int = 0
    pending: int = 0
    fault: str | None = None


Fate = Literal["running", "kept", "discarded", "failed", "abandoned"]


@prepared
class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One compaction of the past: what was planned, what became of it, and what it cost.

    `before` and `after` are the tokens shown: of one that was kept as it was recorded, otherwise as it was
    planned. `model` was asked for a summary: it used `usage`,
    for `cost` USD if its price is known. `edits` are the ids of what was recorded. `reason` says why nothing
    was; it never quotes the conversation. `regrets` are the items that had to be shown again, and why.
    """

    by: str
    began_at: float
    before: int
    after: int
    is_forced: bool = False
    model: str | None = None
    fate: Fate = "running"
    reason: str = ""
    ended_at: float | None = None
    usage: Usage = Usage()
    cost: float | None = None
    edits: Sequence[str] = ()
    regrets: Sequence[Regret] = ()


class _Known:
    """What is known of the compaction of a conversation, for all its sessions in this process."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.windows: dict[str, int] = {}  # tokens that a model was found to read at once, by its name
        self._until, self._next = 0.0, _FIRST_PAUSE

    @property
    def is_pausing(self) -> bool:
        """Whether the pause after a failure is not over. Each is twice as long as the one before it."""
        return now() < self._until

    def pause(self) -> float:
        """Begin a pause, and return its length."""
        pause, self._next = self._next, min(2 * self._next, _LONGEST_PAUSE)
        self._until = now() + pause
        return pause

    def end_pause(self) -> None:
        """End the pause, and begin with a short one next time."""
        self._until, self._next = 0.0, _FIRST_PAUSE


_known: "WeakKeyDictionary[Log, _Known]" = WeakKeyDictionary()


class AioCompaction:
    """The verbs of a compaction, to be awaited."""

    def __init__(self, work: "Compactions") -> None:
        self._work = work

    async def run(self, *, by: Compactor | None = None, room: Room | None = None) -> Outcome | None:
        """Compact now, also if there is room left; returns the outcome, or `None` if there was no plan.

        Automatic compaction leaves alone what an undo shows again, as long as the rest can make room; this
        verb does not. An outcome that was not kept says why, and counts as false. `by` is another compactor
        for this once. `room` is by default what the last context left.
        """
        work = self._work
        work.writer.check_open()
        compactor = work.compactor if by is None else checked_compactor(by)
        if compactor is None:
            raise InvalidValue("there is no compactor: give one to `session.compaction.use`")
        await AWAITED.do(work.log, work.log.root.catch_up)
        view, guard = work.shown()
        counter = counter_for(DEFAULT_MODEL)
        room = room or work.room or Room(view.tokens(counter), counter)
        work.known.end_pause()
        return await work.make_room(view, guard, replace(room, early=True), compactor, is_asked=True)

    async def close(self, timeout: float | None = None) -> None:
        """Wait for what is running, or leave it to the next session of the conversation."""
        await self._work.close(timeout)


class Compaction:
    """Keeps the main transcript small with a compactor, and a model that writes summaries."""

    run = plain(AioCompaction.run, BLOCKING)
    close = plain(AioCompaction.close, BLOCKING)

    def __init__(self, work: "Compactions") -> None:
        self._work = work

    def _verbs(self, io: IO) -> AioCompaction:
        return AioCompaction(self._work)

    def use(self, compactor: Compactor, model: AnyModel | str | None = None) -> None:
        """Use a compactor from now on, and a model, or the name of one, to write summaries."""
        work = self._work
        work.compactor = checked_compactor(compactor)
        work.model = work.model if model is None else work.checked_writer(model)

    @property
    def metrics(self) -> Metrics:
        """What was done in this process so far."""
        return self._work.known.metrics

    def past(self) -> list[Attempt]:
        """The compactions of this conversation by any process, oldest first, with one that is running."""
        found: dict[str, Attempt] = {}
        for note in self._work.log.read_stream(PLANS):
            if isinstance(note, Note):
                attempt = _attempt_in(note)
                is_left = attempt.fate == "running" and not _is_leased(note)
                found[ended_plan(note) or note.id] = _abandoned(attempt) if is_left else attempt
        view, _ = self._work.shown()
        regrets = regrets_in(view)
        return [
            replace(one, regrets=[regret for regret in regrets if regret.summary in one.edits])
            for one in found.values()
        ]


class Compactions:
    """Compacts the main transcript of a session, one plan at a time."""

    def __init__(self, writer: Writer, caps: Caps | None, prices: PricesByName) -> None:
        self.writer, self.log = writer, writer.log
        self.prices, self._caps = prices, caps
        self.known = _known.setdefault(self.log.root, _Known())
        self._task: _Task | None = None
        self._work: _Work | None = None
        self.room: Room | None = None
        """What the last context left to the main transcript."""
        self.is_forced = False
        """Whether a forced plan was recorded since the last context."""
        self.compactor: Compactor | None = None
        self.model: AnyModel | None = None
        self._watched = 0
        """The revision of the main transcript up to which it is known what was needed again."""

    def checked_writer(self, model: AnyModel | str | None) -> AnyModel:
        """The model that writes summaries; `InvalidValue` if there is none, or its price is not known."""
        given = self.model if model is None else model
        if given is None:
            raise InvalidValue("a model is needed to write a summary")
        model = model_of(given, "the model of a session")
        if self._caps is not None and self._caps.cost is not None:
            check_priced(model.name, self.prices)
        return model

    async def consider(
        self, view: View, room: Room, *, guard: Guard | None = None, waits: bool = False
    ) -> None:
        """Begin to compact if that is due, beside the turn; with `waits`, wait for it.

        A view that was edited since, such as by a compaction that just ended, is left to the next request.
        """
        if self.compactor is None or self.writer.is_closed:
            return
        self.room = room
        latest, _ = self.shown()
        is_outdated = bool(latest.log.positions("edits", view.end, latest.end))
        if not (is_outdated or self.is_running or self.known.is_pausing or self._is_leased):
            self._begin(view, guard or Guard(self.log), room, self.compactor, raises=False)
        if waits:
            await self._wait(None)

    async def show_again(self, io: IO, counter: Counter, tokens: int) -> None:
        """Show again what is under a summary and turned out to be needed, in a part of so many tokens."""
        view, _ = self.shown()
        summaries = view.summaries()
        since = max((view.position(one.id) for one in summaries if one.spans), default=view.end)
        since, self._watched = max(since, self._watched), view.end
        if self.writer.is_closed or not any(
            isinstance(one, ToolResult) for one in view.log.items(since, view.end)
        ):
            return

        def entries(state: State) -> Entries:
            edits = shown_again(state.transcripts[MAIN].view, since, counter, tokens)
            return [Written(MAIN, edit) for edit in self.writer.ready(edits)]

        await io.do(self.log, lambda: self.log.commit(entries))

    async def make_room(
        self, view: View, guard: Guard, room: Room, by: Compactor, *, is_asked: bool = False
    ) -> Outcome | None:
        """Compact and wait for it: for a turn that does not fit otherwise, or because a person asked."""
        while self.is_running:
            await self._wait(None)
            view, guard = self.shown()
        return await self._begin(view, guard, room, by, raises=True, is_asked=is_asked)

    def forced_advice(self) -> list[str]:
        """The line for a receipt if a forced plan was recorded since the last one."""
        is_forced, self.is_forced = self.is_forced, False
        return [f"the history was compacted: {FORCED_REASON}"] if is_forced else []

    async def is_writing(self) -> bool:
        """Whether a model writes a summary now, here or for another process; waits for a plan being made."""
        work, task = self._work, self._task
        if work is None or task is None or task.get_loop() is not asyncio.get_running_loop():
            return self._is_leased
        await work.planned.wait()
        return self._is_leased or (work.needs_model and not task.done())

    @property
    def _is_leased(self) -> bool:
        """Whether a process is at work on a plan."""
        return any(map(_is_leased, self.log.state.plans.values()))

    @property
    def is_running(self) -> bool:
        """Whether a compaction is running in this process; one whose event loop has stopped is not."""
        return self._task is not None and not self._task.done() and self._task.get_loop().is_running()

    def give_up(self) -> None:
        """Cancel what is running, without waiting for it."""
        self._cancel()
        self._task = None

    async def close(self, timeout: float | None = None) -> None:
        """Wait for what is running, or leave it to the next session of the conversation."""
        await self._wait(timeout)
        self._cancel()
        await self._wait(None)

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            with suppress(RuntimeError):  # its loop is closed
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def _wait(self, timeout: float | None) -> None:
        """Wait until the task is done; it may be one of another event loop."""
        task, until = self._task, None if timeout is None else now() + timeout
        while task is not None and not task.done() and task.get_loop().is_running():
            if until is not None and now() >= until:
                return
            if task.get_loop() is BLOCKED.get():
                raise InvalidValue(
                    "a compaction runs on the event loop that this call blocks: await the verb of session.aio"
                )
            if task.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([task], timeout=None if until is None else until - now())
            else:
                await asyncio.sleep(_LOOK)

    def _begin(
        self,
        view: View,
        guard: Guard,
        room: Room,
        compactor: Compactor,
        *,
        raises: bool,
        is_asked: bool = False,
    ) -> _Task:
        """Begin to compact; errors are logged, or with `raises` raised to the caller that waits."""
        plans = compactor.plan if is_asked else partial(plan_around_undone, compactor)
        self._work = work = _Work(self, plans)
        shrinking = work.shrink(view, guard, room)
        self._task = asyncio.get_running_loop().create_task(
            shrinking if raises else self._quiet(shrinking), context=unclaimed()
        )
        self._task.add_done_callback(lambda _: work.planned.set())
        return self._task

    async def _quiet(self, shrinking: Coroutine[Any, Any, Outcome | None]) -> Outcome | None:
        try:
            return await shrinking
        except Exception as fault:
            self.failed(type(fault).__name__, self.known.pause())
            return None

    def failed(self, fault: str, pause: float) -> None:
        """Count and log a failure."""
        self.known.metrics.failed += 1
        self.known.metrics.fault = fault
        logger.warning(
            "the compaction of %s failed, next try in %.0f s: %s", self.log.place.digest, pause, fault
        )

    def shown(self) -> tuple[View, Guard]:
        """What the main transcript shows now, and whether something is forgotten from now on."""
        guard = Guard(self.log)
        return self.log.look(lambda state: state.transcripts[MAIN].view), guard


class _Work:
    """One compaction: plans are made and carried out, one after the other, until the view fits."""

    def __init__(self, compaction: Compactions, plans: Callable[[View, Room], Plan | None]) -> None:
        self._compaction, self._plans = compaction, plans
        self._log, self._writer, self._known = compaction.log, compaction.writer, compaction.known
        model = compaction.model
        self._model = None if model is None else Metered(model, compaction.prices, compaction.writer)
        self.planned, self.needs_model = asyncio.Event(), False

    async def shrink(self, view: View, guard: Guard, room: Room) -> Outcome | None:
        """Plan and carry out, in several steps if there is more to read than the model reads at once.

        If the model fails, what it can read is smaller, or nothing while it pauses: then it is planned again.
        """
        outcome: Outcome | None = None
        while True:
            reads = self._tokens_read
            plan = await AWAITED.do(self._log, lambda: self._plan(view, replace(room, reads=reads)))  # noqa: B023
            self.needs_model = isinstance(plan, Plan) and plan.request is not None
            self.planned.set()
            if not isinstance(plan, Plan):
                return plan if outcome is None else outcome
            latest = await self._carry_out(plan, guard)
            outcome = latest if latest or not outcome else outcome
            has_more = latest and plan.request is not None and plan.request.is_part
            can_try_otherwise = not latest and self._tokens_read != reads
            if not (has_more or can_try_otherwise):
                return outcome
            view, guard = self._compaction.shown()

    @property
    def _tokens_read(self) -> int | None:
        """Tokens that the model reads at once, if that is known; 0 if there is no model that can be asked."""
        if self._model is None or not self._can_write:
            return 0
        own = getattr(self._model.model, "context", None)
        window = own if isinstance(own, int) else facts_for(self._model.name).window
        return self._known.windows.get(self._model.name, window)

    @property
    def _can_write(self) -> bool:
        """Whether there is a model, and it is not left alone for a while after a failure."""
        return self._model is not None and not self._known.is_pausing

    def _plan(self, view: View, room: Room) -> Plan | Outcome | None:
        """The plan, or why there is none. Planning may take long, so it runs in a thread."""
        metrics = self._known.metrics
        try:
            return self._plans(view, room)
        except Irreducible as fault:
            if metrics.fault != str(fault):  # once, and not in every turn
                logger.warning("nothing of %s can be compacted: %s", self._log.place.digest, fault)
            metrics.fault = str(fault)
            return Outcome("discarded", str(fault))

    async def _carry_out(self, plan: Plan, guard: Guard) -> Outcome:
        metrics = self._known.metrics
        if plan.request is not None and not self._can_write:
            return Outcome("discarded", "no model writes the summary")
        async with AsyncExitStack() as stack:
            try:
                compacting = Compacting(self._log.place, MAIN, plan)
                done = await stack.enter_async_context(self._writer.hooks.around(compacting))
            except Exception as fault:
                metrics.discarded += 1
                metrics.fault = type(fault).__name__
                return await self._finish(plan, guard, fault=f"a hook refused it: {type(fault).__name__}")
            outcome = await self._recorded(plan, guard)
            await done(Compacted(self._log.place, MAIN, plan, outcome))
            return outcome

    async def _recorded(self, plan: Plan, guard: Guard) -> Outcome:
        """Record the edits of a plan, and the summary that it requests."""
        metrics = self._known.metrics
        if plan.request is None:
            return await self._finish(plan, guard)
        note = _leased(Note(content=_content(self._attempt(plan)), description="plan"))
        if not await AWAITED.do(self._log, lambda: self._log.commit(partial(_begun, note))):
            return Outcome("discarded", "another process is at work on it")
        metrics.started += 1
        metrics.pending = 1
        try:
            async with renewed(self._log, partial(_renewal, note)):
                return await self._summarize(plan, plan.request, guard, note)
        except asyncio.CancelledError:
            await AWAITED.do(self._log, lambda: self._log.commit(partial(_left, note)))
            raise
        finally:
            metrics.pending = 0

    async def _summarize(self, plan: Plan, request: Request, guard: Guard, note: Note) -> Outcome:
        """Ask the model for the summary, and record the plan with it."""
        assert self._model is not None
        try:
            await AWAITED.do(self._log, self._log.root.catch_up)
            summary = await summarized(self._model, request) if guard.is_intact else None
            return await self._finish(plan, guard, note, summary)
        except QuireError as fault:
            is_learnt = isinstance(fault, WindowExceeded) and self._learn_window(request)
            self._compaction.failed(str(fault), 0.0 if is_learnt else self._known.pause())
            return await self._finish(plan, guard, note, fault=str(fault))

    def _learn_window(self, request: Request) -> bool:
        """Read half as much from now on; false if a request is as short as it can be."""
        if request.room is None or self._model is None:
            return False
        counter = request.room.counter
        size = counter.total(sum(map(counter.count, request.prompt))) + request.size
        if self._tokens_read is not None and size > self._tokens_read:
            return False
        self._known.windows[self._model.name] = size // 2
        return True

    def _attempt(self, plan: Plan) -> Attempt:
        """What is known of a compaction when it begins."""
        model = None if plan.request is None or self._model is None else self._model.name
        return Attempt(plan.by, now(), plan.before, plan.after, plan.forced, model)

    async def _finish(
        self,
        plan: Plan,
        guard: Guard,
        note: Note | None = None,
        summary: str | None = None,
        fault: str | None = None,
    ) -> Outcome:
        """Record the edits of a plan on the state as it is now, the usage, and how the plan has ended."""
        used = [] if self._model is None else self._model.used()
        spent = sum((Spending().with_usage(one.content) for one in used), Spending())
        attempt = replace(
            self._attempt(plan) if note is None else _attempt_in(note),
            usage=spent.usage,
            cost=None if spent.unpriced or not spent.requests else spent.cost,
        )
        found = Outcome("discarded", fault or "something was forgotten meanwhile")

        def entries(state: State) -> Entries:
            nonlocal found
            kept, ended = list[Written](), attempt
            if fault is None and guard.is_intact:
                transcript = state.transcripts[MAIN].copy()
                before = transcript.view
                found = record(transcript, plan, text=summary, pool=state.pool.fork())
                ended = _measured(attempt, plan.request, before, transcript.view) if found else attempt
                kept = [Written(MAIN, edit) for edit in self._writer.ready(found.edits)]
                kept += [Written(POOL, one) for one in self._writer.ready(plan.notes)] if found else []
            fate: Fate = found.fate if note is None or fault is None else "failed"
            reason = "" if found else found.reason
            ended = replace(ended, fate=fate, reason=reason, edits=[edit.id for edit in found.edits])
            return [*kept, *(Written(USAGE, one) for one in used), *_ended(note, ended, state)]

        await AWAITED.do(self._log, lambda: self._log.commit(entries))
        self._compaction.is_forced |= bool(found) and plan.forced
        if fault is None:  # a fault was counted where it was caught
            self._count(found, has_summary=summary is not None)
        return found

    def _count(self, outcome: Outcome, *, has_summary: bool) -> None:
        metrics = self._known.metrics
        if outcome:
            metrics.completed += 1
            metrics.fault = None
            self._known.end_pause()
            return
        metrics.discarded += 1
        if has_summary:  # it was paid for, and is of no use
            self._known.pause()


def _measured(attempt: Attempt, request: Request | None, before: View, after: View) -> Attempt:
    """The attempt with the tokens of the views before and after, if a summary was estimated."""
    if request is None or request.room is None:
        return attempt
    counter = request.room.counter
    return replace(attempt, before=before.tokens(counter), after=after.tokens(counter))


def _begun(note: Note, state: State) -> Entries:
    """The entry that leases a plan, unless another process is at work; plans left behind are over."""
    if any(map(_is_leased, state.plans.values())):
        return []
    left = [entry for one in state.plans.values() for entry in _left(one, state)]
    return [*left, Written(PLANS, note)]


def _renewal(note: Note, state: State) -> Entries:
    """The entry that renews the lease of a plan, unless it is over."""
    return [Written(PLANS, _leased(note))] if note.id in state.plans else []


def _leased(note: Note) -> Note:
    """The note of a plan with a lease from now on."""
    return replace(note, content={**note.content, "lease": msgspec.to_builtins(lease(note.id))})


def _is_leased(note: Note) -> bool:
    """Whether the process that works on a plan is alive."""
    return is_live(msgspec.convert(note.content["lease"], Lease))


def _left(note: Note, state: State) -> Entries:
    """The entry that ends a plan that nobody works on any more."""
    return _ended(note, _abandoned(_attempt_in(note)), state)


def _attempt_in(note: Note) -> Attempt:
    """What a note of the stream of plans says."""
    return msgspec.convert(note.content, Attempt)


def _abandoned(attempt: Attempt) -> Attempt:
    return replace(attempt, fate="abandoned", reason="it was broken off, or its process ended")


def _ended(note: Note | None, attempt: Attempt, state: State) -> Entries:
    """The entry that says how a plan has ended, unless somebody took it over."""
    if note is not None and note.id not in state.plans:
        return []
    content = {**_content(replace(attempt, ended_at=now())), "of": "" if note is None else note.id}
    return [Written(PLANS, Note(content=content, description="plan"))]


def _content(attempt: Attempt) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(attempt)
    return found
