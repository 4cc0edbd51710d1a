"""The log of a scope's documents: read on from where it was left, and written to by compare and swap."""

import os
import random
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from threading import Lock, RLock
from time import sleep
from typing import cast
from weakref import WeakKeyDictionary

from quire.errors import Conflict, InvalidValue, StoreDamaged
from quire.items import JSON, Note
from quire.memory.knowledge.holdings import Holdings, Noted
from quire.memory.knowledge.records import BEGINNING, CHUNKS, KNOWLEDGE, SOURCES, beginning
from quire.memory.lately import Lately
from quire.stores import Entry, Place, Store, Stored, place_at
from quire.stores.beside import heard_by, tell
from quire.stores.decoding import items_in
from quire.stores.recalls import begin_forgetting

_STREAMS = frozenset((BEGINNING, SOURCES, CHUNKS))
_TRIES = 1_000
_LONGEST_PAUSE = 0.02

Change = Callable[[Holdings], Sequence[tuple[str, Note]]]
"""What to write, given what is there; it is asked again where another wrote first."""


@heard_by
def _let_go(store: Store, place: Place, _: Collection[str]) -> None:
    """An index that lasts holds nothing that its store does not."""
    from quire.memory.memory import Memory  # which has documents of its own

    with suppress(InvalidValue):  # within a sealed store: whoever has the key hears of it too
        Memory.let_go(store, place.scope)


MOST_AT_HAND = 20_000
"""Chunks that stay in memory, of all scopes of a store together; the rest is read again when asked for."""

_lock = Lock()
_known: "WeakKeyDictionary[Store, Lately[Place, Holdings]]" = WeakKeyDictionary()


def _after_fork_in_child() -> None:
    """A thread of the parent may have been in the midst of it: begin with nothing known and no lock held."""
    global _lock
    _lock = Lock()
    for places in list(_known.values()):
        for held in places.all():
            held.lock = RLock()
            held.begin_again()


if hasattr(os, "register_at_fork"):  # not everywhere can a process be forked
    os.register_at_fork(after_in_child=_after_fork_in_child)


class Log:
    """One scope's documents in a store. All who open them in one process share what was read."""

    def __init__(self, store: Store, scope: str) -> None:
        self.store = store
        self.place = place_at(scope=scope, conversation=KNOWLEDGE)
        with _lock:
            if store not in _known:
                _known[store] = Lately[Place, Holdings](MOST_AT_HAND, lambda held: held.weight)
            self._held = _known[store].use(self.place, lambda: Holdings(self.place))

    def caught_up(self) -> Holdings:
        """What is known, with what others wrote since. Whoever looks at it holds its lock."""
        held = self._held
        with held.lock:
            is_first = not held.version
            stored = self.store.read(self.place, after=max(held.version - 1, 0))
            if held.version and not self._goes_on(stored):
                held.begin_again()
                is_first, stored = True, self.store.read(self.place)
            elif held.version:
                del stored[0]
            left = dict(held.left)
            self._take(stored)
            if not is_first:  # who wrote it empties what it replaced
                held.left = left
        if is_first:
            self.wipe()
        return held

    def write(self, change: Change) -> None:
        """Write what a change gives for what is there; all of it is kept, or nothing."""
        for attempt in range(_TRIES):
            held = self.caught_up()
            with held.lock:
                notes = list(change(held))
                if not notes:
                    return
                if not held.log:
                    notes.insert(0, (BEGINNING, beginning()))
                entries = [Entry(stream, JSON.encode_item(note)) for stream, note in notes]
                try:
                    self.store.append(self.place, entries, expected=held.version)
                except Conflict:
                    pass
                else:
                    self._take([Stored(at, *entry) for at, entry in enumerate(entries, held.version + 1)])
                    return
            sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
        raise Conflict(f"others kept writing to {self.place}")

    def wipe(self) -> None:
        """Empty what is gone. It is kept in mind until the store has done it, for stores fail.

        Others hear of it first: once it is empty, nobody could tell them what it was.
        """
        with self._held.lock:
            left = dict(self._held.left)
        if not left:
            return
        ids = [JSON.decode_item(body).id for body in left.values()]
        begin_forgetting(self.store, self.place, ids)
        tell(self.store, self.place, ids)
        with self._held.lock:
            self.store.forget(self.place, left)
            for version in left:
                self._held.left.pop(version, None)

    def _goes_on(self, stored: Sequence[Stored]) -> bool:
        """Whether the last entry is still the one that was read, also if it was emptied since."""
        held = self._held
        if not stored:
            return False
        if stored[0].body == held.last or stored[0].stream not in _STREAMS:
            return stored[0].body == held.last
        now, before = self._notes([stored[0], stored[0]._replace(body=held.last)])
        return (now.id, now.created_at) == (before.id, before.created_at)

    def _take(self, stored: Sequence[Stored]) -> None:
        if not stored:
            return
        ours = [entry for entry in stored if entry.stream in _STREAMS]
        noted = [
            Noted(entry.version, entry.stream, note)
            for entry, note in zip(ours, self._notes(ours), strict=True)
        ]
        self._held.take(noted, stored[-1].version, stored[-1].body)

    def _notes(self, stored: Sequence[Stored]) -> list[Note]:
        items = items_in(self.place, stored)
        for entry, item in zip(stored, items, strict=True):
            if not isinstance(item, Note):
                raise StoreDamaged(f"{self.place}: version {entry.version} is no note")
        return cast("list[Note]", items)
