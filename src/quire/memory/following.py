"""Keeping an index up with a store: what conversations have grown by is read when somebody asks.

So an append costs nothing here, whoever made it, and what another process wrote is found too. Where something
was forgotten, the conversation is read again, and what is not as it was changes in the index: that holds
nothing that its store does not.
"""

from collections.abc import Iterable, Sequence
from threading import RLock
from typing import NamedTuple

import msgspec

from quire.items import Item
from quire.memory.binding import Binding
from quire.memory.filing import Filing
from quire.memory.index import Index, Only
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.leaf import Leaf
from quire.memory.marking import Mark, goes_on, told
from quire.stores import Place, Store, Stored
from quire.stores.decoding import items_in
from quire.stores.store import Standing
from quire.stores.streams import POOL, is_own


class _Reading(NamedTuple):
    mark: Mark
    bindings: dict[str, Binding]


class Following:
    """One scope of a store, and the index that has what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self._store, self._scope, self._index = store, scope, index
        self._filing = Filing(index, knowledge)
        self._read: dict[str, _Reading] = {}
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
        if goes_on(stored, mark, at=0):
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
        return told(stored[0]) if stored else b""

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
            self._filing.let_go()

    def _follow(self, name: str, mark: Mark | None, log: str) -> None:
        """Read on from the last entry that was read, if that is still what it was."""
        place, known = Place(self._scope, name), self._read.get(name)
        if mark is None:
            self._let_go(name)
            self._take(name, {}, self._store.read(place), 0, log)
            return
        after = 0 if known is None else mark.version - 1
        stored = self._store.read(place, after=after)
        if log != mark.log or not goes_on(stored, mark, mark.version - 1 - after):
            self._renew(name, log)
        elif known is None:
            self._take(name, {}, stored, mark.version, log)
        else:
            self._take(name, known.bindings, stored[1:], mark.version, log)

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
            self._renew(name, log)
            return
        if gone:
            self._index.remove(name, gone)
        self._keep(name, Mark(stored[-1].version, told(stored[-1]), log), bindings, leaves)

    def _renew(self, name: str, log: str) -> None:
        """Read all of a conversation, and change in the index what is not as it was.

        What was forgotten goes by its own name too: others may have indexes of it in the same tables.
        """
        place, bindings = Place(self._scope, name), dict[str, Binding]()
        stored = self._store.read(place)
        if not stored:
            self._let_go(name)
            return
        leaves, _ = _bound(place, bindings, stored)
        there = self._index.newest(len(self._index), Only(sources=frozenset((name,))))
        gone = _unlike(there, leaves).union(*(binding.forgotten for binding in bindings.values()))
        if gone:
            self._index.remove(name, gone)
        changed = [leaf for leaf in leaves if leaf.key in gone]
        self._keep(name, Mark(stored[-1].version, told(stored[-1]), log), bindings, changed)

    def _follow_documents(self, standing: Standing, mark: Mark | None) -> None:
        """Put what is new in the documents that changed, and what stands elsewhere in them than before."""
        documents, leaves = self._filing.changed({} if mark is None else mark.documents)
        last = self._last(KNOWLEDGE, standing.version)
        self._keep(KNOWLEDGE, Mark(standing.version, last, standing.log, documents), {}, leaves)
        self._filing.was_put()

    def _keep(self, name: str, mark: Mark, bindings: dict[str, Binding], leaves: Sequence[Leaf]) -> None:
        self._index.put(leaves, mark=(name, msgspec.msgpack.encode(mark)))
        self._read[name] = _Reading(mark, bindings)


def _unlike(there: Iterable[Leaf], leaves: Iterable[Leaf]) -> set[str]:
    """The keys of leaves that are there and should not be, or are not there just as they should be."""
    before = {(leaf.transcript, leaf.key): leaf for leaf in there}
    now = {(leaf.transcript, leaf.key): leaf for leaf in leaves}
    return {at[1] for at in before.keys() | now.keys() if before.get(at) != now.get(at)}


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
