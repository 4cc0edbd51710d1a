"""What a scope knows, worked out from its log. Nothing here reads or writes."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from threading import RLock
from typing import NamedTuple

from msgspec.structs import replace

from quire.errors import NewerStore, StoreDamaged
from quire.items import JSON, Note
from quire.memory.documents import Chunk
from quire.memory.documents.chunking import unsaid_title
from quire.memory.knowledge.records import (
    BEGINNING,
    CHUNKS,
    FORMAT,
    SOURCES,
    Record,
    chunk_of,
    emptied,
    record_of,
    replaced_by,
)
from quire.memory.knowledge.reports import Source
from quire.stores import Place
from quire.stores.streams import is_tombstone

_version_of = itemgetter(0)


class Growth(NamedTuple):
    """What was added and what is gone since a version. Where it is `anew`, drop all that was known before.

    `log` tells one log from another at the same address, after everything was forgotten.
    """

    version: int
    added: tuple[Chunk, ...]
    gone: tuple[str, ...]
    log: str = ""
    anew: bool = False


class Noted(NamedTuple):
    """One entry of the log that is of concern here."""

    version: int
    stream: str
    note: Note


class Held(NamedTuple):
    """A record or a chunk, and where it stands in the log."""

    version: int
    note_id: str
    created_at: float
    instead_of: str | None = None

    def left(self) -> bytes:
        """What is to stand there once it is forgotten."""
        return JSON.encode_item(emptied(self.note_id, self.created_at, self.instead_of))


class Holdings:
    """Sources and chunks at a version. Whoever uses it holds its lock."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.lock = RLock()
        self.begin_again()

    def begin_again(self) -> None:
        """Nothing is known."""
        self.version = 0
        self.last = b""
        """The entry of that version."""
        self.log = ""
        self.left: dict[int, bytes] = {}
        """What is still in the log of what is gone from here, and what is to stand there."""
        self.records: dict[str, Record] = {}
        self._kept: dict[str, Held] = {}
        self._sources: dict[str, str] = {}  # by the ids of their records
        self._owners: dict[str, str] = {}  # sources by the ids of their chunks
        self._chunks: dict[str, Chunk] = {}
        self._at: dict[str, Held] = {}
        self._arrivals: list[tuple[int, str]] = []
        self._departures: list[tuple[int, str]] = []

    def take(self, noted: Sequence[Noted], version: int, last: bytes) -> None:
        """Take in what stands in the log next, up to a version. Records first: they say what the rest is."""
        try:
            changed = [name for entry in noted for name in self._took_record(entry, version)]
            for entry in noted:
                if entry.stream == CHUNKS:
                    self._take_chunk(entry, version)
            for source in changed:
                self._set_places(source)
        except BaseException:  # half of it is worse than nothing
            self.begin_again()
            raise
        self.version, self.last = version, last

    @property
    def weight(self) -> int:
        """What is held in memory, in chunks."""
        return 1 + len(self._chunks)

    def kept(self, source: str) -> Held | None:
        """The record of a source, by where it stands."""
        return self._kept.get(source)

    def chunks(self, source: str) -> list[Chunk]:
        """The chunks of a source, in order."""
        return [self._chunks[chunk_id] for chunk_id in self.records[source].chunks]

    def listed(self) -> list[Source]:
        """The sources by name, with what there is to say of them."""
        return [
            Source(name, one.title, len(one.chunks), one.tokens, one.added_at, self._kept[name].created_at)
            for name, one in sorted(self.records.items())
        ]

    def get(self, chunk_id: str) -> Chunk | None:
        """A chunk, if it is here."""
        return self._chunks.get(chunk_id)

    def since(self, version: int, log: str) -> Growth:
        """What came and went after a version; all there is where that was of another log."""
        anew = version > self.version or (bool(log) and log != self.log)
        after = 0 if anew else version
        came = self._arrivals[bisect_right(self._arrivals, after, key=_version_of) :]
        went = self._departures[bisect_right(self._departures, after, key=_version_of) :] if after else []
        added = tuple(
            [self._chunks[one] for at, one in came if one in self._at and self._at[one].version == at]
        )
        gone = tuple(dict.fromkeys(one for _, one in went if one not in self._at))
        return Growth(self.version, added, gone, self.log, anew)

    def _took_record(self, entry: Noted, version: int) -> Iterator[str]:
        """The source whose record this is, if it is one that says something."""
        note = entry.note
        if entry.stream == BEGINNING:
            self._begin(note)
        if entry.stream != SOURCES:
            return
        record = None if is_tombstone(note) else record_of(note, self.place)
        instead_of = replaced_by(note)
        replaced = self._sources.get(instead_of or "") or (record.source if record else "")
        self._drop(replaced, set(record.chunks if record else ()), version)
        if record is not None:
            self.records[record.source] = record
            self._kept[record.source] = Held(entry.version, note.id, note.created_at, instead_of)
            self._sources[note.id] = record.source
            self._owners |= dict.fromkeys(record.chunks, record.source)
            yield record.source

    def _begin(self, note: Note) -> None:
        found = note.content.get("format", 0) if isinstance(note.content, dict) else 0  # pyright: ignore
        if not isinstance(found, int) or found > FORMAT:
            raise NewerStore(f"{self.place} was written by a newer version of Quire")
        self.log = note.id

    def _drop(self, source: str, stays: set[str], version: int) -> None:
        """A record gives its place up, and its chunks that are not named again go."""
        record, held = self.records.pop(source, None), self._kept.pop(source, None)
        if record is None or held is None:
            return
        self.left[held.version] = held.left()
        del self._sources[held.note_id]
        for chunk_id in record.chunks:
            if chunk_id in stays:
                continue
            self._owners.pop(chunk_id, None)
            self._chunks.pop(chunk_id, None)
            self._departures.append((version, chunk_id))
            if gone := self._at.pop(chunk_id, None):
                self.left[gone.version] = gone.left()

    def _take_chunk(self, entry: Noted, version: int) -> None:
        note = entry.note
        held = Held(entry.version, note.id, note.created_at)
        owner = self._owners.get(note.id)
        if is_tombstone(note) or owner is None:
            if note.id not in self._at:
                self._departures.append((version, note.id))
            if not is_tombstone(note):  # whoever took its record away did not come so far as to empty it
                self.left[entry.version] = held.left()
            return
        if before := self._at.get(note.id):
            self.left[before.version] = before.left()
        self._chunks[note.id] = chunk_of(note, self.records[owner], self.place)
        self._at[note.id] = held
        self._arrivals.append((entry.version, note.id))

    def _set_places(self, source: str) -> None:
        """Say of each chunk of a source on which page it is, and of what."""
        record = self.records.get(source)
        if record is None:
            return
        missing = next((one for one in record.chunks if one not in self._chunks), None)
        if missing is not None:
            raise StoreDamaged(f"{self.place}: a chunk of a source is missing: {missing}")
        found = self.chunks(source)
        title = unsaid_title(record.title, source, [chunk.path for chunk in found])
        for chunk, page in zip(found, record.pages, strict=False):
            if (chunk.page, chunk.title) != (page, title):
                self._chunks[chunk.id] = replace(chunk, page=page, title=title)
