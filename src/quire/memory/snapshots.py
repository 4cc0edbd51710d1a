"""Snapshots: the index of a scope, kept beside its store, so that a new process need not read the whole log.

A SQLite store has them in a file beside it (`STORE-index`), a PostgreSQL store in the schema `quire_index` of
its database. Other stores have none: what is in memory, in JSON lines or sealed is not written in plain words
elsewhere. A snapshot is only a copy. Where it is missing, damaged, made by another version, or cannot be
written, the index is read from the log.

Whoever writes a snapshot holds a lock and catches up with the store under it. Whoever forgets changes the
store first, and then rewrites the snapshot under the same lock. So a snapshot never has what was forgotten
before it.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any, TypeVar
from zlib import crc32

import msgspec

from quire.errors import StoreError, StoreFailed
from quire.memory.index import Index
from quire.memory.ranking import Weights
from quire.memory.words import dialect
from quire.stores import SQLiteStore, Store

logger = logging.getLogger("quire.memory")

SMALL = 2_000
"""Leaves up to which an index is read from the log in each process: that takes about half a second."""

LEAST_CHANGES, _SHARE = 500, 32
"""A snapshot is written when so many leaves changed, and one in so many."""

_FORMAT = 1
_ENDING = "-index"
_PATIENCE = 10.0
_PART = 1 << 24
_SUM = 4
_SCHEMA = 100
"""Files of earlier versions have lower numbers."""

_Result = TypeVar("_Result")


def open_index(store: Store, scope: str) -> Index:
    """The index of a scope as of its last snapshot, or an empty one."""
    snapshots = _snapshots_of(store)
    try:
        kept = snapshots.read(_address(scope)) if snapshots else None
        return Index() if kept is None else _loaded(kept)
    except (StoreError, ValueError) as fault:
        logger.warning("the index of a scope is read from its log: %s", fault)
        return Index()


def save_index(store: Store, scope: str, index: Index, catch_up: Callable[[], object]) -> None:
    """Write a snapshot of an index that has caught up, where enough has changed since the last.

    Under the lock `catch_up` is called again. A failure is logged: the next process reads more of the log.
    """
    if len(index) <= SMALL or index.changes - index.saved < max(LEAST_CHANGES, len(index) // _SHARE):
        return

    def make(_: bool) -> bytes:
        catch_up()
        return _dumped(index)

    index.saved = index.changes  # not tried again at once, where it fails
    try:
        if snapshots := _snapshots_of(store, is_made=True):
            snapshots.write(_address(scope), make)
    except StoreError as fault:
        logger.warning("no snapshot of an index was written: %s", fault)


def forget_saved(store: Store, scope: str, caught_up: Callable[[], Index]) -> None:
    """Rewrite the snapshot of a scope, if there is one, from an index that `caught_up` gives.

    Nothing of the snapshot before stays. Raises `StoreFailed` where it cannot be rewritten.
    """
    snapshots = _snapshots_of(store)
    if snapshots and snapshots.read(_address(scope)) is not None:
        snapshots.write(_address(scope), lambda is_there: _dumped(caught_up()) if is_there else None)


def _dumped(index: Index) -> bytes:
    index.saved = index.changes
    snapshot = index.snapshot()
    return _sum_of(snapshot) + snapshot


def _loaded(kept: bytes) -> Index:
    snapshot = memoryview(kept)[_SUM:]
    if _sum_of(snapshot) != kept[:_SUM]:
        raise ValueError("the snapshot is damaged or made by another version")
    return Index.of_snapshot(snapshot)


def _sum_of(snapshot: bytes | memoryview) -> bytes:
    """A checksum that also differs by format, by weights and by how text becomes terms."""
    version = msgspec.msgpack.encode((_FORMAT, dialect(), Weights()))
    return crc32(snapshot, crc32(version)).to_bytes(_SUM, "big")


def _address(scope: str) -> str:
    return blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# Where snapshots are kept

Make = Callable[[bool], bytes | None]
"""Given whether a snapshot is there, the bytes of a new one, or None to leave it."""


def _snapshots_of(store: Store, *, is_made: bool = False) -> "_SQLiteSnapshots | _PostgresSnapshots | None":
    if isinstance(store, SQLiteStore):
        path = f"{store.path}{_ENDING}"
        return _SQLiteSnapshots(path) if is_made or os.path.isfile(path) else None
    link = getattr(store, "link", None)  # of a PostgresStore, whose library need not be here
    return None if link is None else _PostgresSnapshots(link)


def _parts(scope: str, body: bytes) -> list[tuple[str, int, bytes]]:
    return [(scope, at, body[at : at + _PART]) for at in range(0, len(body), _PART)]


_TABLE = "CREATE TABLE {} (scope TEXT, nth BIGINT, body {} NOT NULL, PRIMARY KEY (scope, nth))"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, None)
"""The errors of a file that SQLite cannot read as what it should be."""


class _SQLiteSnapshots:
    """A file with the snapshots of all scopes, for its owner alone."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, scope: str) -> bytes | None:
        with self._opened() as connection:
            query = "SELECT CAST(body AS BLOB) FROM snapshots WHERE scope = ? ORDER BY nth"
            return b"".join(row[0] for row in connection.execute(query, (scope,))) or None

    def write(self, scope: str, make: Make) -> None:
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute("SELECT 1 FROM snapshots WHERE scope = ?", (scope,)).fetchone()
            body = make(found is not None)
            if body is not None:
                connection.execute("DELETE FROM snapshots WHERE scope = ?", (scope,))
                connection.executemany("INSERT INTO snapshots VALUES (?, ?, ?)", _parts(scope, body))
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection for one transaction. A file that cannot be read is deleted: it is only a copy."""
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreFailed(f"{self._path} cannot be opened") from error
        try:
            self._settle(connection)
            yield connection
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is not None and code & 0xFF not in _DAMAGED:
                raise StoreFailed(f"{self._path}: {error}") from error
            self._delete()
            raise StoreFailed(f"{self._path} could not be read, and was deleted") from error
        finally:
            connection.close()

    def _settle(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA journal_mode = MEMORY")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == _SCHEMA:
            return
        connection.execute("BEGIN IMMEDIATE")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            connection.execute(_TABLE.format("snapshots", "BLOB"))
            connection.execute(f"PRAGMA user_version = {_SCHEMA}")
        elif connection.execute("PRAGMA user_version").fetchone() != (_SCHEMA,):
            raise sqlite3.DatabaseError("an index of an earlier version")
        connection.execute("COMMIT")

    def _delete(self) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(self._path + ending)


class _PostgresSnapshots:
    """A table in a schema of its own, over the connections of a store."""

    def __init__(self, link: Any) -> None:
        self._link = link

    def read(self, scope: str) -> bytes | None:
        def work(connection: Any) -> bytes | None:
            if not _is_settled(connection):
                return None
            query = "SELECT body FROM quire_index.snapshots WHERE scope = %s ORDER BY nth"
            rows = connection.execute(query, (scope,), binary=True).fetchall()
            return b"".join(row[0] for row in rows) or None

        return self._run(work)

    def write(self, scope: str, make: Make) -> None:
        def work(connection: Any) -> None:
            with connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                for statement in () if _is_settled(connection) else _POSTGRES:
                    connection.execute(statement)
                query = "SELECT 1 FROM quire_index.snapshots WHERE scope = %s"
                body = make(connection.execute(query, (scope,)).fetchone() is not None)
                if body is not None:
                    connection.execute("DELETE FROM quire_index.snapshots WHERE scope = %s", (scope,))
                    for part in _parts(scope, body):
                        connection.execute("INSERT INTO quire_index.snapshots VALUES (%s, %s, %b)", part)

        self._run(work)
        self._run(lambda connection: connection.execute("VACUUM quire_index.snapshots"))

    def _run(self, work: Callable[[Any], _Result]) -> _Result:
        result: _Result = self._link.run(work)
        return result


def _is_settled(connection: Any) -> bool:
    """Whether the table is there; what an earlier version has in the schema goes."""
    query = "SELECT to_regclass('quire_index.snapshots') IS NULL, to_regclass('quire_index.leaves') IS NULL"
    is_missing, is_new = connection.execute(query).fetchone()
    if not is_new:
        connection.execute("DROP SCHEMA quire_index CASCADE")
    return not is_missing


_LOCK = 0x51756978
"""The advisory lock of whoever writes a snapshot."""

_POSTGRES = (
    "CREATE SCHEMA IF NOT EXISTS quire_index",
    _TABLE.format("quire_index.snapshots", "BYTEA"),
    "ALTER TABLE quire_index.snapshots ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE quire_index.snapshots ALTER body SET STATISTICS 0",
)
