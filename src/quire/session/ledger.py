"""One conversation as this process knows it, and the one way to write to it.

Whatever is written is computed from the state it will be written to. Where another process wrote first, its
entries are taken in and the change is computed again: that is a rebase, and it needs no second way.
"""

import logging
import os
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from threading import Lock, RLock
from time import sleep
from typing import Protocol
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from quire.errors import Conflict, Forgotten, QuireError, StoreDamaged, TurnBusy, cut
from quire.items import JSON, Item, ToolResult
from quire.session.resting import Fared
from quire.session.watching import Watcher
from quire.session.workspace import Workspace, Written
from quire.stores import Entry, Place, Store, Stored, items_in
from quire.stores.copies import Content
from quire.stores.streams import FORGOTTEN

logger = logging.getLogger("quire.session")

Change = Callable[[Workspace], Sequence[Written]]
"""What to write, given the state that it is written to; nothing is written where it raises."""

_TRIES = 1_000
_LONGEST_PAUSE = 0.02


_ALL: "WeakSet[Ledger]" = WeakSet()


class Work(Protocol):
    """A question on its way to its answer."""

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        ...

    async def interrupt(self) -> None:
        """Stop it, and wait until what came of it is on the record."""
        ...


# By store and place, and not by ledger: one that was let go of and opened again is of the same conversation.
_at_work: "WeakKeyDictionary[Store, WeakValueDictionary[Place, Work]]" = WeakKeyDictionary()
_taking_turns = Lock()


def _unlock() -> None:
    """In a process that was forked off, other threads hold no locks, and nothing is on its way."""
    global _taking_turns
    _taking_turns = Lock()
    _at_work.clear()
    for ledger in _ALL:
        ledger.lock = RLock()


os.register_at_fork(after_in_child=_unlock)


class Ledger:
    """The log of one place and the state it amounts to. Any thread may write; one does at a time."""

    def __init__(self, store: Store, place: Place, origin: Callable[[], Workspace] = Workspace) -> None:
        """`origin` gives the state that the log begins with."""
        self.store = store
        self.place = place
        self.lock = RLock()
        self._origin = origin
        self._known = b""  # the last entry that was taken in
        self._mark: int | None = None  # what tells whether all entries are as they were read last
        self.watched_by: WeakSet[Watcher] = WeakSet()
        self.begun: dict[str, Watcher] = {}  # by call id: who looks at what comes of calls that were begun
        self.fared = Fared()  # how its compactions went
        _ALL.add(self)
        self.workspace = origin()
        self.catch_up()

    def lost(self, ids: Collection[str], words: Iterable[Content]) -> None:
        """Tell who is at work here which words are forgotten, before nobody knows them any more."""
        for watcher in list(self.watched_by):
            watcher.hear(ids, words)

    @property
    def at_work(self) -> Work | None:
        """The question that is on its way here, in this process, if one is."""
        with _taking_turns:
            known = _at_work.get(self.store)
            work = None if known is None else known.get(self.place)
            return None if work is None or work.is_over else work

    def take_turn(self, work: Work) -> Work | None:
        """Let a question be the one that is on its way; where another still is, that one is given back."""
        with _taking_turns:
            known = _at_work.setdefault(self.store, WeakValueDictionary())
            other = known.get(self.place)
            if other is not None and not other.is_over:
                return other
            known[self.place] = work
            return None

    def catch_up(self) -> list[Written]:
        """Take in what others have written, and give it."""
        with self.lock:
            if self.workspace.forgetting:
                self._look_again()
                return []
            stored = self.store.read(self.place, after=max(self.workspace.version - 1, 0))
            if self.workspace.version and (not stored or stored[0].body != self._known):
                return self.reload()
            return self._taken(stored[1:] if self.workspace.version else stored)

    def _look_again(self) -> None:
        """Read everything again, where it is another: until it is forgotten, nobody knows how far that came.

        The past of a fork may be another though its own entries are the same.
        """
        if self.workspace.origin is not None or _mark_of(self.store.read(self.place)) != self._mark:
            self.reload()

    def recorded(self) -> list[Written]:
        """All entries of the log, in order."""
        return read_entries(self.place, self.store.read(self.place))

    def read_at(self, versions: Sequence[int]) -> list[Item]:
        """The items at some versions, in order, as they are stored."""
        if not versions:
            return []
        wanted = set(versions)
        stored = self.store.read(self.place, after=min(versions) - 1)
        return [item for _, item in read_entries(self.place, [e for e in stored if e.version in wanted])]

    def reload(self) -> list[Written]:
        """Read everything again, because something before the end has changed, and give it.

        Where that fails, what was known stays.
        """
        with self.lock:
            stored = self.store.read(self.place)
            written = read_entries(self.place, stored)
            workspace = self._origin()
            self._apply(workspace, written)
            self.workspace, self._known = workspace, stored[-1].body if stored else b""
            self._mark = _mark_of(stored)
            return written

    def append(self, name: str, item: Item, *, otherwise: Change | None = None) -> Item:
        """Write one item that is no edit to a transcript: what happens most, so without a trial.

        Where others wrote first, a change is made: the one that is given, or the append again.
        """
        with self.lock:
            workspace = self.workspace
            transcript = workspace.transcripts.get(name)
            if transcript is not None and item.id not in transcript:
                body = JSON.encode_item(item)
                try:
                    self.store.append(self.place, (Entry(name, body),), expected=workspace.version)
                except Conflict:
                    pass  # the long way meets it again, and gives way
                else:
                    workspace.take(name, item)
                    self._known = body
                    return item
            return self.commit(otherwise or partial(_appended, name, (item,)))[0].item

    def commit(self, change: Change, *, expected: int | None = None) -> list[Written]:
        """Write a change, and give what was written once it is kept.

        Where others wrote first it is computed again on what they wrote, unless an `expected` version says
        that it is meant for that one alone. `Conflict` where it then no longer fits.
        """
        with self.lock:
            waiting: frozenset[str] | None = None
            for attempt in range(_TRIES):
                self._check_expected(expected)
                written = self._computed(change, waiting)
                if not written:
                    if expected is not None:
                        self.catch_up()
                        self._check_expected(expected)
                    return []
                try:
                    return self._written(written)
                except Conflict:
                    waiting = waiting or self.workspace.waiting()
                    self._give_way(attempt)
            raise Conflict(f"others kept writing to {self.place}", self.workspace.version)

    def _check_expected(self, expected: int | None) -> None:
        if expected is not None and expected != self.workspace.version:
            raise Conflict(
                f"{self.place} is at version {self.workspace.version}, not at {expected}",
                expected,
                self.workspace.version,
            )

    def _computed(self, change: Change, waiting: frozenset[str] | None) -> list[Written]:
        """The change on the present state; `waiting` are the calls that waited before others wrote."""
        try:
            written = self._changed(change)
            self.workspace.check(written)
            if waiting is not None:
                self._check_answers(written, waiting)
            return written
        except QuireError as fault:
            if isinstance(fault, Conflict | Forgotten):
                raise
            if waiting is None:
                waiting = self.workspace.waiting()
                if not self.catch_up():
                    raise
                return self._computed(change, waiting)  # it may be about what others wrote
            if isinstance(fault, TurnBusy):
                raise
            raise Conflict(f"others wrote to {self.place} first: {fault}") from fault

    def _changed(self, change: Change) -> list[Written]:
        """What a change gives for the present state: one that looks elsewhere may have brought this on."""
        while True:
            workspace, version = self.workspace, self.workspace.version
            written = list(change(workspace))
            if self.workspace is workspace and workspace.version == version:
                return written

    def _written(self, written: list[Written]) -> list[Written]:
        """Keep what was computed: in the store first, since only what is there has happened."""
        entries = [Entry(stream, JSON.encode_item(item)) for stream, item in written]
        self.store.append(self.place, entries, expected=self.workspace.version)
        self.workspace.apply(written)
        self._known = entries[-1].body
        return written

    def _give_way(self, attempt: int) -> None:
        """Let the others finish, and take in what they wrote."""
        if attempt:  # the more often, the longer: writers that retry at once only meet each other again
            sleep(random.random() * min(0.0005 * 2**attempt, _LONGEST_PAUSE))
        self.catch_up()

    def _taken(self, stored: Sequence[Stored]) -> list[Written]:
        written = read_entries(self.place, stored)
        if any(stream == FORGOTTEN for stream, _ in written) and self.workspace.version:
            self.reload()  # what was forgotten is in the entries read before
        elif written:
            self._apply(self.workspace, written)
            self._known = stored[-1].body
        return written

    def _apply(self, workspace: Workspace, written: list[Written]) -> None:
        try:
            workspace.apply(written)
        except (StoreDamaged, Forgotten):
            raise
        except QuireError as fault:
            raise StoreDamaged(f"{self.place}: what is stored does not fit together: {fault}") from fault

    def _check_answers(self, written: Iterable[Written], waiting: frozenset[str]) -> None:
        """Two may append side by side; two may not answer the same call."""
        still = self.workspace.waiting()
        for _, item in written:
            if isinstance(item, ToolResult) and item.call_id in waiting - still:
                raise Conflict(f"call {cut(item.call_id)!r} was answered by another first")


def _mark_of(stored: Sequence[Stored]) -> int:
    return hash(tuple(entry.body for entry in stored))


def _appended(name: str, items: Sequence[Item], _workspace: Workspace) -> list[Written]:
    return [Written(name, item) for item in items]


def appending(name: str, items: Sequence[Item]) -> Change:
    """The change that adds items to a transcript."""
    return partial(_appended, name, items)


def read_entries(place: Place, stored: Sequence[Stored]) -> list[Written]:
    """What stored entries say."""
    items = items_in(place, stored)
    return [Written(entry.stream, item) for entry, item in zip(stored, items, strict=True)]
