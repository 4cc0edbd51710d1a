"""Calls on the record: which were begun, who runs them, what a person decided, and their results.

Before a call is run, an entry says so, and by whom; its result is recorded when it arrives. So a process that
dies leaves nothing in doubt: a call that was begun and has no result may have run.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

from quire.errors import Conflict, Forgotten, TurnBusy, UnknownId, cut
from quire.items import Item, Note, ToolCall, ToolResult, new_id
from quire.session.aio import AWAITED, IO, Change, Writer, checked_type
from quire.session.entries import ApprovedCalls, BegunCalls, Lease, call_entry, note_of
from quire.session.hooks import Added, Adding
from quire.session.leases import claimed, is_held, lease, renewed
from quire.session.log import CLAIMS, Entries
from quire.session.pool import SessionPool
from quire.session.state import State, Written
from quire.stores.store import checked_name, is_tombstone
from quire.stores.streams import CALLS, MAIN

Progress = Literal["waiting", "begun", "foreign"]
"""How far an open call has come: not begun, or perhaps run.

A foreign call was made by no turn of an agent: it was imported or appended, and may have run elsewhere.
"""

NOT_APPROVED = "it was not approved"


def not_run(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that was not run."""
    return ToolResult(call.call_id, call.name, f"This was not run: {why}.", is_error=True)


def beginning(calls: Sequence[ToolCall], claim: Lease, job: str | None = None) -> Callable[[State], Entries]:
    """What is written before calls run. `TurnBusy` if another runs one; `Conflict` if one has a result."""

    def begun(state: State) -> Entries:
        check_open(state, calls)
        if job is not None and state.jobs.is_cancelled:
            raise Cancelled("the job was cancelled before its calls began")
        for call in calls:
            if is_run(state, call):
                raise TurnBusy(f"the call {cut(call.call_id)!r} is being run by another")
        entry = BegunCalls([call.id for call in calls], claim, job)
        return [Written(CALLS, note_of(entry))] if calls else []

    return begun


class Cancelled(Conflict):
    """The job that is being done was cancelled."""


def check_open(state: State, calls: Collection[ToolCall]) -> None:
    """Raise `Conflict` if one of some calls has a result."""
    waiting = {call.id for call in state.pending()}
    for call in calls:
        if call.id not in waiting:
            raise Conflict(f"call {cut(call.call_id)!r} was answered by another first")


def is_run(state: State, call: ToolCall) -> bool:
    """Whether somebody who is alive runs a call."""
    _, begun = state.calls.begun.get(call.id, ("", None))
    is_lost = begun is not None and begun.job not in (None, state.jobs.claim)
    return begun is not None and not is_lost and is_held(begun.lease)


class Calls:
    """The calls of a conversation that have no result yet."""

    def __init__(self, writer: Writer, pool: SessionPool) -> None:
        self._writer, self._log, self._pool = writer, writer.log, pool

    def standing(self, name: str = MAIN) -> list[tuple[ToolCall, Progress]]:
        """The calls of a transcript without a result, each with its progress: waiting, begun or foreign."""
        self._log.check_not_forgotten()
        with self._log.applying:
            view = self._log.views().get(name)
            calls = () if view is None else view.pending()
            return [(call, self._progress(call)) for call in calls]

    def _progress(self, call: ToolCall) -> Progress:
        calls = self._log.state.calls
        if call.id in calls.begun:
            return "begun"
        return "waiting" if call.id in calls.owned else "foreign"

    def is_run(self, call: ToolCall) -> bool:
        """Whether this process, or another that is alive, runs a call."""
        return is_run(self._log.state, call)

    def is_approved(self, call: ToolCall) -> bool:
        """Whether a person has approved an open call."""
        return call.id in self._log.state.calls.approved

    async def begin(self, *calls: ToolCall, io: IO = AWAITED) -> None:
        """Record that calls are about to be run. From here on, a call without a result may have run.

        `TurnBusy` if another process runs one of them, `Conflict` if one has a result.
        """
        begun = beginning(calls, lease(new_id()))
        await io.write(self._log, lambda: self._writer.commit(begun))

    @asynccontextmanager
    async def running(self, *calls: ToolCall) -> AsyncGenerator[None]:
        """Begin calls, and hold the claim on them for as long as the block takes."""
        job = CLAIMS.get().get(self._log.place)
        with claimed() as claim:

            def renewal(state: State) -> Entries:
                waiting = {call.id for call in state.pending()}
                left = [call.id for call in calls if call.id in waiting]
                return [Written(CALLS, note_of(BegunCalls(left, claim(), job)))] if left else []

            first = beginning(calls, claim(), job)
            await AWAITED.write(self._log, lambda: self._writer.commit(first))
            async with renewed(self._log, renewal):
                yield

    async def decide(self, call: ToolCall | str, verdict: bool | str) -> None:
        """Approve or refuse an open call, given by itself or one of its ids; the next turn acts on it.

        True lets the call run. False, or a text with the reason, refuses it, also if it was approved and has
        not begun: that is its result. `UnknownId` if no such call is open, `Conflict` if it has begun,
        `Forgotten` if its content was.
        """
        checked_type(verdict, bool | str, "True approves a call, False or a reason refuses it")
        name = call if isinstance(call, str) else call.id
        await AWAITED.do(self._log, self._log.root.catch_up)
        stream, made = self._find(name)
        why = verdict if isinstance(verdict, str) and verdict else NOT_APPROVED
        refusal = () if verdict is True else self._writer.ready([not_run(made, why)])

        def decide(state: State) -> Change:
            check_open(state, [made])
            if made.id in state.calls.begun:
                raise Conflict(f"the call {cut(made.call_id)!r} has begun")
            if any(is_tombstone(one) for one in state.pending() if one.id == made.id):
                raise Forgotten(f"the call {cut(made.call_id)!r} was forgotten")
            if refusal:
                return Change.adding(self._log.place, stream, refusal)
            return Change([Written(CALLS, note_of(ApprovedCalls([made.id])))])

        await self._writer.write_change(AWAITED, decide)

    def _find(self, name: str) -> tuple[str, ToolCall]:
        """The open call of an id, and its transcript."""
        for stream, transcript in self._log.state.transcripts.items():
            for call in transcript.view.pending():
                if name in (call.id, call.call_id):
                    return stream, call
        raise UnknownId(f"no call {cut(name)!r} waits for a decision")

    async def answer(
        self,
        calls: Sequence[ToolCall],
        *items: Item,
        pooled: Sequence[Note] = (),
        to: str = MAIN,
        if_unclaimed: bool = False,
        asks_hooks: bool = True,
    ) -> tuple[Item, ...]:
        """Record what answers open calls, and put notes into the pool, all or none.

        `Conflict` if one of the calls is not open any more, and, with `if_unclaimed`, if somebody runs one of
        them.
        """
        name, notes = checked_name(to), self._pool.ready(pooled)
        answers = self.answering(calls, items, to=name, if_unclaimed=if_unclaimed, asks_hooks=asks_hooks)

        def decide(state: State) -> Change:
            answered = answers(state)
            return Change.joined([self._pool.keeping(notes, state), answered]) if notes else answered

        made = await self._writer.write_change(AWAITED, decide)
        return tuple(item for stream, item in made.entries if stream == name)

    def answering(
        self,
        calls: Sequence[ToolCall],
        items: Iterable[Item],
        *,
        to: str = MAIN,
        if_unclaimed: bool = False,
        asks_hooks: bool = True,
    ) -> Callable[[State], Change]:
        """What `answer` writes."""
        ready, place = self._writer.ready(items), self._log.place

        def decide(state: State) -> Change:
            check_open(state, calls)
            for call in calls if if_unclaimed else ():
                if is_run(state, call):
                    raise Conflict(f"call {cut(call.call_id)!r} is being run by another")
            return Change(
                [Written(to, item) for item in ready],
                [Adding(place, to, ready)] if asks_hooks else [],
                [Added(place, to, ready)],
            )

        return decide

    def begun_at(self) -> dict[str, float]:
        """When each call was last begun, by the id of its item; also calls that were answered since."""
        found: dict[str, tuple[str, float]] = {}
        for item in self._log.read_stream(CALLS):
            if isinstance(entry := call_entry(item), BegunCalls):
                claim = entry.lease.claim
                for call in entry.calls:
                    if found.get(call, ("", 0.0))[0] != claim:  # else it renews the lease
                        found[call] = claim, item.created_at
        return {call: at for call, (_, at) in found.items()}
