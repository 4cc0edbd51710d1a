"""Keeping an index up to date with a store: what conversations have grown by is read when somebody asks.

An append costs nothing here, and what another process wrote is found too. The index says how far each
conversation was read. Where something was forgotten, the conversation is read again, and what differs changes
in the index: so it holds nothing that the store does not.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from threading import RLock

from quire.memory.index import Index, Mark, Only
from quire.memory.knowledge import Knowledge
from quire.memory.leaf import KNOWLEDGE, Leaf, leaves_of_document
from quire.memory.log_leaves import LogLeaves
from quire.stores import Place, Standing, Store, Stored
from quire.stores.streams import FORGOTTEN


class Follower:
    """One scope of a store, and the index of what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self.index = index
        self._store, self._scope, self._knowledge = store, scope, knowledge
        self._logs: dict[str, LogLeaves] = {}
        self._lock = RLock()

    def catch_up(self) -> None:
        """Take in what was written, and remove what was forgotten, since the last time."""
        with self._lock:
            standings = self._store.conversations(self._scope)
            for name in self.index.marks.keys() - standings.keys():
                self._drop(name)
            for name, standing in standings.items():
                mark = self.index.marks.get(name)
                if mark is None or not self._is_read(name, mark, standing):
                    self._read(name, mark, standing)

    def _is_read(self, name: str, mark: Mark, standing: Standing) -> bool:
        if (mark.version, mark.log) != (standing.version, standing.log):
            return False
        return bool(standing.log) or _continues(self._entries(name, mark.version - 1), mark)

    def _entries(self, name: str, after: int = 0) -> list[Stored]:
        return self._store.read(Place(self._scope, name), after=after)

    def _read(self, name: str, mark: Mark | None, standing: Standing) -> None:
        """Read on from the last entry that was read, if it is the same; otherwise read all again."""
        if name == KNOWLEDGE:
            stored = self._entries(name, standing.version - 1)  # first: the documents may be newer
            documents = self._knowledge.all_chunks().values()
            self._replace(name, stored, standing.log, chain.from_iterable(map(leaves_of_document, documents)))
            return
        if mark is not None and mark.log == standing.log and self._read_on(name, mark):
            return
        self._logs[name] = log = LogLeaves(Place(self._scope, name))
        stored = self._entries(name)
        changes = log.take(stored)
        self._replace(name, stored, standing.log, changes.leaves if changes is not None else ())

    def _read_on(self, name: str, mark: Mark) -> bool:
        """Take in what follows a mark; return whether that was possible."""
        log = self._logs.pop(name, None)
        if log is not None:
            stored = self._entries(name, mark.version - 1)
        else:  # the index was saved by another process
            log, all_entries = LogLeaves(Place(self._scope, name)), self._entries(name)
            log.take(all_entries[: mark.version])
            stored = all_entries[mark.version - 1 :]
        changes = log.take(stored[1:]) if _continues(stored, mark) else None
        if changes is None:
            return False
        self.index.update(name, _mark_at(stored, mark.log), gone=changes.gone, leaves=changes.leaves)
        self._logs[name] = log
        return True

    def _replace(self, name: str, stored: Sequence[Stored], log: str, new: Iterable[Leaf]) -> None:
        """Change in the index what is not as it should be."""
        if not stored:  # removed meanwhile
            self._drop(name)
            return
        there = self.index.newest(len(self.index), Only(sources=frozenset((name,))))
        before = {(leaf.transcript, leaf.key): leaf for leaf in there}
        now = {(leaf.transcript, leaf.key): leaf for leaf in new}
        changed = {key for _, key in before.keys() ^ now.keys()}
        changed |= {leaf.key for at, leaf in now.items() if at in before and before[at] != leaf}
        put = [leaf for leaf in now.values() if leaf.key in changed]
        self.index.update(name, _mark_at(stored, log), gone=changed, leaves=put)

    def _drop(self, name: str) -> None:
        self._logs.pop(name, None)
        self.index.update(name, None)


def _continues(stored: Sequence[Stored], mark: Mark) -> bool:
    """Whether entries begin with the last that was read, and nothing was forgotten since."""
    if not stored or _digest(stored[0]) != mark.last:
        return False
    return not any(entry.stream == FORGOTTEN for entry in stored[1:])


def _mark_at(stored: Sequence[Stored], log: str) -> Mark:
    return Mark(stored[-1].version, _digest(stored[-1]), log)


def _digest(entry: Stored) -> bytes:
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()
