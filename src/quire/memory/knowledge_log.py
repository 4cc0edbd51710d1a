"""The log of a scope's documents: notes in a conversation that no user has.

A record stands for one document and names its chunks in order. A new record of the same document, or a
removal, names the record that it replaces. Replaced records, and chunks that no record names any more, are
then emptied in the store.
"""

import random
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from threading import RLock
from time import sleep
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from quire.errors import Conflict, NewerStore, StoreDamaged
from quire.items import JSON, Note
from quire.memory.documents import Chunk, unsaid_title
from quire.memory.leaf import KNOWLEDGE
from quire.stores import Entry, Place, Store, Stored, items_in, place_at
from quire.stores.streams import FORGOTTEN_TEXT, is_tombstone

_BEGINNING, _SOURCES, _CHUNKS = ".knowledge", ".sources", ".chunks"
"""The streams: the format of the log, records of documents, and chunks. No transcript begins with a dot."""

Listener = Callable[[Store, Place, Collection[str]], None]
_Content = TypeVar("_Content")

_FORMAT = 1
_TRIES = 1_000
_LONGEST_PAUSE = 0.02
_listeners: list[Listener] = []


def on_removed(listener: Listener) -> Listener:
    """Call a function with the store, the place and the ids before notes of documents are emptied.

    Whoever keeps copies, such as an index or quotes in a conversation, removes them then.
    """
    _listeners.append(listener)
    return listener


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One document as it is kept; `digest` identifies its content and how it was cut."""

    source: str
    title: str
    digest: str
    chunks: list[str]
    pages: list[int | None]
    tokens: int
    added_at: float

    def entry(self, instead_of: str | None) -> Entry:
        """Return the record as an entry that replaces another one."""
        extras = {} if instead_of is None else {"instead_of": instead_of}
        return _entry(_SOURCES, Note(msgspec.to_builtins(self), description="source", extras=extras))


class _Said(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the note of a chunk has of it; its source, title and page are in the record."""

    text: str
    path: list[str] = []
    lead: str = ""
    own: int = 0
    tokens: int = 0


def chunk_entry(chunk: Chunk) -> Entry:
    """Return a chunk as an entry."""
    said = _Said(chunk.text, list(chunk.path), chunk.lead, chunk.own, chunk.tokens)
    return _entry(_CHUNKS, Note(msgspec.to_builtins(said), id=chunk.id, description="chunk"))


def removal(record_id: str) -> Entry:
    """Return the entry that removes a record."""
    extras = {"forgotten": True, "instead_of": record_id}
    return _entry(_SOURCES, Note(None, description="removed", extras=extras))


def _entry(stream: str, note: Note) -> Entry:
    return Entry(stream, JSON.encode_item(note))


class _Kept(NamedTuple):
    """A record or chunk that is in the log."""

    version: int
    note_id: str
    created_at: float
    instead_of: str | None = None

    def emptied(self) -> bytes:
        """Return what replaces it once its content is removed."""
        extras = {"forgotten": True, **({"instead_of": self.instead_of} if self.instead_of else {})}
        note = Note(
            None, id=self.note_id, created_at=self.created_at, description=FORGOTTEN_TEXT, extras=extras
        )
        return JSON.encode_item(note)


class Documents:
    """The documents of a log at a version."""

    def __init__(self, place: Place) -> None:
        self.place, self.version, self.last_id, self.is_begun = place, 0, "", False
        self.records: dict[str, Record] = {}
        self.kept: dict[str, _Kept] = {}
        """The notes of the records, by source."""
        self._sources: dict[object, str] = {}  # by the id of the note of a record
        self._chunks: dict[str, tuple[_Kept, _Said]] = {}
        self._log: dict[int, _Kept] = {}  # every note with content, by version

    def take(self, stored: Sequence[Stored]) -> None:
        """Take in the next entries."""
        for entry, note in _notes(self.place, stored):
            kept = _Kept(entry.version, note.id, note.created_at, note.extras.get("instead_of"))
            if entry.stream == _BEGINNING:
                self._begin(note)
            elif entry.stream == _SOURCES:
                self._take_record(kept, note)
            elif not is_tombstone(note):
                self._log[kept.version] = kept
                self._chunks[note.id] = kept, _content(note, _Said, self.place)
        if stored:
            self.version, self.last_id = stored[-1].version, _id_of(self.place, stored[-1])

    def _begin(self, note: Note) -> None:
        found = cast("dict[str, Any]", note.content).get("format", 0) if isinstance(note.content, dict) else 0
        if not isinstance(found, int) or found > _FORMAT:
            raise NewerStore(f"{self.place} was written by a newer version of Quire")
        self.is_begun = True

    def _take_record(self, kept: _Kept, note: Note) -> None:
        replaced = self._sources.pop(kept.instead_of, "")
        self.records.pop(replaced, None)
        self.kept.pop(replaced, None)
        if is_tombstone(note):
            return
        record = _content(note, Record, self.place)
        self.records[record.source], self._sources[note.id] = record, record.source
        self.kept[record.source] = self._log[kept.version] = kept

    @property
    def named(self) -> set[str]:
        """The ids of the chunks of all records."""
        return {chunk_id for record in self.records.values() for chunk_id in record.chunks}

    @property
    def stale(self) -> dict[int, _Kept]:
        """What has content in the log and is of no record any more, by version."""
        chunks = (self._chunks[chunk_id][0] for chunk_id in self.named if chunk_id in self._chunks)
        used = {kept.version for kept in (*self.kept.values(), *chunks)}
        return {version: kept for version, kept in self._log.items() if version not in used}

    def emptied(self, versions: Collection[int]) -> None:
        """Drop what has no content in the log any more."""
        for version in versions:
            gone = self._log.pop(version, None)
            if gone and gone.note_id in self._chunks and self._chunks[gone.note_id][0] == gone:
                del self._chunks[gone.note_id]

    def chunks(self, source: str) -> list[Chunk]:
        """Return the chunks of a source, in order."""
        record = self.records[source]
        missing = next((one for one in record.chunks if one not in self._chunks), None)
        if missing is not None:
            raise StoreDamaged(f"{self.place}: a chunk of {source!r} is missing: {missing}")
        said = [self._chunks[chunk_id][1] for chunk_id in record.chunks]
        title = unsaid_title(record.title, source, [tuple(one.path) for one in said])
        return [
            Chunk(chunk_id, source, one.text, tuple(one.path), one.lead, one.own, page, one.tokens, title)
            for chunk_id, page, one in zip(record.chunks, record.pages, said, strict=True)
        ]


def _notes(place: Place, stored: Sequence[Stored]) -> list[tuple[Stored, Note]]:
    own = [entry for entry in stored if entry.stream in (_BEGINNING, _SOURCES, _CHUNKS)]
    found = list(zip(own, items_in(place, own), strict=True))
    for entry, item in found:
        if not isinstance(item, Note):
            raise StoreDamaged(f"{place}: version {entry.version} is no note")
    return cast("list[tuple[Stored, Note]]", found)


def _id_of(place: Place, entry: Stored) -> str:
    """Return the id of an entry, which stays when it is emptied."""
    return items_in(place, [entry])[0].id


def _content(note: Note, kind: type[_Content], place: Place) -> _Content:
    try:
        return msgspec.convert(note.content, kind)
    except msgspec.ValidationError as fault:
        raise StoreDamaged(f"{place}: the note {note.id!r} is damaged: {fault}") from None


class DocumentLog:
    """The documents of a scope in a store: read on from where they were left, written by compare and swap."""

    def __init__(self, store: Store, scope: str) -> None:
        self.place = place_at(scope=scope, conversation=KNOWLEDGE)
        self.lock = RLock()
        self._store = store
        self._documents = Documents(self.place)

    def catch_up(self) -> Documents:
        """Return the documents as they are now. Whoever uses them holds the lock."""
        with self.lock:
            known = self._documents
            stored = self._store.read(self.place, after=max(known.version - 1, 0))
            if known.version and stored and _id_of(self.place, stored[0]) == known.last_id:
                stale = known.stale if len(stored) > 1 else {}
                known.take(stored[1:])
                if len(stored) > 1:  # whoever replaced something empties it
                    known.emptied(known.stale.keys() - stale.keys())
            elif known.version or stored:  # the first reading, or another log
                self._documents = Documents(self.place)
                self._documents.take(self._store.read(self.place))
            return self._documents

    def write(self, change: Callable[[Documents], tuple[_Content, Sequence[Entry]]]) -> _Content:
        """Write the entries that a change returns, all or none, and return its outcome.

        The change is asked again if another process wrote first.
        """
        beginning = _entry(_BEGINNING, Note({"format": _FORMAT}, description="documents"))
        for attempt in range(_TRIES):
            with self.lock:
                documents = self.catch_up()
                outcome, new = change(documents)
                if not new:
                    return outcome
                entries = new if documents.is_begun else (beginning, *new)
                with suppress(Conflict):
                    self._store.append(self.place, entries, expected=documents.version)
                    next_version = documents.version + 1
                    documents.take([Stored(at, *one) for at, one in enumerate(entries, next_version)])
                    return outcome
            sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
        raise Conflict(f"others kept writing to {self.place}")

    def empty_stale(self) -> None:
        """Empty what was replaced or removed. What a store fails to empty is tried again next time.

        Whoever keeps copies is told first: afterwards nobody could say what it was.
        """
        with self.lock:
            stale = self._documents.stale
        if not stale:
            return
        ids = [kept.note_id for kept in stale.values()]
        for listener in _listeners:  # without the lock: an index that catches up takes it after its own
            listener(self._store, self.place, ids)
        with self.lock:
            self._store.replace(self.place, {version: kept.emptied() for version, kept in stale.items()})
            self._store.scrub()
            self._documents.emptied(stale)
