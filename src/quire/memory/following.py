"""Keeping an index up with a store: what conversations have grown by is read when somebody asks.

So an append costs nothing here, whoever made it, and what another process wrote is found too. Where something
was forgotten, the conversation is read again, and what is not as it was changes in the index: that holds
nothing that its store does not.

Others may keep the same index up at the same time. How far a conversation was read is told by the index
alone. That moves at once with what goes and comes, and only from where it was seen: who comes second looks
again. So nobody takes out what another put, and who dies leaves an index in which the next one goes on.
Much is put in portions, each with how far it was read, so that nobody keeps the others waiting for long.
"""

from collections.abc import Iterable, Sequence
from threading import RLock
from typing import NamedTuple

from quire.memory.binding import Binding
from quire.memory.bound import bound, forgotten_of, gone_of, unlike
from quire.memory.following_documents import FollowingDocuments
from quire.memory.index import Gone, Index, Only
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.leaf import Leaf
from quire.memory.marking import Mark, goes_on, told, told_at
from quire.memory.moving import Moving
from quire.memory.portions import portions, portions_of_keys
from quire.stores import Place, Store, Stored
from quire.stores.store import Standing

_LOOKS = 3
"""So often documents that others go on changing are read again for one question."""


class _Reading(NamedTuple):
    """How far a conversation is bound here, which may be less or more than what an index has of it."""

    mark: Mark
    bindings: dict[str, Binding]


class Following:
    """One scope of a store, and the index that has what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self._store, self._scope, self.index = store, scope, index
        self._moving = Moving(index)
        self._documents = FollowingDocuments(store, scope, self._moving, knowledge)
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
        marked = self.index.marked()  # before all else: what is begun after it is not taken for gone
        standings = self._store.standings(self._scope)
        gone = [self._let_go(name) for name in marked if name not in standings]
        return all([*gone, *(self._is_up(name, standing) for name, standing in standings.items())])

    def _is_up(self, name: str, standing: Standing) -> bool:
        """Whether the index has all of a conversation, now that what is new was put."""
        mark = self._moving.mark(name)
        if mark is not None and self._is_read(name, mark, standing):
            return True
        if name == KNOWLEDGE:
            is_put = self._documents.follow(standing, mark)
        else:
            is_put = self._follow(name, mark, standing.log)
        return is_put and not self._is_overtaken(name)

    def _is_overtaken(self, name: str) -> bool:
        """Whether what was put just now may have been forgotten before; then it is taken out again.

        Whoever forgets does so in the store first and then in the index: so either they take out what is put
        here, or it is seen now that they forgot.
        """
        mark = self._moving.mark(name)
        if mark is None:
            return False
        if name == KNOWLEDGE:
            return self._documents.are_overtaken(mark, is_last_look=self._looks >= _LOOKS)
        stored = self._store.read(Place(self._scope, name), after=max(mark.version - 1, 0))
        if goes_on(stored, mark, at=0):
            return False
        self._renew(name, mark.log)
        return True

    def _is_read(self, name: str, mark: Mark, standing: Standing) -> bool:
        """Whether there is nothing new. Where a store cannot tell logs apart, their last entries do."""
        if mark.version != standing.version or mark.log != standing.log:
            return False
        return bool(standing.log) or told_at(self._store, Place(self._scope, name), mark.version) == mark.last

    def _let_go(self, name: str) -> bool:
        self._read.pop(name, None)
        return self._moving.let_go(name)

    def _follow(self, name: str, mark: Mark | None, log: str) -> bool:
        """Read on from the last entry that was read, if that is still what it was."""
        if mark is None:
            return self._take(name, {}, self._store.read(Place(self._scope, name)), None, log)
        bindings, stored = self._bound_until(name, mark)
        if log != mark.log or not stored or not goes_on(stored, mark, mark.version - stored[0].version):
            return self._renew(name, log)
        return self._take(name, bindings, stored[1:] if bindings else stored, mark, log)

    def _bound_until(self, name: str, mark: Mark) -> tuple[dict[str, Binding], Sequence[Stored]]:
        """What is bound here of what a mark is of, and the entries from the last of it on; or else all."""
        place, known = Place(self._scope, name), self._read.pop(name, None)
        if known is not None and known.mark.log == mark.log and known.mark.version <= mark.version:
            stored = self._store.read(place, after=known.mark.version - 1)
            if goes_on(stored, known.mark, at=0):
                return known.bindings, stored
        return {}, self._store.read(place)

    def _take(
        self, name: str, bindings: dict[str, Binding], stored: Sequence[Stored], mark: Mark | None, log: str
    ) -> bool:
        """Put what comes after a mark; with the last of it goes what was forgotten before anybody read it.

        Others may put some of the same meanwhile: then this goes on after it.
        """
        had, is_begun = (0, True) if mark is None else (mark.version, mark.version < mark.seen)
        known = [entry for entry in stored if entry.version <= had]
        place = Place(self._scope, name)
        bound(place, bindings, known)
        if mark is not None:
            self._read[name] = _Reading(mark, bindings)
        for some in portions(stored[len(known) :]):
            self._read.pop(name, None)  # what is bound goes on, and may fail midway
            leaves, gone = bound(place, bindings, some)
            if any(binding.past.is_revived for binding in bindings.values()):
                return self._renew(name, log, some[-1].version)
            now = _mark_at(some[-1], stored, log)
            if had >= now.version:
                self._read[name] = _Reading(now, bindings)
                continue
            is_last = some[-1] is stored[-1]
            forgotten = forgotten_of(bindings) if is_begun and is_last else set[str]()
            goes = gone_of(name, gone - forgotten, is_forgotten=False) + gone_of(name, forgotten)
            if not self._keep(name, now, bindings, goes, leaves):
                had = self._put_by_others(name, stored, log)
                if had < now.version:
                    return False
        return True

    def _put_by_others(self, name: str, stored: Sequence[Stored], log: str) -> int:
        """Up to which version others have put the same entries, if it is the same that they have read."""
        mark = self._moving.mark(name)
        if mark is None or (mark.log, mark.seen) != (log, stored[-1].version):
            return 0
        at = mark.version - stored[0].version
        return mark.version if 0 <= at < len(stored) and told(stored[at]) == mark.last else 0

    def _renew(self, name: str, log: str, until: int = 0) -> bool:
        """Read all of a conversation, and change in the index what is not as it was; then go on from there.

        What was forgotten goes by its own name too: others may have indexes of it in the same tables.
        """
        place, bindings, mark = Place(self._scope, name), dict[str, Binding](), self._moving.mark(name)
        stored = self._store.read(place)
        if not stored:
            return self._let_go(name)
        until = max(until, 1 if mark is None else mark.version or mark.seen)
        known = [entry for entry in stored if entry.version <= until]
        leaves, _ = bound(place, bindings, known)
        there = self.index.newest(len(self.index), Only(sources=frozenset((name,))))
        gone = unlike(there, leaves) | forgotten_of(bindings)
        changed = [leaf for leaf in leaves if leaf.key in gone]
        now = _mark_at(known[-1], stored, log)
        if not self._is_changed(name, now, bindings, gone, changed):
            return False
        return self._take(name, bindings, stored[len(known) :], now, log)

    def _is_changed(
        self, name: str, mark: Mark, bindings: dict[str, Binding], gone: set[str], leaves: Sequence[Leaf]
    ) -> bool:
        """Have some keys go and come, until all is as a mark says; whether nobody changed anything before.

        On the way the mark is of no version, so that whoever comes meanwhile reads all again; and all that
        went is wiped in the end, also where another began.
        """
        *some, last = portions_of_keys(sorted(gone))
        for nth, keys in enumerate(some):
            on_the_way = Mark(0, b"%d" % nth, mark.log, {}, mark.version)
            goes = gone_of(name, keys, is_forgotten=False)
            if not self._moving.move(name, on_the_way, goes, _with_keys(leaves, keys)):
                return False
        before = self._moving.mark(name)
        is_begun = before is not None and not before.version
        goes = [Gone(source=name, keys=frozenset(last))] if last or is_begun else []
        return self._keep(name, mark, bindings, goes, _with_keys(leaves, last))

    def _keep(
        self,
        name: str,
        mark: Mark,
        bindings: dict[str, Binding],
        gone: Sequence[Gone],
        leaves: Sequence[Leaf],
    ) -> bool:
        self._read[name] = _Reading(mark, bindings)
        return self._moving.move(name, mark, gone, leaves)


def _mark_at(last: Stored, stored: Sequence[Stored], log: str) -> Mark:
    """How far a conversation is put, up to one of the entries that were read of it."""
    return Mark(last.version, told(last), log, {}, stored[-1].version)


def _with_keys(leaves: Sequence[Leaf], keys: Iterable[str]) -> list[Leaf]:
    wanted = set(keys)
    return [leaf for leaf in leaves if leaf.key in wanted]
