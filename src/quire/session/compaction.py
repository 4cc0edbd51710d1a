"""Compaction beside the conversation: a turn does not wait for it, and never sees half of it.

A plan is noted in the log before a model is asked, under a lease that is renewed, so that one process works on
it at a time and another takes it up after a crash. The model works on a snapshot; what it wrote is kept only
if what it is about is still shown as it was.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from quire.compactors import (
    TOO_LONG,
    Compactor,
    Outcome,
    Plan,
    Request,
    Room,
    checked_compactor,
    record,
)
from quire.context import DEFAULT_MODEL
from quire.errors import InvalidValue, Irreducible, ModelFailed, QuireError, StoreError, WindowExceeded
from quire.items import Hide, Note, Span, now
from quire.models import AnyModel, summarized
from quire.session.aio import AWAITED, Writer, run_on_loop
from quire.session.hooks import Compacted, Compacting, is_cancelled
from quire.session.log import Entries, Guard, Log
from quire.session.spending import Caps, Metered, PricesByName, check_priced
from quire.session.state import State, Written
from quire.session.steps import RENEWAL, is_abandoned, is_leased, lease
from quire.state import View
from quire.stores.streams import MAIN, PLANS, POOL, USAGE
from quire.tokens import Counter, counter_for, facts_for

logger = logging.getLogger("quire.session")

Close = Literal["wait", "hand over"]

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 600.0  # seconds
_LOOK = 0.05  # seconds between looks at a task of another event loop


class Metrics(msgspec.Struct):
    """What the compaction of a conversation did in this process.

    `hits` are turns whose history was small enough, `misses` those that had to be cut because no compaction
    was done in time.
    """

    hits: int = 0
    misses: int = 0
    started: int = 0
    completed: int = 0
    discarded: int = 0
    failed: int = 0
    pending: int = 0
    fault: str | None = None


class _Backoff:
    """Pauses, each twice as long as the one before it."""

    def __init__(self) -> None:
        self._until, self._next = 0.0, _FIRST_PAUSE

    @property
    def is_on(self) -> bool:
        return now() < self._until

    def begin(self) -> float:
        pause, self._next = self._next, min(2 * self._next, _LONGEST_PAUSE)
        self._until = now() + pause
        return pause

    def end(self) -> None:
        self._until, self._next = 0.0, _FIRST_PAUSE


class _Known:
    """What is known of the compaction of a conversation, for all its sessions in this process.

    `window` are the tokens that a model was found to read at once, by its name.
    """

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.backoff = _Backoff()
        self.writers: dict[str, _Backoff] = {}
        self.windows: dict[str, int] = {}


_known: "WeakKeyDictionary[Log, _Known]" = WeakKeyDictionary()


class Compaction:
    """Keeps the main transcript small, by a compactor and a model that writes for it."""

    def __init__(self, writer: Writer, caps: Caps | None, prices: PricesByName) -> None:
        self._writer, self._log = writer, writer.log
        self._caps, self._prices = caps, prices
        self._known = _known.setdefault(self._log.root, _Known())
        self._task: asyncio.Task[Outcome | None] | None = None
        self._work: _Work | None = None
        self.room: Room | None = None
        """What the last context left to the main transcript."""
        self.compactor: Compactor | None = None
        self.model: AnyModel | None = None

    @property
    def metrics(self) -> Metrics:
        """What was done in this process so far."""
        return self._known.metrics

    def use(self, compactor: Compactor, model: AnyModel | None = None) -> None:
        """Compact by this compactor from now on, and by a model that writes for it."""
        self.compactor = checked_compactor(compactor)
        self.model = self.checked_writer(model) if model is not None else self.model

    def checked_writer(self, model: AnyModel | None) -> AnyModel:
        """The model that writes summaries; `InvalidValue` if there is none, or a cap in USD is not held."""
        model = model or self.model
        if model is None:
            raise InvalidValue("a model is needed to write a summary")
        if self._caps is not None and self._caps.is_for_cost:
            check_priced(model.name, self._prices)
        return model

    def run(self, *, by: Compactor | None = None, room: Room | None = None) -> Outcome | None:
        """Compact now, also if there is room left; returns the outcome, or `None` if nothing was to be done.

        An outcome that was not kept says why, and counts as false. `by` is another compactor for this once,
        which needs no words. `room` is by default what the last context left.
        """
        return run_on_loop(self.run_now(by, room))

    async def run_now(self, by: Compactor | None = None, room: Room | None = None) -> Outcome | None:
        """The body of `run`."""
        compactor = self.compactor if by is None else checked_compactor(by)
        if compactor is None:
            raise InvalidValue("there is no compactor: give one to `session.compaction.use`")
        await AWAITED.do(self._log, self._log.root.catch_up)
        view, guard = self._shown()
        counter = counter_for(DEFAULT_MODEL)
        room = room or self.room or Room(view.tokens(counter), counter)
        self._backoff_of(self.model).end()
        return await self.make_room(view, guard, replace(room, early=True), compactor)

    async def consider(
        self, view: View, room: Room, *, was_cut: bool, guard: Guard | None = None, waits: bool = False
    ) -> None:
        """Begin to compact if that is due, beside the turn; with `waits`, wait for it.

        A compaction that ended with its event loop is waited for, too: else each turn that runs in a loop of
        its own would end the one it began.
        """
        self.room = room
        if self.compactor is None:
            return
        if was_cut:
            self.metrics.misses += 1
        else:
            self.metrics.hits += 1
        plans = self._plans()
        waits = waits or any(_is_broken_off(plan) for plan in plans)
        if not (self.is_running or self._known.backoff.is_on or any(map(is_leased, plans))):
            self._begin(view, guard or Guard(self._log), room, self.compactor, is_told=False)
        if waits:
            await self._wait(None)
        else:
            await asyncio.sleep(0)  # it has begun, and can tell if the loop ends with this turn

    async def make_room(
        self, view: View, guard: Guard, room: Room, by: Compactor | None = None
    ) -> Outcome | None:
        """Compact and wait for it, for a turn that does not fit otherwise."""
        compactor = by or self.compactor
        earlier: Outcome | None = None
        if compactor is None:
            return None
        if self.is_running:
            await self._wait(None)
            earlier = self._outcome()
            view, guard = self._shown()
        task = self._begin(view, guard, room, compactor, is_told=True)
        made = await task
        return earlier if earlier and not made else made

    @property
    def is_running(self) -> bool:
        """Whether a compaction is running in this process; one whose event loop has stopped is not."""
        return self._task is not None and not self._task.done() and self._task.get_loop().is_running()

    def give_up(self) -> None:
        """Keep nothing of what is running: what is not recorded by now will not be."""
        with self._log.lock:
            work, task, self._work, self._task = self._work, self._task, None, None
            if work is not None:
                work.is_given_up = True
        if task is not None and not task.done():
            with suppress(RuntimeError):  # its loop is closed
                task.get_loop().call_soon_threadsafe(task.cancel)

    async def close(self, how: Close = "wait", timeout: float | None = None) -> None:
        """Wait for what is running, or hand it over to whoever opens the conversation next."""
        if how == "wait":
            await self._wait(timeout)
        if self._task is not None and not self._task.done() and self._work is not None:
            self._work.is_handed_over = True
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
            await self._wait(None)
            await AWAITED.do(self._log, self._work.let_go)  # its loop may have stopped before

    async def _wait(self, timeout: float | None) -> None:
        """Wait until the task is done; it may be one of another event loop."""
        task, until = self._task, None if timeout is None else now() + timeout
        while task is not None and not task.done() and task.get_loop().is_running():
            if until is not None and now() >= until:
                return
            if task.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([task], timeout=None if until is None else max(until - now(), 0))
            else:
                await asyncio.sleep(_LOOK)

    def _outcome(self) -> Outcome | None:
        task = self._task
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()

    def _begin(
        self, view: View, guard: Guard, room: Room, compactor: Compactor, *, is_told: bool
    ) -> "asyncio.Task[Outcome | None]":
        """Begin to compact; with `is_told`, errors are raised to whoever waits."""
        work = _Work(self, compactor, self.model)
        if not guard.is_intact:
            view, guard = self._shown()
        shrinking = work.shrink(self._redacted(view), guard, room)
        task = asyncio.get_running_loop().create_task(shrinking if is_told else self._quietly(shrinking))
        self._work, self._task = work, task
        return task

    async def _quietly(self, shrinking: "asyncio.Future[Outcome | None] | object") -> Outcome | None:
        try:
            return await shrinking  # type: ignore[misc,no-any-return]
        except Exception as fault:
            self._failed(type(fault).__name__, self._known.backoff.begin())
            return None

    def _failed(self, fault: str, pause: float) -> None:
        self.metrics.failed += 1
        self.metrics.fault = fault
        logger.warning("the compaction of %s failed, next try in %.0f s: %s", self._log.place, pause, fault)

    def _shown(self) -> tuple[View, Guard]:
        guard = Guard(self._log)
        return self._redacted(self._log.look(lambda state: state.transcripts[MAIN].view)), guard

    def _redacted(self, view: View) -> View:
        return view if self._writer.redaction is None else self._writer.redaction.view(view)

    def _backoff_of(self, model: AnyModel | None) -> _Backoff:
        return self._known.writers.setdefault("" if model is None else model.name, _Backoff())

    def _plans(self, state: State | None = None) -> list[Note]:
        plans = (state or self._log.state).plans.values()
        return [plan for plan in plans if plan.content["transcript"] == MAIN]


class AioCompaction:
    """The verbs of a compaction to be awaited."""

    def __init__(self, compaction: Compaction) -> None:
        self._compaction = compaction

    async def run(self, *, by: Compactor | None = None, room: Room | None = None) -> Outcome | None:
        """`Compaction.run`."""
        return await self._compaction.run_now(by, room)

    async def close(self, how: Close = "wait", timeout: float | None = None) -> None:
        """`Compaction.close`."""
        await self._compaction.close(how, timeout)


class _Work:
    """One compaction: plans are made and carried out, one after the other, until it fits."""

    def __init__(self, compaction: Compaction, compactor: Compactor, model: AnyModel | None) -> None:
        self._compaction, self._compactor = compaction, compactor
        self._log, self._writer, self._known = compaction._log, compaction._writer, compaction._known
        self._model = None if model is None else Metered(model, compaction._prices)
        self._backoff = compaction._backoff_of(model)
        self._plan_note: Note | None = None  # the plan that is noted as running here
        self.is_given_up = False
        self.is_handed_over = False

    @property
    def _reads(self) -> int | None:
        """Tokens that the model reads at once, if that is known; 0 while nobody writes."""
        if self._model is None or self._backoff.is_on:
            return 0
        own = getattr(self._model.model, "context", None)
        window = own if isinstance(own, int) else facts_for(self._model.name).window
        return self._known.windows.get(self._model.name, window)

    async def shrink(self, view: View, guard: Guard, room: Room) -> Outcome | None:
        """Plan and carry out, in several steps if there is more to read than the model reads at once.

        If words fail, it is tried once more without. Steps after the first are done only as far as needed.
        """
        outcome: Outcome | None = None
        try:
            while True:
                reads = self._reads
                plan = await self._planned(view, replace(room, reads=reads))
                if not isinstance(plan, Plan):
                    return plan if outcome is None else outcome
                latest = await self._carry_out(plan, guard)
                outcome = latest if latest or not outcome else outcome
                is_part = plan.request is not None and plan.request.is_part
                if not (is_part if latest else self._reads != reads):
                    return outcome
                view, guard = self._compaction._shown()
                room = replace(room, early=False)
        except asyncio.CancelledError as fault:
            if is_cancelled():
                raise
            raise ModelFailed("the compaction was cancelled from within") from fault

    async def _planned(self, view: View, room: Room) -> Plan | Outcome | None:
        """The plan, or why there is none. Planning may take long, so it runs in a thread."""
        try:
            return await AWAITED.do(self._log, lambda: self._plan(view, room))
        except asyncio.CancelledError:
            if is_cancelled() and not (self.is_handed_over or self.is_given_up):
                await AWAITED.do(self._log, lambda: self._note_broken_off(view, room))
            raise

    def _plan(self, view: View, room: Room) -> Plan | Outcome | None:
        metrics = self._known.metrics
        try:
            plan = self._compactor.plan(view, room)
        except Irreducible as fault:
            if metrics.fault != str(fault):  # once, and not in every turn
                logger.warning("nothing of %s can be compacted: %s", self._log.place, fault)
            metrics.fault = str(fault)
            self._drop_abandoned()
            return Outcome("discarded", str(fault))
        if plan is None:
            self._drop_abandoned()
        return plan

    async def _carry_out(self, plan: Plan, guard: Guard) -> Outcome:
        metrics, place = self._known.metrics, self._log.place
        if plan.request is not None and self._reads == 0:
            return Outcome("discarded", "there is nobody who writes the words")
        try:
            await self._writer.hooks.fire_and_wait(Compacting(place, MAIN, plan))
        except Exception as fault:
            metrics.discarded += 1
            metrics.fault = type(fault).__name__
            return Outcome("discarded", f"a hook refused it: {type(fault).__name__}")
        if plan.request is None:
            return await self._recorded(plan, None, guard)
        try:
            if not await AWAITED.do(self._log, lambda: self._lease(plan)):
                return Outcome("discarded", "another process is at work on it")
            metrics.started += 1
            return await self._written(plan, plan.request, guard)
        except asyncio.CancelledError:
            with suppress(StoreError):  # the lease runs out by itself
                await AWAITED.do(self._log, self.let_go)
            raise

    async def _written(self, plan: Plan, request: Request, guard: Guard) -> Outcome:
        """Have the words written, and record the plan with them."""
        assert self._model is not None
        self._known.metrics.pending = 1
        renewing = asyncio.ensure_future(self._renew())
        try:
            await AWAITED.do(self._log, self._log.root.catch_up)
            words = await summarized(self._model, request) if guard.is_intact else None
            return await self._recorded(plan, words, guard)
        except QuireError as fault:
            is_learnt = isinstance(fault, WindowExceeded) and self._learn_window(request)
            self._compaction._failed(str(fault), 0.0 if is_learnt else self._backoff.begin())
            failed = Outcome("discarded", str(fault))
            return await self._ended(plan, lambda _: ([], failed))
        finally:
            renewing.cancel()
            self._known.metrics.pending = 0

    async def _recorded(self, plan: Plan, words: str | None, guard: Guard) -> Outcome:
        """Record a plan on the state as it is now, or not at all."""
        redact = (lambda item: item) if self._writer.redaction is None else self._writer.redaction.item

        def recorded(state: State) -> tuple[Entries, Outcome]:
            if self.is_given_up:
                return [], Outcome("discarded", "it was given up")
            if not guard.is_intact:
                return [], Outcome("discarded", "something was forgotten meanwhile")
            outcome = record(state.transcripts[MAIN].copy(), plan, text=words, pool=state.pool.fork())
            entries = [Written(MAIN, redact(edit)) for edit in outcome.edits]
            notes = [Written(POOL, redact(note)) for note in plan.notes] if outcome else []
            return [*entries, *notes], outcome

        outcome = await self._ended(plan, recorded)
        if outcome:
            self._known.metrics.completed += 1
            self._known.metrics.fault = None
            self._known.backoff.end()
            if words is not None:
                self._backoff.end()
        else:
            self._known.metrics.discarded += 1
            if outcome.reason == TOO_LONG:  # the model may well write the same again
                self._backoff.begin()
            elif words is not None and not self.is_given_up:  # paid for, and of no use
                self._known.backoff.begin()
        return outcome

    async def _ended(self, plan: Plan, end: Callable[[State], tuple[Entries, Outcome]]) -> Outcome:
        """Write what came of a plan, what it used, and that it is over; then tell hooks."""
        used = [] if self._model is None else [Written(USAGE, note) for note in self._model.used()]
        outcome = Outcome("discarded", "")

        def entries(state: State) -> Entries:
            nonlocal outcome
            written, outcome = end(state)
            return [*written, *used, *_over(state, self._plan_note)]

        def commit() -> None:
            with self._log.lock:  # the lease may be renewed meanwhile
                self._log.commit(entries)
                self._plan_note = None

        await AWAITED.do(self._log, commit)
        await self._writer.hooks.fire_and_wait(Compacted(self._log.place, MAIN, plan, outcome))
        return outcome

    def _learn_window(self, request: Request) -> bool:
        """Read half as much from now on; false if a request is as short as it can be."""
        if request.room is None or self._model is None:
            return False
        counter: Counter = request.room.counter
        told = counter.total(sum(map(counter.count, request.prompt))) + request.size
        if self._reads is not None and told > self._reads:
            return False
        self._known.windows[self._model.name] = told // 2
        return True

    # The lease on a plan

    def _lease(self, plan: Plan) -> bool:
        """Note that a plan is running here, unless another process is at work; plans left behind are over."""
        note = self._noted(plan)

        def entries(state: State) -> Entries:
            plans = self._compaction._plans(state)
            if any(map(is_leased, plans)):
                return []
            return [*(entry for one in plans for entry in _over(state, one)), Written(PLANS, note)]

        self._plan_note = note if self._log.commit(entries) else None
        return self._plan_note is not None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL)
            await AWAITED.do(self._log, lambda: self._replace(lease()))

    def let_go(self) -> None:
        """Leave the plan to others: now, or if it was broken off, to the next turn, which waits for it."""
        self._replace({"until": 0.0, "process": None, "is_broken_off": not self.is_handed_over})
        self._plan_note = None

    def _replace(self, content: dict[str, object]) -> None:
        with self._log.lock:
            note = self._plan_note
            if note is not None:
                other = Note(content={**note.content, **content}, description="plan")
                if self._log.commit(lambda state: _replaced(state, note, other)):
                    self._plan_note = other

    def _note_broken_off(self, view: View, room: Room) -> None:
        """Note that there was no time for a plan that is due."""
        with suppress(Irreducible):
            plan = self._compactor.plan(view, room)
            if plan is not None:
                left = {"until": 0.0, "process": None, "is_broken_off": True}
                note = Note(content={**self._noted(plan).content, **left}, description="plan")
                self._log.commit(lambda s: [] if self._compaction._plans(s) else [Written(PLANS, note)])

    def _drop_abandoned(self) -> None:
        """End plans that others left behind: nothing is due any more."""
        left = [plan for plan in self._compaction._plans() if not is_leased(plan)]
        if left:
            self._log.commit(lambda state: [entry for one in left for entry in _over(state, one)])

    def _noted(self, plan: Plan) -> Note:
        content = {"by": plan.by, "transcript": MAIN, "version": self._log.state.version, **lease()}
        return Note(content=content, description="plan")


def _over(state: State, note: Note | None) -> Entries:
    """The entry that ends a plan, unless somebody took it over."""
    is_open = note is not None and note.id in state.plans
    return [Written(PLANS, Hide((Span(note.id, note.id),)))] if note is not None and is_open else []


def _replaced(state: State, note: Note, other: Note) -> Entries:
    over = _over(state, note)
    return [*over, Written(PLANS, other)] if over else []


def _is_broken_off(plan: Note) -> bool:
    """Whether a plan was given up though nobody wanted that: its loop or its process ended."""
    return bool(plan.content.get("is_broken_off")) or is_abandoned(plan)
