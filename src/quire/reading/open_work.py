"""Open work: the jobs that wait or run, and the calls that a person decides, over all conversations."""

from collections.abc import Sequence
from typing import Any

from quire.errors import QuireError
from quire.memory import is_reserved
from quire.reading.calls import list_calls
from quire.reading.source import Count, Record, Source
from quire.session import OpenJob, Session, log_of, open_jobs_of
from quire.stores import Place

_ROWS, _MOST_ROWS = 50, 200
_LOOKED_AT = 200
"""Conversations that are opened: those with jobs, and the latest, as no store keeps where a call waits."""
_LONGEST = 160


class JobHere(Record, frozen=True):
    """A job that waits or runs: what it was asked, and when. It begins at `not_before` or later."""

    address: str
    job: str
    state: str
    not_before: float
    question: str
    at: float | None


class OpenWork(Record, frozen=True):
    """The first of `length` jobs and calls; a call has the `address` of its conversation."""

    jobs: Sequence[JobHere]
    calls: Sequence[dict[str, Any]]
    length: dict[str, int]


def list_open_work(source: Source, limit: Count = _ROWS) -> OpenWork:
    """Return the jobs that have not ended, and the calls that a person decides in the latest conversations.

    At most 200 conversations are looked through for each. One that cannot be read is left out here: the list
    of conversations says so.
    """
    most = min(limit, _MOST_ROWS)
    jobs, calls = list[JobHere](), list[dict[str, Any]]()
    for place in source.store.with_open_jobs(source.scope)[:_LOOKED_AT]:
        if not is_reserved(place.conversation) and (session := _readable(source, place)) is not None:
            jobs += _jobs(session)
    known, source.without_calls = source.without_calls, {}
    for one in source.recent()[:_LOOKED_AT]:
        if known.get(one.place) == one.version:
            source.without_calls[one.place] = one.version
            continue
        if (session := _readable(source, one.place)) is None:
            continue
        names = [name for name in session.transcripts if session.calls.standing(name)]
        for found in [list_calls(source, str(one.place), name, limit=1)["open"] for name in names]:
            calls += [call | {"address": str(one.place)} for call in found]
        if not names:
            source.without_calls[one.place] = one.version
    length = {"jobs": len(jobs), "calls": len(calls)}
    return OpenWork(jobs=jobs[:most], calls=calls[:most], length=length)


def _readable(source: Source, place: Place) -> Session | None:
    try:
        return source.session(place)
    except QuireError:  # damaged or sealed
        return None


def _jobs(session: Session) -> list[JobHere]:
    accepted = {job.id: job.message for job in session.jobs.pending()}

    def described(one: OpenJob) -> JobHere:
        message = accepted.get(one.job)
        return JobHere(
            address=str(one.place),
            job=one.job,
            state=one.state,
            not_before=one.not_before,
            question="" if message is None else " ".join(message.text[:_LONGEST].split()),
            at=None if message is None else message.created_at,
        )

    return [described(one) for one in open_jobs_of(log_of(session))]
