"""The entries of the streams `CALLS` and `JOBS` as typed values. In the log, each is a note.

`note_of` encodes an entry; `call_entry` and `job_entry` decode one. A call is identified by the id of its
item, because a provider may use the same call id again.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import StoreDamaged
from quire.items import Item, Note
from quire.stores.streams import tombstone


class Lease(msgspec.Struct, frozen=True):
    """Which process works on something, and until when others must assume that it does."""

    claim: str
    until: float = 0.0
    """In UTC epoch seconds."""
    process: list[str | int | None] | None = None
    """The machine, the number of the process, and its start time."""


# Entries of the stream `CALLS`


class OwnedCalls(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="owned"):
    """The turn of an agent made these calls, and runs them. Written together with the reply of the model."""

    calls: list[str]


class BegunCalls(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="begun"):
    """These calls are about to run. The same claim written again renews the lease."""

    calls: list[str]
    lease: Lease
    job_claim: str | None = msgspec.field(default=None, name="job")
    """The claim under which a worker does the job that the calls are part of."""


class ApprovedCalls(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="approved"):
    """A person has approved these calls."""

    calls: list[str]


CallEntry = OwnedCalls | BegunCalls | ApprovedCalls


# Entries of the stream `JOBS`


class AcceptedJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="job"):
    """A job was accepted; for the fields see `Job`. Its items are the next entries of the stream."""

    job: str
    before: int = 0
    """How many of the items come before the message."""
    decisions: Mapping[str, bool | str] = {}
    tools: list[Any] = []
    parameters: Mapping[str, Any] = {}
    is_streamed: bool = False
    not_before: float = 0.0
    digest: str = ""
    output: Mapping[str, Any] = {}
    trace: str = ""
    steers: bool = False
    is_forgotten: bool = False
    """Its content was erased: it ends without a request, unless a worker has begun it."""


class ClaimedJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="taken"):
    """A worker has claimed a job. The same claim written again renews the lease."""

    job: str
    lease: Lease


class CancelledJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="cancelled"):
    """A running job was cancelled: it must end at its next safe point."""

    job: str


class EndedJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="ended"):
    """A job has ended; `since` is the version before it was accepted. See `Outcome` for the other fields."""

    job: str
    stop: str
    since: int
    waiting: list[str] = []
    error: str = ""


JobEntry = AcceptedJob | ClaimedJob | CancelledJob | EndedJob


def note_of(entry: CallEntry | JobEntry) -> Note:
    """Encode an entry as a note."""
    return Note(content=msgspec.to_builtins(entry), key=str(entry.__struct_config__.tag))


def forgotten_job(note: Note) -> Note:
    """A tombstone for the note that accepts a job: the job stays pending, without its content."""
    entry = job_entry(note)
    assert isinstance(entry, AcceptedJob)
    emptied = AcceptedJob(
        entry.job, entry.before, not_before=entry.not_before, steers=entry.steers, is_forgotten=True
    )
    return msgspec.structs.replace(note, content=msgspec.to_builtins(emptied), extras=tombstone(note).extras)


def call_entry(item: Item) -> CallEntry:
    """Decode an item of the stream `CALLS`."""
    entry: CallEntry = _decode(item, CallEntry)
    return entry


def job_entry(item: Item) -> JobEntry | None:
    """Decode an item of the stream `JOBS`; `None` for the items of a job, which are no entries."""
    return _decode(item, JobEntry) if isinstance(item, Note) and item.key is not None else None


def _decode(item: Item, kind: Any) -> Any:
    try:
        return msgspec.convert(item.content if isinstance(item, Note) else None, kind)
    except msgspec.ValidationError as fault:
        raise StoreDamaged(f"the entry {item.id} is not a valid entry of its stream: {fault}") from None
