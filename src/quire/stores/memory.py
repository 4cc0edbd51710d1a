"""The store in memory: for tests, drafts and conversations that need not last."""

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import takewhile
from typing import Any

from quire.errors import StoreFailed
from quire.stores.store import (
    Changes,
    Entry,
    LogVersion,
    Place,
    Store,
    Stored,
    check_bodies,
    check_place,
    checked_append,
    checked_scope,
    checked_start,
    checked_versions,
    conflict,
    damaged,
)


class MemoryStore(Store):
    """Entries in the memory of this process.

    A subclass that also keeps them in a file overrides how to catch up with the file (`_caught_up`), lock it
    (`_write_locked`), append to it (`_add`) and rewrite it (`_put`).
    """

    is_quick = True

    def __init__(self) -> None:
        self._logs: dict[Place, list[Entry]] = {}
        # Changes are numbered, and `_changes` is the latest number. `_changed` has the number of each
        # conversation's latest change, in rising order; `_removal` is that of the latest removal.
        self._changed: dict[Place, int] = {}
        self._changes = self._removal = 0
        self._guard = threading.RLock()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._logs)} conversations>"

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        place = checked_append(place, entries, expected)
        with self._write_locked():
            log = self._logs.get(place, [])
            if len(log) != expected:
                raise conflict(place, expected, len(log))
            if entries:
                self._add(place, [Entry(*entry) for entry in entries])
        if self._watchers is not None:
            self._watchers.notify(place, expected + len(entries))
        return expected + len(entries)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = checked_start(place, after)
        with self._caught_up():
            entries = self._logs.get(place, [])[start:]
        return [Stored(version, *entry) for version, entry in enumerate(entries, start + 1)]

    def read_at(self, place: Place, versions: Sequence[int]) -> list[Stored]:
        wanted = checked_versions(place, versions)
        with self._caught_up():
            log = self._logs.get(place, [])
            for version in wanted:
                if not 0 < version <= len(log):
                    raise damaged(place, version - 1, f"entry {version} is missing")
            return [Stored(version, *log[version - 1]) for version in wanted]

    def version(self, place: Place) -> int:
        check_place(place)
        with self._caught_up():
            return len(self._logs.get(place, ()))

    def conversations(self, scope: str) -> dict[str, LogVersion]:
        checked_scope(scope)
        with self._caught_up():
            lengths = {at.conversation: len(log) for at, log in self._logs.items() if at.scope == scope}
        return {name: LogVersion(lengths[name]) for name in sorted(lengths)}

    def changes(self, scope: str, since: Any = None) -> Changes:
        checked_scope(scope)
        with self._caught_up():
            if not isinstance(since, int) or since < self._removal:
                return Changes(self.conversations(scope), is_all=True, moment=self._changes)
            later = takewhile(lambda change: change[1] > since, reversed(self._changed.items()))
            places = [place for place, _ in later if place.scope == scope]
            versions = {place.conversation: LogVersion(len(self._logs[place])) for place in places}
            return Changes(versions, is_all=False, moment=self._changes)

    def scopes(self) -> list[str]:
        with self._caught_up():
            return sorted({place.scope for place in self._logs})

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        check_place(place)
        with self._write_locked():
            log = list(self._logs.get(place, ()))
            check_bodies(place, bodies, len(log))
            for version, body in bodies.items():
                log[version - 1] = Entry(log[version - 1].stream, body)
            self._put(place, log)

    def remove(self, place: Place) -> None:
        check_place(place)
        with self._write_locked():
            self._put(place, [])
        if self._watchers is not None:
            self._watchers.notify(place, 0)

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            self._logs.clear()
        self._opened_watchers().close()

    @contextmanager
    def _caught_up(self) -> Generator[None, None, None]:
        """Run the block with this process caught up."""
        with self._guard:
            self._check_open()
            yield

    def _write_locked(self) -> AbstractContextManager[None]:
        """As `_caught_up`, with other writers locked out."""
        return self._caught_up()

    def _add(self, place: Place, entries: list[Entry]) -> None:
        self._logs.setdefault(place, []).extend(entries)
        self._count_change(place)

    def _put(self, place: Place, log: list[Entry]) -> None:
        """Replace the log of a place; an empty one removes it."""
        self._logs[place] = log
        self._count_change(place)
        if not log:
            del self._logs[place], self._changed[place]
            self._removal = self._changes

    def _count_change(self, place: Place) -> None:
        self._changes += 1
        self._changed.pop(place, None)
        self._changed[place] = self._changes

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreFailed("the store is closed")
