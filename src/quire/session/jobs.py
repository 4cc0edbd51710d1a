"""Jobs: work for a conversation that was accepted, and is answered once, by whichever process does it.

A job is in the log of its conversation, so the address of the conversation and the id of the job are all that
travels. Whoever takes a job writes a new claim; from then on the writes of an older holder are refused with
`TurnLost`. A process that dies leaves a job that another can take, and go on where the record ends.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec

from quire.errors import Conflict, InvalidValue, QuireError, TurnBusy, TurnLost, UnknownId, cut
from quire.items import Item, Message, Note, ToolCall, ToolResult, new_id
from quire.session.aio import AWAITED, Writer
from quire.session.entries import AcceptedJob, CancelledJob, EndedJob, JobEntry, TakenJob, job_entry, note_of
from quire.session.leases import claimed, is_held, renewed
from quire.session.log import CLAIMS, Entries, Log, open_log
from quire.session.state import PendingJob, State, Written
from quire.stores import Place, Store
from quire.stores.streams import JOBS, MAIN
from quire.tokens import Definition

_MOST_READ = 256
"""Entries of the stream of jobs that are read at once, from its end, to find one that has ended."""


class Job(NamedTuple):
    """One piece of work: a message to answer, decisions on calls that wait, or results of the client's tools.

    Without any of them, it goes on with a turn that failed. The message has the id of the job.
    """

    id: str
    message: Message | None = None
    decisions: Mapping[str, bool | str] = {}
    results: tuple[ToolResult, ...] = ()
    before: tuple[Item, ...] = ()
    """Items that are recorded before the message, when the job begins."""
    tools: Sequence[Definition] = ()
    """Tools that the client runs, for this turn."""
    parameters: Mapping[str, Any] = {}
    """Values for the sections of the template."""
    is_streamed: bool = False
    """Whether somebody reads the words of the answer as they come."""
    not_before: float = 0.0
    """When it may begin, in UTC epoch seconds."""
    digest: str = ""
    """What tells it from another job that a caller gave the same id."""
    output: Mapping[str, Any] = {}
    """The JSON schema of the answer, if it has one."""
    trace: str = ""
    """The `traceparent` of who asked: the turn is a part of this trace, where OpenTelemetry is in use."""
    steers: bool = False
    """Whether its message is shown to a turn that runs, with its next request, and begins none then."""

    @staticmethod
    def of(
        message: Message | str | None = None,
        *,
        id: str | None = None,
        **fields: Any,
    ) -> "Job":
        """A job with a new id, or with one that the caller chose: submitted twice, it is one job."""
        job_id = id or new_id()
        if isinstance(message, str):
            message = Message("user", message)
        said = None if message is None else msgspec.structs.replace(message, id=job_id)
        return Job(job_id, said, **fields)


class Outcome(NamedTuple):
    """How a job ended. What was said is in the log, after `since` and up to the version."""

    job: str
    stop: str
    """Why the turn ended, as in `Reply.stop`, or "failed"."""
    version: int
    waiting: tuple[str, ...] = ()
    """The call ids of calls that wait for a person, or for the client."""
    error: str = ""
    since: int = 0


_OPTIONS = (
    "decisions",
    "tools",
    "parameters",
    "is_streamed",
    "not_before",
    "digest",
    "output",
    "trace",
    "steers",
)


def _items_of(job: Job) -> list[Item]:
    if job.message is not None and job.message.id != job.id:
        raise InvalidValue("the message of a job has the id of the job: Job.of gives it")
    if job.steers and (job.message is None or any((job.decisions, job.results, job.before, job.tools))):
        raise InvalidValue("a job that steers a turn has a message, and nothing else")
    if any(isinstance(item, Note) and item.key is not None for item in job.before):
        raise InvalidValue("a note with a key belongs in the pool: it cannot come before a message")
    options = {name: getattr(job, name) for name in _OPTIONS if getattr(job, name)}
    options |= {"tools": list(job.tools)} if job.tools else {}
    brings = [] if job.message is None else [job.message]
    note = note_of(AcceptedJob(job.id, len(job.before), **options))
    return [note, *job.before, *brings, *job.results]


def _job_of(pending: PendingJob) -> Job:
    entry, items = pending.entry, pending.items
    before, brings = items[: entry.before], items[entry.before :]
    return Job(
        entry.job,
        next((item for item in brings if isinstance(item, Message)), None),
        results=tuple(item for item in brings if isinstance(item, ToolResult)),
        before=tuple(before),
        tools=tuple(entry.tools),
        **{name: getattr(entry, name) for name in _OPTIONS if name != "tools"},
    )


class Taken:
    """A job that this process does."""

    def __init__(
        self, job: Job, writer: Writer, since: int = 0, *, is_retry: bool = False, is_forgotten: bool = False
    ) -> None:
        self.job, self._since = job, since
        self.is_forgotten = is_forgotten
        """Whether its content was erased before it was taken."""
        self.is_retry = is_retry
        """Whether somebody has begun it before."""
        self.unfinished: str | None = None
        """Another job that was begun and has not ended: it goes first, and this one was not taken."""
        self._writer = writer
        self.outcome: Outcome | None = None
        """How it ended, once it has."""

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has cancelled it."""
        return self.job.id in self._writer.log.state.jobs.cancelled

    async def end(self, stop: str, *, waiting: Sequence[str] = (), error: str = "") -> Outcome:
        """Record how the job ended. `TurnLost` if another has taken it."""
        log = self._writer.log
        entry = EndedJob(self.job.id, stop, self._since, list(waiting), error)
        note = note_of(entry)
        await AWAITED.write(log, lambda: self._writer.commit(lambda _: [Written(JOBS, note)]))
        self.outcome = _outcome_of(entry, log.state.version - 1)
        return self.outcome


def _outcome_of(entry: EndedJob, version: int) -> Outcome:
    return Outcome(entry.job, entry.stop, version, tuple(entry.waiting), entry.error, entry.since)


JobState = Literal["waiting", "running", "cancelled"]


class OpenJob(NamedTuple):
    """A job that was accepted and has not ended, as a list of jobs shows it."""

    place: Place
    job: str
    state: JobState
    """Running: somebody has taken it, who may have died since. Cancelled: whoever does it is to end it."""
    not_before: float = 0.0
    """When it may begin, in UTC epoch seconds."""


def open_jobs(store: Store, scope: str | None = None) -> list[OpenJob]:
    """The jobs of a scope that have not ended; those of all scopes are for the operator."""
    places = store.with_open_jobs(scope)
    return [one for place in places for one in open_jobs_of(open_log(store, place))]


def open_jobs_of(log: Log) -> list[OpenJob]:
    """The jobs of one conversation that have not ended, in order."""
    found: list[OpenJob] = []
    with log.applying:
        jobs = log.jobs
        for job, pending in jobs.pending.items():
            is_running = jobs.holder is not None and jobs.holder.job == job
            progress: JobState = "running" if is_running else "waiting"
            progress = "cancelled" if job in jobs.cancelled else progress
            found.append(OpenJob(log.place, job, progress, pending.entry.not_before))
    return found


class Jobs:
    """The jobs of one conversation. Their verbs are awaited."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._log = writer, writer.log

    async def submit(self, job: Job) -> int:
        """Accept a job, and return the version before it: all that comes of it has a higher one.

        A job whose id is known is not accepted again: it is pending, its message is on record, it was
        cancelled, or it ended not long ago.
        """
        return await AWAITED.write(self._log, lambda: accept_job(self._writer, job))

    async def cancel(self, job_id: str) -> None:
        """Cancel a job. One that waits never starts; one that runs ends at its next safe point.

        That is before its next request or tool call, or at once if it runs in this process, or if a service
        cancels what its worker does. What it did stays on the record. `UnknownId` if it has ended, or there
        is none.
        """

        def entries(state: State) -> Entries:
            if job_id not in state.jobs.pending:
                raise UnknownId(f"no job {cut(job_id)!r} of {self._log.place} waits or runs")
            if job_id in state.jobs.begun:
                return [Written(JOBS, note_of(CancelledJob(job_id)))]
            return [Written(JOBS, note_of(EndedJob(job_id, "cancelled", state.version_before_job(job_id))))]

        try:
            await AWAITED.write(self._log, lambda: self._writer.commit(entries))
        except Conflict as conflict:  # it ended meanwhile
            raise UnknownId(f"no job {cut(job_id)!r} of {self._log.place} waits or runs") from conflict
        await self.interrupt()

    async def interrupt(self) -> None:
        """End the turn that runs in this process at once, if its job was cancelled."""
        work = self._log.at_work
        if work is not None and self.current in self._log.jobs.cancelled:
            await work.interrupt()

    async def retry(self, job_id: str) -> Job:
        """A job that goes on with one that failed, to be submitted; for one job it is always the same.

        `Conflict` if the job has not failed, or more was said since. `UnknownId` if there is none.
        """
        job = await AWAITED.do(self._log, lambda: _accepted(self._log, job_id))
        outcome = await self.outcome(job_id)
        if outcome is None or outcome.stop != "failed" or said_since(self._log, outcome.version):
            raise Conflict(f"the job {cut(job_id)!r} has not failed, or the conversation went on since")
        again = f"again_{sha256(job_id.encode()).hexdigest()[:32]}"
        job, transcript = (
            job._replace(id=again, not_before=0.0, digest="", steers=False),
            self._log.state.transcripts[MAIN],
        )
        if job_id not in transcript:
            message = job.message and msgspec.structs.replace(job.message, id=again)
            return job._replace(message=message)
        waiting = {name for call in transcript.view.pending() for name in (call.id, call.call_id)}
        decisions = {name: job.decisions[name] for name in job.decisions if name in waiting}
        return job._replace(message=None, before=(), decisions=decisions)

    def pending(self) -> list[Job]:
        """The jobs that were accepted and have not ended, in order."""
        with self._log.applying:
            return [_job_of(pending) for pending in self._log.jobs.pending.values()]

    @property
    def current(self) -> str | None:
        """The id of the job that somebody has taken and not ended."""
        holder = self._log.jobs.holder
        return None if holder is None else holder.job

    async def outcome(self, job_id: str) -> Outcome | None:
        """How a job ended; `None` if it has not, or there is none."""
        return await AWAITED.do(self._log, lambda: find_outcome(self._log, job_id))


# For workers and services


def accept_job(writer: Writer, job: Job) -> int:
    """As `Jobs.submit`, in this thread: for a caller whose transaction the store has joined."""
    items = writer.ready(_items_of(job))
    before = 0

    def entries(state: State) -> Entries:
        nonlocal before
        known = _known(job.id, state)
        before = state.version if known is None else known
        return [Written(JOBS, item) for item in items] if known is None else []

    writer.commit(entries)
    return before


def version_before_job(log: Log, job_id: str) -> int | None:
    """The version before a job that was accepted, as far as is known; `None` if it was not."""
    return log.look(lambda state: _known(job_id, state))


def said_since(log: Log, version: int) -> bool:
    """Whether something was said or done in a conversation after a version."""
    with log.applying:
        view, before = log.state.transcripts[MAIN].view, log.state.revision_at(version, MAIN)
    return any(
        isinstance(item, Message | ToolCall | ToolResult) for item in view.log.items(before, view.revision)
    )


def version_before_work(log: Log) -> int:
    """The version before the job that somebody has taken; if there is none, that of the conversation."""
    with log.applying:
        holder = log.jobs.holder
        return log.version if holder is None else log.state.version_before_job(holder.job)


async def digest_of_job(log: Log, job_id: str) -> str | None:
    """The digest of a job that was accepted; `None` if it has none, or is no more on record."""
    with log.applying:
        if pending := log.state.jobs.pending.get(job_id):
            return pending.entry.digest or None

    def find() -> str | None:
        accepted = (one for _, one in _job_entries(log) if isinstance(one, AcceptedJob))
        return next((one.digest or None for one in accepted if one.job == job_id), None)

    return await AWAITED.do(log, find)


class Behind(Conflict):
    """A job was taken by what was known of the conversation, and others had done more: take it again."""


class _Found(NamedTuple):
    """What a job was taken by: it has to be the same when the claim is stored."""

    pending: PendingJob | None
    begun: TakenJob | None
    unfinished: str | None
    """Another job, which goes first."""
    done: Mapping[str, int]
    """The last version of each stream but that of jobs."""


@asynccontextmanager
async def take_job(writer: Writer, job_id: str, *, force: bool = False) -> AsyncGenerator[Taken]:
    """Do a job in the block, which ends it by `Taken.end`; otherwise it stays, for another to take.

    `TurnBusy` if a process that is alive does a job here; with `force` it is taken over: whoever did it
    can write no more. The conversation is not read for it: the first write finds out whether others have
    written since it was. If they did more than to accept jobs, nothing is stored, and `Behind` is raised. Of
    a job that has ended, the outcome is given. `UnknownId` if there is none.
    """
    log = writer.log
    with claimed() as claim:
        first = TakenJob(job_id, claim())
        found: _Found | None = None
        lost: list[QuireError] = []

        def take(state: State) -> Entries:
            nonlocal found
            jobs, before = state.jobs, found
            done = {stream: version for stream, version in state.latest.items() if stream != JOBS}
            found = _Found(jobs.pending.get(job_id), jobs.begun.get(job_id), jobs.before(job_id), done)
            if before is not None and found != before:
                raise Behind(f"others went on in {log.place} meanwhile")
            if found.pending is None:
                return []
            if jobs.holder is not None and not force and is_held(jobs.holder.lease):
                raise TurnBusy(f"a job of {log.place} is being done by another")
            return [Written(JOBS, note_of(first))] if found.unfinished is None else []

        if job_id not in log.state.jobs.pending:
            await AWAITED.do(log, log.catch_up)
        # It is stored with what the turn writes first, which was decided by what is known here.
        is_taken = await AWAITED.stage(log, lambda: writer.stage(take, lost.append))
        assert found is not None
        if found.pending is None or not is_taken:
            yield await _not_taken(writer, job_id, found.unfinished)
            return
        taken = Taken(
            _job_of(found.pending),
            writer,
            log.state.version_before_job(job_id),
            is_retry=found.begun is not None,
            is_forgotten=found.pending.entry.is_forgotten,
        )

        def renewal(state: State) -> Entries:
            is_pending = job_id in state.jobs.pending
            return [Written(JOBS, note_of(TakenJob(job_id, claim())))] if is_pending else []

        token = CLAIMS.set({**CLAIMS.get(), log.place: first.lease.claim})
        try:
            try:
                async with renewed(log, renewal):
                    yield taken
            finally:
                if log.has_staged:
                    await AWAITED.write(log, log.flush)
        except TurnLost as fault:  # also where the claim was never stored: then that is the reason
            raise next(iter(lost), fault) from None
        finally:
            CLAIMS.reset(token)


async def _not_taken(writer: Writer, job_id: str, unfinished: str | None) -> Taken:
    left = Taken(Job(job_id), writer)
    left.unfinished = unfinished
    left.outcome = None if unfinished is not None else await Jobs(writer).outcome(job_id)
    if left.outcome is None and unfinished is None:
        raise UnknownId(f"there is no job {cut(job_id)!r} in {writer.log.place}")
    return left


def _known(job_id: str, state: State) -> int | None:
    """The version before a job that was accepted before; `None` if it was not."""
    if job_id in state.jobs.pending:
        return state.version_before_job(job_id)
    if ended := state.jobs.ended.get(job_id):
        return ended[1].since
    return state.version_of(job_id, MAIN) - 1 if job_id in state.transcripts[MAIN] else None


def find_outcome(log: Log, job_id: str) -> Outcome | None:
    """How a job ended, as `Jobs.outcome` says, in this thread."""
    state = log.state
    if ended := state.jobs.ended.get(job_id):
        note, entry = ended
        return _outcome_of(entry, state.versions_by_id[note] - 1)
    for version, one in _job_entries(log):
        if one.job == job_id and not isinstance(one, TakenJob):
            return _outcome_of(one, version - 1) if isinstance(one, EndedJob) else None
    return None


def list_outcomes(log: Log, before: int | None = None) -> Iterator[Outcome]:
    """How jobs ended, the last first; with `before`, those of which that was recorded below that version."""
    for version, one in _job_entries(log, before):
        if isinstance(one, EndedJob):
            yield _outcome_of(one, version - 1)


def _job_entries(log: Log, before: int | None = None) -> Iterator[tuple[int, JobEntry]]:
    """The entries of jobs with their versions, the last first."""
    for version, item in _recorded(log, before):
        if (entry := job_entry(item)) is not None:
            yield version, entry


def _recorded(log: Log, before: int | None = None) -> Iterator[tuple[int, Item]]:
    """The items of the stream of jobs with their versions, the last first."""
    while versions := log.store.versions_of(log.place, JOBS, before=before, limit=_MOST_READ):
        yield from reversed([*zip(versions, log.read_at(versions), strict=True)])
        before = versions[0]


def _accepted(log: Log, job_id: str) -> Job:
    """A job as it was accepted; `UnknownId` if that is no more on record."""
    brought: list[Item] = []
    for _, item in _recorded(log):
        entry = job_entry(item)
        if isinstance(entry, AcceptedJob) and entry.job == job_id:
            return _job_of(PendingJob(item.id, entry, brought))
        brought = [] if entry is not None else [item, *brought]
    raise UnknownId(f"there is no job {cut(job_id)!r} in {log.place}")
