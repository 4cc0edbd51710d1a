"""Notifications: how a PostgreSQL server notifies the watchers of a key, such as a conversation, of a change.

Each process that watches has a listener: a connection that listens on a channel of its own, and a lease for
each key, a row of `quire.watchers`. An append looks for leases of its conversation, and the listeners are
notified a moment after its commit, in another transaction: commits with notifications wait for each other, so
they should be few, and not wait for the disk.

Notifications only make watching fast. A slow poll makes it certain: it finds appends that began before the
lease, and those that were missed while the connection was lost or a proxy passed nothing on.
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
from quire.stores.watchers import Watchers

_POLL_SECONDS = 2.0
"""Seconds between two polls of all watched keys, and between two attempts to connect."""

_LEASE_SECONDS, _RENEW_SECONDS = 30.0, 10.0
"""Seconds that a lease lasts, and the age at which it is renewed."""

_BATCH_SECONDS = 0.01
"""Notifications within these seconds are sent together."""

IS_WATCHED = "EXISTS (SELECT FROM quire.watchers WHERE address = %s AND until > now())"
_NOTIFY = """
    SELECT pg_notify('quire_' || listener, news)
    FROM unnest(%s::bytea[], %s::text[]) AS changed (address, news)
    JOIN quire.watchers USING (address) WHERE until > now()"""
# Expired leases of others are removed too; a statement must not remove and renew the same row.
_RENEW = f"""
    WITH expired AS (
        DELETE FROM quire.watchers WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM quire.watchers WHERE until < now() AND listener <> %s FOR UPDATE SKIP LOCKED))),
    renewed AS (
        INSERT INTO quire.watchers SELECT unnest(%s::bytea[]), %s, now() + interval '{_LEASE_SECONDS} seconds'
        ON CONFLICT (address, listener) DO UPDATE SET until = excluded.until)
    """
_COUNTS = "SELECT address, version FROM quire.conversations WHERE address = ANY(%s::bytea[])"
"""The count of a key grows with each change of the key; the count of a conversation is its version."""


def notify(connection: Connection[Any], versions: Mapping[bytes, int]) -> None:
    """Notify the listeners of some addresses of their new versions."""
    news = [f"{address.hex()} {version}" for address, version in versions.items()]
    connection.execute(_NOTIFY, [list(versions), news])


class Notifier:
    """Notifies listeners of the last version of each key, in batches, a moment after the commits."""

    def __init__(self, link: Link) -> None:
        self._link, self._threads = link, DaemonThreads("quire-notifier")
        self._guard = Lock()
        self._versions: dict[bytes, int] = {}
        self._is_sending = False

    def add(self, address: bytes, version: int) -> None:
        """Add a version to the next batch."""
        with self._guard:
            self._versions[address] = version
            if not self._is_sending:
                self._is_sending = True
                self._threads.submit(self._send_on)

    def send(self) -> bool:
        """Send the batch, and return whether it had notifications."""
        with self._guard:
            versions, self._versions = self._versions, {}
            self._is_sending = bool(versions)
        with suppress(StoreError):  # the poll finds the change within seconds
            if versions:
                self._link.run(lambda connection: notify(connection, versions))
        return bool(versions)

    def _send_on(self) -> None:
        time.sleep(_BATCH_SECONDS)
        while self.send():
            time.sleep(_BATCH_SECONDS)


class _SelectableEvent(Event):
    """An event that `select` can wait for: the file descriptor `fd` is readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.fd, self._writable = os.pipe()
        os.set_blocking(self.fd, False)
        for end in (self.fd, self._writable):
            finalize(self, os.close, end).atexit = False

    def set(self) -> None:
        if not self.is_set():
            super().set()
            os.write(self._writable, b".")

    def clear(self) -> None:
        super().clear()
        with suppress(BlockingIOError):
            os.read(self.fd, 2**12)


class Listener(Watchers[bytes]):
    """Watches addresses of conversations and other keys, and listens on a connection of its own.

    It polls through the connections of the store. So if its own connection is lost, it still notices
    changes, but later.
    """

    def __init__(self, link: Link) -> None:
        super().__init__(self._poll_counts, _POLL_SECONDS, _POLL_SECONDS)
        self._woken = self._event = _SelectableEvent()  # the event of `Watchers`, with a file descriptor
        self._link, self._id = link, new_id()
        self._queries = [_COUNTS]
        self._renewed_at: dict[bytes, float] = {}
        self._connection: Connection[Any] | None = None
        self._next_attempt = 0.0

    def add_query(self, query: str) -> None:
        """Also poll the counts of other keys: the query takes an array of keys, and selects key and count."""
        if query not in self._queries:
            self._queries.append(query)

    def sleep(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0 and not self._woken.is_set():
            try:
                if self._connection is None and self._next_attempt > time.monotonic():
                    self._woken.wait(remaining)
                else:
                    self._listen(remaining)
            except (psycopg.Error, OSError):
                self._disconnect()

    def detach(self) -> None:
        super().detach()
        self._disconnect()

    def _listen(self, seconds: float) -> None:
        """Pass on the server's notifications until the time is over or the thread is woken."""
        if self._connection is None:
            self._next_attempt = time.monotonic() + _POLL_SECONDS
            self._connection = self._link.connected()
            self._connection.execute(f'LISTEN "quire_{self._id}"'.encode())
        select.select([self._connection.fileno(), self._event.fd], [], [], seconds)
        for notification in self._connection.notifies(timeout=0):
            address, version = notification.payload.split()
            self.notify(bytes.fromhex(address), int(version))

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _poll_counts(self, addresses: list[bytes]) -> dict[bytes, int]:
        """The counts of some keys. If the role may write, the same statement renews leases that are due."""
        now = time.monotonic()
        current = {key: at for key, at in self._renewed_at.items() if at > now - _RENEW_SECONDS}
        due = [key for key in addresses if key not in current]
        query, arguments = " UNION ALL ".join(self._queries), [addresses] * len(self._queries)

        def work(connection: Connection[Any]) -> list[Any]:
            with suppress(psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
                if due:
                    renewal = (self._id, due, self._id)
                    return connection.execute(f"{_RENEW}{query}".encode(), [*renewal, *arguments]).fetchall()
            return connection.execute(query.encode(), arguments).fetchall()

        counts = self._link.run(work)
        self._renewed_at = {**current, **dict.fromkeys(due, now)}
        return {**dict.fromkeys(addresses, 0), **dict(counts)}
