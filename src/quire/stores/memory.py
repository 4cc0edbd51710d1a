"""The store in memory: for tests, drafts and conversations that need no keeping."""

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from quire.errors import StoreFailed
from quire.stores.entries import are_clear, check_bodies, check_seal, checked, conflict
from quire.stores.store import Entry, Place, Standing, Store, Stored
from quire.stores.threads import at_forks


class MemoryStore(Store):
    """Entries in the memory of this process."""

    is_quick = True

    def __init__(self) -> None:
        self._logs: dict[Place, list[Entry]] = {}
        self._changed = threading.Condition()
        self._is_closed = False
        at_forks(self)

    def __repr__(self) -> str:
        return f"<MemoryStore of {len(self._logs)} conversations>"

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        place = checked(place, entries, expected)
        with self._alone():
            log = self._logs.get(place, [])
            if len(log) != expected:
                raise conflict(place, expected, len(log))
            if entries:
                if log and are_clear(entries):
                    check_seal(place, log[0].body)
                self._logs.setdefault(place, log).extend(Entry(*entry) for entry in entries)
                self._changed.notify_all()
            return len(log)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = max(after, 0)
        with self._alone():
            entries = self._logs.get(place, [])[start:]
        return [Stored(version, *entry) for version, entry in enumerate(entries, start + 1)]

    def version(self, place: Place) -> int:
        with self._alone():
            return len(self._logs.get(place, ()))

    def conversations(self, scope: str) -> dict[str, Standing]:
        with self._alone():
            found = {
                place.conversation: len(log) for place, log in self._logs.items() if place.scope == scope
            }
        return {name: Standing(found[name]) for name in sorted(found)}

    def scopes(self) -> list[str]:
        with self._alone():
            return sorted({place.scope for place in self._logs})

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        with self._alone():
            log = self._logs.get(place, [])
            check_bodies(place, bodies, len(log))
            for version, body in bodies.items():
                log[version - 1] = Entry(log[version - 1].stream, body)

    def remove(self, place: Place) -> None:
        with self._alone():
            self._logs.pop(place, None)
            self._changed.notify_all()

    def wait(self, place: Place, version: int, timeout: float) -> int:
        with self._alone():
            self._changed.wait_for(
                lambda: self._is_closed or len(self._logs.get(place, ())) != version, max(timeout, 0)
            )
            self._check_open()
            return len(self._logs.get(place, ()))

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._logs.clear()
            self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait until nobody is in the middle of a verb."""
        self._changed.acquire()

    def after_fork(self, *, is_child: bool) -> None:
        """Go on, in both processes: each has memory of its own."""
        self._changed.release()

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        with self._changed:
            self._check_open()
            yield

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreFailed("the store in memory is closed")
