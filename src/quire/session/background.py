"""Compaction beside the conversation: a turn never waits for it, and never sees half of it.

A plan is noted in the log before a model is asked, so that a process that starts after a crash finds it. The
model works on a snapshot; what it wrote is kept only if what it is about is still shown as it was. One plan
is under way at a time for each transcript, also among several processes.
"""

import asyncio
import logging
from functools import partial
from typing import Literal

from msgspec.structs import replace

from quire.compactors import Compactor, Outcome, Plan, Request, Room, record
from quire.compactors.recording import TOO_LONG
from quire.errors import Irreducible, QuireError
from quire.models import AnyModel
from quire.session.events import Compacted, Compacting
from quire.session.hooks import Hooks
from quire.session.leases import RENEWAL
from quire.session.ledger import Ledger
from quire.session.redacting import Redaction
from quire.session.resting import Metrics, Rests
from quire.session.scribe import Scribe
from quire.session.spending import NO_PRICES, OwnPrices
from quire.session.underway import Underway
from quire.session.workspace import Workspace, Written
from quire.session.writing import redacted
from quire.state import View
from quire.stores.streams import MAIN, POOL

__all__ = ["Background", "Metrics"]

logger = logging.getLogger("quire.session")


class Background:
    """Keeps one transcript of a conversation small, by a compactor and a model that writes for it."""

    def __init__(
        self,
        ledger: Ledger,
        hooks: Hooks,
        compactor: Compactor,
        model: AnyModel | None,
        redaction: Redaction | None = None,
        prices: OwnPrices = NO_PRICES,
        name: str = MAIN,
    ) -> None:
        self._ledger = ledger
        self._hooks = hooks
        self.compactor = compactor
        self._rests = Rests()  # of whoever writes
        self._scribe = Scribe(model, self._rests, prices)
        self._redaction = redaction
        self._name = name
        self._underway = Underway(ledger, name)
        self._task: asyncio.Task[Outcome | None] | None = None
        self._forgotten = 0  # how much had been forgotten when a plan was made
        self._is_handing_over = False
        self._pauses = Rests()  # of all of it, after what nobody foresaw
        self.metrics = Metrics()

    @property
    def model(self) -> AnyModel | None:
        """The model that writes."""
        return self._scribe.model

    async def consider_or_wait(self, view: View, room: Room, *, was_cut: bool, waits: bool = False) -> None:
        """`consider`, and wait for it where there is no beside: as is said, or as it was broken off before.

        Who runs each turn in a loop of its own ends the loop, and what is under way in it, with the turn.
        """
        is_due_now = waits or self._underway.is_broken_off
        self.consider(view, room, was_cut=was_cut)
        if is_due_now and self._task is not None:
            await asyncio.wait([self._task])
        else:
            await asyncio.sleep(0)  # it has begun, and can tell if the loop ends with this turn

    def consider(self, view: View, room: Room, *, was_cut: bool) -> None:
        """Look at what a turn showed, and begin to make it smaller where that is due, beside the turn."""
        if was_cut:
            self.metrics.misses += 1
        else:
            self.metrics.hits += 1
        if not (self._is_at_work() or self._pauses.is_resting or self._underway.is_others):
            self._begin(view, room, is_told=False)

    async def work(self, view: View, room: Room) -> Outcome | None:
        """Make it smaller now, whoever rests; what came of it, and none where nothing was to be done."""
        self._rests.end()
        return await self.make_room(view, room)

    async def make_room(self, view: View, room: Room) -> Outcome | None:
        """Make it smaller and wait for it, for a turn that cannot go on without; what came of it."""
        earlier: Outcome | None = None
        while self._is_at_work() and self._task is not None:
            done, _ = await asyncio.wait([self._task])
            earlier = next((task.result() for task in done if not task.cancelled()), None) or earlier
            view = self._shown()
        made = await self._begin(view, room, is_told=True)
        return earlier if earlier and not made else made

    async def close(self, how: Literal["wait", "hand over"] = "wait", timeout: float | None = None) -> None:
        """Wait for what is under way, or leave it to whoever opens the conversation next.

        With a `timeout` in seconds, what takes longer is handed over.
        """
        task = self._task
        if task is None or task.done():
            return
        if how == "wait":
            done, _ = await asyncio.wait([task], timeout=timeout)
            if done:
                return
        self._is_handing_over = True
        task.cancel()
        await asyncio.wait([task])

    def _is_at_work(self) -> bool:
        task = self._task
        return task is not None and not task.done() and not task.get_loop().is_closed()

    def _begin(self, view: View, room: Room, *, is_told: bool) -> "asyncio.Task[Outcome | None]":
        """Begin to make it smaller; with `is_told` whoever waits hears of what goes wrong."""
        self._forgotten, self._is_handing_over = self._ledger.workspace.forgotten, False
        view = view if self._redaction is None else self._redaction.view(view)
        shrinking = self._shrink(view, room) if is_told else self._work(view, room)
        self._task = asyncio.get_running_loop().create_task(shrinking)
        return self._task

    async def _work(self, view: View, room: Room) -> Outcome | None:
        """Make it smaller; whatever goes wrong is counted and told, and no turn hears of it."""
        try:
            return await self._shrink(view, room)
        except Exception as fault:
            self._count_failure(type(fault).__name__, self._pauses.begin())
            return None

    async def _shrink(self, view: View, room: Room) -> Outcome | None:
        """Plan, and carry it out; what came of it.

        In several steps, where there is more to tell than can be read at once, and once more without words,
        where these fail. What goes beyond the first step is done only as far as it is due.
        """
        outcome: Outcome | None = None
        while True:
            reads = self._scribe.reads
            plan = await self._planned(view, replace(room, reads=reads))
            if not isinstance(plan, Plan):
                return plan if outcome is None else outcome
            latest = await self._carried_out(plan)
            outcome = latest if latest or not outcome else outcome
            is_part = plan.request is not None and plan.request.is_part
            if not (is_part if latest else self._scribe.reads != reads):
                return outcome
            self._forgotten = self._ledger.workspace.forgotten
            view, room = self._shown(), replace(room, early=False)

    def _shown(self) -> View:
        with self._ledger.lock:
            view = self._ledger.workspace.transcripts[self._name].view
        return view if self._redaction is None else self._redaction.view(view)

    async def _planned(self, view: View, room: Room) -> Plan | Outcome | None:
        """The plan, or why there is none; it may take long, so it is made in a thread, and turns go on."""
        try:
            plan = await asyncio.to_thread(self.compactor.plan, view, room)
        except asyncio.CancelledError:
            self._note_broken_off(view, room)
            raise
        except Irreducible as fault:
            if self.metrics.fault != str(fault):  # once, and not in every turn
                logger.warning("nothing of %s can be made smaller: %s", self._ledger.place, fault)
            self.metrics.fault = str(fault)
            self._underway.drop_left_behind()
            return Outcome("discarded", str(fault))
        if plan is None:
            self._underway.drop_left_behind()
        return plan

    def _note_broken_off(self, view: View, room: Room) -> None:
        """Note that there was no time for a plan, if one is due."""
        if self._is_handing_over or self._underway.is_noted:
            return
        try:
            plan = self.compactor.plan(view, room)
        except Irreducible:
            return
        if plan is not None:
            self._underway.note_broken_off(plan)

    async def _carried_out(self, plan: Plan) -> Outcome:
        if plan.request is not None and self._scribe.reads == 0:
            return Outcome("discarded", "there is nobody who writes the words")
        refusal = await self._refusal(plan)
        if refusal is not None:
            return refusal
        if plan.request is None:
            return await self._recorded(plan, None)
        if not self._underway.begin(plan):
            return Outcome("discarded", "another process is at work on it")
        self.metrics.started += 1
        return await self._written(plan, plan.request)

    async def _refusal(self, plan: Plan) -> Outcome | None:
        """Why a hook does not want it now, if one does not; the turn that is under way goes on."""
        try:
            await self._hooks.fire_and_wait(Compacting(self._ledger.place, self._name, plan))
        except Exception as fault:
            self.metrics.discarded += 1
            self.metrics.fault = type(fault).__name__
            logger.info("a plan of %s was refused by a hook: %s", plan.by, type(fault).__name__)
            return Outcome("discarded", f"a hook refused it: {type(fault).__name__}")
        return None

    async def _written(self, plan: Plan, request: Request) -> Outcome:
        """Have the words written, and record the plan with them."""
        self.metrics.pending = 1
        renewing = asyncio.create_task(self._underway.renew(RENEWAL))
        try:
            return await self._recorded(plan, await self._scribe.words(request))
        except QuireError as fault:
            return await self._failed(plan, request, fault)
        except asyncio.CancelledError:  # whoever closed the session or its loop: another may go on
            self._underway.let_go(is_handed_over=self._is_handing_over)
            raise
        finally:
            renewing.cancel()
            self.metrics.pending = 0

    async def _recorded(self, plan: Plan, text: str | None) -> Outcome:
        outcome = await asyncio.to_thread(self._finish, plan, text)
        if outcome:
            self.metrics.completed += 1
            self._pauses.end()
            self.metrics.fault = None
            if text is not None:
                self._rests.end()
        else:
            self.metrics.discarded += 1
            if outcome.reason == TOO_LONG:  # the same model may well write the same again
                self._rests.begin()
            elif text is not None:  # words that were paid for, and that others made useless
                self._pauses.begin()
        await self._hooks.fire_and_wait(Compacted(self._ledger.place, self._name, plan, outcome))
        return outcome

    def _finish(self, plan: Plan, text: str | None) -> Outcome:
        """Record a plan by compare and swap: on the state as it then is, or not at all."""
        outcomes: list[Outcome] = []
        spent = self._scribe.spent()
        may = partial(redacted, self._redaction)

        def change(workspace: Workspace) -> list[Written]:
            pool = workspace.pool.fork()
            if workspace.forgotten != self._forgotten:
                outcomes.append(Outcome("discarded", "something was forgotten meanwhile"))
                return spent
            outcome = record(workspace.transcripts[self._name].copy(), plan, text=text, pool=pool)
            outcomes.append(outcome)
            kept = [Written(self._name, may(edit)) for edit in outcome.edits]
            notes = [Written(POOL, may(note)) for note in plan.notes] if outcome else []
            return [*kept, *notes, *spent]

        self._underway.end(change)
        return outcomes[-1]

    async def _failed(self, plan: Plan, request: Request, fault: QuireError) -> Outcome:
        """Let go of a plan whose words were not written; it can be made again."""
        self._count_failure(str(fault), self._scribe.fail(request, fault))
        spent = self._scribe.spent()
        self._underway.end(lambda _: spent)
        outcome = Outcome("discarded", str(fault))
        await self._hooks.fire_and_wait(Compacted(self._ledger.place, self._name, plan, outcome))
        return outcome

    def _count_failure(self, fault: str, pause: float) -> None:
        self.metrics.failed += 1
        self.metrics.fault = fault
        logger.warning(
            "the compaction of %s failed, next try in %.0f s: %s", self._ledger.place, pause, fault
        )
