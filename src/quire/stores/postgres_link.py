"""The way to a PostgreSQL server: pooled connections that come back, and errors in words."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock
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

_TRIES = 3
_LOST = ("08", "57P")
_REASONS = {
    "53300": "has too many clients, and takes no more",
    "53": "has no room left",
    "42": "does not allow it",
    "40": "is busy",
    "25": "may not be written",
}
_Pool = psycopg_pool.ConnectionPool[Connection[Any]]
_Result = TypeVar("_Result")


class Link:
    """A pool of connections to a database."""

    def __init__(self, url: str, durable: Durability, size: int) -> None:
        if durable not in ("process", "power"):
            raise InvalidValue("durable is 'process' or 'power'")
        try:
            said = conninfo_to_dict(url)
        except psycopg.Error:  # its words may hold the password
            raise InvalidValue("the address of the database is postgresql://role@host:port/name") from None
        self._secrets = [str(said[name]) for name in ("password", "sslpassword") if said.get(name)]
        host, port = said.get("host", "this machine"), said.get("port", 5432)
        self._where = f"the database {said.get('dbname', '')!r} at {host}, port {port}"
        self._url, self._durable, self._size = url, durable, size
        self._closed = False
        self._lock = Lock()
        self._pool: _Pool | None = None
        self._left: list[_Pool | None] = []
        at_forks(self)

    def first(self, work: Callable[[Connection[Any]], None]) -> None:
        """Do some work on a connection of its own, which says at once why it cannot be made."""
        with self.guarded():
            connect = psycopg.connect(
                self._url, autocommit=True, client_encoding="utf8", connect_timeout=int(PATIENCE)
            )
            with connect as connection:
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

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def before_fork(self) -> None:
        """Nothing is held: the child makes connections of its own."""

    def after_fork(self, *, is_child: bool) -> None:
        """In the child, leave the connections to the parent: closing them would end its sessions."""
        if is_child:
            self._left.append(self._pool)
            self._lock, self._pool = Lock(), None

    @contextmanager
    def guarded(self) -> Generator[None, None, None]:
        """Turn errors of the server and of connections into ours."""
        self._check_open()
        try:
            yield
        except psycopg.Error as error:
            self._check_open()
            raise self._failure(error) from error
        except UnicodeEncodeError:
            raise InvalidValue("a name is made of printable characters") from None

    def _check_open(self) -> None:
        if self._closed:
            raise StoreFailed("the store was closed")

    def _once(self, work: Callable[[Connection[Any]], _Result]) -> _Result:
        pool = self._pool or self._opened()
        connection = pool.getconn()
        try:
            return work(connection)
        finally:
            pool.putconn(connection)

    def _opened(self) -> _Pool:
        with self._lock:
            self._check_open()
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

    def _configure(self, connection: Connection[Any]) -> None:
        # Otherwise the server's setting holds. Waiting for less could lose what was acknowledged: when one
        # process of a server is killed, all others end and the server reads its log again.
        if self._durable == "power":
            connection.execute("SET synchronous_commit = on")

    def _failure(self, error: psycopg.Error) -> StoreError:
        state = error.sqlstate
        if isinstance(error, psycopg_pool.PoolTimeout):
            return StoreFailed(f"no connection to {self._where} within {PATIENCE:.0f} seconds")
        if state is None:
            return StoreFailed(
                f"{self._where} cannot be reached, or the connection was lost: {self._said(error)}"
            )
        if state.startswith("XX00") and state != "XX000":
            return StoreDamaged(f"{self._where} is damaged ({state})")
        reason = _REASONS.get(state) or _REASONS.get(state[:2])
        if reason is None:  # what the server says may quote values
            return StoreFailed(f"{self._where} failed ({state})")
        return StoreFailed(f"{self._where} {reason} ({state}): {self._said(error)}")

    def _said(self, error: psycopg.Error) -> str:
        """What a server or a driver said, in one line and without the password."""
        text = " ".join((error.diag.message_primary or str(error)).split())
        for secret in self._secrets:
            for spelled in (secret, quote(secret, safe="")):
                text = text.replace(spelled, "***")
        return text


def _is_loss(error: psycopg.OperationalError) -> bool:
    nothing_sent = isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.PoolClosed)
    return not nothing_sent and (error.sqlstate is None or error.sqlstate.startswith(_LOST))
