"""The way to a PostgreSQL server: pooled connections that come back, one that listens, errors in words."""

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Any, TypeVar
from urllib.parse import quote

from quire.errors import InvalidValue, MissingExtra, StoreDamaged, StoreError, StoreFailed
from quire.stores.store import Durability
from quire.stores.threads import at_forks

try:
    import psycopg
    import psycopg_pool
    from psycopg import Connection
    from psycopg.conninfo import conninfo_to_dict
except ImportError as missing:
    raise MissingExtra("psycopg", "postgres") from missing

PATIENCE = 10.0
"""How long a verb waits for a connection, in seconds."""

CHANNEL = "quire"
"""The channel on which every append is announced, with the address of its conversation."""

_RECONNECTING = 5.0
"""How long a listener tries to connect again, in seconds."""

_TURN = 0.05
"""Seconds between two looks of the listener for what it has to do."""

_IDLE = 5.0
"""Seconds that the listener stays connected when nobody waits: who follows a conversation waits again."""

_TRIES = 3
_LOST = ("08", "57P")
_REASONS = {
    "53300": "has too many clients, and takes no more",
    "53": "has no room left",
    "42": "does not allow it",
    "40": "is busy",
    "25": "may not be written",
}
_Result = TypeVar("_Result")


class Link:
    """A pool of connections for verbs, and one connection for all who wait."""

    def __init__(self, url: str, durable: Durability, size: int) -> None:
        if durable not in ("process", "power"):
            raise InvalidValue("durable is 'process' or 'power'")
        try:
            said = conninfo_to_dict(url)
        except psycopg.Error:  # its words may hold the password
            raise InvalidValue(
                "the address of the database cannot be read: postgresql://role@host/name"
            ) from None
        self._secrets = [str(said[name]) for name in ("password", "sslpassword") if said.get(name)]
        host, port = said.get("host", "this machine"), said.get("port", 5432)
        self._where = f"the database {said.get('dbname', '')!r} at {host}, port {port}"
        self._url, self._durable, self._size = url, durable, size
        self._closed = False
        self._lock = Lock()
        self._pool: psycopg_pool.ConnectionPool[Connection[Any]] | None = None
        self._listener = Listener(self._connected)
        self._left: list[object] = []
        at_forks(self)

    def first(self, work: Callable[[Connection[Any]], None]) -> None:
        """Do some work on a connection of its own, which says at once why it cannot be made."""
        with self.guarded(), self._connected() as connection:
            work(connection)

    def run(
        self, work: Callable[[Connection[Any]], _Result], on_loss: Callable[[], None] = lambda: None
    ) -> _Result:
        """Do some work, and do it again, a few times, where the connection was lost meanwhile."""
        with self.guarded():
            for _ in range(_TRIES):  # a server that cuts one connection often cuts the next
                try:
                    return self._once(work)
                except psycopg.OperationalError as error:
                    if not _is_loss(error):
                        raise
                    on_loss()
                self._opened().check()
            return self._once(work)

    @contextmanager
    def listening(self, payload: str) -> Generator[Callable[[float], None], None, None]:
        """A function that waits some seconds, or until a payload may have been announced."""
        with self.guarded(), self._listener.waiting(payload) as bell:

            def rest(seconds: float) -> None:
                bell.wait(seconds)
                bell.clear()
                self.check_open()
                if self._listener.fault is not None:
                    raise self._listener.fault

            yield rest

    def check_open(self) -> None:
        """`StoreFailed` where the store was closed."""
        if self._closed:
            raise StoreFailed("the store was closed")

    def close(self) -> None:
        """Close all connections; those who wait notice soon."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        self._listener.close()
        if pool is not None:
            pool.close()

    def before_fork(self) -> None:
        """Nothing is held: the child makes connections and locks of its own."""

    def after_fork(self, *, is_child: bool) -> None:
        """In the child, begin anew. The parent's connections stay open: closing them would end its sessions."""
        if is_child:
            self._left.append((self._pool, self._listener))
            self._lock, self._pool, self._listener = Lock(), None, Listener(self._connected)

    @contextmanager
    def guarded(self) -> Generator[None, None, None]:
        """Turn errors of the server and of connections into ours."""
        self.check_open()
        try:
            yield
        except psycopg.Error as error:
            self.check_open()
            raise self._failure(error) from error
        except UnicodeEncodeError:
            raise InvalidValue("a name is made of printable characters") from None

    def _once(self, work: Callable[[Connection[Any]], _Result]) -> _Result:
        pool = self._pool or self._opened()
        connection = pool.getconn()
        try:
            return work(connection)
        finally:
            pool.putconn(connection)

    def _opened(self) -> psycopg_pool.ConnectionPool[Connection[Any]]:
        with self._lock:
            self.check_open()
            if self._pool is None:
                self._pool = psycopg_pool.ConnectionPool(
                    self._url,
                    kwargs={"autocommit": True, "client_encoding": "utf8"},
                    configure=self._configure,
                    min_size=1,
                    max_size=self._size,
                    timeout=PATIENCE,
                    name="quire",
                    open=True,
                )
            return self._pool

    def _connected(self) -> Connection[Any]:
        connection = psycopg.connect(
            self._url, autocommit=True, client_encoding="utf8", connect_timeout=int(PATIENCE)
        )
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: Connection[Any]) -> None:
        # Otherwise the server's setting holds. Waiting for less could lose what was acknowledged: when one
        # process of a server is killed, all others end and the server reads its log again.
        if self._durable == "power":
            connection.execute("SET synchronous_commit = on")

    def _failure(self, error: psycopg.Error) -> StoreError:
        state = error.sqlstate or type(error).__name__
        said = error.diag.message_primary if error.sqlstate else str(error)
        if isinstance(error, psycopg_pool.PoolTimeout):
            return StoreFailed(f"no connection to {self._where} within {PATIENCE:.0f} seconds")
        if error.sqlstate is None:
            return StoreFailed(
                f"{self._where} cannot be reached, or the connection was lost: {self._bare(said)}"
            )
        if state.startswith("XX00") and state != "XX000":
            return StoreDamaged(f"{self._where} is damaged ({state})")
        reason = _REASONS.get(state) or _REASONS.get(state[:2])
        if reason is None:
            return StoreFailed(f"{self._where} failed ({state})")
        return StoreFailed(f"{self._where} {reason} ({state}): {self._bare(said)}")

    def _bare(self, said: str | None) -> str:
        """What a server or a driver said, in one line and without the password."""
        text = " ".join(re.sub(r"\s+", " ", said or "").split())
        for secret in self._secrets:
            for spelled in {secret, quote(secret, safe="")}:
                text = text.replace(spelled, "***")
        return text


class Listener:
    """Listens for as long as somebody waits, in a thread of its own, and connects again where it was cut off."""

    fault: psycopg.Error | None = None
    """Why nothing can be heard any more."""

    def __init__(self, connect: Callable[[], Connection[Any]]) -> None:
        self._connect = connect
        self._lock = Lock()
        self._bells: dict[str, set[Event]] = {}
        self._used_at = 0.0
        self._thread: Thread | None = None
        self._closed = False

    @contextmanager
    def waiting(self, payload: str) -> Generator[Event, None, None]:
        """An event that is set when a payload is announced, and when that may have been missed."""
        bell = Event()
        with self._lock:
            self._bells.setdefault(payload, set()).add(bell)
            if self._thread is None and not self._closed:
                self.fault = None
                self._thread = Thread(target=self._listen, name="quire-listener", daemon=True)
                self._thread.start()
        try:
            yield bell
        finally:
            with self._lock:
                self._used_at = time.monotonic()
                self._bells[payload].discard(bell)
                if not self._bells[payload]:
                    del self._bells[payload]

    def close(self) -> None:
        """Stop listening, and wake those who wait."""
        with self._lock:
            self._closed, thread = True, self._thread
        self._ring()
        if thread is not None:
            thread.join(2 * _TURN)  # it may be connecting, which can take long

    def _listen(self) -> None:
        until: float | None = None
        while True:
            try:
                with self._connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}".encode())
                    until = None
                    self._ring()
                    while not self._is_over():
                        for note in connection.notifies(timeout=_TURN, stop_after=1):
                            self._ring(note.payload)
                    return
            except psycopg.Error as error:
                until = until or time.monotonic() + _RECONNECTING
                if self._is_given_up(error, until):
                    return
            time.sleep(_TURN)

    def _is_over(self) -> bool:
        """Whether nobody waits, and nobody did lately; who comes then begins anew."""
        with self._lock:
            if self._closed or (not self._bells and time.monotonic() > self._used_at + _IDLE):
                self._thread = None
            return self._thread is None

    def _is_given_up(self, error: psycopg.Error, until: float) -> bool:
        with self._lock:
            is_lost = isinstance(error, psycopg.OperationalError)
            if is_lost and not self._closed and time.monotonic() < until:
                return False
            self._thread, self.fault = None, error
        self._ring()
        return True

    def _ring(self, payload: str | None = None) -> None:
        with self._lock:
            for name in self._bells if payload is None else (payload,):
                for bell in self._bells.get(name, ()):
                    bell.set()


def announce(connection: Connection[Any], payload: str) -> None:
    """Announce an append after its commit.

    A server commits one transaction that announces at a time: within the one that adds, all writers would wait
    for each other's disk. The append stays where nothing could be announced.
    """
    with suppress(psycopg.Error):
        connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])


def _is_loss(error: psycopg.OperationalError) -> bool:
    nothing_sent = isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.PoolClosed)
    return not nothing_sent and (error.sqlstate is None or error.sqlstate.startswith(_LOST))
