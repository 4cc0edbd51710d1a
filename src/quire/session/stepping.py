"""The steps of a turn with tools, on the record as they happen, so that a crash leaves nothing in doubt.

Before a call is run, a note says so, and by whom; then its result is recorded. Calls of one reply run side by
side: a result that comes before its turn is held in a stream of its own, and is not lost either.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Literal, TypedDict

from quire.errors import Conflict, StoreError, TurnBusy, cut
from quire.items import Item, Note, ToolCall, ToolResult, new_id, now
from quire.session.calls import answered, watch
from quire.session.events import Added, Adding
from quire.session.fitting import check_fit, commit_fitting
from quire.session.leases import LEASE, RENEWAL, is_held, lease
from quire.session.ledger import Work, appending
from quire.session.meanwhile import Meanwhile
from quire.session.offering import Instead, Offering, raised
from quire.session.steps import begun, by_result, held, is_mark
from quire.session.workspace import Workspace, Written
from quire.stores.streams import MAIN, STEPS

logger = logging.getLogger("quire.session")

Standing = Literal["waiting", "begun", "held"]
"""How far a call without a result has come: it was not begun, it may have run, or its result is held."""

_running: set[str] = set()
"""The claims under which this process runs calls: known here before they are on the record."""


class Stepping(Offering):
    """The verbs for calls on their way."""

    async def begin(self, *calls: ToolCall) -> None:
        """Note that calls are about to be run. From here on, who finds them without a result cannot know.

        What they give, by whatever verb it is recorded, tells of nothing that was forgotten since.
        `TurnBusy` where another runs one of them, and `Conflict` where one was answered.
        """
        await self._begun(calls, _claim())

    @asynccontextmanager
    async def running(self, *calls: ToolCall) -> AsyncGenerator[None, None]:
        """Begin calls, and say for as long as the block takes that they are being run.

        As after `begin`, what they give tells of nothing that was forgotten since.
        """
        claim = _claim()
        _running.add(claim["claim"])
        try:
            await self._begun(calls, claim)
            async with self._known(calls, claim):
                yield
        finally:
            _running.discard(claim["claim"])

    def is_run(self, call: ToolCall) -> bool:
        """Whether somebody runs a call, as far as that is known: here, or in a process that is alive."""
        return _is_run(self._ledger.workspace, call)

    async def hold(
        self, result: ToolResult, *others: Item, of: ToolCall | None = None, instead: Instead = raised
    ) -> tuple[Item, ...]:
        """Keep a result whose turn has not come, and what came with it; `answer` records it later.

        `of` says which call it is of, where several have its call id. For `instead` see `answer`: what could
        not be recorded later is not held.
        """
        ready = await self._heard([result, *others], instead)
        call = of or ToolCall(result.call_id, result.name)

        def came(workspace: Workspace) -> Sequence[Item]:
            return self._left_of(ready, [call], workspace)

        def write(workspace: Workspace, left: Sequence[Item]) -> list[Written]:
            check_fit(left, workspace)  # or it would be held, and never recorded
            return [Written(STEPS, item) for item in (*_announced(workspace, result, of), *left)]

        written = await self._aside(lambda: commit_fitting(self._ledger, came, write, instead))
        return tuple(item for _, item in (written[1:] if is_mark(written[0].item) else written))

    async def answer(
        self, calls: Sequence[ToolCall], *items: Item, instead: Instead = raised, of_none: bool = False
    ) -> tuple[Item, ...]:
        """Record what answers calls of the main transcript, all or none; `Conflict` if one waits no more.

        What was held is recorded as it is held by then: some of it may have been forgotten. Hooks hear of
        each result with what came with it, if they did not when it was held. Where they refuse one, or it
        cannot be recorded, that is an error, or `instead` gives what is recorded in its place, and they are
        not asked again. Calls `of_none` are closed by who does not run them: `Conflict` too if somebody does
        by then.
        """
        ready = await self._heard(items, instead)
        ids = {item.id for item in ready}

        def came(workspace: Workspace) -> Sequence[Item]:
            _check_waiting(workspace, calls)
            if of_none:
                _check_run_by_none(workspace, calls)
            return self._left_of(workspace.steps.as_held(ready), calls, workspace)

        def write(workspace: Workspace, left: Sequence[Item]) -> list[Written]:
            return list(appending(MAIN, left)(workspace))

        def recorded() -> tuple[Item, ...]:
            written = commit_fitting(self._ledger, came, write, instead)
            answered(self._ledger)
            self._allowed.difference_update(ids)
            return tuple(item for _, item in written)

        return await self._aside(
            recorded,
            lambda kept: self.hooks.fire_and_wait(Added(self.place, MAIN, kept)),
        )

    def standing(self, name: str = MAIN) -> list[tuple[ToolCall, Standing]]:
        """The calls of a transcript that wait for their result, and how far each has come."""
        begun = self._ledger.workspace.steps.begun
        return [
            (call, "held" if self.held(call) else "begun" if call.id in begun else "waiting")
            for call in self.view(name).pending()
        ]

    def held(self, call: ToolCall) -> tuple[Item, ...]:
        """What is held for a call: its result, and what came with it."""
        held = self._ledger.workspace.steps.held.get(call.id, ())
        # Of a call that was answered it is there until another step is noted.
        known = self._ledger.workspace.transcripts.values()
        return () if any(held[0].id in one for one in known if held) else held

    @property
    def at_work(self) -> Work | None:
        """The question that is on its way in this conversation, whoever of this process was asked it."""
        return self._ledger.at_work

    def take_turn(self, work: Work) -> Work | None:
        """Let a question be the one that is on its way; where another still is, that one is given back."""
        return self._ledger.take_turn(work)

    async def look(self) -> None:
        """Take in what other processes have written, without blocking the loop."""
        await self._aside(self._ledger.catch_up)

    @asynccontextmanager
    async def _known(self, calls: Sequence[ToolCall], claim: "_Claim") -> AsyncGenerator[None, None]:
        """Let it be known, as long as the block takes, what is on its way here."""
        self._underway.update(dict.fromkeys((call.call_id for call in calls), Meanwhile(self._ledger)))
        renewing = asyncio.ensure_future(self._renew(calls, claim)) if calls else None
        try:
            yield
        finally:
            for call in calls:
                self._underway.pop(call.call_id, None)
            if renewing is not None:
                renewing.cancel()

    async def _begun(self, calls: Sequence[ToolCall], claim: "_Claim") -> None:
        def claimed() -> None:
            self._ledger.commit(partial(_claimed, calls, claim))
            watch(self._ledger, calls)

        if calls:
            await self._aside(claimed)

    async def _heard(self, items: Sequence[Item], instead: Instead) -> tuple[Item, ...]:
        """Items redacted, as hooks allow them to be recorded; of what is held they were asked before."""
        if self._is_plain:
            return self._ready(items)
        heard, allowed = self._ledger.workspace.steps.heard | self._allowed, list[Item]()
        for came in by_result(items):
            try:
                ready = self._ready(came)
                if self.hooks and ready[0].id not in heard:
                    await self.hooks.fire_and_wait(Adding(self.place, MAIN, ready))
                allowed += ready
            except Exception as fault:
                if not isinstance(came[0], ToolResult):
                    raise
                allowed += self._ready([instead(came[0], fault)])
        return tuple(allowed)

    async def _renew(self, calls: Sequence[ToolCall], claim: "_Claim") -> None:
        """Say again and again that calls are being run: those that take long."""
        while True:
            await asyncio.sleep(RENEWAL)
            try:
                await self._aside(lambda: self._ledger.commit(partial(_renewed, calls, claim)))
            except (StoreError, Conflict) as fault:
                logger.warning("calls in %s are not known to be run: %s", self.place, type(fault).__name__)


def _announced(workspace: Workspace, result: ToolResult, of: ToolCall | None) -> list[Item]:
    call = workspace.steps.call_of(result, workspace.pending()) if of is None else of.id
    return [] if call is None else [held(call)]


def _claimed(calls: Sequence[ToolCall], claim: "_Claim", workspace: Workspace) -> list[Written]:
    _check_waiting(workspace, calls)
    for call in calls:
        if _is_run(workspace, call, but=claim["claim"]):
            raise TurnBusy(f"the call {cut(call.call_id)!r} is being run by another")
    return [Written(STEPS, begun(calls, claim))]


def _renewed(calls: Sequence[ToolCall], claim: "_Claim", workspace: Workspace) -> list[Written]:
    waiting = {call.id for call in workspace.pending()}
    left = [call for call in calls if call.id in waiting]
    return [Written(STEPS, begun(left, {**claim, "until": now() + LEASE}))] if left else []


def _check_waiting(workspace: Workspace, calls: Sequence[ToolCall]) -> None:
    """Two may append side by side; two may not answer the same call."""
    waiting = {call.id for call in workspace.pending()}
    for call in calls:
        if call.id not in waiting:
            raise Conflict(f"call {cut(call.call_id)!r} was answered by another first")


def _check_run_by_none(workspace: Workspace, calls: Sequence[ToolCall]) -> None:
    for call in calls:
        if _is_run(workspace, call):
            raise Conflict(f"call {cut(call.call_id)!r} is being run by another")


def _is_run(workspace: Workspace, call: ToolCall, but: str | None = None) -> bool:
    note = workspace.steps.begun.get(call.id)
    if note is None or (but is not None and note.content.get("claim") == but):
        return False
    if note.content.get("by") == _own_name(os.getpid()):
        return note.content.get("claim") in _running
    return _says_until(note) and is_held(note)


def _says_until(note: Note) -> bool:
    """Whether a note says for how long it is believed; those of older versions do not."""
    return "until" in note.content


class _Claim(TypedDict):
    """Who runs calls, by which of its claims, and until when that is believed."""

    by: str
    claim: str
    until: float
    process: object


def _claim() -> _Claim:
    process = os.getpid()
    return _Claim(by=_own_name(process), claim=new_id(), until=now() + LEASE, process=_own_place(process))


@cache
def _own_name(process: int) -> str:
    """A name of this process; a number is given to another one day."""
    return new_id()


@cache
def _own_place(process: int) -> object:
    """What tells, on the same machine, whether this process is there."""
    return lease({}).content["process"]
