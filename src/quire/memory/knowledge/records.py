"""How sources and chunks are written down: as notes, in a conversation that no user has.

A record stands for one source and names its chunks in order. The record that takes its place says so, and so
does the note that takes it away; both are then emptied, with the chunks that are in no record any more.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from quire.errors import StoreDamaged
from quire.items import Note
from quire.memory.documents import Chunk
from quire.stores import Place
from quire.stores.streams import FORGOTTEN_TEXT

KNOWLEDGE = "~knowledge"
"""The conversation of a scope in which its documents are kept."""

BEGINNING, SOURCES, CHUNKS = ".knowledge", ".sources", ".chunks"
"""The streams: what the log is, records of sources, and chunks. No transcript begins with a dot."""

FORMAT = 1
_RESERVED = "~"
_Kept = TypeVar("_Kept")


def is_reserved(conversation: str) -> bool:
    """Whether a conversation is none of a user's, but kept for something else, such as documents."""
    return conversation.startswith(_RESERVED)


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One source as it is kept; `digest` is of what was read and of how it was cut."""

    source: str
    title: str
    digest: str
    chunks: list[str]
    pages: list[int | None]
    tokens: int
    added_at: float


class _Said(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What of a chunk is in its own note; its source and its page are in the record."""

    text: str
    path: list[str] = []
    lead: str = ""
    own: int = 0
    tokens: int = 0


def beginning() -> Note:
    """What the log begins with. Its id tells this log from one that had the same address before."""
    return Note({"format": FORMAT}, description="documents")


def record_note(record: Record, instead_of: str | None) -> Note:
    """A record as it is kept, and whose place it takes."""
    extras = {} if instead_of is None else {"instead_of": instead_of}
    return Note(msgspec.to_builtins(record), description="source", extras=extras)


def record_for(source: str, title: str, digest: str, found: Sequence[Chunk], added_at: float) -> Record:
    """The record of a source that was cut into these chunks."""
    ids = [chunk.id for chunk in found]
    pages = [chunk.page for chunk in found]
    return Record(source, title, digest, ids, pages, sum(chunk.tokens for chunk in found), added_at)


def removal(record_id: str) -> Note:
    """What takes a record away."""
    return Note(None, description="removed", extras={"forgotten": True, "instead_of": record_id})


def chunk_note(chunk: Chunk) -> Note:
    """A chunk as it is kept."""
    said = _Said(chunk.text, list(chunk.path), chunk.lead, chunk.own, chunk.tokens)
    return Note(msgspec.to_builtins(said), id=chunk.id, description="chunk")


def emptied(note_id: str, created_at: float, instead_of: str | None = None) -> Note:
    """What stays of a note whose content is forgotten: that it was there, and what it had replaced."""
    extras: dict[str, Any] = {"forgotten": True}
    if instead_of is not None:
        extras["instead_of"] = instead_of
    return Note(None, id=note_id, created_at=created_at, description=FORGOTTEN_TEXT, extras=extras)


def replaced_by(note: Note) -> str | None:
    """The id of the record whose place a record, or a removal, takes."""
    found = note.extras.get("instead_of")
    return found if isinstance(found, str) else None


def record_of(note: Note, place: Place) -> Record:
    """The record that a note holds."""
    return _read(note, Record, place)


def chunk_of(note: Note, record: Record, place: Place) -> Chunk:
    """The chunk that a note holds, as a chunk of its source; where its page is, its record says."""
    said = _read(note, _Said, place)
    return Chunk(note.id, record.source, said.text, tuple(said.path), said.lead, said.own, None, said.tokens)


def _read(note: Note, kind: type[_Kept], place: Place) -> _Kept:
    try:
        return msgspec.convert(note.content, kind)
    except msgspec.ValidationError:
        raise StoreDamaged(
            f"{place}: the note {note.id!r} is no {kind.__name__.strip('_').lower()}"
        ) from None
