"""Snapshots: the index of a scope in a file or table, so that a new process need not read the whole log.

A snapshot has many parts: columns of numbers, a list of leaves for each term, and the leaves. A process loads
some columns when it opens a snapshot, and other parts on demand. A SQLite store has a file for each scope in
a folder beside it (`STORE-index`), a PostgreSQL store a table in the schema `quire_index` of its database.
Other stores have none: content in memory, in JSON lines or sealed is not written elsewhere in plain text. If
a snapshot is missing, damaged, of another version, or cannot be written, the index is read from the log.

Each write gives a snapshot a new generation. An index that loads a part of another generation raises
`SnapshotChanged`, and is opened again. A writer takes a lock, catches up with the store, and writes what
changed. Erasure changes the store first, and then rewrites all parts under the same lock, so no snapshot has
items that were forgotten before it.
"""

import ctypes
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from hashlib import blake2b
from secrets import token_bytes
from typing import Any
from zlib import crc32

import msgspec

from quire.errors import StoreError, StoreFailed
from quire.memory.index import Index
from quire.memory.postings import Parts
from quire.memory.ranking import WEIGHTS
from quire.memory.words import dialect
from quire.stores import SQLiteStore, Store

logger = logging.getLogger("quire.memory")

SMALL = 2_000
"""The most leaves of an index without a snapshot: to read it from the log takes about half a second."""

LEAST_CHANGES, _SHARE = 100, 128
"""A snapshot is written once at least 100 leaves have changed, and at least one in 128 of all leaves. Until
then each process that opens the snapshot indexes the changed leaves again, at 0.1 ms each."""

_FORMAT = 10
_TIMEOUT = 10.0
_CHECKSUM_SIZE = 4
_GENERATION = "generation"


class SnapshotChanged(Exception):
    """The snapshot of an index was rewritten, removed or damaged."""


def open_index(store: Store, scope: str) -> Index:
    """Return the index of a scope as of its last snapshot, or an empty one."""
    snapshot = _snapshot_of(store, scope)
    try:
        generation = snapshot.read([_GENERATION]).get(_GENERATION, b"") if snapshot else b""
        if snapshot is not None and _verified(_seed(), _GENERATION, generation) is not None:
            return Index.of_snapshot(partial(_load, snapshot, generation))
    except (StoreError, SnapshotChanged, ValueError) as fault:
        logger.warning("the index of a scope is read from its log: %s", type(fault).__name__)
    return Index()


def _load(snapshot: "_Snapshot", generation: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Load parts of one generation of a snapshot."""
    wanted = list(names)
    try:
        parts = snapshot.read([_GENERATION, *wanted])
    except StoreError as fault:
        raise SnapshotChanged(str(fault)) from fault
    if parts.get(_GENERATION) != generation:
        raise SnapshotChanged("another process has written the snapshot")
    seed = _seed()
    bodies = {
        name: body for name in wanted if (body := _verified(seed, name, parts.get(name, b""))) is not None
    }
    if len(bodies) < len(wanted):
        snapshot.delete()
        raise SnapshotChanged("the snapshot is damaged, and was deleted")
    return bodies


def save_index(store: Store, scope: str, index: Index, catch_up: Callable[[], object]) -> None:
    """Write a snapshot of an index if enough has changed since the last.

    Under the lock `catch_up` is called again. A failure is logged: the next process reads more of the log.
    """
    if len(index) <= SMALL or index.changes - index.saved < max(LEAST_CHANGES, len(index) // _SHARE):
        return
    index.saved = index.changes  # after a failure there is no immediate retry

    def current_index() -> Index:
        catch_up()
        return index

    try:
        if snapshot := _snapshot_of(store, scope, create=True):
            _write(snapshot, current_index)
    except StoreError as fault:
        logger.warning("no snapshot of an index was written: %s", type(fault).__name__)


def purge_snapshot(store: Store, scope: str, current_index: Callable[[], Index]) -> None:
    """Rewrite the whole snapshot of a scope, if there is one, from the index that `current_index` returns.

    No byte of the old snapshot stays. Raises `StoreFailed` if it cannot be rewritten.
    """
    if snapshot := _snapshot_of(store, scope):
        _write(snapshot, current_index, is_purge=True)


def delete_snapshot(store: Store, scope: str) -> None:
    """Delete the snapshot of a scope, if there is one."""
    if snapshot := _snapshot_of(store, scope):
        snapshot.delete()


def release_memory() -> None:
    """Return freed memory to the system; glibc keeps it for each thread."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _write(snapshot: "_Snapshot", current_index: Callable[[], Index], *, is_purge: bool = False) -> None:
    seed = _seed()
    generation = _with_checksum(seed, _GENERATION, token_bytes(8))
    with ExitStack() as locks:  # the index does not change until the snapshot is written
        saved: list[Index] = []

        def make(old_generation: bytes | None) -> tuple[Parts, bool] | None:
            if old_generation is None and is_purge:
                return None
            index = current_index()
            saved.append(index)
            locks.enter_context(index.lock)
            parts: Parts = {_GENERATION: generation}
            for name, body in index.parts().items():
                parts[name] = None if body is None else _with_checksum(seed, name, body)
            return parts, index.is_saved

        snapshot.write(make, is_purge)
        for index in saved:
            index.on_saved(partial(_load, snapshot, generation))


def _with_checksum(seed: int, name: str, body: bytes) -> bytes:
    return _checksum(seed, name, body) + body


def _verified(seed: int, name: str, data: bytes) -> bytes | None:
    """The body of a part, if its checksum is right."""
    body = data[_CHECKSUM_SIZE:]
    return body if _checksum(seed, name, body) == data[:_CHECKSUM_SIZE] else None


def _checksum(seed: int, name: str, body: bytes) -> bytes:
    return crc32(body, crc32(name.encode(), seed)).to_bytes(_CHECKSUM_SIZE, "big")


def _seed() -> int:
    """The seed of checksums, which depends on the format, the weights and the rules of terms."""
    return crc32(msgspec.msgpack.encode((_FORMAT, dialect(), WEIGHTS)))


# Where snapshots are stored


_Make = Callable[[bytes | None], tuple[Parts, bool] | None]
"""Takes the stored generation. Returns the parts to write and whether others stay; None to write nothing."""


def _snapshot_of(store: Store, scope: str, *, create: bool = False) -> "_Snapshot | None":
    name = blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    if isinstance(store, SQLiteStore):
        path = os.path.join(f"{store.path}-index", name)
        return _SQLiteSnapshot(path) if create or os.path.isfile(path) else None
    link = getattr(store, "link", None)  # of a PostgresStore, whose library may not be installed
    return None if link is None else _PostgresSnapshot(link, name)


class _SQLiteSnapshot:
    """A file that only its owner can read. A file that is no snapshot is deleted."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, names: Sequence[str]) -> dict[str, bytes]:
        if not os.path.isfile(self._path):
            return {}
        query = "SELECT id, CAST(body AS BLOB) FROM parts WHERE id IN (SELECT value FROM json_each(?))"
        wanted = {_id_of(name): name for name in names}
        with self._opened() as connection:
            rows = connection.execute(query, (json.dumps([*wanted]),))
            return {wanted[number]: body for number, body in rows}

    def write(self, make: _Make, is_purge: bool) -> None:
        """Write the parts that `make` returns; with `is_purge` no old byte stays in the file."""
        with self._opened() as connection:
            for setting in ("page_size = 16384", "secure_delete = ON", "journal_mode = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            query = "SELECT CAST(body AS BLOB) FROM parts WHERE id = ?"
            (old_generation,) = connection.execute(query, (_id_of(_GENERATION),)).fetchone() or (None,)
            to_write = make(old_generation)
            if to_write is not None:
                self._put(connection, *to_write, is_purge)
            connection.execute("COMMIT")

    def _put(self, connection: sqlite3.Connection, parts: Parts, is_update: bool, is_purge: bool) -> None:
        changed: dict[int, bytes | None] = {_id_of(name): body for name, body in parts.items()}
        if is_update and is_purge:
            changed = dict(connection.execute("SELECT id, body FROM parts")) | changed
        if is_purge or not is_update:  # overwrites all pages; deleted rows may leave copies
            connection.execute("DROP TABLE parts")
            connection.execute(_TABLE)
        deleted = ((number,) for number, body in changed.items() if body is None)
        rows = ((number, changed[number]) for number in sorted(changed) if changed[number] is not None)
        connection.executemany("DELETE FROM parts WHERE id = ?", deleted)
        connection.executemany("INSERT OR REPLACE INTO parts VALUES (?, ?)", rows)

    def delete(self) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(self._path + ending)

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection, None, None]:
        """A connection for one transaction."""
        try:
            if not os.path.isfile(self._path):
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self._path, timeout=_TIMEOUT, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreFailed(f"{self._path} cannot be opened") from error
        try:
            yield connection
        except sqlite3.OperationalError as error:  # locked, or the disk is full
            raise StoreFailed(f"{self._path}: {error}") from error
        except sqlite3.Error as error:
            self.delete()
            raise StoreFailed(f"{self._path} could not be read, and was deleted") from error
        finally:
            connection.close()


def _id_of(name: str) -> int:
    """The row of a part: the number of a leaf, or a negative digest. The checksum covers the name."""
    if name.startswith("#"):
        return int(name[1:], 16)
    return ~(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") >> 1)


class _PostgresSnapshot:
    """Rows of a table in a schema of its own, through the connections of a store."""

    def __init__(self, link: Any, scope: str) -> None:
        self._link, self._scope, self._table_exists = link, scope, False

    def read(self, names: Sequence[str]) -> dict[str, bytes]:
        def work(connection: Any) -> dict[str, bytes]:
            if not self._has_table(connection):
                return {}
            query = "SELECT name, body FROM quire_index.parts WHERE scope = %s AND name = ANY(%s)"
            return dict(connection.execute(query, (self._scope, list(names)), binary=True).fetchall())

        found: dict[str, bytes] = self._link.run(work)
        return found

    def write(self, make: _Make, is_purge: bool) -> None:
        def work(connection: Any) -> bool:
            # `make` reads through this connection, because it may be the only one of a pool.
            with self._link.joining(connection), connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                to_write = make(self.read([_GENERATION]).get(_GENERATION))
                if to_write is None:
                    return False
                for statement in () if self._has_table(connection) else _CREATE:
                    connection.execute(statement)
                parts, is_update = to_write
                names = list(parts) if is_update else None
                connection.execute(_DELETE, (self._scope, names, names))
                with connection.cursor().copy(_COPY) as copy:
                    copy.set_types(["text", "text", "bytea"])
                    for name, body in parts.items():
                        if body is not None:
                            copy.write_row((self._scope, name, body))
                return True

        if self._link.run(work):
            self._link.run(_vacuum)

    def delete(self) -> None:
        def work(connection: Any) -> None:
            if self._has_table(connection):
                connection.execute(_DELETE, (self._scope, None, None))
                if not self._link.has_joined:  # no transaction
                    _vacuum(connection)

        self._link.run(work)

    def _has_table(self, connection: Any) -> bool:
        if not self._table_exists:
            (found,) = connection.execute("SELECT to_regclass('quire_index.parts')").fetchone()
            self._table_exists = found is not None
        return self._table_exists


def _vacuum(connection: Any) -> None:
    connection.execute("VACUUM quire_index.parts")


_Snapshot = _SQLiteSnapshot | _PostgresSnapshot

_TABLE = "CREATE TABLE IF NOT EXISTS parts (id INTEGER PRIMARY KEY, body BLOB NOT NULL)"
_LOCK = 0x51756978
"""The advisory lock of writers."""

_DELETE = "DELETE FROM quire_index.parts WHERE scope = %s AND (%s::text[] IS NULL OR name = ANY(%s))"
_COPY = "COPY quire_index.parts FROM STDIN (FORMAT BINARY)"
_CREATE = (
    "CREATE SCHEMA quire_index",
    "CREATE TABLE quire_index.parts"
    " (scope TEXT NOT NULL, name TEXT NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (scope, name))",
    "ALTER TABLE quire_index.parts ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE quire_index.parts ALTER body SET STATISTICS 0",
)
