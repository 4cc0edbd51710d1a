"""Compaction beside the conversation: a turn never waits for it, and never sees half of it.

A plan is noted in the log before a model is asked, so that a process that starts after a crash finds it. The
model works on a snapshot; what it wrote is kept only if what it is about is still shown as it was. One plan
is under way at a time for each transcript, also among several processes.
"""

import asyncio
import logging
from functools import partial
from typing import Literal

import msgspec

from quire.compactors import Compactor, Outcome, Plan, Request, Room, record
from quire.errors import Irreducible, QuireError
from quire.items import Note, now
from quire.models import AnyModel, summarized
from quire.session.events import Compacted, Compacting
from quire.session.hooks import Hooks
from quire.session.leases import RENEWAL, ended, handed_over, is_held, lease, replaced
from quire.session.ledger import Ledger
from quire.session.metering import Metered
from quire.session.streams import MAIN, PLANS, POOL
from quire.session.workspace import Workspace, Written
from quire.session.writing import Redact, redacted
from quire.state import View

logger = logging.getLogger("quire.session")

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0


class Metrics(msgspec.Struct):
    """What the compaction of a session has done.

    `hits` are turns whose history was small enough as it was, `misses` those that had to be cut because no
    compaction had come in time.
    """

    hits: int = 0
    misses: int = 0
    started: int = 0
    completed: int = 0
    discarded: int = 0
    failed: int = 0
    pending: int = 0
    fault: str | None = None


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
        self._rests_until = 0.0
        self._pause = _FIRST_PAUSE
        self.metrics = Metrics()

    def consider(self, view: View, room: Room, *, was_cut: bool) -> None:
        """Look at what a turn showed, and begin to make it smaller where that is due, beside the turn."""
        if was_cut:
            self.metrics.misses += 1
        else:
            self.metrics.hits += 1
        if not self._is_busy():
            self._forgotten = self._ledger.workspace.forgotten
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
        task.cancel()
        await asyncio.wait([task])

    def _is_busy(self) -> bool:
        under_way = self._task is not None and not self._task.done()
        return under_way or now() < self._rests_until or self._is_others()

    def _is_others(self) -> bool:
        """Whether another process is at work on it."""
        return any(map(is_held, self._open_plans(self._ledger.workspace)))

    def _planned(self, view: View, room: Room) -> Plan | None:
        try:
            return self._compactor.plan(view, room)
        except Irreducible as fault:
            self.metrics.fault = str(fault)
            logger.warning("nothing of %s can be made smaller: %s", self._ledger.place, fault)
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
        plan = await asyncio.to_thread(self._planned, view, room)
        if plan is None:
            self._drop_left_behind()
        elif not await self._is_refused(plan):
            if plan.request is None:
                await self._recorded(plan, None)
            elif self._model is not None and self._note(plan):
                await self._carry_out(plan, plan.request, self._model)

    def _note(self, plan: Plan) -> bool:
        """Note in the log that a plan is under way, unless another is; those left behind are over."""
        content = {"by": plan.by, "transcript": self._name, "version": self._ledger.workspace.version}
        marker = lease(content)

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
            self._hand_over()
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

    def _hand_over(self) -> None:
        if self._marker is not None:
            self._replace(self._marker, handed_over(self._marker))
            self._marker = None

    def _replace(self, marker: Note, other: Note) -> None:
        with self._ledger.lock:  # whoever finishes the plan ends the note that stands then
            if marker is self._marker and self._ledger.commit(lambda ws: replaced(ws, marker, other)):
                self._marker = other

    async def _recorded(self, plan: Plan, text: str | None) -> None:
        outcome = await asyncio.to_thread(self._finish, plan, text)
        if outcome.fate == "kept":
            self.metrics.completed += 1
            self._pause, self.metrics.fault = _FIRST_PAUSE, None
        else:
            self.metrics.discarded += 1
            if text is not None:  # words that were paid for: the same model may write the same again
                self._rest_a_while()
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
        logger.warning(
            "the compaction of %s failed, next try in %.0f s: %s", self._ledger.place, self._pause, fault
        )
        self._rest_a_while()

    def _rest_a_while(self) -> None:
        """Rest before the next try, longer each time."""
        self._rests_until = now() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

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
