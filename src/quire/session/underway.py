"""Which plans of a transcript are under way, by whom: as its log says, for all processes."""

import asyncio
import logging

from quire.compactors import Plan
from quire.items import Note
from quire.session.leases import (
    broken_off,
    ended,
    handed_over,
    is_broken_off,
    is_held,
    lease,
    replaced,
)
from quire.session.ledger import Change, Ledger
from quire.session.workspace import Workspace, Written
from quire.stores.streams import PLANS
from quire.stores.threads import STORE

logger = logging.getLogger("quire.session")


class Underway:
    """The notes of plans that were begun for one transcript, and the one that is begun here."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self._name = name
        self._marker: Note | None = None

    @property
    def is_noted(self) -> bool:
        """Whether there is one, at work or left behind."""
        return bool(self._open())

    @property
    def is_others(self) -> bool:
        """Whether another process is at work on it."""
        return any(map(is_held, self._open()))

    @property
    def is_broken_off(self) -> bool:
        """Whether one was given up though nobody wanted that."""
        return any(map(is_broken_off, self._open()))

    def begin(self, plan: Plan) -> bool:
        """Note that a plan is under way, unless another is; those left behind are over."""
        marker = self._leased(plan)

        def change(workspace: Workspace) -> list[Written]:
            found = self._open(workspace)
            if any(map(is_held, found)):
                return []  # somebody was quicker
            return [*(entry for one in found for entry in ended(workspace, one)), Written(PLANS, marker)]

        written = self._ledger.commit(change)
        if len(written) > 1:
            logger.info("a plan left behind in %s is taken up again", self._ledger.place)
        self._marker = marker if written else None
        return bool(written)

    async def renew(self, seconds: float) -> None:
        """Say again and again that the plan is under way."""
        await asyncio.sleep(seconds)
        while (marker := self._marker) is not None:
            await STORE.do(self._replace, marker, lease(marker.content))
            await asyncio.sleep(seconds)

    def end(self, change: Change) -> None:
        """Write what came of the plan, and with it that it is over."""
        with self._ledger.lock:  # it may be renewed meanwhile
            self._ledger.commit(lambda ws: [*change(ws), *ended(ws, self._marker)])
            self._marker = None

    def let_go(self, *, is_handed_over: bool) -> None:
        """Leave the plan to whoever takes it up, now or when the next turn finds it."""
        with self._ledger.lock:  # it may come to its end meanwhile
            if self._marker is not None:
                left = handed_over if is_handed_over else broken_off
                self._replace(self._marker, left(self._marker))
                self._marker = None

    def note_broken_off(self, plan: Plan) -> None:
        """Note that there was no time for a plan that is due: the turn that finds this waits for it."""
        marker = broken_off(self._leased(plan))
        self._ledger.commit(lambda ws: [] if self._open(ws) else [Written(PLANS, marker)])

    def drop_left_behind(self) -> None:
        """Nothing is due: what was begun for it and left is over."""
        left = [plan for plan in self._open() if not is_held(plan)]
        if left:
            logger.info("a plan left behind in %s is not needed any more", self._ledger.place)
            self._ledger.commit(lambda ws: [entry for one in left for entry in ended(ws, one)])

    def _leased(self, plan: Plan) -> Note:
        return lease({"by": plan.by, "transcript": self._name, "version": self._ledger.workspace.version})

    def _replace(self, marker: Note, other: Note) -> None:
        with self._ledger.lock:  # whoever finishes the plan ends the note that stands then
            if marker is self._marker and self._ledger.commit(lambda ws: replaced(ws, marker, other)):
                self._marker = other

    def _open(self, workspace: Workspace | None = None) -> list[Note]:
        plans = (workspace or self._ledger.workspace).plans.values()
        return [plan for plan in plans if plan.content["transcript"] == self._name]
