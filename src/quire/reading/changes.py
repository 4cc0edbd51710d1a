"""Changes by a person: undo an edit, begin a branch, run a compaction, decide a call, cancel a job."""

import asyncio
from typing import Annotated

from msgspec import Meta

from quire.errors import InvalidValue
from quire.items import Origin
from quire.reading.compactions import policy_named, room_of
from quire.reading.source import Count, Record, Source
from quire.session import transcript_with
from quire.stores.streams import MAIN

Name = Annotated[str, Meta(min_length=1)]


class Undone(Record, frozen=True):
    """The ids of an undone edit and of its undo, and the number of shown items after it and before."""

    undone: str
    id: str
    shown: int
    before: int
    version: int


def undo(source: Source, address: Name, id: str = "", *, origin: Origin | None = None) -> Undone:
    """Undo an edit by its id, by default the last in force. An undo can be undone too.

    Its origin is the user, unless another `origin` is given.
    """
    session = source.session(address)
    name = (id and transcript_with(session, id)) or MAIN
    before, edit = len(session.view(name)), session.undo(id or None, to=name, origin=origin)
    shown = len(session.view(name))
    return Undone(undone=edit.target, id=edit.id, shown=shown, before=before, version=session.version)


def distrust(source: Source, address: Name, id: Name) -> dict[str, str | int]:
    """Trust an item, and all that is made of it, no more than text from outside; this can be undone."""
    session = source.session(address)
    edit = session.distrust(id, to=transcript_with(session, id) or MAIN)
    return {"id": edit.id, "version": session.version}


def fork(
    source: Source, address: Name, name: Name, at: int | str | None = None, transcript: str = MAIN
) -> dict[str, str | int]:
    """Begin a branch now, or `at` a version or the id of an item."""
    branch = source.session(address).fork(name, at=at, of=transcript)
    return {"address": str(branch.place), "version": branch.version}


def compact(source: Source, address: Name, by: Name, tokens: Count | None = None) -> dict[str, str | None]:
    """Compact now by a policy that needs no model."""
    session = source.session(address)
    if by == "summarize":
        raise InvalidValue("no model is asked here: a summary is written where the agent runs")
    outcome = session.compaction.run(by=policy_named(by), room=room_of(session, tokens))
    return {"fate": None} if outcome is None else {"fate": outcome.fate, "reason": outcome.reason}


def decide(source: Source, address: Name, id: Name, verdict: bool | str) -> dict[str, str | int]:
    """Record that a person approves a call (true) or refuses it (false, or a reason)."""
    session = source.session(address)
    session.calls.decide(id, verdict)
    return {"id": id, "version": session.version}


def cancel(source: Source, address: Name, job: Name) -> dict[str, str | int]:
    """Cancel a job: a waiting one never starts, a running one ends before its next request or call."""
    session = source.session(address)
    asyncio.run(session.jobs.cancel(job))
    return {"job": job, "version": session.version}
