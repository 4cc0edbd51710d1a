"""Keeping an index up to date with a store: what conversations have grown by is read when somebody asks.

An append costs nothing here, and what another process wrote is found too. The index says how far each
conversation was read. Where something was forgotten, the conversation is read again, and what differs changes
in the index: so it holds nothing that the store does not.
"""

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from threading import RLock

import msgspec

from quire.memory.index import Gone, Index, Only
from quire.memory.knowledge import Knowledge
from quire.memory.leaf import KNOWLEDGE, Leaf, leaves_of_document
from quire.memory.log_leaves import LogLeaves
from quire.stores import Place, Standing, Store, Stored
from quire.stores.streams import FORGOTTEN

_LOOKS = 3
"""How often conversations are read again that others change meanwhile."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a conversation was read: its version, a digest of its last entry, and which log it was."""

    version: int
    last: bytes
    log: str = ""


class Follower:
    """One scope of a store, and the index of what is in it."""

    def __init__(self, store: Store, scope: str, index: Index, knowledge: Knowledge) -> None:
        self.index = index
        self._store, self._scope, self._knowledge = store, scope, knowledge
        self._marks: dict[str, tuple[bytes, Mark]] = {}
        self._logs: dict[str, tuple[Mark, LogLeaves]] = {}
        self._lock = RLock()

    def catch_up(self) -> None:
        """Take in what was written, and remove what was forgotten, since the last time."""
        with self._lock:
            for _ in range(_LOOKS):
                if not self._look():
                    return

    def _look(self) -> bool:
        """Read what is new; return whether there was something."""
        marked = self.index.marked()  # first: a conversation that begins after this is not taken for gone
        standings = self._store.conversations(self._scope)
        gone = [name for name in marked if name not in standings]
        for name in gone:
            self._drop(name)
        new = [name for name, standing in standings.items() if not self._is_read(name, standing)]
        for name in new:
            self._read(name, standings[name])
        return bool(gone or new)

    def _is_read(self, name: str, standing: Standing) -> bool:
        mark = self._mark(name)
        if mark is None or (mark.version, mark.log) != (standing.version, standing.log):
            return False
        return bool(standing.log) or _continues(self._entries(name, mark.version - 1), mark)

    def _mark(self, name: str) -> Mark | None:
        """Return how far the index has a conversation, whoever read it."""
        written = self.index.mark(name)
        if written is None:
            self._marks.pop(name, None)
            return None
        known = self._marks.get(name)
        if known is None or known[0] != written:
            known = self._marks[name] = written, msgspec.msgpack.decode(written, type=Mark)
        return known[1]

    def _entries(self, name: str, after: int = 0) -> list[Stored]:
        return self._store.read(Place(self._scope, name), after=after)

    def _read(self, name: str, standing: Standing) -> None:
        """Read on from the last entry that was read, if it is the same; otherwise read all again."""
        mark, log = self._mark(name), standing.log
        if name == KNOWLEDGE:
            stored = self._entries(name, standing.version - 1)  # first: the documents may be newer
            documents = self._knowledge.all_chunks().values()
            self._replace(name, log, stored, chain.from_iterable(map(leaves_of_document, documents)))
            return
        known = self._logs.pop(name, None)
        if mark is None or mark.log != log:
            self._read_again(name, log)
            return
        if known is not None and known[0] == mark:
            leaves, stored = known[1], self._entries(name, mark.version - 1)
        else:  # the index is further than this process has read
            leaves, stored = LogLeaves(Place(self._scope, name)), self._entries(name)
            leaves.take(stored[: mark.version])
            stored = stored[mark.version - 1 :]
        changes = leaves.take(stored[1:]) if _continues(stored, mark) else None
        if changes is None:
            self._read_again(name, log)
        else:
            gone = _gone(name, changes.gone, is_forgotten=False)
            self._move(name, _mark_at(stored, log), gone, changes.leaves, leaves)

    def _read_again(self, name: str, log: str) -> None:
        leaves, stored = LogLeaves(Place(self._scope, name)), self._entries(name)
        changes = leaves.take(stored)
        if changes is not None:  # never, at the first reading
            self._replace(name, log, stored, changes.leaves, leaves)

    def _replace(
        self,
        name: str,
        log: str,
        stored: Sequence[Stored],
        new: Iterable[Leaf],
        leaves: LogLeaves | None = None,
    ) -> None:
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
        self._move(name, _mark_at(stored, log), _gone(name, changed), put, leaves)

    def _move(
        self, name: str, mark: Mark, gone: Sequence[Gone], put: Sequence[Leaf], leaves: LogLeaves | None
    ) -> None:
        """Change the index, unless another process did since its mark was read: then look again."""
        known = self._marks.get(name)
        since = known[0] if known is not None else None
        is_moved = self.index.move_mark(name, since, msgspec.msgpack.encode(mark), gone=gone, leaves=put)
        if is_moved and leaves is not None:
            self._logs[name] = mark, leaves

    def _drop(self, name: str) -> None:
        self._logs.pop(name, None)
        self.index.move_mark(name, self.index.mark(name), None, gone=[Gone(source=name)])


def _continues(stored: Sequence[Stored], mark: Mark) -> bool:
    """Whether entries begin with the last that was read, and nothing was forgotten since."""
    if not stored or _digest(stored[0]) != mark.last:
        return False
    return not any(entry.stream == FORGOTTEN for entry in stored[1:])


def _mark_at(stored: Sequence[Stored], log: str) -> Mark:
    return Mark(stored[-1].version, _digest(stored[-1]), log)


def _digest(entry: Stored) -> bytes:
    return blake2b(entry.body, digest_size=16, key=entry.stream.encode()[:64]).digest()


def _gone(name: str, keys: Collection[str], *, is_forgotten: bool = True) -> list[Gone]:
    return [Gone(source=name, keys=frozenset(keys), is_forgotten=is_forgotten)] if keys else []
