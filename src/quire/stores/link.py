"""The link to a PostgreSQL server: a pool of connections, retries after lost ones, errors in words."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock, local
from typing import Any, TypeVar
from urllib.parse import quote

from quire.errors import InvalidValue, MissingExtra, StoreDamaged, StoreError, StoreFailed
from quire.stores.store import Durability, check_process, waits_for_disk

try:
    import psycopg as psycopg
    import psycopg_pool
    from psycopg import Connection as Connection
    from psycopg.conninfo import conninfo_to_dict
except ImportError as missing:
    raise MissingExtra("psycopg", "postgres") from missing

TIMEOUT = 10.0
"""Seconds to wait for a connection."""

CONNECTIONS = "QUIRE_POSTGRES_CONNECTIONS"
"""The environment variable with the maximum number of connections of a pool."""

_MAX_RETRIES, _MAX_CONNECTIONS = 3, 4
_LOST = ("08", "57P")
"""The classes of SQLSTATE for a lost connection."""

_QUOTING = ("22", "23")
"""The classes of SQLSTATE whose messages may quote content."""

_Pool = psycopg_pool.ConnectionPool[Connection[Any]]
_Result = TypeVar("_Result")


class _Joined(local):
    """The caller's connection that each thread has joined, if any."""

    connection: Connection[Any] | None = None


class Link:
    """A pool of connections to a database."""

    def __init__(self, url: str, durable: Durability = "process", connections: int | None = None) -> None:
        self._is_synced = waits_for_disk(durable)
        self._max_connections = _checked_connections(connections)
        try:
            parts = conninfo_to_dict(url)
        except (psycopg.Error, AttributeError):  # its message may hold the password
            raise InvalidValue("the address of a database must be postgresql://role@host:port/name") from None
        self._secrets = [str(parts[name]) for name in ("password", "sslpassword") if parts.get(name)]
        host, port = parts.get("host", "this machine"), parts.get("port", 5432)
        self._where = f"the database {parts.get('dbname', '')!r} at {host}, port {port}"
        self.url = url
        """The address; it may hold a password."""
        self._is_closed = False
        self._lock = Lock()
        self._pool: _Pool | None = None
        self._process = os.getpid()
        self._joined = _Joined()

    def run_unpooled(self, work: Callable[[Connection[Any]], _Result]) -> _Result:
        """Run a function on a new connection, which fails at once and says why; a pool would retry."""
        with self.wrapped_errors(), self.connected() as connection:
            return work(connection)

    def connected(self, timeout: float = TIMEOUT, **options: Any) -> Connection[Any]:
        """A new connection outside the pool; `options` are those of libpq."""
        connection = psycopg.connect(
            self.url, autocommit=True, client_encoding="utf8", connect_timeout=int(timeout), **options
        )
        self._configure(connection)
        return connection

    def run(
        self, work: Callable[[Connection[Any]], _Result], on_loss: Callable[[], None] = lambda: None
    ) -> _Result:
        """Run a function on a connection of the pool, and retry a few times if the connection is lost."""
        with self.wrapped_errors():
            if self._joined.connection is not None:
                return work(self._joined.connection)
            for _ in range(_MAX_RETRIES):  # a server that cuts one connection often cuts the next
                try:
                    return self._run_once(work)
                except psycopg.OperationalError as error:
                    if not _is_loss(error):
                        raise
                    on_loss()
                self._open_pool().check()
            return self._run_once(work)

    @contextmanager
    def joining(self, connection: Connection[Any]) -> Generator[None, None, None]:
        """Within the block, `run` of this thread uses the caller's connection."""
        before, self._joined.connection = self._joined.connection, connection
        try:
            yield
        finally:
            self._joined.connection = before

    @property
    def has_joined(self) -> bool:
        """Whether this thread uses the caller's connection now."""
        return self._joined.connection is not None

    def refuse(self) -> None:
        """Refuse further calls, without waiting for connections to close."""
        self._is_closed = True

    def close(self) -> None:
        """Close all connections."""
        check_process(self._process)
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def wrapped_errors(self) -> Generator[None, None, None]:
        """Convert errors of the driver into ours."""
        self._check_open()
        try:
            yield
        except psycopg.Error as error:
            self._check_open()
            raise self._failure(error) from error
        except UnicodeEncodeError:
            raise InvalidValue("a name must have only printable characters") from None

    def _check_open(self) -> None:
        check_process(self._process)
        if self._is_closed:
            raise StoreFailed("the store was closed")

    def _run_once(self, work: Callable[[Connection[Any]], _Result]) -> _Result:
        pool = self._pool or self._open_pool()
        connection = pool.getconn()
        try:
            return work(connection)
        finally:
            pool.putconn(connection)

    def _open_pool(self) -> _Pool:
        with self._lock:
            self._check_open()
            if self._pool is None:
                self._pool = psycopg_pool.ConnectionPool(
                    self.url,
                    kwargs={"autocommit": True, "client_encoding": "utf8"},
                    configure=self._configure,
                    min_size=1,
                    max_size=self._max_connections,
                    timeout=TIMEOUT,
                    name="quire",
                    open=True,
                )
            return self._pool

    def _configure(self, connection: Connection[Any]) -> None:
        # It is never turned off: without this wait, acknowledged appends are lost if one of the server's
        # processes is killed, because the server then ends all the others.
        if self._is_synced:
            connection.execute("SET synchronous_commit = on")
        # A process that is suspended within a transaction would keep its locks, and jobs of the queue.
        connection.execute("SET idle_in_transaction_session_timeout = '15s'")

    def _failure(self, error: psycopg.Error) -> StoreError:
        state = error.sqlstate
        if isinstance(error, psycopg_pool.PoolTimeout):
            return StoreFailed(f"no connection to {self._where} within {TIMEOUT:.0f} seconds")
        if state is None:
            failure = "cannot be reached, or the connection was lost"
            return StoreFailed(f"{self._where} {failure}: {self._message(error)}")
        if state.startswith("XX00") and state != "XX000":
            return StoreDamaged(f"{self._where} is damaged ({state})")
        reason = "" if state.startswith(_QUOTING) else f": {self._message(error)}"
        return StoreFailed(f"{self._where} failed ({state}){reason}")

    def _message(self, error: psycopg.Error) -> str:
        """The message of a server or a driver, in one line and without the password."""
        text = " ".join((error.diag.message_primary or str(error)).split())
        for secret in self._secrets:
            text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
        return text


def _is_loss(error: psycopg.OperationalError) -> bool:
    is_of_pool = isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.PoolClosed)
    return not is_of_pool and (error.sqlstate is None or error.sqlstate.startswith(_LOST))


def _checked_connections(connections: int | None) -> int:
    number = str(os.environ.get(CONNECTIONS, _MAX_CONNECTIONS) if connections is None else connections)
    if not number.isdecimal() or int(number) == 0:
        raise InvalidValue(f"connections, or {CONNECTIONS}, must be a number from 1 on, not {number!r:.20}")
    return int(number)
