"""Jobs: those that wait or run in a conversation or a scope, and the outcomes of others."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal

from quire.errors import InvalidValue, QuireError, UnknownId, cut
from quire.memory import is_reserved
from quire.reading.source import Limit, Record, Source
from quire.session import Outcome, Session, find_outcome, list_outcomes, log_of, open_jobs_of
from quire.stores import Place, place_at

_EXCERPT = 160
"""Characters of the question of a job."""

JobState = Literal["waiting", "running", "cancelled", "failed", "ended"]
"""The state of a job. A running job that was cancelled has no `stop` until it ends."""


class JobRow(Record, frozen=True, omit_defaults=True):
    """A job. An open one has the beginning of its `question`, and its time `at`, unless it is a decision.

    It begins at `not_before` or later. `stop` says how a job ended, at a `version`; `waiting` are open calls.
    """

    address: str
    conversation: str
    job: str
    state: JobState
    question: str = ""
    at: float | None = None
    not_before: float = 0.0
    stop: str | None = None
    version: int | None = None
    error: str = ""
    waiting: Sequence[str] = ()


class JobPage(Record, frozen=True):
    """A page of jobs; `next` is the cursor of the next page."""

    jobs: Sequence[JobRow]
    next: str | None


def list_open_jobs(
    source: Source, within: str = "", limit: Limit = 50, cursor: str = "", state: JobState | None = None
) -> JobPage:
    """Return the jobs that have not ended, `within` a scope or in all, ordered by conversation.

    Conversations that cannot be read are left out; `list_conversations` reports them.
    """
    scope = place_at(within).given_scope if within else None
    address, _, job = cursor.rpartition("~")
    places = sorted(
        (
            place
            for place in source.store.with_open_jobs(source.scope)
            if scope in (None, place.given_scope)
            and not is_reserved(place.conversation)
            and str(place) >= address
        ),
        key=str,
    )
    rows = (
        row
        for place in places
        for row in _jobs_at(source, place)
        if state in (None, row.state) and (row.address, row.job) > (address, job)
    )
    shown = list(islice(rows, limit + 1))
    last = shown[limit - 1] if len(shown) > limit else None
    return JobPage(shown[:limit], None if last is None else f"{last.address}~{last.job}")


def _jobs_at(source: Source, place: Place) -> Iterator[JobRow]:
    with suppress(QuireError):  # a damaged or sealed conversation does not hide the others
        yield from sorted(_open_jobs(source.session(place)), key=lambda row: row.job)


def list_jobs(
    source: Source, address: str, limit: Limit = 50, cursor: str = "", state: JobState | None = None
) -> JobPage:
    """Return the jobs of a conversation: all open ones, then at most `limit` ended ones, newest first."""
    if cursor and not cursor.isdecimal():
        raise InvalidValue("a cursor must be `next` of the page before")
    session, before = source.session(address), int(cursor[:15]) if cursor else None
    rows = (_ended(session, outcome) for outcome in list_outcomes(log_of(session), before))
    ended = list(islice((row for row in rows if state in (None, row.state)), limit + 1))
    pending = [row for row in _open_jobs(session) if before is None and state in (None, row.state)]
    last = ended[limit - 1].version if len(ended) > limit else None
    return JobPage([*pending, *ended[:limit]], None if last is None else str(last + 1))


def read_job(source: Source, address: str, job: str) -> JobRow:
    """Return one job; `UnknownId` if it does not exist."""
    session = source.session(address)
    for row in _open_jobs(session):
        if row.job == job:
            return row
    outcome = find_outcome(log_of(session), job)
    if outcome is None:
        raise UnknownId(f"there is no job {cut(job)!r} here")
    return _ended(session, outcome)


def _open_jobs(session: Session) -> list[JobRow]:
    """The open jobs of a conversation, in order."""
    messages = {job.id: job.message for job in session.jobs.pending()}
    rows: list[JobRow] = []
    for open_job in open_jobs_of(log_of(session)):
        message = messages.get(open_job.job)
        row = JobRow(
            address=str(open_job.place),
            conversation=open_job.place.conversation,
            job=open_job.job,
            state=open_job.state,
            question="" if message is None else " ".join(message.text[:_EXCERPT].split()),
            at=None if message is None else message.created_at,
            not_before=open_job.not_before,
        )
        rows.append(row)
    return rows


def _ended(session: Session, outcome: Outcome) -> JobRow:
    state: JobState = "failed" if outcome.stop == "failed" else "ended"
    return JobRow(
        address=str(session.place),
        conversation=session.place.conversation,
        job=outcome.job,
        state="cancelled" if outcome.stop == "cancelled" else state,
        stop=outcome.stop,
        version=outcome.version,
        error=outcome.error,
        waiting=outcome.waiting,
    )
