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
from typing import Any
from zlib import crc32

import msgspec

from quire.errors import StoreError, StoreFailed
from quire.memory.index import Index
from quire.memory.ranking import WEIGHTS
from quire.memory.words import dialect
from quire.stores import SQLiteStore, Store

logger = logging.getLogger("quire.memory")

SMALL = 2_000
"""Leaves up to which an index is read from the log in each process: that takes about half a second."""

LEAST_CHANGES, _SHARE = 500, 32
"""A snapshot is written when so many leaves changed, and one in so many."""

_FORMAT = 4
_PATIENCE = 10.0
_SUM = 4


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
    if snapshots := _snapshots_of(store):
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
    version = msgspec.msgpack.encode((_FORMAT, dialect(), WEIGHTS))
    return crc32(snapshot, crc32(version)).to_bytes(_SUM, "big")


def _address(scope: str) -> str:
    return blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# Where snapshots are kept

_Make = Callable[[bool], bytes | None]
"""Given whether a snapshot is there, the bytes of a new one, or None to leave it."""


def _snapshots_of(store: Store, *, is_made: bool = False) -> "_SQLiteSnapshots | _PostgresSnapshots | None":
    if isinstance(store, SQLiteStore):
        path = f"{store.path}-index"
        return _SQLiteSnapshots(path) if is_made or os.path.isfile(path) else None
    link = getattr(store, "link", None)  # of a PostgresStore, whose library need not be here
    return None if link is None else _PostgresSnapshots(link)


class _SQLiteSnapshots:
    """A file with the snapshots of all scopes, for its owner alone. A file that is none is deleted."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, scope: str) -> bytes | None:
        with self._opened() as connection:
            query = "SELECT CAST(body AS BLOB) FROM snapshots WHERE scope = ?"
            row = connection.execute(query, (scope,)).fetchone()
            return None if row is None else row[0]

    def write(self, scope: str, make: _Make) -> None:
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute("SELECT 1 FROM snapshots WHERE scope = ?", (scope,)).fetchone()
            body = make(found is not None)
            if body is not None:
                connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?)", (scope, body))
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection for one transaction."""
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreFailed(f"{self._path} cannot be opened") from error
        try:
            for setting in ("secure_delete = ON", "journal_mode = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute(f"CREATE TABLE IF NOT EXISTS snapshots {_COLUMNS.format('BLOB')}")
            yield connection
        except sqlite3.OperationalError as error:  # locked, or the disk is full
            raise StoreFailed(f"{self._path}: {error}") from error
        except sqlite3.Error as error:
            self._delete(error)
        finally:
            connection.close()

    def _delete(self, error: sqlite3.Error) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(self._path + ending)
        raise StoreFailed(f"{self._path} could not be read, and was deleted") from error


class _PostgresSnapshots:
    """A table in a schema of its own, over the connections of a store."""

    def __init__(self, link: Any) -> None:
        self._link = link

    def read(self, scope: str) -> bytes | None:
        def work(connection: Any) -> bytes | None:
            if not _is_made(connection):
                return None
            query = f"SELECT body FROM {_TABLE} WHERE scope = %s"
            row = connection.execute(query, (scope,), binary=True).fetchone()
            return None if row is None else row[0]

        kept: bytes | None = self._link.run(work)
        return kept

    def write(self, scope: str, make: _Make) -> None:
        def work(connection: Any) -> bool:
            with connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                is_made, query = _is_made(connection), f"DELETE FROM {_TABLE} WHERE scope = %s"
                body = make(is_made and connection.execute(query, (scope,)).rowcount > 0)
                if body is None:
                    return False
                for statement in () if is_made else _MADE:
                    connection.execute(statement)
                connection.execute(f"INSERT INTO {_TABLE} VALUES (%s, %b)", (scope, body))
                return True

        def vacuum(connection: Any) -> None:
            connection.execute(f"VACUUM {_TABLE}")

        if self._link.run(work):
            self._link.run(vacuum)


def _is_made(connection: Any) -> bool:
    (is_missing,) = connection.execute(f"SELECT to_regclass('{_TABLE}') IS NULL").fetchone()
    return not is_missing


_COLUMNS = "(scope TEXT PRIMARY KEY, body {} NOT NULL)"
_LOCK = 0x51756978
"""The advisory lock of whoever writes a snapshot."""

_TABLE = "quire_index.indexes"
_MADE = (
    "CREATE SCHEMA quire_index",
    f"CREATE TABLE {_TABLE} {_COLUMNS.format('BYTEA')}",
    f"ALTER TABLE {_TABLE} ALTER body SET STORAGE EXTERNAL",
    f"ALTER TABLE {_TABLE} ALTER body SET STATISTICS 0",
)
