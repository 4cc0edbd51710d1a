"""Notifications: how a PostgreSQL server tells who watches a key, such as a conversation, that it changed.

Who watches has a lease for each key, a row of `quire.watchers`, and listens on a channel of its own: one
connection for each process. An append looks for leases of its conversation, and who has one is notified a
moment after its commit: commits with notifications wait for each other, so they should be few, and not wait
for the disk.

Notifications are for speed. What is promised rests on a slow poll: it finds appends that began before the
lease was there, and those of the time while the connection was lost or a proxy passed nothing on.
"""

import os
import select
import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Event, Lock
from typing import Any
from weakref import finalize

from quire.errors import StoreError
from quire.items import new_id
from quire.stores.link import Connection, Link, psycopg
from quire.stores.threads import DaemonThreads
from quire.stores.watchers import Watching

_SECONDS = 2.0
"""Between two polls of all that is watched, and between two attempts to connect."""

_LEASE, _RENEWED = 30.0, 10.0
"""Seconds that a lease lasts, and after which it is renewed."""

_GATHERED = 0.01
"""Seconds whose notifications are sent together."""

IS_WATCHED = "EXISTS (SELECT FROM quire.watchers WHERE address = %s AND until > now())"
_TELL = """
    SELECT pg_notify('quire_' || listener, news) FROM unnest(%s::bytea[], %s::text[]) AS told (address, news)
    JOIN quire.watchers USING (address) WHERE until > now()"""
# Leases that others left are removed; a statement must not remove and renew the same row.
_RENEW = f"""
    WITH expired AS (
        DELETE FROM quire.watchers WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM quire.watchers WHERE until < now() AND listener <> %s FOR UPDATE SKIP LOCKED))),
    renewed AS (
        INSERT INTO quire.watchers SELECT unnest(%s::bytea[]), %s, now() + interval '{_LEASE} seconds'
        ON CONFLICT (address, listener) DO UPDATE SET until = excluded.until)
    """
_COUNTS = "SELECT address, version FROM quire.conversations WHERE address = ANY(%s::bytea[])"


def tell(connection: Connection[Any], versions: Mapping[bytes, int]) -> None:
    """Notify who watches some addresses that they have other versions."""
    news = [f"{address.hex()} {version}" for address, version in versions.items()]
    connection.execute(_TELL, [list(versions), news])


class Telling:
    """Notifies who watches, a moment after appends were committed, of the last version of each alone."""

    def __init__(self, link: Link) -> None:
        self._link, self._threads = link, DaemonThreads("quire-telling")
        self._guard = Lock()
        self._versions: dict[bytes, int] = {}
        self._is_sending = False

    def add(self, address: bytes, version: int) -> None:
        """Notify of a version soon."""
        with self._guard:
            self._versions[address] = version
            if not self._is_sending:
                self._is_sending = True
                self._threads.submit(self._send_on)

    def send(self) -> bool:
        """Notify of what is known; whether there was something."""
        with self._guard:
            versions, self._versions = self._versions, {}
            self._is_sending = bool(versions)
        with suppress(StoreError):  # who watches looks every few seconds
            if versions:
                self._link.run(lambda connection: tell(connection, versions))
        return bool(versions)

    def _send_on(self) -> None:
        time.sleep(_GATHERED)
        while self.send():
            time.sleep(_GATHERED)


class _Bell(Event):
    """An event that a thread can wait for together with a connection: `heard` can be read once it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.heard, self._rung = os.pipe()
        os.set_blocking(self.heard, False)
        for end in (self.heard, self._rung):
            finalize(self, os.close, end).atexit = False

    def set(self) -> None:
        if not self.is_set():
            super().set()
            os.write(self._rung, b".")

    def clear(self) -> None:
        super().clear()
        with suppress(BlockingIOError):
            os.read(self.heard, 2**12)


class Listening(Watching[bytes]):
    """Watches addresses of conversations and other keys, with a connection of its own that listens.

    It polls through the connections of the store: where its own is lost, it is only slower.
    """

    def __init__(self, link: Link) -> None:
        super().__init__(self._counted, _SECONDS, _SECONDS)
        self._woken = self._bell = _Bell()
        self._link, self._listener = link, new_id()
        self._queries = [_COUNTS]
        self._leased: dict[bytes, float] = {}
        self._connection: Connection[Any] | None = None
        self._next_attempt = 0.0

    def count_also(self, query: str) -> None:
        """Poll the counts of other keys, which a query selects with them, given an array of keys."""
        if query not in self._queries:
            self._queries.append(query)

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._woken.is_set():
            try:
                if self._connection is None and self._next_attempt > time.monotonic():
                    self._woken.wait(left)
                else:
                    self._listen(left)
            except (psycopg.Error, OSError):
                self._hang_up()

    def leave(self) -> None:
        super().leave()
        self._hang_up()

    def _listen(self, seconds: float) -> None:
        """Tell those who watch what the server sends in some time."""
        if self._connection is None:
            self._next_attempt = time.monotonic() + _SECONDS
            self._connection = self._link.connected()
            self._connection.execute(f'LISTEN "quire_{self._listener}"'.encode())
        select.select([self._connection.fileno(), self._bell.heard], [], [], seconds)
        for found in self._connection.notifies(timeout=0):
            address, version = found.payload.split()
            self.hear(bytes.fromhex(address), int(version))

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _counted(self, addresses: list[bytes]) -> dict[bytes, int]:
        """The counts of some keys; the same statement renews the leases that are old."""
        now = time.monotonic()
        old = [one for one in addresses if self._leased.get(one, -_RENEWED) <= now - _RENEWED]
        counts, given = " UNION ALL ".join(self._queries), [addresses] * len(self._queries)

        def work(connection: Connection[Any]) -> list[Any]:
            with suppress(psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
                if old:
                    renew = (self._listener, old, self._listener)
                    return connection.execute(f"{_RENEW}{counts}".encode(), [*renew, *given]).fetchall()
            return connection.execute(counts.encode(), given).fetchall()

        found = self._link.run(work)
        kept = {one: at for one, at in self._leased.items() if at > now - _RENEWED}
        self._leased = {**kept, **dict.fromkeys(old, now)}
        return {**dict.fromkeys(addresses, 0), **dict(found)}
