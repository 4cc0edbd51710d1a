"""A store that keeps nothing beyond its own life: for tests, and for conversations that need no keeping."""

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from quire.errors import Conflict, OutOfRange, StoreFailed
from quire.stores.beside import tell
from quire.stores.forking import watch
from quire.stores.place import Place, checked_stream, place_at
from quire.stores.recalls import begin_forgetting
from quire.stores.store import Entry, Store, Stored


class MemoryStore(Store):
    """Entries in the memory of this process."""

    is_quick = True

    def __init__(self) -> None:
        self._rows: dict[Place, list[Entry]] = {}
        self._changed = threading.Condition()
        self._is_closed = False
        watch(self)

    def __repr__(self) -> str:
        return f"<MemoryStore of {len(self._rows)} conversations>"

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        place = place_at(scope=place.scope, conversation=place.conversation)
        added = [Entry(checked_stream(entry.stream), bytes(entry.body)) for entry in entries]
        with self._alone():
            found = len(self._rows.get(place, ()))
            if found != expected:
                raise Conflict(
                    f"version {expected} of {place} was expected, and {found} found", expected, found
                )
            if added:
                self._rows.setdefault(place, []).extend(added)
                self._changed.notify_all()
            return found + len(added)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        with self._alone():
            entries = self._rows.get(place, [])[max(after, 0) :]
        return [Stored(version, *entry) for version, entry in enumerate(entries, max(after, 0) + 1)]

    def version(self, place: Place) -> int:
        with self._alone():
            return len(self._rows.get(place, ()))

    def conversations(self, scope: str) -> list[str]:
        with self._alone():
            return sorted(place.conversation for place in self._rows if place.scope == scope)

    def scopes(self) -> list[str]:
        with self._alone():
            return sorted({place.scope for place in self._rows})

    def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
        if bodies is None and not begin_forgetting(self, place):
            return
        with self._alone():
            row = self._rows.get(place, [])
            for version in bodies or ():
                if not 1 <= version <= len(row):
                    raise OutOfRange(f"{place} has no version {version}: it has {len(row)}")
            if bodies is None:
                self._rows.pop(place, None)
                self._changed.notify_all()
            for version, body in (bodies or {}).items():
                row[version - 1] = row[version - 1]._replace(body=bytes(body))
        if bodies is None:
            tell(self, place)

    def wait(self, place: Place, version: int, timeout: float) -> int:
        with self._alone():
            self._changed.wait_for(
                lambda: self._is_closed or len(self._rows.get(place, ())) != version, max(timeout, 0)
            )
            self._check_open()
            return len(self._rows.get(place, ()))

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._rows.clear()
            self._changed.notify_all()

    def hold(self) -> None:
        """At a fork: nobody is in the middle of a verb."""
        self._changed.acquire()

    def let_go(self) -> None:
        """After a fork."""
        self._changed.release()

    def begin_anew(self) -> None:
        """In a process that was forked off: what is in memory is its own from then on."""

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        with self._changed:
            self._check_open()
            yield

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreFailed("the store in memory is closed")
