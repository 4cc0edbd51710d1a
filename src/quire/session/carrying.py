"""Carrying out a plan: its words are written, and it is recorded whole, or left to others."""

import asyncio
import logging
from contextlib import suppress
from functools import partial

from quire.compactors import TOO_LONG, Compactor, Outcome, Plan, Request, record
from quire.errors import QuireError, StoreError
from quire.models import AnyModel
from quire.session.events import Compacted, Compacting
from quire.session.hooks import Hooks
from quire.session.leases import RENEWAL
from quire.session.ledger import Ledger
from quire.session.redacting import Redaction
from quire.session.scribe import Scribe
from quire.session.since import Since
from quire.session.spending import OwnPrices
from quire.session.underway import Underway
from quire.session.workspace import Workspace, Written
from quire.session.writing import aside, redacted
from quire.stores.streams import POOL
from quire.stores.threads import STORE

logger = logging.getLogger("quire.session")

_FORGOTTEN = Outcome("discarded", "something was forgotten meanwhile")
_GIVEN_UP = Outcome("discarded", "it was given up")


class Carrying:
    """Carries out plans for one transcript of a conversation, one at a time, with a model that writes."""

    def __init__(
        self,
        ledger: Ledger,
        hooks: Hooks,
        compactor: Compactor,
        model: AnyModel | None,
        redaction: Redaction | None,
        prices: OwnPrices,
        name: str,
    ) -> None:
        self._ledger = ledger
        self._hooks = hooks
        self.compactor = compactor
        self._course = ledger.fared.course(name, compactor, model)
        self._scribe = Scribe(model, self._course, prices)
        self._redaction = redaction
        self._name = name
        self._underway = Underway(ledger, name)
        self._since = Since(ledger)  # of what a plan was made of
        self._is_handing_over = False
        self._is_given_up = False
        self.metrics = ledger.fared.metrics[name]

    def give_up(self) -> None:
        """Keep nothing of what is under way: what is not on the record by now will not be."""
        with self._ledger.lock:
            self._is_given_up = True

    async def _carried_out(self, plan: Plan) -> Outcome:
        if plan.request is not None and self._scribe.reads == 0:
            return Outcome("discarded", "there is nobody who writes the words")
        if not self._since.is_all:  # hooks would hear of it
            self.metrics.discarded += 1
            return _FORGOTTEN
        refusal = await self._refusal(plan)
        if refusal is not None:
            return refusal
        if plan.request is None:
            return await self._recorded(plan, None)
        try:
            if not await aside(lambda: self._underway.begin(plan)):
                return Outcome("discarded", "another process is at work on it")
            self.metrics.started += 1
            return await self._written(plan, plan.request)
        except asyncio.CancelledError:  # whoever closed the session or its loop: another may go on
            with suppress(StoreError):  # it is let go of when its time runs out
                await self._let_go(is_handed_over=self._is_handing_over)
            raise

    async def _let_go(self, *, is_handed_over: bool) -> None:
        await aside(lambda: self._underway.let_go(is_handed_over=is_handed_over))

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
            is_known = await STORE.do(self._since.is_still_all)
            return await self._recorded(plan, await self._scribe.words(request) if is_known else None)
        except QuireError as fault:
            return await self._failed(plan, request, fault)
        finally:
            renewing.cancel()
            self.metrics.pending = 0

    async def _recorded(self, plan: Plan, text: str | None) -> Outcome:
        outcome = await STORE.do(self._finish, plan, text)
        if outcome:
            self.metrics.completed += 1
            self._course.pauses.end()
            self.metrics.fault = None
            if text is not None:
                self._course.rests.end()
        else:
            self.metrics.discarded += 1
            if outcome.reason == TOO_LONG:  # the same model may well write the same again
                self._course.rests.begin()
            elif text is not None and outcome is not _GIVEN_UP:  # paid for, and made useless by others
                self._course.pauses.begin()
        await self._hooks.fire_and_wait(Compacted(self._ledger.place, self._name, plan, outcome))
        return outcome

    def _finish(self, plan: Plan, text: str | None) -> Outcome:
        """Record a plan by compare and swap: on the state as it then is, or not at all."""
        outcomes: list[Outcome] = []
        spent = self._scribe.spent()
        may = partial(redacted, self._redaction)

        def change(workspace: Workspace) -> list[Written]:
            pool = workspace.pool.fork()
            if self._is_given_up or not self._since.is_all:
                outcomes.append(_GIVEN_UP if self._is_given_up else _FORGOTTEN)
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
        await STORE.do(self._underway.end, lambda _: spent)
        outcome = Outcome("discarded", str(fault))
        await self._hooks.fire_and_wait(Compacted(self._ledger.place, self._name, plan, outcome))
        return outcome

    def _count_failure(self, fault: str, pause: float) -> None:
        self.metrics.failed += 1
        self.metrics.fault = fault
        logger.warning(
            "the compaction of %s failed, next try in %.0f s: %s", self._ledger.place, pause, fault
        )
