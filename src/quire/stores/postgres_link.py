"""The way to a PostgreSQL server: a pool of connections that comes back after it was cut."""

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from quire.errors import InvalidValue, MissingExtra, StoreDamaged, StoreError, StoreFailed
from quire.stores.postgres_schema import settle
from quire.stores.store import Durability

try:
    import psycopg
    import psycopg_pool

    from quire.stores.postgres_listening import Listener
except ImportError as missing:
    raise MissingExtra("psycopg", "postgres") from missing

if TYPE_CHECKING:
    from psycopg import Connection

PATIENCE = 10.0
"""How long a verb waits for a connection, in seconds."""

CameFirst = psycopg.errors.UniqueViolation
"""What the server raises where another has the version already."""

RECONNECTING = 5.0
"""How long whoever waits tries to be connected again, in seconds."""

_AGAIN = 3
_LOST = ("08", "57P")
_TOO_MANY = "has too many clients, and takes no more"
_says_too_many = re.compile("too many (clients|connections)|connection slots").search
_REASONS = {
    "533": _TOO_MANY,
    "53": "has no room left",
    "42": "does not allow it",
    "28": "refused us",
    "40": "is busy",
}
_Result = TypeVar("_Result")


class Link:
    """A pool of connections for verbs, and beside it one for all who wait."""

    def __init__(self, url: str, durable: Durability, size: int) -> None:
        if durable not in ("process", "power"):
            raise InvalidValue('durable is "process" or "power"')
        self._url = url
        self._durable = durable
        self._size = size
        self._closed = False
        self._lock = Lock()
        self._pool: psycopg_pool.ConnectionPool[Connection[Any]] | None = None
        self._listener = self._made_listener()
        with self.guarded(), self._connected() as connection:
            settle(connection)
        _OPEN.add(self)

    def run(self, work: "Callable[[Connection[Any]], _Result]", on_loss: Callable[[], None]) -> _Result:
        """Do some work, and do it again, a few times, if the connection was lost meanwhile."""
        with self.guarded():
            for _ in range(_AGAIN):  # a server that cuts one often cuts the next, which looked whole
                try:
                    return self._once(work)
                except psycopg.OperationalError as error:
                    if not _is_loss(error):
                        raise
                    on_loss()
                self._opened().check()
            return self._once(work)

    @contextmanager
    def listening(self, channel: str) -> Generator[Callable[[float], None], None, None]:
        """What rests for some seconds, or until something may have come on a channel."""
        with self.guarded(), self._listener.waiting(channel) as bell:

            def rest(seconds: float) -> None:
                bell.rest(seconds)
                self.check_open()

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

    def leave(self) -> None:
        """In a process that was forked off: leave the connections to the parent, and begin anew."""
        _LEFT.append((self._pool, self._listener))
        self._lock, self._pool, self._listener = Lock(), None, self._made_listener()

    @contextmanager
    def guarded(self) -> Generator[None, None, None]:
        """Whatever the server or the connection raises within becomes an error of ours."""
        self.check_open()
        try:
            yield
        except psycopg.Error as error:
            self.check_open()
            raise _failure(error) from error

    def _once(self, work: "Callable[[Connection[Any]], _Result]") -> _Result:
        pool = self._pool or self._opened()
        connection = pool.getconn()
        try:
            return work(connection)
        finally:
            pool.putconn(connection)

    def _opened(self) -> "psycopg_pool.ConnectionPool[Connection[Any]]":
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

    def _made_listener(self) -> Listener:
        return Listener(self._connected, lambda: RECONNECTING)

    def _connected(self) -> "Connection[Any]":
        connection = psycopg.connect(
            self._url, autocommit=True, client_encoding="utf8", connect_timeout=int(PATIENCE)
        )
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: "Connection[Any]") -> None:
        # Otherwise it is what the server's keeper chose. To wait less than that could lose what was
        # acknowledged: a server of which one process is killed ends all others, and reads its log again.
        if self._durable == "power":
            connection.execute("SET synchronous_commit = on")


def _is_loss(error: psycopg.OperationalError) -> bool:
    nothing_sent = isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.PoolClosed)
    return not nothing_sent and (error.sqlstate is None or error.sqlstate.startswith(_LOST))


def _failure(error: psycopg.Error) -> StoreError:
    state = error.sqlstate or type(error).__name__
    if state.startswith("XX00") and state != "XX000":
        return StoreDamaged(f"the database is damaged ({state})")
    if isinstance(error, psycopg_pool.PoolTimeout):
        return StoreFailed(f"no connection to the database within {PATIENCE:.0f} seconds")
    if isinstance(error, psycopg.OperationalError) and _is_loss(error):
        # Who is refused is told so in words alone. They may name users and hosts: none of them is repeated.
        reason = _TOO_MANY if _says_too_many(str(error)) else "cannot be reached, or the connection was lost"
        return StoreFailed(f"the database {reason} ({state})")
    reason = _REASONS.get(state[:3]) or _REASONS.get(state[:2], "failed")
    return StoreFailed(f"the database {reason} ({state})")


_OPEN: WeakSet[Link] = WeakSet()
_LEFT: list[object] = []
"""Connections of the parent process: to close them here would end its sessions there."""


def _after_fork_in_child() -> None:
    for link in list(_OPEN):
        with suppress(Exception):
            link.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
