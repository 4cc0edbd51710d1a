"""Knowledge: the documents of a scope, in chunks, in the store that keeps its conversations.

The log of the documents is a conversation that no user has, with one note per document. A later note under
the same key updates or removes the document; the earlier note is then emptied in the store.
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
"""Changed whenever the same file would be read or cut otherwise: then it is read again."""

_MAX_NAME = 4_096
_RESERVED = "~"
_TRIES = 1_000
_LONGEST_PAUSE = 0.02
_listeners: list[Listener] = []


def is_reserved(conversation: str) -> bool:
    """Whether a conversation is not a user's, but kept for something else, such as documents."""
    return conversation.startswith(_RESERVED)


def on_removed(listener: Listener) -> Listener:
    """Call a function with the store, the place and the ids of chunks before they are emptied in the log.

    Whoever keeps copies, such as an index or quotes in a conversation, removes them then.
    """
    _listeners.append(listener)
    return listener


class Source(msgspec.Struct, frozen=True, gc=False):
    """A document that is kept."""

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
"""The fields of a report that is being made."""


class Knowledge:
    """The documents of one scope.

    Every method may be called from any thread, and waits for the store: in a coroutine use
    `asyncio.to_thread`.
    """

    def __init__(self, store: Store, scope: str) -> None:
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the store of documents must be a Store, not {type(store).__name__}")
        self.place = Place(named_scope(scope), KNOWLEDGE)
        """Where the documents are kept."""
        self._store = store
        self._lock = RLock()
        self._log = _Log(self.place)

    def add_text(self, text: str, *, source: str, title: str | None = None) -> Report:
        """Keep a text under a name, in place of what was kept under it before.

        The ending of the name says what it is: `.md`, `.html`, or anything else for plain text.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a text must be added, not {type(text).__name__}")
        outcomes = _Outcomes(list)
        self._keep(text, _checked_name(source), outcomes, title)
        self._empty_stale()
        return _report(outcomes)

    def add(self, path: "str | os.PathLike[str]", *, name: str | None = None, prune: bool = False) -> Report:
        """Keep a file, or all files of a folder and of the folders in it, each as one source.

        A source is named by its path, or by `name` in place of that of the file or folder. A file that did
        not change is left as it is. With `prune`, sources that are gone from the folder are removed, unless
        a folder could not be read.
        """
        found = files_at(path, None if name is None else _checked_name(name))
        outcomes = _Outcomes(list, failed=[*found.failed], notes=[*found.notes])
        try:
            for source, file in found.files.items():
                try:
                    self._keep(content_of(file), _checked_name(source), outcomes)
                except (StoreError, Conflict):
                    raise
                except QuireError as fault:
                    outcomes["failed"].append(Remark(_printable(source), str(fault)))
            gone = self._gone(found) if prune and not found.failed else []
            outcomes["removed"] += [source for source in gone if self._remove(source)]
        finally:  # once for all of them: a store may have to rewrite its file
            self._empty_stale()
        return _report(outcomes)

    def remove(self, source: str) -> int:
        """Forget a source: its content is removed from the store. Return how many chunks it had."""
        gone = self._remove(_checked_name(source))
        self._empty_stale()  # also what a store failed to empty before
        if gone is None:
            raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
        return len(gone.chunks)

    def sources(self) -> list[Source]:
        """Return the documents that are kept, by name."""
        found = [
            Source(one.source, one.title, len(one.chunks), one.tokens, one.added_at, one.updated_at)
            for one in self._kept().values()
        ]
        self._empty_stale()  # what a process that died left behind
        return sorted(found, key=lambda source: source.name)

    def chunks(self, source: str) -> list[Chunk]:
        """Return the chunks of a source, in order."""
        kept = self._kept().get(_key(_checked_name(source)))
        if kept is None:
            raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
        return list(kept.chunks)

    def all_chunks(self) -> dict[str, list[Chunk]]:
        """Return the chunks of every source at one moment."""
        return {one.source: list(one.chunks) for one in self._kept().values()}

    def _keep(self, content: bytes | str, source: str, outcomes: _Outcomes, title: str | None = None) -> None:
        digest = _digest(content, title)
        known = self._kept().get(_key(source))
        if known is not None and known.digest == digest:
            outcomes["unchanged"].append(source)
            return
        document = read_document(content, name=source)
        document = replace(document, title=title or document.title)
        found = tuple(chunks(document))
        outcomes["notes"] += [Remark(source, note) for note in document.notes]

        def updated(known: _Kept | None) -> Note:
            added_at = now() if known is None else known.added_at
            return _note(_Kept(source, document.title, digest, found, added_at, now()))

        before = self._write(_key(source), updated)
        outcomes["added" if before is None else "updated"].append(source)

    def _remove(self, source: str) -> "_Kept | None":
        key = _key(source)
        return self._write(key, lambda known: None if known is None else _emptied(key))

    def _gone(self, found: "Files") -> list[str]:
        names = [one.source for one in self._kept().values()]
        return [name for name in names if name.startswith(f"{found.name}/") and name not in found.files]

    def _kept(self) -> "Mapping[str, _Kept]":
        with self._lock:
            return {key: entry.kept for key, entry in self._caught_up().entries.items()}

    def _caught_up(self) -> "_Log":
        """Return the log as it is now: read on from its last entry, or again if that is another one."""
        log = self._log
        stored = self._store.read(self.place, after=max(log.version - 1, 0))
        if log.version and stored and items_in(self.place, stored[:1])[0].id == log.last_id:
            stale = dict(log.stale)
            log.take(stored[1:])
            log.stale = stale  # whoever replaced something empties it
        elif log.version or stored:  # the first reading, or another log
            log, stored = _Log(self.place), self._store.read(self.place)
            log.take(stored)
            self._log = log
        return log

    def _write(self, key: str, make: "Callable[[_Kept | None], Note | None]") -> "_Kept | None":
        """Write the note that is made for a document, if one is, and return what was kept before.

        The note is made again if another process wrote first.
        """
        for attempt in range(_TRIES):
            with self._lock, suppress(Conflict):
                log = self._caught_up()
                before = log.entries[key].kept if key in log.entries else None
                note = make(before)
                if note is not None:
                    entry = Entry(_DOCUMENTS, JSON.encode_item(note))
                    self._store.append(self.place, [entry], expected=log.version)
                    log.take([Stored(log.version + 1, *entry)])
                return before
            sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
        raise Conflict(f"others kept writing to {self.place}")

    def _empty_stale(self) -> None:
        """Empty what was replaced or removed. What a store fails to empty is tried again next time."""
        with self._lock:
            stale = dict(self._log.stale)
            used = {chunk.id for entry in self._log.entries.values() for chunk in entry.kept.chunks}
        if not stale:
            return
        gone = sorted({chunk.id for entry in stale.values() for chunk in entry.kept.chunks} - used)
        if gone:
            note_removed(self._store, self.place, gone)
        for listener in _listeners if gone else ():  # without the lock: an index takes it after its own
            listener(self._store, self.place, gone)
        with self._lock:
            bodies = {
                version: JSON.encode_item(_emptied(entry.key, id=entry.id, created_at=entry.kept.updated_at))
                for version, entry in stale.items()
            }
            self._store.replace(self.place, bodies)
            self._store.scrub()
            for version in stale:
                self._log.stale.pop(version, None)


# The log


@prepared
class _Kept(msgspec.Struct, frozen=True, gc=False):
    """One document as it is kept; `digest` identifies its content and how it was cut."""

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
    kept: _Kept


class _Log:
    """The entries of documents at a version, by key, and those that are `stale`, by version."""

    def __init__(self, place: Place) -> None:
        self.version, self.last_id = 0, ""
        self.entries: dict[str, _Entry] = {}
        self.stale: dict[int, _Entry] = {}
        self._place = place

    def take(self, stored: Sequence[Stored]) -> None:
        """Take in the next entries."""
        for entry, note in zip(stored, items_in(self._place, stored), strict=True):
            if entry.stream == _DOCUMENTS:
                self._take(entry.version, note)
            self.version, self.last_id = entry.version, note.id

    def _take(self, version: int, note: Item) -> None:
        key = str(note.extras.get("document", ""))
        new = None if is_tombstone(note) else _Entry(version, note.id, key, _content(note, self._place))
        replaced = self.entries.pop(key, None)
        if replaced is not None:
            self.stale[replaced.version] = replaced
        if new is not None:
            self.entries[key] = new


def _key(source: str) -> str:
    """The key of a document in the log, which stays when it is removed: its name does not."""
    return blake2b(source.encode(), digest_size=16).hexdigest()


def _digest(content: bytes | str, title: str | None) -> str:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(data, digest_size=16, key=blake2b(repr((_READING, title)).encode()).digest()).hexdigest()


def _note(kept: _Kept) -> Note:
    content = msgspec.json.decode(msgspec.json.encode(kept))
    return Note(content, description="document", extras={"document": _key(kept.source)})


def _emptied(key: str, **fields: Any) -> Note:
    extras = {"forgotten": True, "document": key}
    return Note(None, description=FORGOTTEN_TEXT, extras=extras, **fields)


def _content(note: Item, place: Place) -> _Kept:
    try:
        return msgspec.convert(note.content if isinstance(note, Note) else None, _Kept)
    except msgspec.ValidationError as fault:
        raise StoreDamaged(f"{place}: the note {note.id!r} is damaged: {fault}") from None


# Files and names


class Files(NamedTuple):
    """The files to read at a path, by the names of their sources, and what is not read."""

    name: str
    files: dict[str, str]
    failed: list[Remark]
    notes: list[Remark]


def files_at(path: "str | os.PathLike[str]", name: str | None) -> Files:
    """Return the file at a path, or the files of a folder and of the folders in it.

    Names that begin with a dot are left out. Links in a folder are not followed: one could lead anywhere.
    """
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a file or folder is given by its path, not as {type(path).__name__}")
    root = os.path.abspath(path)
    name = root.replace(os.sep, "/") if name is None else name.rstrip("/")
    found = Files(name, {}, [], [])

    def source_of(path: str) -> str:
        within = os.path.relpath(path, root)
        return name if within == os.curdir else f"{name}/{within.replace(os.sep, '/')}"

    def note_closed(fault: OSError) -> None:
        folder = source_of(os.fsdecode(fault.filename))
        found.failed.append(Remark(folder, f"the folder cannot be read: {fault.strerror}"))

    if not os.path.isdir(root):
        if not os.path.lexists(root):
            raise InvalidValue(f"there is neither a file nor a folder {cut(os.fspath(path))!r}")
        found.files[name] = root
    for folder, folders, files in os.walk(root, onerror=note_closed) if not found.files else ():
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for file in sorted(one for one in [*folders, *files] if not one.startswith(".")):
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
        raise InvalidValue(f"the name of a source has 1 to {_MAX_NAME:,} printable characters")
    return source


def _printable(source: str) -> str:
    """Return a name that can be shown: the name of a file need not be text."""
    written = source.encode("utf-8", "replace").decode("utf-8")
    return written if written.isprintable() else ascii(written)[1:-1]
