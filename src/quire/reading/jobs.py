"""Jobs: those that wait or run, in a conversation or a scope, and how the others ended."""

from collections.abc import Sequence
from itertools import chain, islice
from typing import Literal

from quire.errors import InvalidValue, UnknownId, cut
from quire.memory import is_reserved
from quire.reading.source import Count, Record, Source
from quire.session import (
    EndedJob,
    OpenJob,
    Outcome,
    find_outcome,
    job_entries,
    log_of,
    open_jobs,
    open_jobs_of,
)
from quire.stores import place_at

_ROWS, _MOST_ROWS = 50, 200

JobState = Literal["waiting", "running", "cancelled", "failed", "ended"]
"""How far a job is. One that runs and was cancelled has no `stop` until it ends."""


class JobRow(Record, frozen=True, omit_defaults=True):
    """A job. `stop` says how it ended, at a `version`; one that waits may begin at `not_before`."""

    conversation: str
    job: str
    state: JobState
    not_before: float = 0.0
    stop: str | None = None
    version: int | None = None
    error: str = ""
    waiting: Sequence[str] = ()


class JobPage(Record, frozen=True):
    """Jobs; `next` is the cursor of the page after it."""

    jobs: Sequence[JobRow]
    next: str | None


def list_open_jobs(
    source: Source, within: str, limit: Count = _ROWS, cursor: str = "", state: JobState | None = None
) -> JobPage:
    """Return the jobs `within` a scope that have not ended, by the names of their conversations."""
    named = place_at(within).named
    found = [
        _open(one)
        for one in open_jobs(source.store, source.scope)
        if one.place.named == named and not is_reserved(one.place.conversation) and state in (None, one.state)
    ]
    conversation, _, job = cursor.rpartition("~")
    rows = [one for one in sorted(found, key=_order) if not cursor or _order(one) > (conversation, job)]
    shown = rows[: min(limit, _MOST_ROWS)]
    return JobPage(shown, "~".join(_order(shown[-1])) if len(rows) > len(shown) > 0 else None)


def list_jobs(
    source: Source, address: str, limit: Count = _ROWS, cursor: str = "", state: JobState | None = None
) -> JobPage:
    """Return the jobs of a conversation: first those that are open, then those that ended, newest first."""
    if not cursor.isdecimal() and cursor:
        raise InvalidValue("a cursor is `next` of the page before")
    session, before = source.session(address), int(cursor[:15]) if cursor else None
    ended = (
        _ended(
            session.place.conversation, Outcome(one.job, one.stop, version - 1, tuple(one.waiting), one.error)
        )
        for version, one in job_entries(log_of(session), before)
        if isinstance(one, EndedJob)
    )
    pending = [_open(one) for one in open_jobs_of(log_of(session))] if before is None else []
    rows = (one for one in chain(pending, ended) if state in (None, one.state))
    most = len(pending) + min(limit, _MOST_ROWS)
    shown = list(islice(rows, most + 1))
    last = shown[most - 1] if len(shown) > most else None
    return JobPage(shown[:most], None if last is None or last.version is None else str(last.version + 1))


def read_job(source: Source, address: str, job: str) -> JobRow:
    """Return one job; `UnknownId` if there is none."""
    session = source.session(address)
    for one in open_jobs_of(log_of(session)):
        if one.job == job:
            return _open(one)
    outcome = find_outcome(log_of(session), job)
    if outcome is None:
        raise UnknownId(f"there is no job {cut(job)!r} here")
    return _ended(session.place.conversation, outcome)


def _order(one: JobRow) -> tuple[str, str]:
    return one.conversation, one.job


def _open(one: OpenJob) -> JobRow:
    return JobRow(
        conversation=one.place.conversation, job=one.job, state=one.state, not_before=one.not_before
    )


def _ended(conversation: str, outcome: Outcome) -> JobRow:
    state: JobState = "failed" if outcome.stop == "failed" else "ended"
    return JobRow(
        conversation=conversation,
        job=outcome.job,
        state="cancelled" if outcome.stop == "cancelled" else state,
        stop=outcome.stop,
        version=outcome.version,
        error=outcome.error,
        waiting=outcome.waiting,
    )
