"""A turn of an agent as a unit of work: it stages entries, and stores them together.

All staged entries are stored in one append:

1. before a request is sent, with its receipt;
2. before tools run, with the entry that their calls begin;
3. when a result arrives, unless it is the last that the turn waits for;
4. before the turn waits for anything else: hooks, approvals, sections that ask others, a compaction;
5. at the end of the turn, with the end of its job;
6. before the reader of a stream sees an event about them;
7. when anybody writes to the conversation, or catches up with it.

A process that is killed loses only what is staged: the model is asked again, and a call whose result was
staged may have run. A turn that works on a job stages its claim, too. The first append of the turn
then claims the job, or fails because others have written since the conversation was read: the job is begun
again.

If others wrote first, staged entries are computed again on top of theirs. A request that was built before is
not sent, because the new entries may belong in it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from quire.context import Context, Template
from quire.errors import Conflict, QuireError, TurnLost, cut
from quire.items import Item, Message, Note, ToolCall
from quire.memory import Wishes
from quire.providers import Parsed, Rendered
from quire.sections import Catalogue, History, Inbox, Input, Instructions, Section
from quire.session.aio import AWAITED, Change, Writer
from quire.session.calls import check_open, is_running
from quire.session.entries import EndedJob, note_of
from quire.session.log import CLAIMS, STAGES, Compute, Entries, check_claims_elsewhere
from quire.session.pool import keeping, ready_notes
from quire.session.state import State, Written
from quire.session.turns import BuildOptions, Request, Turns
from quire.stores.store import checked_name
from quire.stores.streams import JOBS, MAIN

_IMMEDIATE = (Catalogue, History, Inbox, Input, Instructions)
"""Sections that never wait for anything."""

_MAX_REBUILDS = 8
"""How often a request is built again because others wrote meanwhile."""


class Outdated(Conflict):
    """Others wrote to the conversation after a request was built: build it again."""


class Turn:
    """One turn of an agent. The task that enters it, and the tasks it starts, see what is staged."""

    def __init__(self, writer: Writer, turns: Turns) -> None:
        self._writer, self._log, self._turns = writer, writer.log, turns
        self._fault: QuireError | None = None
        self._rebuilds_left = _MAX_REBUILDS

    def enter(self) -> None:
        """Let the current task, and those that it starts, see what is staged."""
        STAGES.set(STAGES.get() | {self._log.place})

    @property
    def is_of_job(self) -> bool:
        """Whether the turn works on a job; the end of the job is stored with the end of the turn."""
        return self._log.place in CLAIMS.get() and self._log.root is self._log

    @property
    def may_stage(self) -> bool:
        """Whether entries may be staged: not if a hook hears of records, which are stored first."""
        return not self._writer.hooks.has_record_hooks

    async def flush(self) -> None:
        """Store what is staged; raise the error that discarded some of it."""
        if self._log.has_staged:
            await AWAITED.write(self._log, self._log.flush)
        self._raise_fault()

    def _raise_fault(self) -> None:
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    def _keep_fault(self, fault: QuireError) -> None:
        self._fault = self._fault or fault

    async def check_claims(self) -> None:
        """Raise `TurnLost` if this is the turn of a sub-agent, and another worker has claimed the job.

        It is called before a request and before tools run, so that a worker that lost a job stops there.
        """
        if CLAIMS.get().keys() - {self._log.place}:
            await AWAITED.do(self._log.root, partial(check_claims_elsewhere, self._log.root))

    # Requests

    async def build(self, template: Template, **options: Unpack[BuildOptions]) -> Context:
        """Build the context of the next request. If building may wait, staged entries are stored first."""
        may_wait = any(map(_may_wait, template.sections))
        if may_wait or self._writer.hooks.all or self._turns.has_compactor:
            await self.flush()
        self._raise_fault()
        return await self._turns.build(AWAITED, template, by_agent=True, **options)

    async def keep(self, request: Request, parameters: Mapping[str, Any]) -> None:
        """Store the receipt of a request that is about to be sent, with all that is staged.

        `Outdated` if others wrote since it was built: then do not send it. After several such errors in a row
        the request is accepted as it is.
        """
        self._raise_fault()
        keep = partial(self._turns.keep_receipt, request, parameters, rebases=self._rebuilds_left <= 0)
        try:
            await AWAITED.write(self._log, keep)
        except TurnLost:
            raise
        except Conflict as conflict:
            self._raise_fault()
            self._rebuilds_left -= 1
            raise Outdated(str(conflict)) from conflict
        self._rebuilds_left = _MAX_REBUILDS

    async def render(self, context: Context, render: Callable[[], Rendered]) -> Rendered:
        """Render a context that this turn has built."""
        return await self._turns.render(AWAITED, context, render)

    def request_of(self, context: Context, rendered: Rendered) -> Request | None:
        """The request of a rendering of a context that this turn has built."""
        return self._turns.request_for(context, rendered.wire)

    # Records

    async def record(self, parsed: Parsed, request: Request | None) -> Parsed:
        """Record the response to a request, and note that this turn runs its calls."""
        self._raise_fault()
        stage = self._stage if self.may_stage else None
        return await self._turns.record_parsed(AWAITED, parsed, MAIN, request, stage=stage, owns_calls=True)

    async def answer(
        self,
        calls: Sequence[ToolCall],
        *items: Item,
        pooled: Sequence[Note] = (),
        to: str = MAIN,
        unless_running: bool = False,
        asks_hooks: bool = True,
        stages: bool = False,
    ) -> tuple[Item, ...]:
        """Record items that answer open calls, and put the notes of `pooled` into the pool, all or none.

        With `stages` they may be staged. Without `asks_hooks`, no hook can refuse the items. `Conflict` if
        one of the calls is not open any more or, with `unless_running`, if a process runs one of them.
        """
        name, notes, place = checked_name(to), ready_notes(self._writer, pooled), self._log.place
        ready = self._writer.ready(items)

        def decide(state: State) -> Change:
            pool_changes = [keeping(self._writer, notes, state)] if notes else []
            check_open(state, calls)
            for call in calls if unless_running else ():
                if is_running(state, call):
                    raise Conflict(f"call {cut(call.call_id)!r} is being run by another")
            answered = Change.adding(place, name, ready)
            return Change.joined([*pool_changes, answered if asks_hooks else answered._replace(before=())])

        return tuple(item for stream, item in await self._write(decide, stages) if stream == name)

    @property
    def is_cancelled(self) -> bool:
        """Whether the job of the turn was cancelled, as far as is known."""
        return self.is_of_job and self._log.state.jobs.is_cancelled

    async def steer(self, messages: Sequence[Message]) -> tuple[Item, ...]:
        """Record messages for the next request, and those of jobs that steer the turn; end these jobs."""
        if not messages and not self._log.state.jobs.steering():
            return ()

        def decide(state: State) -> Change:
            jobs = state.jobs.steering()
            ends = [
                EndedJob(
                    job.entry.job,
                    "cancelled" if job.entry.is_forgotten else "steered",
                    state.version_before_job(job.entry.job),
                )
                for job in jobs
            ]
            of_jobs = (item for job in jobs for item in job.items if not job.entry.is_forgotten)
            added = Change.adding(self._log.place, MAIN, (*messages, *of_jobs))
            return Change.joined([added, Change([Written(JOBS, note_of(end)) for end in ends])])

        return tuple(item for stream, item in await self._write(decide, stages=True) if stream == MAIN)

    async def _write(self, decide: Callable[[State], Change], stages: bool) -> Entries:
        """Store a change, or stage it if both the caller and the hooks allow that."""
        if stages and self.may_stage:
            self._raise_fault()
            stage = partial(self._stage, lambda state: decide(state).entries)
            return await AWAITED.stage(self._log, stage)
        return (await self._writer.write_change(AWAITED, decide)).entries

    def _stage(self, compute: Compute) -> Entries:
        return self._writer.stage(compute, self._keep_fault)


def _may_wait(section: Section) -> bool:
    return section.reads_scope if isinstance(section, Wishes) else type(section) not in _IMMEDIATE
