"""The verbs: add, remove, list and read documents, and follow what changes."""

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b

from quire.errors import Conflict, QuireError, StoreError, UnknownId, UnknownKey, WrongType, cut
from quire.items import Note, now
from quire.memory.documents import Chunk, Document, chunks, read_document
from quire.memory.documents.reading import content_of
from quire.memory.knowledge.holdings import Growth, Holdings
from quire.memory.knowledge.log import Log
from quire.memory.knowledge.naming import checked_source, printable
from quire.memory.knowledge.records import (
    CHUNKS,
    SOURCES,
    chunk_note,
    record_for,
    record_note,
    removal,
)
from quire.memory.knowledge.reports import Remark, Report, Source, Tally
from quire.memory.knowledge.walking import Found, found_at
from quire.stores import Place, Store
from quire.tokens import Counter, Measured, checked_counter

Progress = Callable[[int, int, str], None]
"""Told after each file: how many are done, of how many, and which it was."""

_WAY_OF_READING = "5"
"""Another where the same document would be read or cut in another way: then it is read again."""


class Knowledge:
    """The documents of one scope, in chunks, in the store that keeps its conversations.

    Every verb may be called from any thread, and waits for the store: in a coroutine use `asyncio.to_thread`.
    """

    def __init__(
        self, store: Store, scope: str = "", *, tokens: int = 256, counter: Counter | None = None
    ) -> None:
        if not isinstance(store, Store):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"documents are kept in a store, not in {type(store).__name__}")
        self._log = Log(store, scope)
        self._tokens = tokens
        self._counter = checked_counter(Measured() if counter is None else counter)
        chunks(Document("", "", ""), tokens=tokens, counter=self._counter)  # a limit that is none is told now

    def __repr__(self) -> str:
        return f"<Knowledge {self.place}>"

    @property
    def place(self) -> Place:
        """Where the documents are kept."""
        return self._log.place

    def add_text(
        self, text: str, *, source: str, title: str | None = None, media_type: str | None = None
    ) -> Report:
        """Keep a text under a name, in the place of what was kept under it before."""
        tally = Tally()
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a text is added, not {type(text).__name__}")
        self._keep(text, checked_source(source), tally, title, media_type)
        self._log.wipe()
        return tally.report()

    def add(
        self,
        path: "str | os.PathLike[str]",
        *,
        name: str | None = None,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Keep a file, or all files of a folder and of the folders in it, each as one source.

        A source is called by its path, or by `name` in place of that of the file or folder. What did not
        change is left as it is. With `prune`, what is gone from the folder is removed.
        """
        found = found_at(path, None if name is None else checked_source(name))
        tally = Tally()
        tally.failed += found.failed
        try:
            for done, (source, file) in enumerate(found.files.items(), 1):
                self._keep_file(file, source, found.follow_link, tally)
                if progress is not None:
                    progress(done, len(found.files), source)
            if prune:
                self._prune(found, tally)
        finally:  # once for all of them: a store may have to rewrite its file
            self._log.wipe()
        return tally.report()

    def remove(self, source: str) -> int:
        """Forget a source: its content is wiped from the store. Gives how many chunks it had."""
        self._log.wipe()  # what a store did not do when it was asked first
        gone = self._take_away(source)
        if gone is None:
            raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
        self._log.wipe()
        return gone

    def sources(self) -> list[Source]:
        """The documents that are kept, by name."""
        held = self._log.caught_up()
        with held.lock:
            return held.listed()

    def chunks(self, source: str) -> list[Chunk]:
        """The chunks of a source, in order."""
        held = self._log.caught_up()
        with held.lock:
            if source not in held.records:
                raise UnknownKey(f"no source {cut(source)!r} in {self.place}")
            return held.chunks(source)

    def all_chunks(self) -> dict[str, list[Chunk]]:
        """The chunks of every source, as they are at one moment."""
        held = self._log.caught_up()
        with held.lock:
            return {source: held.chunks(source) for source in held.records}

    def read(self, chunk_id: str) -> Chunk:
        """One chunk by its id."""
        held = self._log.caught_up()
        with held.lock:
            chunk = held.get(chunk_id)
        if chunk is None:
            raise UnknownId(f"no chunk {cut(chunk_id)!r} in {self.place}")
        return chunk

    def follow(self, after: int = 0, log: str = "") -> Growth:
        """What came and went since a version that was given before, with the log it was of.

        It takes time for what changed, not for what is there.
        """
        held = self._log.caught_up()
        with held.lock:
            return held.since(after, log)

    def _keep_file(self, file: str, source: str, follow_link: bool, tally: Tally) -> None:
        try:
            self._keep(content_of(file, follow_link=follow_link), checked_source(source), tally)
        except (StoreError, Conflict):
            raise
        except QuireError as fault:
            tally.failed.append(Remark(printable(source), str(fault)))

    def _keep(
        self,
        content: bytes | str,
        source: str,
        tally: Tally,
        title: str | None = None,
        media_type: str | None = None,
    ) -> None:
        digest = self._digest(content, title, media_type)
        held = self._log.caught_up()
        with held.lock:
            known = held.records.get(source)
        if known is not None and known.digest == digest:
            tally.sources["unchanged"].append(source)
            return
        document = read_document(content, name=source, media_type=media_type)
        tally.notes += [Remark(source, note) for note in document.notes]
        became = self._replace(document, title or document.title, digest)
        tally.sources[became].append(source)

    def _replace(self, document: Document, title: str, digest: str) -> str:
        """Write what is new of a document, and say what it was: added, updated or unchanged."""
        found = chunks(document, tokens=self._tokens, counter=self._counter)
        became = "added"

        def change(held: Holdings) -> Sequence[tuple[str, Note]]:
            nonlocal became
            known, at = held.records.get(document.source), held.kept(document.source)
            became = "added" if known is None else "unchanged" if known.digest == digest else "updated"
            if became == "unchanged":
                return ()
            added_at = now() if known is None else known.added_at
            record = record_for(document.source, title, digest, found, added_at)
            fresh = [(CHUNKS, chunk_note(chunk)) for chunk in found if held.get(chunk.id) is None]
            return (SOURCES, record_note(record, at.note_id if at else None)), *fresh

        self._log.write(change)
        return became

    def _take_away(self, source: str) -> int | None:
        gone: int | None = None

        def change(held: Holdings) -> Sequence[tuple[str, Note]]:
            nonlocal gone
            at = held.kept(source)
            gone = None if at is None else len(held.records[source].chunks)
            return () if at is None else ((SOURCES, removal(at.note_id)),)

        self._log.write(change)
        return gone

    def _prune(self, found: Found, tally: Tally) -> None:
        for source in self.sources():
            if source.name.startswith(f"{found.called}/") and not found.may_hold(source.name):
                self._take_away(source.name)
                tally.sources["removed"].append(source.name)

    def _digest(self, content: bytes | str, title: str | None, media_type: str | None) -> str:
        made = (_WAY_OF_READING, self._tokens, self._counter.key, title, media_type)
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        return blake2b(data, digest_size=16, key=blake2b(repr(made).encode()).digest()).hexdigest()
