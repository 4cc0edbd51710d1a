"""What all conversations of a scope have spent together."""

import os
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from quire.session.ledger import read_entries
from quire.session.spending import Spending
from quire.stores import Place, Standing, Store, Stored
from quire.stores.streams import USAGE

_lock = Lock()
_tallies: "WeakKeyDictionary[Store, dict[str, _Tally]]" = WeakKeyDictionary()


def scope_spending(store: Store, scope: str) -> Spending:
    """The sum over a scope. Each conversation is read once, and from then on what it has grown by."""
    with _lock:
        tally = _tallies.setdefault(store, {}).setdefault(scope, _Tally())
    with tally.lock:  # while a store answers slowly, only those wait who ask for the same
        tally.catch_up(store, scope)
        return tally.total


class _Read(NamedTuple):
    """How far a conversation was read, what stood there, and what it had spent."""

    standing: Standing
    last: bytes
    spending: Spending


class _Tally:
    """What is known of one scope. The total is replaced, never changed: whoever was given it has it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.total = Spending()
        self._read: dict[str, _Read] = {}
        self._is_whole = True  # whether the total is the sum of what was read

    def catch_up(self, store: Store, scope: str) -> None:
        """Take in what the conversations have grown by, and let go of those that are there no more."""
        standings = store.conversations(scope)
        if self._read.keys() - standings.keys():
            self._is_whole = False
            self._read = {name: read for name, read in self._read.items() if name in standings}
        for name, standing in standings.items():
            read = self._read.get(name)
            if read is None or read.standing != standing or not standing.log:
                self._follow(store, Place(scope, name), standing, read)
        if not self._is_whole:
            self.total = sum((read.spending for read in self._read.values()), Spending())
            self._is_whole = True

    def _follow(self, store: Store, place: Place, standing: Standing, read: _Read | None) -> None:
        """Read on after the last entry that was read, if that is still what it was."""
        if read is not None and read.standing.log == standing.log:
            stored = store.read(place, after=read.standing.version - 1)
            if stored and _mark(stored[0]) == read.last:
                self._take(place, standing, stored[1:], read)
                return
        stored = store.read(place)
        self._is_whole = self._is_whole and read is None
        self._take(place, standing, stored, None)

    def _take(self, place: Place, standing: Standing, stored: list[Stored], read: _Read | None) -> None:
        if not stored:
            return  # nothing new, or it went away meanwhile: then it is in no standings the next time
        more = Spending()
        more.take(item for _, item in read_entries(place, [one for one in stored if one.stream == USAGE]))
        before = Spending() if read is None else read.spending
        found = standing._replace(version=stored[-1].version)
        self._read[place.conversation] = _Read(found, _mark(stored[-1]), before + more)
        self.total += more


def _mark(stored: Stored) -> bytes:
    """What tells whether an entry is the one that was read; not its content, which may be forgotten."""
    return blake2b(stored.body, digest_size=16).digest()


def _begin_anew() -> None:
    """In a process that was forked off: who held the locks is not there."""
    global _lock
    _lock = Lock()
    _tallies.clear()


os.register_at_fork(after_in_child=_begin_anew)
