"""Open work: waiting and running jobs, and calls that a person must decide, of all conversations."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from quire.errors import QuireError
from quire.reading.calls import list_calls
from quire.reading.jobs import JobRow, list_open_jobs
from quire.reading.source import Limit, Record, Source

_MAX_OPENED = 200
"""The latest conversations, which are searched for calls: stores have no index of waiting calls."""


class OpenWork(Record, frozen=True):
    """The first open jobs and calls; a call has the `address` of its conversation."""

    jobs: Sequence[JobRow]
    calls: Sequence[dict[str, Any]]
    has_more: bool


def list_open_work(source: Source, limit: Limit = 50) -> OpenWork:
    """Return the open jobs, and the calls that a person must decide in the latest conversations.

    Conversations that cannot be read are left out; `list_conversations` reports them.
    """
    jobs, calls = list_open_jobs(source, limit=limit), list[dict[str, Any]]()
    versions, source.without_calls = source.without_calls, {}
    for place, version, _ in source.recent()[:_MAX_OPENED]:
        if versions.get(place) == version:
            source.without_calls[place] = version
            continue
        with suppress(QuireError):  # damaged or sealed
            session = source.session(place)
            names = [name for name in session.transcripts if session.calls.list_open(name)]
            pages = [list_calls(source, str(place), name, limit=1) for name in names]
            calls += [call | {"address": str(place)} for page in pages for call in page["open"]]
            if not names:
                source.without_calls[place] = version
    return OpenWork(jobs=jobs.jobs, calls=calls[:limit], has_more=jobs.next is not None or len(calls) > limit)
