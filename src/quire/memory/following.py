"""Keeping an index up with a store: what conversations have grown by is read when somebody asks.

So an append costs nothing here, whoever made it, and what another process wrote is found too. Where something
was forgotten, the conversation is read again: an index holds nothing that its store does not.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from threading import RLock
from typing import NamedTuple

import msgspec

from quire.errors import UnknownKey
from quire.items import Item
from quire.memory.binding import Binding
from quire.memory.documents import Chunk
from quire.memory.index import Index
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.leaf import Leaf, leaves_of_document
from quire.stores import Place, Store, Stored
from quire.stores.decoding import items_in
from quire.stores.store import Standing
from quire.stores.streams import FORGOTTEN, POOL, is_own


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a conversation was read: its version then, and what its last entry was.

    For documents, `documents` says by name which content was read.
    """

    version: int
    last: bytes
    log: str = ""
    documents: Mapping[str, bytes] = {}


class _Reading(NamedTuple):
    mark: Mark
    bindings: dict[str, Binding]


class Following:
    """One scope of a store, and the index that has what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self._store, self._scope, self._index, self._knowledge = store, scope, index, knowledge
        self._read: dict[str, _Reading] = {}
        self._had: dict[str, tuple[str, ...]] = {}  # of documents: the ids of their chunks, in order
        self._lock = RLock()

    def catch_up(self) -> None:
        """Take in what was written, and let go of what was forgotten, since the last time."""
        with self._lock:
            while self._look():
                pass  # something was forgotten meanwhile, and its conversation is to be read again

    def _look(self) -> bool:
        """Read what is new; whether something was forgotten between reading it and putting it."""
        standings = self._store.standings(self._scope)
        for gone in [name for name in self._index.marked() if name not in standings]:
            self._let_go(gone)
        overtaken = False
        for name, standing in standings.items():
            mark = self._marked(name)
            if mark is not None and self._is_read(name, mark, standing):
                continue
            if name == KNOWLEDGE:
                self._follow_documents(standing, mark)
            else:
                self._follow(name, mark, standing.log)
            overtaken |= self._is_overtaken(name)
        return overtaken

    def _is_overtaken(self, name: str) -> bool:
        """Whether what was put just now may have been forgotten before; then it is taken out again.

        Whoever forgets does so in the store first and then in the index: so either they take out what is put
        here, or it is seen now that they forgot.
        """
        if name not in self._read:
            return False
        mark = self._read[name].mark
        if name == KNOWLEDGE:  # the next look drops each document that changed
            return self._store.version(Place(self._scope, name)) != mark.version
        stored = self._store.read(Place(self._scope, name), after=mark.version - 1)
        if _goes_on(stored, mark, at=0):
            return False
        self._let_go(name)
        return True

    def _is_read(self, name: str, mark: Mark, standing: Standing) -> bool:
        """Whether there is nothing new. Where a store cannot tell logs apart, their last entries do."""
        if mark.version != standing.version or mark.log != standing.log:
            return False
        return bool(standing.log) or self._last(name, mark.version) == mark.last

    def _last(self, name: str, version: int) -> bytes:
        stored = self._store.read(Place(self._scope, name), after=version - 1)
        return _told(stored[0]) if stored else b""

    def _marked(self, name: str) -> Mark | None:
        if name in self._read:
            return self._read[name].mark
        said = self._index.mark(name)
        return None if said is None else msgspec.msgpack.decode(said, type=Mark)

    def _let_go(self, name: str) -> None:
        self._index.drop(name)
        self._index.set_mark(name, None)
        self._read.pop(name, None)
        if name == KNOWLEDGE:
            self._had = {}

    def _follow(self, name: str, mark: Mark | None, log: str) -> None:
        """Read on from the last entry that was read, if that is still what it was."""
        known = self._read.get(name)
        if mark is not None and known is not None:
            stored = self._store.read(Place(self._scope, name), after=mark.version - 1)
            if log == mark.log and _goes_on(stored, mark, at=0):
                self._take(name, known.bindings, stored[1:], mark.version, log)
                return
        self._follow_again(name, mark if known is None else None, log)

    def _follow_again(self, name: str, mark: Mark | None, log: str) -> None:
        """Read all of a conversation. What the index has of it is put again only if it changed."""
        stored = self._store.read(Place(self._scope, name))
        goes_on = mark is not None and log == mark.log and _goes_on(stored, mark, at=mark.version - 1)
        if not goes_on:
            self._let_go(name)
        self._take(name, {}, stored, mark.version if mark is not None and goes_on else 0, log)

    def _take(
        self, name: str, bindings: dict[str, Binding], stored: Sequence[Stored], had: int, log: str
    ) -> None:
        if not stored:
            return
        place = Place(self._scope, name)
        known = [entry for entry in stored if entry.version <= had]
        _bound(place, bindings, known)
        leaves, gone = _bound(place, bindings, stored[len(known) :])
        if any(binding.past.is_revived for binding in bindings.values()):
            self._let_go(name)
            self._take(name, {}, self._store.read(place), 0, log)
            return
        mark = Mark(stored[-1].version, _told(stored[-1]), log)
        if gone:
            self._index.remove(name, gone)
        self._keep(name, mark, bindings, leaves)

    def _follow_documents(self, standing: Standing, mark: Mark | None) -> None:
        """Put what is new in the documents that changed, and what stands elsewhere in them than before."""
        known: Mapping[str, bytes] = {} if mark is None else mark.documents
        now = {source.name: self._pieces(source.name) for source in self._knowledge.sources()}
        told = {name: _digest(chunks) for name, chunks in now.items() if chunks}
        had, self._had = self._had, {}  # where this fails, nothing is known of what the index has
        leaves: list[Leaf] = []
        for name in {**known, **told}:
            if known.get(name) != told.get(name):
                leaves += self._changed(name, now.get(name, ()), had.get(name))
        last = self._last(KNOWLEDGE, standing.version)
        self._keep(KNOWLEDGE, Mark(standing.version, last, standing.log, told), {}, leaves)
        self._had = {name: tuple([chunk.id for chunk in now[name]]) for name in told}

    def _changed(self, name: str, chunks: Sequence[Chunk], had: Sequence[str] | None) -> list[Leaf]:
        """What is to be put of a document; what is gone from it, or stands elsewhere now, is taken out.

        Where it is not known what it had, that is all of it.
        """
        leaves = leaves_of_document(chunks)
        if had is None or not leaves:
            self._index.drop(KNOWLEDGE, name)
            return leaves
        stays = {leaf.key for key, leaf in zip(had, leaves, strict=False) if key == leaf.key}
        if left := [key for key in had if key not in stays]:
            self._index.remove(KNOWLEDGE, left)
        return [leaf for leaf in leaves if leaf.key not in stays]

    def _pieces(self, source: str) -> Sequence[Chunk]:
        try:
            return self._knowledge.chunks(source)
        except UnknownKey:  # another took it away just now
            return ()

    def _keep(self, name: str, mark: Mark, bindings: dict[str, Binding], leaves: Sequence[Leaf]) -> None:
        self._index.put(leaves, mark=(name, msgspec.msgpack.encode(mark)))
        self._read[name] = _Reading(mark, bindings)


def _bound(
    place: Place, bindings: dict[str, Binding], stored: Sequence[Stored]
) -> tuple[list[Leaf], set[str]]:
    """The leaves that entries begin or change, and the ids of all that is past by them."""
    leaves: dict[tuple[str, str], Leaf] = {}
    for entry, item in _said(place, stored):
        if entry.stream not in bindings:
            bindings[entry.stream] = Binding(place.conversation, entry.stream)
        for leaf in bindings[entry.stream].take((item,)):
            leaves[leaf.transcript, leaf.key] = leaf
    gone = set[str]().union(*(binding.past.settle() for binding in bindings.values()))
    held = [leaf for leaf in leaves.values() if leaf.key not in bindings[leaf.transcript].past.gone]
    return held, gone


def _said(place: Place, stored: Sequence[Stored]) -> Iterable[tuple[Stored, Item]]:
    """What was said and kept, without what a session notes for itself."""
    said = [entry for entry in stored if not is_own(entry.stream) or entry.stream == POOL]
    return zip(said, items_in(place, said), strict=True)


def _goes_on(stored: Sequence[Stored], mark: Mark, at: int) -> bool:
    """Whether the entry at a place is the last that was read, and nothing was forgotten after it."""
    if len(stored) <= at or _told(stored[at]) != mark.last:
        return False
    return not any(entry.stream == FORGOTTEN for entry in stored[at + 1 :])


def _told(entry: Stored) -> bytes:
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()


def _digest(chunks: Sequence[Chunk]) -> bytes:
    return blake2b("\0".join(chunk.id for chunk in chunks).encode(), digest_size=16).digest()
