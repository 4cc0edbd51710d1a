"""Compaction beside the conversation: a turn never waits for it, and never sees half of it.

A plan is noted in the log before a model is asked, so that a process that starts after a crash finds it. The
model works on a snapshot; what it wrote is kept only if what it is about is still shown as it was. One plan
is under way at a time for each transcript, also among several processes.
"""

import asyncio
import logging
from functools import partial
from typing import Literal

from quire.compactors import Compactor, Outcome, Plan, Request, Room, record
from quire.errors import Irreducible, QuireError
from quire.items import Note
from quire.models import AnyModel, summarized
from quire.session.events import Compacted, Compacting
from quire.session.hooks import Hooks
from quire.session.leases import (
    RENEWAL,
    broken_off,
    ended,
    handed_over,
    is_broken_off,
    is_held,
    lease,
    replaced,
)
from quire.session.ledger import Ledger
from quire.session.metering import Metered
from quire.session.resting import Metrics, Rests
from quire.session.workspace import Workspace, Written
from quire.session.writing import Redact, redacted
from quire.state import View
from quire.stores.streams import MAIN, PLANS, POOL

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
        redact: Redact | None = None,
        name: str = MAIN,
    ) -> None:
        self._ledger = ledger
        self._hooks = hooks
        self._compactor = compactor
        self._model = model
        self._redact = redact
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._marker: Note | None = None
        self._metered: Metered | None = None
        self._forgotten = 0  # how much had been forgotten when a plan was made
        self._is_handing_over = False
        self._rests = Rests()
        self.metrics = Metrics()

    async def consider_or_wait(self, view: View, room: Room, *, was_cut: bool) -> None:
        """`consider`, and wait for it where it was broken off before: there is no beside for it then.

        Who runs each turn in a loop of its own ends the loop, and what is under way in it, with the turn.
        """
        is_due_now = any(is_broken_off(plan) for plan in self._open_plans(self._ledger.workspace))
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
        if not self._is_busy():
            self._forgotten, self._is_handing_over = self._ledger.workspace.forgotten, False
            self._task = asyncio.get_running_loop().create_task(self._work(view, room))

    async def work(self, view: View, room: Room) -> bool:
        """Make it smaller now, and wait for it; whether it became so. What goes wrong is an error here."""
        await self.close()
        completed, self._forgotten = self.metrics.completed, self._ledger.workspace.forgotten
        await self._plan_and_carry_out(view, room)
        return self.metrics.completed > completed

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

    def _is_busy(self) -> bool:
        task = self._task
        under_way = task is not None and not task.done() and not task.get_loop().is_closed()
        return under_way or self._rests.is_resting or self._is_others()

    def _is_others(self) -> bool:
        """Whether another process is at work on it."""
        return any(map(is_held, self._open_plans(self._ledger.workspace)))

    def _planned(self, view: View, room: Room) -> Plan | None:
        try:
            return self._compactor.plan(view, room)
        except Irreducible as fault:
            if self.metrics.fault != str(fault):  # once, and not in every turn
                logger.warning("nothing of %s can be made smaller: %s", self._ledger.place, fault)
            self.metrics.fault = str(fault)
            return None

    async def _is_refused(self, plan: Plan) -> bool:
        """Whether a hook does not want it now. The turn that is under way goes on all the same."""
        try:
            await self._hooks.fire_and_wait(Compacting(self._ledger.place, self._name, plan))
        except Exception as fault:
            self.metrics.discarded += 1
            self.metrics.fault = type(fault).__name__
            logger.info("a plan of %s was refused by a hook: %s", plan.by, type(fault).__name__)
            return True
        return False

    async def _work(self, view: View, room: Room) -> None:
        """Plan, and carry it out; whatever goes wrong is counted and told, and no turn hears of it."""
        try:
            await self._plan_and_carry_out(view, room)
        except Exception as fault:
            self._rest(type(fault).__name__)

    async def _plan_and_carry_out(self, view: View, room: Room) -> None:
        """What takes long is done in a thread, so that turns go on meanwhile."""
        try:
            plan = await asyncio.to_thread(self._planned, view, room)
        except asyncio.CancelledError:
            self._note_broken_off(view, room)
            raise
        if plan is None:
            self._drop_left_behind()
        elif not await self._is_refused(plan):
            if plan.request is None:
                await self._recorded(plan, None)
            elif self._model is not None and self._note(plan):
                await self._carry_out(plan, plan.request, self._model)

    def _note_broken_off(self, view: View, room: Room) -> None:
        """Note that there was no time for a plan that is due: the turn that finds this waits for it."""
        if self._is_handing_over or self._open_plans(self._ledger.workspace):
            return
        plan = self._planned(view, room)
        if plan is not None:
            marker = broken_off(self._leased(plan))
            self._ledger.commit(lambda ws: [] if self._open_plans(ws) else [Written(PLANS, marker)])

    def _leased(self, plan: Plan) -> Note:
        return lease({"by": plan.by, "transcript": self._name, "version": self._ledger.workspace.version})

    def _note(self, plan: Plan) -> bool:
        """Note in the log that a plan is under way, unless another is; those left behind are over."""
        marker = self._leased(plan)

        def change(workspace: Workspace) -> list[Written]:
            found = self._open_plans(workspace)
            if any(map(is_held, found)):
                return []  # somebody was quicker
            return [*(entry for one in found for entry in ended(workspace, one)), Written(PLANS, marker)]

        written = self._ledger.commit(change)
        if len(written) > 1:
            logger.info("a plan left behind in %s is taken up again", self._ledger.place)
        self.metrics.started += bool(written)
        self._marker = marker if written else None
        return bool(written)

    async def _carry_out(self, plan: Plan, request: Request, model: AnyModel) -> None:
        self.metrics.pending = 1
        self._metered = Metered(model)
        renewing = asyncio.create_task(self._renew())
        try:
            await self._recorded(plan, await summarized(self._metered, request))
        except QuireError as fault:
            await self._hooks.fire_and_wait(self._fail(plan, fault))
        except asyncio.CancelledError:  # whoever closed the session or its loop: another may go on
            self._let_go()
            raise
        finally:
            renewing.cancel()
            self.metrics.pending = 0

    async def _renew(self) -> None:
        """Say again and again that the plan is under way."""
        await asyncio.sleep(RENEWAL)
        while (marker := self._marker) is not None:
            await asyncio.to_thread(self._replace, marker, lease(marker.content))
            await asyncio.sleep(RENEWAL)

    def _let_go(self) -> None:
        if self._marker is not None:
            left = handed_over if self._is_handing_over else broken_off
            self._replace(self._marker, left(self._marker))
            self._marker = None

    def _replace(self, marker: Note, other: Note) -> None:
        with self._ledger.lock:  # whoever finishes the plan ends the note that stands then
            if marker is self._marker and self._ledger.commit(lambda ws: replaced(ws, marker, other)):
                self._marker = other

    async def _recorded(self, plan: Plan, text: str | None) -> None:
        outcome = await asyncio.to_thread(self._finish, plan, text)
        if outcome.fate == "kept":
            self.metrics.completed += 1
            self._rests, self.metrics.fault = Rests(), None
        else:
            self.metrics.discarded += 1
            if text is not None:  # words that were paid for: the same model may write the same again
                self._rests.begin()
        await self._hooks.fire_and_wait(Compacted(self._ledger.place, self._name, plan, outcome))

    def _finish(self, plan: Plan, text: str | None) -> Outcome:
        """Record a plan by compare and swap: on the state as it then is, or not at all."""
        outcomes: list[Outcome] = []
        spent = self._spent()
        may = partial(redacted, self._redact)

        def change(workspace: Workspace) -> list[Written]:
            pool = workspace.pool.fork()
            if workspace.forgotten != self._forgotten:
                outcomes.append(Outcome("discarded", "something was forgotten meanwhile"))
                return [*ended(workspace, self._marker), *spent]
            outcome = record(workspace.transcripts[self._name].copy(), plan, text=text, pool=pool)
            outcomes.append(outcome)
            kept = [Written(self._name, may(edit)) for edit in outcome.edits]
            notes = [Written(POOL, may(note)) for note in plan.notes] if outcome.fate == "kept" else []
            return [*kept, *notes, *ended(workspace, self._marker), *spent]

        with self._ledger.lock:
            self._ledger.commit(change)
            self._marker = None
        return outcomes[-1]

    def _rest(self, fault: str) -> None:
        """Count a failure, and rest before the next try."""
        self.metrics.failed += 1
        self.metrics.fault = fault
        pause = self._rests.begin()
        logger.warning(
            "the compaction of %s failed, next try in %.0f s: %s", self._ledger.place, pause, fault
        )

    def _fail(self, plan: Plan, fault: QuireError) -> Compacted:
        """Let go of a plan that failed; it can be made again."""
        self._rest(str(fault))
        (marker, self._marker), spent = (self._marker, None), self._spent()
        self._ledger.commit(lambda workspace: [*ended(workspace, marker), *spent])
        return Compacted(self._ledger.place, self._name, plan, Outcome("discarded", str(fault)))

    def _spent(self) -> list[Written]:
        return [] if self._metered is None else self._metered.written()

    def _open_plans(self, workspace: Workspace) -> list[Note]:
        return [plan for plan in workspace.plans.values() if plan.content["transcript"] == self._name]

    def _drop_left_behind(self) -> None:
        left = self._open_plans(self._ledger.workspace)
        if left:
            logger.info("a plan left behind in %s is not needed any more", self._ledger.place)
            self._ledger.commit(lambda ws: [entry for one in left for entry in ended(ws, one)])
