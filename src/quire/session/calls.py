"""Tool calls without a result: which have begun, who runs them, and what a person decided.

Before a call runs, an entry says so, and which process runs it. After a crash, a call that has begun and has
no result may have run, and any other call has not.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Literal

from quire.errors import Conflict, Forgotten, TurnBusy, UnknownId, cut
from quire.items import ToolCall, ToolResult, new_id
from quire.session.aio import AWAITED, IO, Change, Writer, checked_type, plain
from quire.session.entries import ApprovedCalls, BegunCalls, Lease, call_entry, note_of
from quire.session.leases import hold_claim, is_held, new_lease, renewed
from quire.session.log import CLAIMS, Entries, Log
from quire.session.state import State, Written
from quire.stores.store import is_tombstone
from quire.stores.streams import CALLS, MAIN

Progress = Literal["foreign", "waiting", "approved", "running", "begun"]
"""How far an open call has come.

- foreign: no turn of an agent made it; it was imported or appended, and may have run elsewhere
- waiting: it has not begun
- approved: it has not begun, and a person has approved it
- running: a live process runs it
- begun: it has begun, no live process runs it, and it may have run
"""

NOT_APPROVED = "it was not approved"


def not_run(call: ToolCall, why: str) -> ToolResult:
    """The result of a call that was not run."""
    return ToolResult(call.call_id, call.name, f"This was not run: {why}.", is_error=True)


def begin_entries(
    calls: Sequence[ToolCall], lease: Lease, job_claim: str | None = None
) -> Callable[[State], Entries]:
    """Make the function that computes the entry to write before calls run; it raises if they cannot run."""

    def entries(state: State) -> Entries:
        check_open(state, calls)
        if job_claim is not None and state.jobs.is_cancelled:
            raise Cancelled("the job was cancelled before its calls began")
        for call in calls:
            if is_running(state, call):
                raise TurnBusy(f"the call {cut(call.call_id)!r} is being run by another")
        entry = BegunCalls([call.id for call in calls], lease, job_claim)
        return [Written(CALLS, note_of(entry))] if calls else []

    return entries


class Cancelled(Conflict):
    """The job was cancelled before its calls began."""


def check_open(state: State, calls: Collection[ToolCall]) -> None:
    """Raise `Conflict` if one of some calls is not open any more."""
    open_ids = {call.id for call in state.pending()}
    for call in calls:
        if call.id not in open_ids:
            raise Conflict(f"call {cut(call.call_id)!r} is not open any more: it was answered or removed")


def is_running(state: State, call: ToolCall) -> bool:
    """Whether a live process runs a call."""
    _, begun = state.calls.begun.get(call.id, ("", None))
    if begun is None or begun.job_claim not in (None, state.jobs.claim):  # another worker has the job
        return False
    return is_held(begun.lease)


class AioCalls:
    """The verbs of calls, as coroutines."""

    def __init__(self, writer: Writer, io: IO) -> None:
        self._writer, self._log, self._io = writer, writer.log, io

    async def begin(self, *calls: ToolCall) -> None:
        """Record that calls are about to run. From now on, a call without a result may have run.

        `TurnBusy` if another process runs one of them, `Conflict` if one has a result.
        """
        for call in calls:
            checked_type(call, ToolCall, "calls.begin: a call must be a ToolCall, as `list_open` returns it")
        begun = begin_entries(calls, new_lease(new_id()))
        await self._io.write(self._log, lambda: self._writer.commit(begun))

    async def decide(self, call: ToolCall | str, verdict: bool | str) -> None:
        """Approve or refuse an open call; the next turn acts on it. `call` is its item, or one of its ids.

        True lets the call run. False, or a text with the reason, refuses the call and becomes its result. An
        approved call can still be refused until it has begun. `UnknownId` if no such call is open, `Conflict`
        if it has begun, `Forgotten` if its content was forgotten.
        """
        checked_type(verdict, bool | str, "a decision must be True, False or a reason")
        name = call if isinstance(call, str) else call.id
        await self._io.do(self._log, self._log.root.catch_up)
        stream, item = self._find(name)
        why = verdict if isinstance(verdict, str) and verdict else NOT_APPROVED
        refusal = () if verdict is True else self._writer.ready([not_run(item, why)])

        def decide(state: State) -> Change:
            check_open(state, [item])
            if item.id in state.calls.begun:
                raise Conflict(f"the call {cut(item.call_id)!r} has begun")
            if any(is_tombstone(pending) for pending in state.pending() if pending.id == item.id):
                raise Forgotten(f"the call {cut(item.call_id)!r} was forgotten")
            if refusal:
                return Change.adding(self._log.place, stream, refusal)
            return Change([Written(CALLS, note_of(ApprovedCalls([item.id])))])

        await self._writer.write_change(self._io, decide)

    def _find(self, name: str) -> tuple[str, ToolCall]:
        """The transcript and the item of the open call with an id."""
        for stream, transcript in self._log.state.transcripts.items():
            for call in transcript.view.pending():
                if name in (call.id, call.call_id):
                    return stream, call
        raise UnknownId(f"no call {cut(name)!r} waits for a decision")


class Calls:
    """The calls of a conversation that have no result yet."""

    begin = plain(AioCalls.begin)
    decide = plain(AioCalls.decide)

    def __init__(self, writer: Writer) -> None:
        self._writer, self._log = writer, writer.log

    def _verbs(self, io: IO) -> AioCalls:
        return AioCalls(self._writer, io)

    @asynccontextmanager
    async def running(self, *calls: ToolCall) -> AsyncGenerator[None]:
        """As `begin`, but the claim on the calls is held and renewed during the block.

        The claim of `begin` is valid for a minute.
        """
        job_claim = CLAIMS.get().get(self._log.place)
        with hold_claim() as make_lease:

            def renewal(state: State) -> Entries:
                open_ids = {call.id for call in state.pending()}
                unanswered = [call.id for call in calls if call.id in open_ids]
                entry = BegunCalls(unanswered, make_lease(), job_claim)
                return [Written(CALLS, note_of(entry))] if unanswered else []

            first = begin_entries(calls, make_lease(), job_claim)
            await AWAITED.write(self._log, lambda: self._writer.commit(first))
            async with renewed(self._log, renewal):
                yield

    def list_open(self, name: str = MAIN) -> list[tuple[ToolCall, Progress]]:
        """The open calls of a transcript, each with its progress: see `Progress`."""
        self._log.check_not_forgotten()
        with self._log.applying:
            view, state = self._log.views().get(name), self._log.state
            return [(call, _progress(state, call)) for call in (() if view is None else view.pending())]


def _progress(state: State, call: ToolCall) -> Progress:
    if call.id in state.calls.begun:
        return "running" if is_running(state, call) else "begun"
    if call.id in state.calls.approved:
        return "approved"
    return "waiting" if call.id in state.calls.owned else "foreign"


def begun_at(log: Log) -> dict[str, float]:
    """When each call has last begun, by the id of its item; calls with a result are included."""
    begun: dict[str, tuple[str, float]] = {}  # by call, the claim and the time
    for item in log.read_stream(CALLS):
        if isinstance(entry := call_entry(item), BegunCalls):
            claim = entry.lease.claim
            for call in entry.calls:
                if begun.get(call, ("", 0.0))[0] != claim:  # an equal claim only renews the lease
                    begun[call] = claim, item.created_at
    return {call: at for call, (_, at) in begun.items()}
