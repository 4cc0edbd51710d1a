"""Jobs: accepted work for a conversation. Any process may do a job, and it is answered once.

A job is stored in the log of its conversation, so a queue needs only the address of the conversation and the
id of the job. A worker claims a job by writing a new claim. From then on the writes of an earlier worker fail
with `TurnLost`. If a process dies, another one can claim the job and continue where the log ends.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec

from quire.errors import Conflict, InvalidValue, QuireError, TurnBusy, TurnLost, UnknownId, cut
from quire.items import Item, Message, Note, ToolCall, ToolResult, new_id
from quire.session.aio import AWAITED, Writer
from quire.session.entries import (
    AcceptedJob,
    CancelledJob,
    ClaimedJob,
    EndedJob,
    JobEntry,
    job_entry,
    note_of,
)
from quire.session.leases import hold_claim, is_held, renewed
from quire.session.log import CLAIMS, Entries, Log, open_log
from quire.session.state import JobsState, PendingJob, State, Written
from quire.stores import Place, Store
from quire.stores.streams import JOBS, MAIN
from quire.tokens import Definition

_BATCH = 256
"""How many entries of the stream `JOBS` are read at once, from its end, to find a job."""


class Job(NamedTuple):
    """One piece of work: a message to answer, decisions on calls that wait, or results of the client's tools.

    A job with none of these continues a turn that failed. The id of the message is the id of the job.
    """

    id: str
    message: Message | None = None
    decisions: Mapping[str, bool | str] = {}
    results: tuple[ToolResult, ...] = ()
    before: tuple[Item, ...] = ()
    """Items to record before the message when the job begins."""
    tools: Sequence[Definition] = ()
    """Tools that the client runs, for this turn only."""
    parameters: Mapping[str, Any] = {}
    """Values for the sections of the template."""
    is_streamed: bool = False
    """Whether a client reads the answer as a stream."""
    not_before: float = 0.0
    """The earliest time to begin, in UTC epoch seconds."""
    digest: str = ""
    """A digest of the request of the caller, to detect a different request with the same id."""
    output: Mapping[str, Any] = {}
    """The JSON schema of the answer, if it has one."""
    trace: str = ""
    """The `traceparent` of the caller: with OpenTelemetry, the turn becomes a part of this trace."""
    steers: bool = False
    """Whether a running turn takes the message into its next request, instead of a new turn answering it."""

    @staticmethod
    def of(message: Message | str | None = None, *, id: str | None = None, **fields: Any) -> "Job":
        """A job with a new id, or with the id of the caller: submitting the same id again has no effect."""
        job_id = id or new_id()
        if isinstance(message, str):
            message = Message("user", message)
        named = None if message is None else msgspec.structs.replace(message, id=job_id)
        return Job(job_id, named, **fields)


class Outcome(NamedTuple):
    """How a job ended. Its items are in the log after the version `since`, up to `version`."""

    job: str
    stop: str
    """Why the turn ended, as in `Reply.stop`, or "failed"."""
    version: int
    waiting: tuple[str, ...] = ()
    """The call ids of calls that wait for a person, or for the client."""
    error: str = ""
    since: int = 0


_OPTIONS = tuple(name for name in Job._fields if name not in ("id", "message", "results", "before"))
"""The fields of a job that are in its entry, and not items of it."""


def _items_of(job: Job) -> list[Item]:
    if job.message is not None and job.message.id != job.id:
        raise InvalidValue("the message of a job must have the id of the job: Job.of gives it")
    if job.steers and (job.message is None or any((job.decisions, job.results, job.before, job.tools))):
        raise InvalidValue("a job that steers a turn must have a message, and nothing else")
    if any(isinstance(item, Note) and item.key is not None for item in job.before):
        raise InvalidValue("a note with a key belongs in the pool: it cannot come before a message")
    options = {name: getattr(job, name) for name in _OPTIONS if getattr(job, name)}
    options |= {"tools": list(job.tools)} if job.tools else {}
    message = [] if job.message is None else [job.message]
    note = note_of(AcceptedJob(job.id, len(job.before), **options))
    return [note, *job.before, *message, *job.results]


def _job_of(pending: PendingJob) -> Job:
    entry, items = pending.entry, pending.items
    before, rest = items[: entry.before], items[entry.before :]
    return Job(
        entry.job,
        next((item for item in rest if isinstance(item, Message)), None),
        results=tuple(item for item in rest if isinstance(item, ToolResult)),
        before=tuple(before),
        tools=tuple(entry.tools),
        **{name: getattr(entry, name) for name in _OPTIONS if name != "tools"},
    )


class RunningJob:
    """What `claim_job` yields: a claimed job, unless `unfinished` or `outcome` says why it is not claimed."""

    def __init__(
        self, job: Job, writer: Writer, since: int = 0, *, is_retry: bool = False, is_forgotten: bool = False
    ) -> None:
        self.job, self._since = job, since
        self.is_forgotten = is_forgotten
        """Whether its content was erased before it was claimed."""
        self.is_retry = is_retry
        """Whether a worker has claimed it before."""
        self.unfinished: str | None = None
        """The id of a begun job that has to end first; this job was then not claimed."""
        self._writer = writer
        self.outcome: Outcome | None = None
        """How the job ended; `None` until it has."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the job was cancelled."""
        return self.job.id in self._writer.log.state.jobs.cancelled

    async def end(self, stop: str, *, waiting: Sequence[str] = (), error: str = "") -> Outcome:
        """Record how the job ended; `TurnLost` if another worker has claimed it."""
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
    """A running job was claimed by a worker, which may have died since. A cancelled job must still end."""
    not_before: float = 0.0
    """The earliest time to begin, in UTC epoch seconds."""


def open_jobs(store: Store, scope: str | None = None) -> list[OpenJob]:
    """The jobs of a scope that have not ended; without a scope, those of all scopes."""
    places = store.with_open_jobs(scope)
    return [job for place in places for job in open_jobs_of(open_log(store, place))]


def open_jobs_of(log: Log) -> list[OpenJob]:
    """The jobs of one conversation that have not ended, in order."""
    with log.applying:
        return [
            OpenJob(log.place, job_id, _state_of(job_id, log.jobs), pending.entry.not_before)
            for job_id, pending in log.jobs.pending.items()
        ]


def _state_of(job_id: str, jobs: JobsState) -> JobState:
    if job_id in jobs.cancelled:
        return "cancelled"
    return "running" if jobs.current is not None and jobs.current.job == job_id else "waiting"


class Jobs:
    """The jobs of one conversation. All verbs that may wait are coroutines."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._log = writer, writer.log

    async def submit(self, job: Job) -> int:
        """Accept a job, and return the version before it: everything the job writes has a higher version.

        A job whose id is known is not accepted again. An id is known if the job is pending, was cancelled or
        ended recently, or if the transcript has a message with this id.
        """
        return await AWAITED.write(self._log, lambda: accept_job(self._writer, job))

    async def cancel(self, job_id: str) -> None:
        """Cancel a job. A waiting job never starts; a running job ends before its next request or tool call.

        A running job ends at once if it runs in this process, or if its worker belongs to the service that
        cancels it. What it has recorded stays. `UnknownId` if the job has ended, or there is none.
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
        """Interrupt the turn that runs in this process, if its job was cancelled."""
        turn = self._log.running_turn
        if turn is not None and self.current in self._log.jobs.cancelled:
            await turn.interrupt()

    async def retry(self, job_id: str) -> Job:
        """Make a job that continues a failed one, to be submitted next. Its id is the same on every call.

        `Conflict` if the job has not failed, or the conversation went on since. `UnknownId` if there is none.
        """
        job = await AWAITED.do(self._log, lambda: _accepted(self._log, job_id))
        outcome = await self.outcome(job_id)
        if outcome is None or outcome.stop != "failed" or said_since(self._log, outcome.version):
            raise Conflict(f"the job {cut(job_id)!r} has not failed, or the conversation went on since")
        retry_id = f"again_{sha256(job_id.encode()).hexdigest()[:32]}"
        job = job._replace(id=retry_id, not_before=0.0, digest="", steers=False)
        transcript = self._log.state.transcripts[MAIN]
        if job_id not in transcript:
            message = job.message and msgspec.structs.replace(job.message, id=retry_id)
            return job._replace(message=message)
        open_ids = {name for call in transcript.view.pending() for name in (call.id, call.call_id)}
        decisions = {name: job.decisions[name] for name in job.decisions if name in open_ids}
        return job._replace(message=None, before=(), decisions=decisions)

    def pending(self) -> list[Job]:
        """The jobs that were accepted and have not ended, in order."""
        with self._log.applying:
            return [_job_of(pending) for pending in self._log.jobs.pending.values()]

    @property
    def current(self) -> str | None:
        """The id of the job that a worker has claimed and not ended."""
        current = self._log.jobs.current
        return None if current is None else current.job

    async def outcome(self, job_id: str) -> Outcome | None:
        """How a job ended; `None` if it has not, or there is none."""
        return await AWAITED.do(self._log, lambda: find_outcome(self._log, job_id))


# For workers and services


def accept_job(writer: Writer, job: Job) -> int:
    """As `Jobs.submit`, but in this thread, so that it can be part of a transaction of the caller."""
    items = writer.ready(_items_of(job))
    before = 0

    def entries(state: State) -> Entries:
        nonlocal before
        known_before = _version_before(job.id, state)
        before = state.version if known_before is None else known_before
        return [Written(JOBS, item) for item in items] if known_before is None else []

    writer.commit(entries)
    return before


def version_before_job(log: Log, job_id: str) -> int | None:
    """The version before a job was accepted; `None` if its id is not known: see `Jobs.submit`."""
    return log.read_state(lambda state: _version_before(job_id, state))


def said_since(log: Log, version: int) -> bool:
    """Whether a conversation has messages, calls or results after a version."""
    with log.applying:
        view, before = log.state.transcripts[MAIN].view, log.state.revision_at(version, MAIN)
    return any(
        isinstance(item, Message | ToolCall | ToolResult) for item in view.log.items(before, view.revision)
    )


def version_before_work(log: Log) -> int:
    """The version before the claimed job; if there is none, the version of the conversation."""
    with log.applying:
        current = log.jobs.current
        return log.version if current is None else log.state.version_before_job(current.job)


async def digest_of_job(log: Log, job_id: str) -> str | None:
    """The digest of an accepted job; `None` if it has none, or the log has no entry of it."""
    with log.applying:
        if pending := log.state.jobs.pending.get(job_id):
            return pending.entry.digest or None

    def find() -> str | None:
        accepted = (entry for _, entry in _job_entries(log) if isinstance(entry, AcceptedJob))
        return next((entry.digest or None for entry in accepted if entry.job == job_id), None)

    return await AWAITED.do(log, find)


class Behind(Conflict):
    """A claim failed because others had written more than this process had read: claim the job again."""


class _Basis(NamedTuple):
    """The facts on which a claim is decided. They have to be the same when the claim is stored."""

    pending: PendingJob | None
    begun: ClaimedJob | None
    unfinished: str | None
    """The id of a begun job that has to end first."""
    last_versions: Mapping[str, int]
    """The last version of each stream, except `JOBS`."""


@asynccontextmanager
async def claim_job(writer: Writer, job_id: str, *, force: bool = False) -> AsyncGenerator[RunningJob]:
    """Claim a job during the block. The block calls `RunningJob.end`; else another worker can claim the job.

    `TurnBusy` if a live process works on a job of this conversation. With `force`, its job is taken over, and
    that process cannot write any more. The claim is staged without reading the log again: the first write in
    the block raises `Behind`, and stores nothing, if others have written more than new jobs meanwhile. If the
    job has ended already, `RunningJob.outcome` says how. `UnknownId` if there is no such job.
    """
    log = writer.log
    with hold_claim() as make_lease:
        first = ClaimedJob(job_id, make_lease())
        basis: _Basis | None = None
        claim_faults: list[QuireError] = []

        def entries(state: State) -> Entries:
            nonlocal basis
            jobs, first_basis = state.jobs, basis
            versions = {stream: version for stream, version in state.last_versions.items() if stream != JOBS}
            ahead = jobs.job_ahead_of(job_id)
            basis = _Basis(jobs.pending.get(job_id), jobs.begun.get(job_id), ahead, versions)
            if first_basis is not None and basis != first_basis:
                raise Behind(f"others went on in {log.place} meanwhile")
            if basis.pending is None:
                return []
            if jobs.current is not None and not force and is_held(jobs.current.lease):
                raise TurnBusy(f"a job of {log.place} is being done by another")
            return [Written(JOBS, note_of(first))] if basis.unfinished is None else []

        if job_id not in log.state.jobs.pending:
            await AWAITED.do(log, log.catch_up)
        # The claim is stored with the first write of the turn.
        is_claimed = await AWAITED.stage(log, lambda: writer.stage(entries, claim_faults.append))
        assert basis is not None
        if basis.pending is None or not is_claimed:
            yield await _not_claimed(writer, job_id, basis.unfinished)
            return
        running = RunningJob(
            _job_of(basis.pending),
            writer,
            log.state.version_before_job(job_id),
            is_retry=basis.begun is not None,
            is_forgotten=basis.pending.entry.is_forgotten,
        )

        def renewal(state: State) -> Entries:
            is_pending = job_id in state.jobs.pending
            return [Written(JOBS, note_of(ClaimedJob(job_id, make_lease())))] if is_pending else []

        token = CLAIMS.set({**CLAIMS.get(), log.place: first.lease.claim})
        try:
            try:
                async with renewed(log, renewal):
                    yield running
            finally:
                if log.has_staged:
                    await AWAITED.write(log, log.flush)
        except TurnLost as fault:  # if the claim could not be stored, raise the error that says why
            raise next(iter(claim_faults), fault) from None
        finally:
            CLAIMS.reset(token)


async def _not_claimed(writer: Writer, job_id: str, unfinished: str | None) -> RunningJob:
    job = RunningJob(Job(job_id), writer)
    job.unfinished = unfinished
    if unfinished is None:
        job.outcome = await Jobs(writer).outcome(job_id)
        if job.outcome is None:
            raise UnknownId(f"there is no job {cut(job_id)!r} in {writer.log.place}")
    return job


def _version_before(job_id: str, state: State) -> int | None:
    """The version before a job was accepted; `None` if its id is not known: see `Jobs.submit`."""
    if job_id in state.jobs.pending:
        return state.version_before_job(job_id)
    if ended := state.jobs.ended.get(job_id):
        return ended[1].since
    return state.version_of(job_id, MAIN) - 1 if job_id in state.transcripts[MAIN] else None


def find_outcome(log: Log, job_id: str) -> Outcome | None:
    """As `Jobs.outcome`, but in this thread."""
    state = log.state
    if ended := state.jobs.ended.get(job_id):
        note_id, end = ended
        return _outcome_of(end, state.versions_by_id[note_id] - 1)
    for version, entry in _job_entries(log):
        if entry.job == job_id and not isinstance(entry, ClaimedJob):
            return _outcome_of(entry, version - 1) if isinstance(entry, EndedJob) else None
    return None


def list_outcomes(log: Log, before: int | None = None) -> Iterator[Outcome]:
    """The outcomes of jobs, the latest first; with `before`, those recorded before that version."""
    for version, entry in _job_entries(log, before):
        if isinstance(entry, EndedJob):
            yield _outcome_of(entry, version - 1)


def _job_entries(log: Log, before: int | None = None) -> Iterator[tuple[int, JobEntry]]:
    """The entries of jobs with their versions, the latest first."""
    for version, item in _recorded(log, before):
        if (entry := job_entry(item)) is not None:
            yield version, entry


def _recorded(log: Log, before: int | None = None) -> Iterator[tuple[int, Item]]:
    """The items of the stream `JOBS` with their versions, the latest first."""
    while versions := log.store.versions_of(log.place, JOBS, before=before, limit=_BATCH):
        yield from reversed([*zip(versions, log.read_at(versions), strict=True)])
        before = versions[0]


def _accepted(log: Log, job_id: str) -> Job:
    """A job as it was accepted; `UnknownId` if the log has no entry of it."""
    items: list[Item] = []
    for _, item in _recorded(log):
        entry = job_entry(item)
        if isinstance(entry, AcceptedJob) and entry.job == job_id:
            return _job_of(PendingJob(item.id, entry, items))
        items = [] if entry is not None else [item, *items]
    raise UnknownId(f"there is no job {cut(job_id)!r} in {log.place}")
