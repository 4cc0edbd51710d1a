"""The lease of a worker: a row of `quire.workers`, and an advisory lock on a connection of its own.

The server releases the lock when the connection ends, so the others know within two seconds that a process
was killed. A process that hangs keeps its lock, and is found by the time since it renewed its row.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from quire.errors import Stopped
from quire.stores.link import Connection, Link, psycopg

_PATIENCE = 1.5
"""Seconds for which a worker is suspected: one that was only cut off connects again in that time."""

_AGAIN = 0.25
"""Seconds between two attempts to connect, and between two polls while a worker is suspect."""

_CONNECTING = 3.0
"""Seconds in which a connection has to be made."""

# The server and the worker notice soon that the other machine is gone. A socket file has no such settings.
_KEEPALIVES = {"keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3}
_SERVER_KEEPALIVES = "; ".join(f"SET tcp_{name} = {value}" for name, value in _KEEPALIVES.items())

_BEGIN = "INSERT INTO quire.workers (id, seen, state) VALUES (%s, now(), 'here')"
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_RENEW = "UPDATE quire.workers SET seen = now() WHERE id = %s AND state = 'here'"
# A worker that is gone may have been asleep, and have claimed a job when it woke.
_POLL = """
    WITH held AS (
        SELECT (classid::bigint << 32) | objid::bigint AS lease FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
    busy AS (
        SELECT EXISTS (SELECT FROM dbos.workflow_status
            WHERE queue_name = %(queue)s AND (status IN ('ENQUEUED', 'PENDING') OR status = 'DELAYED'
                AND delay_until_epoch_ms < extract(epoch FROM now()) * 1000)) AS is_busy)
    SELECT id, is_busy, state = 'gone', seen < now() - make_interval(secs => %(stale)s)
        OR hashtextextended(id, 0) NOT IN (SELECT lease FROM held)
    FROM quire.workers, busy WHERE state = 'here' OR EXISTS (
        SELECT FROM dbos.workflow_status WHERE executor_id = id AND status = 'PENDING')"""
_TAKE = """
    UPDATE quire.workers SET state = 'gone' WHERE id = ANY(%s) AND state = 'here'
    AND (seen < now() - make_interval(secs => %s) OR pg_try_advisory_xact_lock(hashtextextended(id, 0)))"""
_LEAVE = "UPDATE quire.workers SET state = 'gone' WHERE id = ANY(%s)"
# One worker at a time sees to one that is gone.
_GONE = "SELECT id FROM quire.workers WHERE state = 'gone' AND id = ANY(%s) FOR UPDATE SKIP LOCKED"
_FORGET = "DELETE FROM quire.workers WHERE state = 'gone' AND seen < now() - interval '1 day'"


CANCEL = "quire_cancel"
"""The channel on which workers are notified of jobs that were cancelled, by their digests."""


class Found(NamedTuple):
    """What a worker finds when it polls."""

    gone: list[str]
    """Workers whose jobs are to be taken over."""
    is_busy: bool
    """Whether jobs wait or run."""
    cancelled: list[str]
    """Jobs that were cancelled just now, by their digests."""


class Lease:
    """The lease of one worker."""

    def __init__(self, link: Link, worker: str, queue: str, *, beat: float, stale: float) -> None:
        self._link, self._worker, self._queue = link, worker, queue
        self._beat, self._stale = beat, stale
        self._connection: Connection[Any] | None = None
        self._has_ended = False
        self._channel, self._locks = "", set[str]()
        self._renewed = self._reached = 0.0
        self._suspected: dict[str, float] = {}

    def begin(self) -> None:
        """Take the lease."""
        with self._link.guarded():
            connection = self._connected()
            self.lock(self._worker)  # before the others see the row
            connection.execute(_BEGIN, [self._worker])
        self._reached = time.monotonic()

    def poll(self, seconds: float) -> Found:
        """After some time or a notification, which workers are gone, and whether there is work.

        A lost connection is made again. `Stopped` once the lease is lost.
        """
        seconds = min(seconds, _AGAIN) if self._suspected else seconds
        while True:
            try:
                connection = self._connected()
                notifications = list(connection.notifies(timeout=seconds, stop_after=1))
                cancelled = [one.payload for one in notifications if one.channel == CANCEL]
                return self._polled(connection)._replace(cancelled=cancelled)
            except psycopg.Error as fault:
                self._hang_up()
                if self._has_ended:
                    raise Stopped("the lease has ended") from fault
                if time.monotonic() - self._reached > self._stale:
                    raise Stopped("the database cannot be reached, and others may do the jobs") from fault
                time.sleep(_AGAIN)
                seconds = 0.0

    def listen(self, channel: str) -> None:
        """Be notified on a channel besides that of jobs that were cancelled; on no other if it is empty."""
        self._channel = channel
        with suppress(psycopg.Error):  # the next poll connects, and listens
            self._connected().execute(_listening(channel).encode())

    def lock(self, name: str) -> bool:
        """Whether this worker has a lock that one worker may have, which it keeps with its connection."""
        with suppress(psycopg.Error):
            if name not in self._locks and self._connected().execute(_LOCK, [name]).fetchone() == (True,):
                self._locks.add(name)
        return name in self._locks

    def take(self, gone: list[str], put_back: Callable[[list[str]], object]) -> None:
        """Put back the jobs of workers that are gone, unless they are back, or another does."""
        self._take(_TAKE, [gone, self._stale], gone, put_back)

    def leave(self, put_back: Callable[[list[str]], object]) -> None:
        """Give up the lease, and put back the jobs that are left."""
        self._take(_LEAVE, [[self._worker]], [self._worker], put_back)

    def sweep(self) -> None:
        """Forget workers that are long gone: those of a day are remembered, as one may have been asleep."""
        self._link.run(lambda connection: connection.execute(_FORGET))

    def end(self) -> None:
        """Close the connection, which releases the lock."""
        self._has_ended = True
        self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection, self._renewed = self._connection, None, 0.0
        self._locks.clear()
        self._suspected.clear()
        if connection is not None:
            connection.close()

    def _connected(self) -> Connection[Any]:
        if self._connection is None:
            self._connection = self._link.connected(_CONNECTING, tcp_user_timeout=5_000, **_KEEPALIVES)
            self._connection.execute(f"{_SERVER_KEEPALIVES}; {_listening(self._channel)}".encode())
        return self._connection

    def _polled(self, connection: Connection[Any]) -> Found:
        self.lock(self._worker)  # again, if the server did not know that the connection before has ended
        now = time.monotonic()
        if now - self._renewed >= self._beat:
            connection.execute(_RENEW, [self._worker])
            self._renewed = now
        rows = connection.execute(_POLL, {"queue": self._queue, "stale": self._stale}).fetchall()
        self._reached = now
        if not any(worker == self._worker and not is_gone for worker, _, is_gone, _ in rows):
            raise Stopped("the other workers took this one for dead, and do its jobs")
        suspected = {worker for worker, *_, is_suspect in rows if is_suspect} - {self._worker}
        self._suspected = {worker: self._suspected.get(worker, now) for worker in suspected}
        gone = {worker for worker, _, is_gone, _ in rows if is_gone}
        gone |= {worker for worker, since in self._suspected.items() if now - since >= _PATIENCE}
        return Found(sorted(gone), rows[0][1], [])

    def _take(
        self, statement: str, given: list[Any], workers: list[str], put_back: Callable[[list[str]], object]
    ) -> None:
        def work(connection: Connection[Any]) -> None:
            with connection.transaction():
                connection.execute(statement.encode(), given)
                if gone := [row[0] for row in connection.execute(_GONE, [workers]).fetchall()]:
                    put_back(gone)

        self._link.run(work)


def _listening(channel: str) -> str:
    return "; ".join(["UNLISTEN *", *(f"LISTEN {one}" for one in (CANCEL, channel) if one)])
