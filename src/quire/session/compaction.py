"""Background compaction: a turn does not wait for it, and never sees a part of it.

A plan that needs a summary is noted in the log, under a lease, before a model is asked: so only one process
works on it at a time. The model works on a snapshot. Its summary is kept only if the summarised items are
still shown as they were.
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
from quire.session.hooks import Compacted, Compacting
from quire.session.leases import is_live, new_lease, renewed
from quire.session.log import Entries, Guard, Log, context_without_claims
from quire.session.metering import Metered
from quire.session.spending import Caps, PricesByName, Spending, check_priced
from quire.session.state import State, Written, ended_plan_id
from quire.state import View
from quire.stores.streams import MAIN, PLANS, POOL, USAGE
from quire.tokens import Counter, Usage, counter_for, facts_for

logger = logging.getLogger("quire.session")

_Task = asyncio.Task[Outcome | None]

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 600.0
_POLL_SECONDS = 0.05  # to wait for a task of another event loop


class Metrics(msgspec.Struct):
    """Counts of the compactions of a conversation in this process, and the last fault."""

    started: int = 0
    completed: int = 0
    discarded: int = 0
    failed: int = 0
    pending: int = 0
    fault: str | None = None


Fate = Literal["running", "kept", "discarded", "failed", "abandoned"]


@prepared
class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One compaction: its plan, its outcome, and its cost.

    `before` and `after` are the visible tokens before and after: as planned, or as measured if it was kept.
    `model` is the model that was asked for a summary, `usage` its tokens, and `cost` their price in USD if it
    is known. `edits` are the ids of the recorded edits. `reason` says why nothing was recorded; it never
    quotes the conversation. `regrets` are the items that had to be shown again, and why.
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


class _Shared:
    """What all sessions of a conversation in this process share about its compaction."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.windows: dict[str, int] = {}  # by model, tokens that it can read, learned from errors
        self._paused_until, self._next_pause = 0.0, _FIRST_PAUSE_SECONDS

    @property
    def is_pausing(self) -> bool:
        """Whether no model is asked now, because the last one failed."""
        return now() < self._paused_until

    def pause(self) -> float:
        """Begin a pause, twice as long as the one before, and return its seconds."""
        pause, self._next_pause = self._next_pause, min(2 * self._next_pause, _LONGEST_PAUSE_SECONDS)
        self._paused_until = now() + pause
        return pause

    def end_pause(self) -> None:
        """End the pause; the next one is short again."""
        self._paused_until, self._next_pause = 0.0, _FIRST_PAUSE_SECONDS


_shared: "WeakKeyDictionary[Log, _Shared]" = WeakKeyDictionary()


class AioCompaction:
    """The verbs of compaction, as coroutines."""

    def __init__(self, compactions: "Compactions") -> None:
        self._compactions = compactions

    async def run(self, *, by: Compactor | None = None, room: Room | None = None) -> Outcome | None:
        """Compact now, even if there is room left. Returns the outcome, or `None` if there was no plan.

        An outcome that was not kept gives the reason, and is false in a condition. `by` replaces the
        compactor for this one run. `room` is what the transcript may take; by default, what it could take in
        the last context. Unlike automatic compaction, this also compacts items that an undo has shown again.
        """
        compactions = self._compactions
        compactions.writer.check_open()
        compactor = compactions.compactor if by is None else checked_compactor(by)
        if compactor is None:
            raise InvalidValue("there is no compactor: give one to `session.compaction.use`")
        await AWAITED.do(compactions.log, compactions.log.root.catch_up)
        view, guard = compactions.latest_view()
        counter = counter_for(DEFAULT_MODEL)
        room = replace(room or compactions.room or Room(view.tokens(counter), counter), early=True)
        compactions.shared.end_pause()
        return await compactions.make_room(view, guard, room, compactor, is_manual=True)

    async def close(self, timeout: float | None = None) -> None:
        """Wait for a running compaction; after the timeout it is left to the next session."""
        await self._compactions.close(timeout)


class Compaction:
    """Keeps the main transcript small with a compactor, and a model that writes summaries."""

    run = plain(AioCompaction.run, BLOCKING)
    close = plain(AioCompaction.close, BLOCKING)

    def __init__(self, compactions: "Compactions") -> None:
        self._compactions = compactions

    def _verbs(self, io: IO) -> AioCompaction:
        return AioCompaction(self._compactions)

    def use(self, compactor: Compactor, model: AnyModel | str | None = None) -> None:
        """Use a compactor from now on, and a model, or the name of one, to write summaries."""
        self._compactions.compactor = checked_compactor(compactor)
        if model is not None:
            self._compactions.model = self._compactions.checked_writer(model)

    @property
    def metrics(self) -> Metrics:
        """Counts of the compactions in this process so far."""
        return self._compactions.shared.metrics

    def past(self) -> list[Attempt]:
        """The compactions of this conversation by all processes, oldest first, a running one included."""
        attempts: dict[str, Attempt] = {}
        for note in self._compactions.log.read_stream(PLANS):
            if isinstance(note, Note):
                attempt = _attempt_in(note)
                is_abandoned = attempt.fate == "running" and not _has_live_lease(note)
                attempts[ended_plan_id(note) or note.id] = _abandoned(attempt) if is_abandoned else attempt
        view, _ = self._compactions.latest_view()
        regrets = regrets_in(view)
        return [
            replace(attempt, regrets=[regret for regret in regrets if regret.summary in attempt.edits])
            for attempt in attempts.values()
        ]


class Compactions:
    """Compacts the main transcript of a session, one plan at a time."""

    def __init__(self, writer: Writer, caps: Caps | None, prices: PricesByName) -> None:
        self.writer, self.log = writer, writer.log
        self.prices, self._caps = prices, caps
        self.shared = _shared.setdefault(self.log.root, _Shared())
        self._task: _Task | None = None
        self._run: _Run | None = None
        self.room: Room | None = None
        """The room for the main transcript in the last context."""
        self.is_forced = False
        """Whether a forced plan was recorded since the last receipt."""
        self.compactor: Compactor | None = None
        self.model: AnyModel | None = None
        self._checked_revision = 0
        """The revision up to which results were checked for signs that summarised items are needed again."""

    def checked_writer(self, model: AnyModel | str | None) -> AnyModel:
        """The model that writes summaries; `InvalidValue` if there is none, or it needs a price for a cap."""
        chosen = self.model if model is None else model
        if chosen is None:
            raise InvalidValue("a model is needed to write a summary")
        writer = model_of(chosen, "the model of a session")
        if self._caps is not None and self._caps.cost is not None:
            check_priced(writer.name, self.prices)
        return writer

    async def consider(
        self, view: View, room: Room, *, guard: Guard | None = None, waits: bool = False
    ) -> None:
        """Let the compactor plan in the background; with `waits`, wait until it is done.

        Nothing is done if the transcript has newer edits than `view`, as after a compaction that just ended.
        """
        if self.compactor is None or self.writer.is_closed:
            return
        self.room = room
        latest, _ = self.latest_view()
        is_outdated = bool(latest.log.positions("edits", view.end, latest.end))
        if not (is_outdated or self.is_running or self.shared.is_pausing or self._is_leased):
            self._begin(view, guard or Guard(self.log), room, self.compactor, raises=False)
        if waits:
            await self._wait(None)

    async def show_again(self, io: IO, counter: Counter, tokens: int) -> None:
        """Show summarised items again, up to `tokens`, if new results show that they are needed."""
        view, _ = self.latest_view()
        since = max(
            (view.position(summary.id) for summary in view.summaries() if summary.spans), default=view.end
        )
        since, self._checked_revision = max(since, self._checked_revision), view.end
        has_results = any(isinstance(item, ToolResult) for item in view.log.items(since, view.end))
        if self.writer.is_closed or not has_results:
            return

        def entries(state: State) -> Entries:
            edits = shown_again(state.transcripts[MAIN].view, since, counter, tokens)
            return [Written(MAIN, edit) for edit in self.writer.ready(edits)]

        await io.do(self.log, lambda: self.log.commit(entries))

    async def make_room(
        self, view: View, guard: Guard, room: Room, by: Compactor, *, is_manual: bool = False
    ) -> Outcome | None:
        """Compact, and wait for the outcome: for a context that does not fit otherwise, or the verb `run`."""
        while self.is_running:
            await self._wait(None)
            view, guard = self.latest_view()
        return await self._begin(view, guard, room, by, raises=True, is_manual=is_manual)

    def forced_advice(self) -> list[str]:
        """The advice for a receipt if a forced plan was recorded since the last receipt."""
        is_forced, self.is_forced = self.is_forced, False
        return [f"the history was compacted: {FORCED_REASON}"] if is_forced else []

    async def is_writing(self) -> bool:
        """Whether a model writes a summary now, for any process. Waits for planning that goes on here."""
        run, task = self._run, self._task
        if run is None or task is None or task.get_loop() is not asyncio.get_running_loop():
            return self._is_leased
        await run.planned.wait()
        return self._is_leased or (run.needs_model and not task.done())

    @property
    def _is_leased(self) -> bool:
        """Whether a process works on a plan."""
        return any(map(_has_live_lease, self.log.state.plans.values()))

    @property
    def is_running(self) -> bool:
        """Whether a compaction is running in this process; one whose event loop has stopped is not."""
        return self._task is not None and not self._task.done() and self._task.get_loop().is_running()

    def give_up(self) -> None:
        """Cancel the running compaction, without waiting for it."""
        self._cancel()
        self._task = None

    async def close(self, timeout: float | None = None) -> None:
        """Wait for a running compaction; after the timeout, cancel it."""
        await self._wait(timeout)
        self._cancel()
        await self._wait(None)

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            with suppress(RuntimeError):  # its loop is closed
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def _wait(self, timeout: float | None) -> None:
        """Wait until the task is done; it may run on another event loop."""
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
                await asyncio.sleep(_POLL_SECONDS)

    def _begin(
        self,
        view: View,
        guard: Guard,
        room: Room,
        compactor: Compactor,
        *,
        raises: bool,
        is_manual: bool = False,
    ) -> _Task:
        """Begin to compact. Errors are logged, or with `raises` raised to a caller that awaits the task."""
        make_plan = compactor.plan if is_manual else partial(plan_around_undone, compactor)
        self._run = run = _Run(self, make_plan)
        shrinking = run.shrink(view, guard, room)
        self._task = asyncio.get_running_loop().create_task(
            shrinking if raises else self._quiet(shrinking), context=context_without_claims()
        )
        self._task.add_done_callback(lambda _: run.planned.set())
        return self._task

    async def _quiet(self, shrinking: Coroutine[Any, Any, Outcome | None]) -> Outcome | None:
        try:
            return await shrinking
        except Exception as fault:
            self.note_failure(type(fault).__name__, self.shared.pause())
            return None

    def note_failure(self, fault: str, pause: float) -> None:
        """Count and log a failure."""
        self.shared.metrics.failed += 1
        self.shared.metrics.fault = fault
        logger.warning(
            "the compaction of %s failed, next try in %.0f s: %s", self.log.place.digest, pause, fault
        )

    def latest_view(self) -> tuple[View, Guard]:
        """The view of the main transcript, and a guard from now on."""
        guard = Guard(self.log)
        return self.log.read_state(lambda state: state.transcripts[MAIN].view), guard


class _Run:
    """One compaction: makes plans and carries them out, one after the other, until the view fits."""

    def __init__(self, compactions: Compactions, make_plan: Callable[[View, Room], Plan | None]) -> None:
        self._compactions, self._make_plan = compactions, make_plan
        self._log, self._writer, self._shared = compactions.log, compactions.writer, compactions.shared
        model = compactions.model
        self._model = None if model is None else Metered(model, compactions.prices, compactions.writer)
        self.planned, self.needs_model = asyncio.Event(), False

    async def shrink(self, view: View, guard: Guard, room: Room) -> Outcome | None:
        """Plan and carry out, plan by plan if the model cannot read everything to be summarised at once.

        A failure of the model lowers the number of tokens that it is given (to 0 during a pause). The next
        plan is made for that number.
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
            if latest or not outcome:  # an outcome that was kept stays the result
                outcome = latest
            has_more = latest and plan.request is not None and plan.request.is_part
            can_try_otherwise = not latest and self._tokens_read != reads
            if not (has_more or can_try_otherwise):
                return outcome
            view, guard = self._compactions.latest_view()

    @property
    def _tokens_read(self) -> int | None:
        """How many tokens the model can read, if that is known; 0 if no model can be asked now."""
        if self._model is None or not self._can_write:
            return 0
        stated = getattr(self._model.model, "context", None)
        window = stated if isinstance(stated, int) else facts_for(self._model.name).window
        return self._shared.windows.get(self._model.name, window)

    @property
    def _can_write(self) -> bool:
        """Whether there is a model, and it does not pause after a failure."""
        return self._model is not None and not self._shared.is_pausing

    def _plan(self, view: View, room: Room) -> Plan | Outcome | None:
        """A plan, or an outcome that says why there is none. It may take long, so it runs in a thread."""
        metrics = self._shared.metrics
        try:
            return self._make_plan(view, room)
        except Irreducible as fault:
            if metrics.fault != str(fault):  # log it once, and not in every turn
                logger.warning("nothing of %s can be compacted: %s", self._log.place.digest, fault)
            metrics.fault = str(fault)
            return Outcome("discarded", str(fault))

    async def _carry_out(self, plan: Plan, guard: Guard) -> Outcome:
        metrics = self._shared.metrics
        if plan.request is not None and not self._can_write:
            return Outcome("discarded", "no model can write the summary now")
        async with AsyncExitStack() as stack:
            try:
                compacting = Compacting(self._log.place, MAIN, plan)
                fire_after = await stack.enter_async_context(self._writer.hooks.around(compacting))
            except Exception as fault:
                metrics.discarded += 1
                metrics.fault = type(fault).__name__
                return await self._finish(plan, guard, fault=f"a hook refused it: {type(fault).__name__}")
            outcome = await self._record(plan, guard)
            await fire_after(Compacted(self._log.place, MAIN, plan, outcome))
            return outcome

    async def _record(self, plan: Plan, guard: Guard) -> Outcome:
        """Record the edits of a plan, and the summary that it requests."""
        metrics = self._shared.metrics
        if plan.request is None:
            return await self._finish(plan, guard)
        note = _leased(Note(content=_content(self._attempt(plan)), description="plan"))
        if not await AWAITED.do(self._log, lambda: self._log.commit(partial(_claim, note))):
            return Outcome("discarded", "another process works on it")
        metrics.started += 1
        metrics.pending = 1
        try:
            async with renewed(self._log, partial(_renewal, note)):
                return await self._summarize(plan, plan.request, guard, note)
        except asyncio.CancelledError:
            await AWAITED.do(self._log, lambda: self._log.commit(partial(_abandon_entries, note)))
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
            is_learned = isinstance(fault, WindowExceeded) and self._learn_window(request)
            self._compactions.note_failure(str(fault), 0.0 if is_learned else self._shared.pause())
            return await self._finish(plan, guard, note, fault=str(fault))

    def _learn_window(self, request: Request) -> bool:
        """Halve the tokens that the model is given; false if the request cannot be made any shorter."""
        if request.room is None or self._model is None:
            return False
        counter = request.room.counter
        size = counter.total(sum(map(counter.count, request.prompt))) + request.size
        if self._tokens_read is not None and size > self._tokens_read:
            return False
        self._shared.windows[self._model.name] = size // 2
        return True

    def _attempt(self, plan: Plan) -> Attempt:
        """The attempt of a plan at its beginning."""
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
        """Record the edits of a plan on the current state, the usage, and the outcome."""
        used = [] if self._model is None else self._model.take_usage()
        spent = sum((Spending().with_usage(note.content) for note in used), Spending())
        attempt = replace(
            self._attempt(plan) if note is None else _attempt_in(note),
            usage=spent.usage,
            cost=None if spent.unpriced or not spent.requests else spent.cost,
        )
        outcome = Outcome("discarded", fault or "something was forgotten meanwhile")

        def entries(state: State) -> Entries:
            nonlocal outcome
            edits, ended = list[Written](), attempt
            if fault is None and guard.is_intact:
                transcript = state.transcripts[MAIN].copy()
                before = transcript.view
                outcome = record(transcript, plan, text=summary, pool=state.pool.fork())
                edits = [Written(MAIN, edit) for edit in self._writer.ready(outcome.edits)]
                if outcome:
                    ended = _measured(attempt, plan.request, before, transcript.view)
                    edits += [Written(POOL, kept_note) for kept_note in self._writer.ready(plan.notes)]
            fate: Fate = outcome.fate if note is None or fault is None else "failed"
            reason = "" if outcome else outcome.reason
            ended = replace(ended, fate=fate, reason=reason, edits=[edit.id for edit in outcome.edits])
            return [*edits, *(Written(USAGE, usage) for usage in used), *_end_entries(note, ended, state)]

        await AWAITED.do(self._log, lambda: self._log.commit(entries))
        self._compactions.is_forced |= bool(outcome) and plan.forced
        if fault is None:  # a fault was counted where it was caught
            self._count(outcome, has_summary=summary is not None)
        return outcome

    def _count(self, outcome: Outcome, *, has_summary: bool) -> None:
        metrics = self._shared.metrics
        if outcome:
            metrics.completed += 1
            metrics.fault = None
            self._shared.end_pause()
            return
        metrics.discarded += 1
        if has_summary:  # do not pay again at once for a summary that cannot be used
            self._shared.pause()


def _measured(attempt: Attempt, request: Request | None, before: View, after: View) -> Attempt:
    """The attempt with measured tokens, if its plan had to estimate the size of a summary."""
    if request is None or request.room is None:
        return attempt
    counter = request.room.counter
    return replace(attempt, before=before.tokens(counter), after=after.tokens(counter))


def _claim(note: Note, state: State) -> Entries:
    """The entries that lease a plan and end abandoned plans; none if another process works on a plan."""
    if any(map(_has_live_lease, state.plans.values())):
        return []
    ends = [entry for abandoned in state.plans.values() for entry in _abandon_entries(abandoned, state)]
    return [*ends, Written(PLANS, note)]


def _renewal(note: Note, state: State) -> Entries:
    """The entry that renews the lease of a plan, unless the plan has ended."""
    return [Written(PLANS, _leased(note))] if note.id in state.plans else []


def _leased(note: Note) -> Note:
    """The note of a plan with a new lease."""
    return replace(note, content={**note.content, "lease": msgspec.to_builtins(new_lease(note.id))})


def _has_live_lease(note: Note) -> bool:
    """Whether the process that works on a plan is alive."""
    return is_live(msgspec.convert(note.content["lease"], Lease))


def _abandon_entries(note: Note, state: State) -> Entries:
    """The entry that ends a plan that nobody works on any more."""
    return _end_entries(note, _abandoned(_attempt_in(note)), state)


def _attempt_in(note: Note) -> Attempt:
    """Decode a note of the stream `PLANS`."""
    return msgspec.convert(note.content, Attempt)


def _abandoned(attempt: Attempt) -> Attempt:
    return replace(attempt, fate="abandoned", reason="it was broken off, or its process ended")


def _end_entries(note: Note | None, attempt: Attempt, state: State) -> Entries:
    """The entry that ends a plan, unless another process has ended it."""
    if note is not None and note.id not in state.plans:
        return []
    content = {**_content(replace(attempt, ended_at=now())), "of": "" if note is None else note.id}
    return [Written(PLANS, Note(content=content, description="plan"))]


def _content(attempt: Attempt) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.to_builtins(attempt)
    return content
