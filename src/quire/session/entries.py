"""The entries of the streams of calls and jobs as typed values; in the log each is a note.

`note_of` writes one, and `call_entry` and `job_entry` read one. Calls are named by the ids of their items,
because the call ids of providers may come again.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quire.errors import StoreDamaged
from quire.items import Item, Note
from quire.stores.streams import tombstone


class Lease(msgspec.Struct, frozen=True):
    """Who does some work, and until when the others believe it."""

    claim: str
    until: float = 0.0
    process: list[str | int | None] | None = None
    """The machine, the number of the process, and when it was started."""


# Of calls


class OwnedCalls(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="owned"):
    """The turn of an agent made these calls, and runs them. It is written with the reply of the model."""

    calls: list[str]


class BegunCalls(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="begun"):
    """Calls are about to be run. Written again with the same claim, it renews the lease."""

    calls: list[str]
    lease: Lease
    job: str | None = None
    """The claim of the job that they are part of."""


class ApprovedCalls(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="approved"):
    """A person lets these calls run."""

    calls: list[str]


CallEntry = OwnedCalls | BegunCalls | ApprovedCalls


# Of jobs


class AcceptedJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="job"):
    """A job was accepted. The items that it brings, a message or results, follow it at once."""

    job: str
    before: int = 0
    """How many of these items come before its message."""
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
    """Its content was erased: unless somebody does it already, it ends without a request."""


class TakenJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="taken"):
    """Somebody does a job from here on. Written again with the same claim, it renews the lease."""

    job: str
    lease: Lease


class CancelledJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="cancelled"):
    """A job that somebody does is to end at its next safe point."""

    job: str


class EndedJob(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="is", tag="ended"):
    """A job has ended; `since` is the version before it was accepted."""

    job: str
    stop: str
    since: int
    waiting: list[str] = []
    error: str = ""


JobEntry = AcceptedJob | TakenJob | CancelledJob | EndedJob


def note_of(entry: CallEntry | JobEntry) -> Note:
    """The note that keeps an entry in the log."""
    return Note(content=msgspec.to_builtins(entry), key=str(entry.__struct_config__.tag))


def forgotten_job(note: Note) -> Note:
    """The note that a job was accepted, without its content."""
    entry = job_entry(note)
    assert isinstance(entry, AcceptedJob)
    left = AcceptedJob(
        entry.job, entry.before, not_before=entry.not_before, steers=entry.steers, is_forgotten=True
    )
    return msgspec.structs.replace(note, content=msgspec.to_builtins(left), extras=tombstone(note).extras)


def call_entry(item: Item) -> CallEntry:
    """An entry of the stream of calls."""
    found: CallEntry = _read(item, CallEntry)
    return found


def job_entry(item: Item) -> JobEntry | None:
    """An entry of the stream of jobs; `None` for what a job brings."""
    return _read(item, JobEntry) if isinstance(item, Note) and item.key is not None else None


def _read(item: Item, kind: Any) -> Any:
    try:
        return msgspec.convert(item.content if isinstance(item, Note) else None, kind)
    except msgspec.ValidationError as fault:
        raise StoreDamaged(f"the entry {item.id} is none of its stream: {fault}") from None
