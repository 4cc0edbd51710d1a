"""Knowledge: the documents of a scope, in chunks, in the store of its conversations.

The log of documents is a reserved conversation with one note per document. A later note with the same key
updates or removes the document; the content of the earlier note is then erased from the store.
"""

import os
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from threading import RLock
from time import sleep
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quire.errors import (
    Conflict,
    InvalidValue,
    QuireError,
    StoreDamaged,
    StoreError,
    UnknownKey,
    WrongType,
    cut,
)
from quire.items import JSON, Item, Note, now, prepared
from quire.memory.documents import Chunk, chunks, content_of, read_document
from quire.memory.leaf import KNOWLEDGE
from quire.stores import Entry, Place, Store, Stored, items_in, named_scope
from quire.stores.store import is_tombstone
from quire.stores.streams import FORGOTTEN_TEXT, note_removed

Listener = Callable[[Store, Place, Collection[str]], None]

_DOCUMENTS = ".documents"
"""The stream of the log. No transcript begins with a dot."""

_READING = "9"
"""The version of reading and chunking. After a change every file is read again."""

_MAX_NAME = 4_096
_RESERVED = "~"
_TRIES = 1_000
_LONGEST_PAUSE = 0.02
_listeners: list[Listener] = []


def is_reserved(conversation: str) -> bool:
    """Whether a conversation is reserved for data of Quire's own, such as documents."""
    return conversation.startswith(_RESERVED)


def on_removed(listener: Listener) -> Listener:
    """Call a function with the store, the place and the ids of chunks before they are erased from the log.

    Owners of copies, such as an index or quotes in a conversation, then erase them.
    """
    _listeners.append(listener)
    return listener


class Source(msgspec.Struct, frozen=True, gc=False):
    """A stored document."""

    name: str
    title: str
    chunks: int
    tokens: int
    added_at: float
    updated_at: float


class Remark(NamedTuple):
    """A failure or a warning about one source."""

    source: str
    text: str


class Report(msgspec.Struct, frozen=True, gc=False):
    """The outcome of adding sources. `notes` are warnings about sources that were read."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()

    def __str__(self) -> str:
        counts = ((len(getattr(self, name)), name) for name in self.__struct_fields__ if name != "notes")
        return ", ".join(f"{count:,} {name}" for count, name in counts if count) or "nothing to add"


_Outcomes = defaultdict[str, list[Any]]
"""The fields of an unfinished report."""


class Knowledge:
    """The documents of one scope.

    Any thread may call any method. Each waits for the store: in a coroutine use `asyncio.to_thread`.
    """

    def __init__(self, store: Store, scope: str) -> None:
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the store of documents must be a Store, not {type(store).__name__}")
        self.place = Place(named_scope(scope), KNOWLEDGE)
        """The conversation of the documents."""
        self._store = store
        self._lock = RLock()
        self._log = _Log(self.place)

    def add_text(self, text: str, *, source: str, title: str | None = None) -> Report:
        """Store a text under a name; it replaces an earlier one of that name.

        The ending of the name gives the format: `.md`, `.html`, or anything else for plain text.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the text of a source must be a text, not {type(text).__name__}")
        outcomes = _Outcomes(list)
        self._store_document(text, _checked_name(source), outcomes, title)
        self._erase_stale()
        return _report(outcomes)

    def add(self, path: "str | os.PathLike[str]", *, name: str | None = None, prune: bool = False) -> Report:
        """Store a file, or all files in a folder and its subfolders, each as one source.

        A source is named by its path, in which `name` may replace that of the file or folder. Unchanged files
        are skipped. With `prune`, sources that are no longer in the folder are removed, unless some folder
        could not be read.
        """
        found = files_at(path, None if name is None else _checked_name(name))
        outcomes = _Outcomes(list, failed=[*found.failed], notes=[*found.notes])
        try:
            for source, file in found.files.items():
                try:
                    self._store_document(content_of(file), _checked_name(source), outcomes)
                except (StoreError, Conflict):
                    raise
                except QuireError as fault:
                    outcomes["failed"].append(Remark(_printable(source), str(fault)))
            missing = self._missing(found) if prune and not found.failed else []
            outcomes["removed"] += [source for source in missing if self._remove(source)]
        finally:  # once for all, because a store may have to rewrite its file
            self._erase_stale()
        return _report(outcomes)

    def remove(self, source: str) -> int:
        """Remove a source and erase its content from the store. Return the number of its chunks."""
        removed = self._remove(_checked_name(source))
        self._erase_stale()  # a failed erasure is retried too
        if removed is None:
            raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
        return len(removed.chunks)

    def sources(self) -> list[Source]:
        """Return the stored documents, by name."""
        sources = [
            Source(doc.source, doc.title, len(doc.chunks), doc.tokens, doc.added_at, doc.updated_at)
            for doc in self._documents().values()
        ]
        self._erase_stale()  # in case another process died before it did
        return sorted(sources, key=lambda source: source.name)

    def chunks(self, source: str) -> list[Chunk]:
        """Return the chunks of a source, in order."""
        document = self._documents().get(_key(_checked_name(source)))
        if document is None:
            raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
        return list(document.chunks)

    def all_chunks(self) -> dict[str, list[Chunk]]:
        """Return the chunks of all sources at one moment."""
        return {document.source: list(document.chunks) for document in self._documents().values()}

    def _store_document(
        self, content: bytes | str, source: str, outcomes: _Outcomes, title: str | None = None
    ) -> None:
        digest = _digest(content, title)
        known = self._documents().get(_key(source))
        if known is not None and known.digest == digest:
            outcomes["unchanged"].append(source)
            return
        document = read_document(content, name=source)
        document = replace(document, title=title or document.title)
        pieces = tuple(chunks(document))
        outcomes["notes"] += [Remark(source, note) for note in document.notes]

        def updated(known: _Record | None) -> Note:
            added_at = now() if known is None else known.added_at
            return _note(_Record(source, document.title, digest, pieces, added_at, now()))

        before = self._write(_key(source), updated)
        outcomes["added" if before is None else "updated"].append(source)

    def _remove(self, source: str) -> "_Record | None":
        key = _key(source)
        return self._write(key, lambda known: None if known is None else _tombstone(key))

    def _missing(self, found: "Files") -> list[str]:
        names = [document.source for document in self._documents().values()]
        return [name for name in names if name.startswith(f"{found.name}/") and name not in found.files]

    def _documents(self) -> "Mapping[str, _Record]":
        with self._lock:
            return {key: entry.document for key, entry in self._current_log().entries.items()}

    def _current_log(self) -> "_Log":
        """Return the log after reading its new entries; if its last entry has changed, all are read again."""
        log = self._log
        stored = self._store.read(self.place, after=max(log.version - 1, 0))
        if log.version and stored and items_in(self.place, stored[:1])[0].id == log.last_id:
            stale = dict(log.stale)
            log.apply(stored[1:])
            log.stale = stale  # the process that replaced a document erases it
        elif log.version or stored:  # the first time, or another log
            log, stored = _Log(self.place), self._store.read(self.place)
            log.apply(stored)
            self._log = log
        return log

    def _write(self, key: str, make: "Callable[[_Record | None], Note | None]") -> "_Record | None":
        """Write the note that `make` returns for a document, if any, and return the document before.

        If another process writes first, `make` is called again.
        """
        for attempt in range(_TRIES):
            with self._lock, suppress(Conflict):
                log = self._current_log()
                before = log.entries[key].document if key in log.entries else None
                note = make(before)
                if note is not None:
                    entry = Entry(_DOCUMENTS, JSON.encode_item(note))
                    self._store.append(self.place, [entry], expected=log.version)
                    log.apply([Stored(log.version + 1, *entry)])
                return before
            sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
        raise Conflict(f"other processes kept writing to {self.place}")

    def _erase_stale(self) -> None:
        """Erase replaced and removed documents from the store. A failure is retried next time."""
        with self._lock:
            stale = dict(self._log.stale)
            used = {chunk.id for entry in self._log.entries.values() for chunk in entry.document.chunks}
        if not stale:
            return
        stale_ids = {chunk.id for entry in stale.values() for chunk in entry.document.chunks}
        erased_ids = sorted(stale_ids - used)
        if erased_ids:
            note_removed(self._store, self.place, erased_ids)
        for listener in _listeners if erased_ids else ():  # not locked: an index locks itself before this
            listener(self._store, self.place, erased_ids)
        with self._lock:
            bodies = {
                version: JSON.encode_item(_tombstone(e.key, id=e.id, created_at=e.document.updated_at))
                for version, e in stale.items()
            }
            self._store.replace(self.place, bodies)
            self._store.scrub()
            for version in stale:
                self._log.stale.pop(version, None)


# The log


@prepared
class _Record(msgspec.Struct, frozen=True, gc=False):
    """A document as it is stored; `digest` identifies its content and the way of reading it."""

    source: str
    title: str
    digest: str
    chunks: tuple[Chunk, ...]
    added_at: float
    updated_at: float

    @property
    def tokens(self) -> int:
        return sum(chunk.tokens for chunk in self.chunks)


class _Entry(NamedTuple):
    version: int
    id: str
    key: str
    document: _Record


class _Log:
    """The entries of documents by key, as of a version, and the `stale` ones by version."""

    def __init__(self, place: Place) -> None:
        self.version, self.last_id = 0, ""
        self.entries: dict[str, _Entry] = {}
        self.stale: dict[int, _Entry] = {}
        self._place = place

    def apply(self, stored: Sequence[Stored]) -> None:
        """Apply the next entries."""
        for entry, note in zip(stored, items_in(self._place, stored), strict=True):
            if entry.stream == _DOCUMENTS:
                self._apply(entry.version, note)
            self.version, self.last_id = entry.version, note.id

    def _apply(self, version: int, note: Item) -> None:
        key = str(note.extras.get("document", ""))
        new = None if is_tombstone(note) else _Entry(version, note.id, key, _content(note, self._place))
        replaced = self.entries.pop(key, None)
        if replaced is not None:
            self.stale[replaced.version] = replaced
        if new is not None:
            self.entries[key] = new


def _key(source: str) -> str:
    """The key of a document: a digest, so that its name does not remain in the log after its removal."""
    return blake2b(source.encode(), digest_size=16).hexdigest()


def _digest(content: bytes | str, title: str | None) -> str:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(data, digest_size=16, key=blake2b(repr((_READING, title)).encode()).digest()).hexdigest()


def _note(document: _Record) -> Note:
    content = msgspec.json.decode(msgspec.json.encode(document))
    return Note(content, description="document", extras={"document": _key(document.source)})


def _tombstone(key: str, **fields: Any) -> Note:
    extras = {"forgotten": True, "document": key}
    return Note(None, description=FORGOTTEN_TEXT, extras=extras, **fields)


def _content(note: Item, place: Place) -> _Record:
    try:
        return msgspec.convert(note.content if isinstance(note, Note) else None, _Record)
    except msgspec.ValidationError as fault:
        raise StoreDamaged(f"{place}: the note {note.id!r} is damaged: {fault}") from None


# Files and names


class Files(NamedTuple):
    """The files at a path by the names of their sources, and remarks on those that are not read."""

    name: str
    files: dict[str, str]
    failed: list[Remark]
    notes: list[Remark]


def files_at(path: "str | os.PathLike[str]", name: str | None) -> Files:
    """Return the file at a path, or the files in a folder and its subfolders.

    Hidden files are left out. Links in a folder are not followed, because they could lead anywhere.
    """
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a file or folder must be given by its path, not as {type(path).__name__}")
    root = os.path.abspath(path)
    name = root.replace(os.sep, "/") if name is None else name.rstrip("/")
    found = Files(name, {}, [], [])

    def source_of(path: str) -> str:
        within = os.path.relpath(path, root)
        return name if within == os.curdir else f"{name}/{within.replace(os.sep, '/')}"

    def note_unreadable(fault: OSError) -> None:
        folder = source_of(os.fsdecode(fault.filename))
        found.failed.append(Remark(folder, f"the folder cannot be read: {fault.strerror}"))

    if not os.path.isdir(root):
        if not os.path.lexists(root):
            raise InvalidValue(f"there is neither a file nor a folder {cut(os.fspath(path))!r}")
        found.files[name] = root
    for folder, folders, files in os.walk(root, onerror=note_unreadable) if not found.files else ():
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in sorted(name for name in [*folders, *files] if not name.startswith(".")):
            full = os.path.join(folder, file)
            if os.path.islink(full):
                found.notes.append(Remark(source_of(full), "a link in a folder is not followed"))
            elif not os.path.isdir(full):
                found.files[source_of(full)] = full
    return found


def _report(outcomes: _Outcomes) -> Report:
    return Report(**{name: tuple(found) for name, found in outcomes.items()})


def _checked_name(source: str) -> str:
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"the name of a source must be a text, not {type(source).__name__}")
    if not 0 < len(source) <= _MAX_NAME or source != _printable(source):
        raise InvalidValue(f"the name of a source must have 1 to {_MAX_NAME:,} printable characters")
    return source


def _printable(source: str) -> str:
    """Return a name as printable text, because the name of a file may be any bytes."""
    written = source.encode("utf-8", "replace").decode("utf-8")
    return written if written.isprintable() else ascii(written)[1:-1]
