"""Compaction beside the conversation: a turn never waits for it, and never sees half of it.

A plan is noted in the log before a model is asked, so that a process that starts after a crash finds it. The
model works on a snapshot; what it wrote is kept only if what it is about is still shown as it was. One plan
is under way at a time for each transcript, also among several processes.
"""

import asyncio
import logging
from threading import Lock
from typing import Literal

from msgspec.structs import replace

from quire.compactors import Compactor, Outcome, Plan, Room
from quire.errors import Irreducible, ModelFailed
from quire.models import AnyModel
from quire.session.carrying import Carrying
from quire.session.hooks import Hooks
from quire.session.ledger import Ledger
from quire.session.redacting import Redaction
from quire.session.resting import Metrics
from quire.session.shared_task import SharedTask
from quire.session.since import Shown, Since
from quire.session.spending import NO_PRICES, OwnPrices
from quire.session.stopping import is_told_to_stop
from quire.session.writing import aside
from quire.state import View
from quire.stores.streams import MAIN
from quire.stores.threads import STORE

__all__ = ["Background", "Metrics"]

logger = logging.getLogger("quire.session")


class Background(Carrying):
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
        super().__init__(ledger, hooks, compactor, model, redaction, prices, name)
        self._task: SharedTask[Outcome | None] | None = None
        self._beginning = Lock()  # turns may be in several loops, and one begins

    @property
    def model(self) -> AnyModel | None:
        """The model that writes."""
        return self._scribe.model

    @property
    def is_over(self) -> bool:
        """Whether nothing is under way, be it in a loop that nobody runs."""
        return self._task is None or self._task.is_over

    async def consider_or_wait(self, shown: Shown, room: Room, *, was_cut: bool, waits: bool = False) -> None:
        """`consider`, and wait for it where there is no beside: as is said, or as it was broken off before.

        Who runs each turn in a loop of its own ends the loop, and what is under way in it, with the turn.
        """
        is_due_now = waits or self._underway.is_broken_off
        self._consider(shown, room, was_cut)
        if is_due_now and self._task is not None:
            await self._task.wait()
        else:
            await asyncio.sleep(0)  # it has begun, and can tell if the loop ends with this turn

    def consider(self, view: View, room: Room, *, was_cut: bool) -> None:
        """Look at what is shown now, and begin to make it smaller where that is due, beside the turn."""
        self._consider(Shown(view, Since(self._ledger)), room, was_cut)

    def _consider(self, shown: Shown, room: Room, was_cut: bool) -> None:
        if was_cut:
            self.metrics.misses += 1
        else:
            self.metrics.hits += 1
        with self._beginning:
            if not (self._at_work() or self._course.pauses.is_resting or self._underway.is_others):
                self._begin(shown, room, is_told=False)

    async def work(self, shown: Shown, room: Room) -> Outcome | None:
        """Make it smaller now, whoever rests; what came of it, and none where nothing was to be done."""
        self._course.rests.end()
        return await self.make_room(shown, room)

    async def make_room(self, shown: Shown, room: Room) -> Outcome | None:
        """Make it smaller and wait for it, for a turn that cannot go on without; what came of it."""
        earlier: Outcome | None = None
        while True:
            await self._leave_standing()
            with self._beginning:
                other = self._at_work()
                own = None if other else self._begin(shown, room, is_told=True)
            if other is not None:
                await other.wait()
                earlier, shown = other.outcome() or earlier, self._shown()
            if own is not None:
                made = await own.task
                return earlier if earlier and not made else made

    async def close(self, how: Literal["wait", "hand over"] = "wait", timeout: float | None = None) -> None:
        """Wait for what is under way, or leave it to whoever opens the conversation next.

        With a `timeout` in seconds, what takes longer is handed over.
        """
        task = self._task
        if task is None or self.is_over:
            return
        if how == "wait":
            await task.wait(timeout)
            if task.is_over:
                return
        self._is_handing_over = True
        task.cancel()
        await task.wait()
        await self._leave_standing()

    async def _leave_standing(self) -> None:
        """Let go of what stands still in a loop that nobody runs: others would take it to be under way."""
        if self._task is not None and not self._task.is_over and not self._task.is_at_work:
            self._task.cancel()
            await self._let_go(is_handed_over=True)

    def _at_work(self) -> "SharedTask[Outcome | None] | None":
        return self._task if self._task is not None and self._task.is_at_work else None

    def _begin(self, shown: Shown, room: Room, *, is_told: bool) -> "SharedTask[Outcome | None]":
        """Begin to make it smaller; with `is_told` whoever waits hears of what goes wrong."""
        view, self._since = shown if shown.since.is_all else self._shown()
        self._is_handing_over = self._is_given_up = False
        view = view if self._redaction is None else self._redaction.view(view)
        shrinking = self._shrunk(view, room) if is_told else self._work(view, room)
        self._task = SharedTask(shrinking)
        return self._task

    async def _work(self, view: View, room: Room) -> Outcome | None:
        """Make it smaller; whatever goes wrong is counted and told, and no turn hears of it."""
        try:
            return await self._shrunk(view, room)
        except Exception as fault:
            self._count_failure(type(fault).__name__, self._course.pauses.begin())
            return None

    async def _shrunk(self, view: View, room: Room) -> Outcome | None:
        """Make it smaller; what ends in a cancellation, though nobody broke this off, has failed."""
        try:
            return await self._shrink(view, room)
        except asyncio.CancelledError as fault:
            if is_told_to_stop():
                raise
            raise ModelFailed("the compaction was cancelled from within") from fault

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
            view, self._since = self._shown()
            room = replace(room, early=False)

    def _shown(self) -> Shown:
        since = Since(self._ledger)
        with self._ledger.lock:
            view = self._ledger.workspace.transcripts[self._name].view
        return Shown(view if self._redaction is None else self._redaction.view(view), since)

    async def _planned(self, view: View, room: Room) -> Plan | Outcome | None:
        """The plan, or why there is none; it may take long, so it is made in a thread, and turns go on."""
        try:
            return await STORE.do(self._plan, view, room)
        except asyncio.CancelledError:
            if is_told_to_stop():
                await aside(lambda: self._note_broken_off(view, room))
            raise

    def _plan(self, view: View, room: Room) -> Plan | Outcome | None:
        try:
            plan = self.compactor.plan(view, room)
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
