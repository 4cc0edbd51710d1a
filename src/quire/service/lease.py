"""The lease of a worker: a row of `quire.workers`, and an advisory lock on a connection of its own.

The server releases the lock when the connection ends, so the other workers know within two seconds that a
process was killed. A process that hangs keeps its lock, and is detected by the age of its row.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from quire.errors import Stopped
from quire.stores.link import Connection, Link, psycopg

_SUSPECT_SECONDS = 1.5
"""A worker is suspected for so long before it counts as dead: it may only be reconnecting."""

_RETRY_SECONDS = 0.25
"""The time between two attempts to connect, and between two polls while a worker is suspected."""

_CONNECT_SECONDS = 3.0

# With these the server and the worker soon notice a dead peer. A Unix socket ignores them.
_KEEPALIVES = {"keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3}
_SERVER_KEEPALIVES = "; ".join(f"SET tcp_{name} = {value}" for name, value in _KEEPALIVES.items())

_BEGIN = "INSERT INTO quire.workers (id, seen, state) VALUES (%s, now(), 'alive')"
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_RENEW = "UPDATE quire.workers SET seen = now() WHERE id = %s AND state = 'alive'"
# The last clause finds a worker that was taken for dead, woke, and claimed a job.
_POLL = """
    WITH held AS (
        SELECT (classid::bigint << 32) | objid::bigint AS lease FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
    busy AS (
        SELECT EXISTS (SELECT FROM dbos.workflow_status
            WHERE queue_name = %(queue)s AND (status IN ('ENQUEUED', 'PENDING') OR status = 'DELAYED'
                AND delay_until_epoch_ms < extract(epoch FROM now()) * 1000)) AS is_busy)
    SELECT id, is_busy, state = 'dead', seen < now() - make_interval(secs => %(stale)s)
        OR hashtextextended(id, 0) NOT IN (SELECT lease FROM held)
    FROM quire.workers, busy WHERE state = 'alive' OR EXISTS (
        SELECT FROM dbos.workflow_status WHERE executor_id = id AND status = 'PENDING')"""
_MARK_DEAD = """
    UPDATE quire.workers SET state = 'dead' WHERE id = ANY(%s) AND state = 'alive'
    AND (seen < now() - make_interval(secs => %s) OR pg_try_advisory_xact_lock(hashtextextended(id, 0)))"""
_RELEASE = "UPDATE quire.workers SET state = 'dead' WHERE id = ANY(%s)"
# With this lock, one worker at a time takes over from a dead one.
_LOCK_DEAD = "SELECT id FROM quire.workers WHERE state = 'dead' AND id = ANY(%s) FOR UPDATE SKIP LOCKED"
_REMOVE_DEAD = "DELETE FROM quire.workers WHERE state = 'dead' AND seen < now() - interval '1 day'"

CANCEL = "quire_cancel"
"""The channel on which workers are notified of cancelled jobs, by their digests."""


class Poll(NamedTuple):
    """The result of a poll."""

    dead: list[str]
    """Workers whose jobs are to be taken over."""
    is_busy: bool
    """Whether jobs wait or run."""
    cancelled: list[str]
    """The digests of jobs that were just cancelled."""


class Lease:
    """The lease of one worker, renewed every `beat` seconds; after `stale` seconds it counts as dead."""

    def __init__(self, link: Link, worker: str, queue: str, *, beat: float, stale: float) -> None:
        self._link, self._worker, self._queue = link, worker, queue
        self._beat, self._stale = beat, stale
        self._connection: Connection[Any] | None = None
        self._has_ended = False
        self._channel, self._locks = "", set[str]()
        self._renewed_at = self._reached_at = 0.0
        self._suspected_since: dict[str, float] = {}

    def acquire(self) -> None:
        """Acquire the lease."""
        with self._link.wrapped_errors():
            connection = self._connect()
            self.lock(self._worker)  # before the other workers see the row
            connection.execute(_BEGIN, [self._worker])
        self._reached_at = time.monotonic()

    def poll(self, seconds: float) -> Poll:
        """Wait for a notification or a timeout, then read which workers are dead, and whether there is work.

        A lost connection is opened again. `Stopped` once the lease is lost.
        """
        seconds = min(seconds, _RETRY_SECONDS) if self._suspected_since else seconds
        while True:
            try:
                connection = self._connect()
                notifications = list(connection.notifies(timeout=seconds, stop_after=1))
                cancelled = [notice.payload for notice in notifications if notice.channel == CANCEL]
                return self._read_workers(connection)._replace(cancelled=cancelled)
            except psycopg.Error as fault:
                self._disconnect()
                if self._has_ended:
                    raise Stopped("the lease has ended") from fault
                if time.monotonic() - self._reached_at > self._stale:
                    raise Stopped("the database cannot be reached, and others may do the jobs") from fault
                time.sleep(_RETRY_SECONDS)
                seconds = 0.0

    def listen(self, channel: str) -> None:
        """Listen for cancelled jobs, and on this channel if its name is not empty."""
        self._channel = channel
        with suppress(psycopg.Error):  # the next poll connects, and listens
            self._connect().execute(_listen_to(channel).encode())

    def lock(self, name: str) -> bool:
        """Try to acquire a lock for as long as the connection lasts; return whether this worker has it."""
        with suppress(psycopg.Error):
            if name not in self._locks and self._connect().execute(_LOCK, [name]).fetchone() == (True,):
                self._locks.add(name)
        return name in self._locks

    def take_over(self, dead: list[str], requeue: Callable[[list[str]], object]) -> None:
        """Requeue the jobs of dead workers that are still dead and that no other worker takes over."""
        self._requeue(_MARK_DEAD, [dead, self._stale], dead, requeue)

    def release(self, requeue: Callable[[list[str]], object]) -> None:
        """Release the lease, and requeue the remaining jobs."""
        self._requeue(_RELEASE, [[self._worker]], [self._worker], requeue)

    def sweep(self) -> None:
        """Remove workers that have been dead for a day. By then, one that only hung has stopped."""
        self._link.run(lambda connection: connection.execute(_REMOVE_DEAD))

    def end(self) -> None:
        """Close the connection, which releases the lock."""
        self._has_ended = True
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection, self._renewed_at = self._connection, None, 0.0
        self._locks.clear()
        self._suspected_since.clear()
        if connection is not None:
            connection.close()

    def _connect(self) -> Connection[Any]:
        if self._connection is None:
            self._connection = self._link.connected(_CONNECT_SECONDS, tcp_user_timeout=5_000, **_KEEPALIVES)
            self._connection.execute(f"{_SERVER_KEEPALIVES}; {_listen_to(self._channel)}".encode())
        return self._connection

    def _read_workers(self, connection: Connection[Any]) -> Poll:
        self.lock(self._worker)  # the old connection may have held it until now
        now = time.monotonic()
        if now - self._renewed_at >= self._beat:
            connection.execute(_RENEW, [self._worker])
            self._renewed_at = now
        rows = connection.execute(_POLL, {"queue": self._queue, "stale": self._stale}).fetchall()
        self._reached_at = now
        if not any(worker == self._worker and not is_dead for worker, _, is_dead, _ in rows):
            raise Stopped("this worker counts as dead, and others do its jobs")
        suspected = {worker for worker, *_, is_suspected in rows if is_suspected} - {self._worker}
        self._suspected_since = {worker: self._suspected_since.get(worker, now) for worker in suspected}
        dead = {worker for worker, _, is_dead, _ in rows if is_dead}
        dead |= {worker for worker, since in self._suspected_since.items() if now - since >= _SUSPECT_SECONDS}
        return Poll(sorted(dead), rows[0][1], [])

    def _requeue(
        self, statement: str, values: list[Any], workers: list[str], requeue: Callable[[list[str]], object]
    ) -> None:
        def work(connection: Connection[Any]) -> None:
            with connection.transaction():
                connection.execute(statement.encode(), values)
                if dead := [row[0] for row in connection.execute(_LOCK_DEAD, [workers]).fetchall()]:
                    requeue(dead)

        self._link.run(work)


def _listen_to(channel: str) -> str:
    return "; ".join(["UNLISTEN *", *(f"LISTEN {name}" for name in (CANCEL, channel) if name)])
