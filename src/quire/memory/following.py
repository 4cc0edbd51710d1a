"""Keeping an index up with a store: what conversations have grown by is read when somebody asks.

So an append costs nothing here, whoever made it, and what another process wrote is found too. Where something
was forgotten, the conversation is read again, and what is not as it was changes in the index: that holds
nothing that its store does not.

Others may keep the same index up at the same time. How far a conversation was read is told by the index
alone. That moves at once with what goes and comes, and only from where it was seen: who comes second looks
again. So nobody takes out what another put, and who dies leaves an index in which the next one goes on.
"""

from collections.abc import Sequence
from threading import RLock
from typing import NamedTuple

import msgspec

from quire.memory.binding import Binding
from quire.memory.bound import bound, forgotten_of, gone_of, unlike
from quire.memory.filing import Filing
from quire.memory.index import Gone, Index, Only
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.leaf import Leaf
from quire.memory.marking import Mark, goes_on, told
from quire.stores import Place, Store, Stored
from quire.stores.store import Standing

_LOOKS = 3
"""So often documents that others go on changing are read again for one question."""


class _Marked(NamedTuple):
    """What an index says of how far a place was read, and what that means."""

    said: bytes | None
    mark: Mark | None


class _Reading(NamedTuple):
    """How far a conversation is bound here, which may be less or more than what an index has of it."""

    mark: Mark
    bindings: dict[str, Binding]


class Following:
    """One scope of a store, and the index that has what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self._store, self._scope, self._index = store, scope, index
        self._filing = Filing(knowledge)
        self._filed: bytes | None = None
        self._marks: dict[str, _Marked] = {}
        self._read: dict[str, _Reading] = {}
        self._looks = 0
        self._lock = RLock()

    def catch_up(self) -> None:
        """Take in what was written, and let go of what was forgotten, since the last time."""
        with self._lock:
            self._looks = 1
            while not self._look():  # others changed something meanwhile, and it is to be looked at again
                self._looks += 1

    def _look(self) -> bool:
        """Read what is new; whether all is read, and nobody was first or forgot some of it meanwhile."""
        marked = self._index.marked()  # before all else: what is begun after it is not taken for gone
        standings = self._store.standings(self._scope)
        gone = [self._let_go(name) for name in marked if name not in standings]
        return all([*gone, *(self._is_up(name, standing) for name, standing in standings.items())])

    def _is_up(self, name: str, standing: Standing) -> bool:
        """Whether the index has all of a conversation, now that what is new was put."""
        mark = self._marked(name)
        if mark is not None and self._is_read(name, mark, standing):
            return True
        if name == KNOWLEDGE:
            is_put = self._follow_documents(standing, mark)
        else:
            is_put = self._follow(name, mark, standing.log)
        return is_put and not self._is_overtaken(name)

    def _is_overtaken(self, name: str) -> bool:
        """Whether what was put just now may have been forgotten before; then it is taken out again.

        Whoever forgets does so in the store first and then in the index: so either they take out what is put
        here, or it is seen now that they forgot.
        """
        mark = self._marked(name)
        if mark is None:
            return False
        if name == KNOWLEDGE:
            return self._are_documents_overtaken(mark)
        stored = self._store.read(Place(self._scope, name), after=mark.version - 1)
        if goes_on(stored, mark, at=0):
            return False
        self._renew(name, mark.log)
        return True

    def _are_documents_overtaken(self, mark: Mark) -> bool:
        """Whether documents that were put changed; what came beside them is for the next who asks.

        The next look puts them anew. But nobody waits for who goes on changing them: in the end those that
        changed go, and nothing is put that could be overtaken again.
        """
        if self._store.version(Place(self._scope, KNOWLEDGE)) == mark.version:
            return False
        changed = self._filing.unlike(mark.documents)
        if not changed or self._looks < _LOOKS:
            return bool(changed)
        left = {name: told for name, told in mark.documents.items() if name not in changed}
        gone = [Gone(source=KNOWLEDGE, transcript=name) for name in sorted(changed)]
        return not self._move(KNOWLEDGE, Mark(mark.version, mark.last, mark.log, left), gone, ())

    def _is_read(self, name: str, mark: Mark, standing: Standing) -> bool:
        """Whether there is nothing new. Where a store cannot tell logs apart, their last entries do."""
        if mark.version != standing.version or mark.log != standing.log:
            return False
        return bool(standing.log) or self._last(name, mark.version) == mark.last

    def _last(self, name: str, version: int) -> bytes:
        stored = self._store.read(Place(self._scope, name), after=version - 1)
        return told(stored[0]) if stored else b""

    def _marked(self, name: str) -> Mark | None:
        """How far the index says that a place was read, whoever read it."""
        said, known = self._index.mark(name), self._marks.get(name)
        if known is None or known.said != said:
            known = _Marked(said, None if said is None else msgspec.msgpack.decode(said, type=Mark))
            self._marks[name] = known
        return known.mark

    def _let_go(self, name: str) -> bool:
        self._marked(name)
        self._read.pop(name, None)
        is_gone = self._move(name, None, [Gone(source=name)], ())
        del self._marks[name]
        return is_gone

    def _follow(self, name: str, mark: Mark | None, log: str) -> bool:
        """Read on from the last entry that was read, if that is still what it was."""
        if mark is None:
            return self._take(name, {}, self._store.read(Place(self._scope, name)), 0, log)
        bindings, stored = self._bound_until(name, mark)
        if log != mark.log or not stored or not goes_on(stored, mark, mark.version - stored[0].version):
            return self._renew(name, log)
        return self._take(name, bindings, stored[1:] if bindings else stored, mark.version, log)

    def _bound_until(self, name: str, mark: Mark) -> tuple[dict[str, Binding], Sequence[Stored]]:
        """What is bound here of what a mark is of, and the entries from the last of it on; or else all."""
        place, known = Place(self._scope, name), self._read.pop(name, None)
        if known is not None and known.mark.log == mark.log and known.mark.version <= mark.version:
            stored = self._store.read(place, after=known.mark.version - 1)
            if goes_on(stored, known.mark, at=0):
                return known.bindings, stored
        return {}, self._store.read(place)

    def _take(
        self, name: str, bindings: dict[str, Binding], stored: Sequence[Stored], had: int, log: str
    ) -> bool:
        if not stored:
            return True
        place = Place(self._scope, name)
        known = [entry for entry in stored if entry.version <= had]
        bound(place, bindings, known)
        leaves, gone = bound(place, bindings, stored[len(known) :])
        if any(binding.past.is_revived for binding in bindings.values()):
            return self._renew(name, log)
        forgotten = set[str]() if had else forgotten_of(bindings)
        goes = gone_of(name, gone - forgotten, is_forgotten=False) + gone_of(name, forgotten)
        return self._keep(name, Mark(stored[-1].version, told(stored[-1]), log), bindings, goes, leaves)

    def _renew(self, name: str, log: str) -> bool:
        """Read all of a conversation, and change in the index what is not as it was.

        What was forgotten goes by its own name too: others may have indexes of it in the same tables.
        """
        place, bindings = Place(self._scope, name), dict[str, Binding]()
        stored = self._store.read(place)
        if not stored:
            return self._let_go(name)
        leaves, _ = bound(place, bindings, stored)
        there = self._index.newest(len(self._index), Only(sources=frozenset((name,))))
        gone = unlike(there, leaves) | forgotten_of(bindings)
        changed = [leaf for leaf in leaves if leaf.key in gone]
        now = Mark(stored[-1].version, told(stored[-1]), log)
        return self._keep(name, now, bindings, gone_of(name, gone), changed)

    def _follow_documents(self, standing: Standing, mark: Mark | None) -> bool:
        """Put what is new in the documents that changed, and what stands elsewhere in them than before."""
        if self._marks[KNOWLEDGE].said != self._filed:
            self._filing.let_go()
        documents, gone, leaves = self._filing.changed({} if mark is None else mark.documents)
        now = Mark(standing.version, self._last(KNOWLEDGE, standing.version), standing.log, documents)
        if not self._move(KNOWLEDGE, now, gone, leaves):
            return False
        self._filing.was_put()
        self._filed = self._marks[KNOWLEDGE].said
        return True

    def _keep(
        self,
        name: str,
        mark: Mark,
        bindings: dict[str, Binding],
        gone: Sequence[Gone],
        leaves: Sequence[Leaf],
    ) -> bool:
        self._read[name] = _Reading(mark, bindings)
        return self._move(name, mark, gone, leaves)

    def _move(self, name: str, mark: Mark | None, gone: Sequence[Gone], leaves: Sequence[Leaf]) -> bool:
        """Change the index at once from what was marked; whether nobody did before."""
        since = self._marks[name].said
        said = None if mark is None else msgspec.msgpack.encode(mark)
        if said == since and not gone and not leaves:
            return True
        self._marks[name] = _Marked(said, mark)
        return self._index.move_mark(name, since, said, gone=gone, leaves=leaves)
