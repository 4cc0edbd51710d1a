"""Open work: the jobs that wait or run, and the calls that a person decides, over all conversations."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from quire.errors import QuireError
from quire.reading.calls import list_calls
from quire.reading.jobs import JobRow, list_open_jobs
from quire.reading.source import Limit, Record, Source

_LOOKED_AT = 200
"""Conversations that are opened for calls: the latest, as no store keeps where a call waits."""


class OpenWork(Record, frozen=True):
    """The first jobs and calls; a call has the `address` of its conversation."""

    jobs: Sequence[JobRow]
    calls: Sequence[dict[str, Any]]
    has_more: bool


def list_open_work(source: Source, limit: Limit = 50) -> OpenWork:
    """Return the jobs that have not ended, and the calls that a person decides in the latest conversations.

    A conversation that cannot be read is left out here: the list of conversations says so.
    """
    jobs, calls = list_open_jobs(source, limit=limit), list[dict[str, Any]]()
    known, source.without_calls = source.without_calls, {}
    for one in source.recent()[:_LOOKED_AT]:
        if known.get(one.place) == one.version:
            source.without_calls[one.place] = one.version
            continue
        with suppress(QuireError):  # damaged or sealed
            session = source.session(one.place)
            names = [name for name in session.transcripts if session.calls.standing(name)]
            for found in [list_calls(source, str(one.place), name, limit=1)["open"] for name in names]:
                calls += [call | {"address": str(one.place)} for call in found]
            if not names:
                source.without_calls[one.place] = one.version
    return OpenWork(jobs=jobs.jobs, calls=calls[:limit], has_more=jobs.next is not None or len(calls) > limit)
