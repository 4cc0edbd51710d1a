"""Knowledge: the documents of a scope, in chunks, in the store that keeps its conversations."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from quire.errors import Conflict, InvalidValue, QuireError, StoreError, UnknownKey, WrongType, cut
from quire.items import now
from quire.memory.documents import Chunk, Document, chunks, content_of, read_document
from quire.memory.knowledge_log import DocumentLog, Documents, Record, chunk_entry, removal
from quire.stores import Entry, Place, Store
from quire.tokens import Counter, Measured, checked_counter

Progress = Callable[[int, int, str], None]
"""Called after each file: how many are done, of how many, and which it was."""

_MAX_NAME = 4_096
_RESERVED = "~"
_READING = "6"
"""Changed whenever the same file would be read or cut otherwise: then it is read again."""


def is_reserved(conversation: str) -> bool:
    """Whether a conversation is not a user's, but kept for something else, such as documents."""
    return conversation.startswith(_RESERVED)


class Source(msgspec.Struct, frozen=True, gc=False):
    """A document that is kept."""

    name: str
    title: str
    chunks: int
    tokens: int
    added_at: float
    updated_at: float


class Remark(NamedTuple):
    """A remark about a source."""

    source: str
    text: str


class Report(msgspec.Struct, frozen=True, gc=False):
    """What became of the sources that were added; `notes` are about those that were read, with a doubt."""

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

    def __init__(
        self, store: Store, scope: str = "", *, tokens: int = 256, counter: Counter | None = None
    ) -> None:
        """A chunk has at most `tokens` tokens, counted by `counter`."""
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"the store of documents must be a Store, not {type(store).__name__}")
        self._log = DocumentLog(store, scope)
        self._tokens = tokens
        self._counter = checked_counter(Measured() if counter is None else counter)
        chunks(Document("", "", ""), tokens=tokens, counter=self._counter)  # checks the limit

    def __repr__(self) -> str:
        return f"<Knowledge {self.place}>"

    @property
    def place(self) -> Place:
        """Where the documents are kept."""
        return self._log.place

    def add_text(
        self, text: str, *, source: str, title: str | None = None, media_type: str | None = None
    ) -> Report:
        """Keep a text under a name, in place of what was kept under it before."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a text must be added, not {type(text).__name__}")
        outcomes = _Outcomes(list)
        self._keep(text, _checked_name(source), outcomes, title, media_type)
        self._log.empty_stale()
        return _report(outcomes)

    def add(
        self,
        path: "str | os.PathLike[str]",
        *,
        name: str | None = None,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Keep a file, or all files of a folder and of the folders in it, each as one source.

        A source is named by its path, or by `name` in place of that of the file or folder. A file that did
        not change is left as it is. With `prune`, sources that are gone from the folder are removed.
        """
        found = files_at(path, None if name is None else _checked_name(name))
        outcomes = _Outcomes(list, failed=[*found.failed], notes=[*found.notes])
        try:
            for done, (source, file) in enumerate(found.files.items(), 1):
                self._keep_file(file, source, found.is_file, outcomes)
                if progress is not None:
                    progress(done, len(found.files), source)
            if prune:
                for known in self.sources():
                    if found.is_gone(known.name):
                        self._remove(known.name)
                        outcomes["removed"].append(known.name)
        finally:  # once for all of them: a store may have to rewrite its file
            self._log.empty_stale()
        return _report(outcomes)

    def remove(self, source: str) -> int:
        """Forget a source: its content is removed from the store. Return how many chunks it had."""
        gone = self._remove(source)
        self._log.empty_stale()  # also what a store failed to empty before
        if gone is None:
            raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
        return gone

    def sources(self) -> list[Source]:
        """Return the documents that are kept, by name."""
        with self._log.lock:
            documents = self._log.catch_up()
            found = [
                Source(name, one.title, len(one.chunks), one.tokens, one.added_at, kept.created_at)
                for name, one in sorted(documents.records.items())
                for kept in (documents.kept[name],)
            ]
        self._log.empty_stale()  # what a process that died left behind
        return found

    def chunks(self, source: str) -> list[Chunk]:
        """Return the chunks of a source, in order."""
        with self._log.lock:
            documents = self._log.catch_up()
            if source not in documents.records:
                raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
            return documents.chunks(source)

    def all_chunks(self) -> dict[str, list[Chunk]]:
        """Return the chunks of every source at one moment."""
        with self._log.lock:
            documents = self._log.catch_up()
            return {source: documents.chunks(source) for source in documents.records}

    def _keep_file(self, file: str, source: str, is_named: bool, outcomes: _Outcomes) -> None:
        try:
            self._keep(content_of(file, follow_link=is_named), _checked_name(source), outcomes)
        except (StoreError, Conflict):
            raise
        except QuireError as fault:
            outcomes["failed"].append(Remark(_printable(source), str(fault)))

    def _keep(
        self,
        content: bytes | str,
        source: str,
        outcomes: _Outcomes,
        title: str | None = None,
        media_type: str | None = None,
    ) -> None:
        digest = self._digest(content, title, media_type)
        with self._log.lock:
            known = self._log.catch_up().records.get(source)
        if known is not None and known.digest == digest:
            outcomes["unchanged"].append(source)
            return
        document = read_document(content, name=source, media_type=media_type)
        outcomes["notes"] += [Remark(source, note) for note in document.notes]
        outcomes[self._replace(document, title or document.title, digest)].append(source)

    def _replace(self, document: Document, title: str, digest: str) -> str:
        """Write what is new of a document; return whether it was added, updated or unchanged."""
        source = document.source
        found = chunks(document, tokens=self._tokens, counter=self._counter)

        def change(documents: Documents) -> tuple[str, Sequence[Entry]]:
            known, kept = documents.records.get(source), documents.kept.get(source)
            if known is not None and known.digest == digest:
                return "unchanged", ()
            record = Record(
                source,
                title,
                digest,
                [chunk.id for chunk in found],
                [chunk.page for chunk in found],
                sum(chunk.tokens for chunk in found),
                now() if known is None else known.added_at,
            )
            named = documents.named
            new = [chunk_entry(chunk) for chunk in found if chunk.id not in named]
            return "updated" if known else "added", (record.entry(kept.note_id if kept else None), *new)

        return self._log.write(change)

    def _remove(self, source: str) -> int | None:
        def change(documents: Documents) -> tuple[int | None, Sequence[Entry]]:
            kept = documents.kept.get(source)
            if kept is None:
                return None, ()
            return len(documents.records[source].chunks), (removal(kept.note_id),)

        return self._log.write(change)

    def _digest(self, content: bytes | str, title: str | None, media_type: str | None) -> str:
        made = (_READING, self._tokens, self._counter.key, title, media_type)
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        return blake2b(data, digest_size=16, key=blake2b(repr(made).encode()).digest()).hexdigest()


def _report(outcomes: _Outcomes) -> Report:
    return Report(**{name: tuple(found) for name, found in outcomes.items()})


class Files(msgspec.Struct):
    """The files to read at a path, by the names of their sources, and what cannot be read.

    `closed` are folders whose content is unknown. `is_file` if the path is a file: then it may be a link.
    """

    name: str
    is_file: bool = False
    files: dict[str, str] = {}
    failed: list[Remark] = []
    notes: list[Remark] = []
    closed: list[str] = []

    def is_gone(self, source: str) -> bool:
        """Whether a source was in this folder and is no more."""
        if not source.startswith(f"{self.name}/") or source in self.files:
            return False
        return not any(source.startswith(f"{folder}/") for folder in self.closed)


def files_at(path: "str | os.PathLike[str]", name: str | None) -> Files:
    """Return the file at a path, or the files of a folder and of the folders in it.

    Names that begin with a dot are left out. Links in a folder are not followed: one could lead anywhere.
    """
    root = os.path.abspath(path)
    name = root.replace(os.sep, "/") if name is None else name.rstrip("/")
    if not os.path.isdir(root):
        if not os.path.lexists(root):
            raise InvalidValue(f"there is neither a file nor a folder {cut(os.fspath(path))!r}")
        return Files(name, True, {name: root})
    found = Files(name)

    def source_of(path: str) -> str:
        within = os.path.relpath(path, root)
        return name if within == os.curdir else f"{name}/{within.replace(os.sep, '/')}"

    def note_closed(fault: OSError) -> None:
        folder = source_of(os.fsdecode(fault.filename))
        found.closed.append(folder)
        found.failed.append(Remark(folder, f"the folder cannot be read: {fault.strerror}"))

    for folder, folders, files in os.walk(root, onerror=note_closed):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for file in sorted(one for one in [*folders, *files] if not one.startswith(".")):
            full = os.path.join(folder, file)
            if os.path.islink(full):
                found.notes.append(Remark(source_of(full), "a link in a folder is not followed"))
            elif not os.path.isdir(full):
                found.files[source_of(full)] = full
    return found


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
