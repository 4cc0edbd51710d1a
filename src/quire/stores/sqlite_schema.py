"""What the tables of a SQLite store are, and how those of earlier versions become them.

The schema's version is the database's `user_version`. A new one is one more function at the end of
`MIGRATIONS`; those before it never change.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from quire.errors import NewerStore, StoreDamaged

APPLICATION = 0x51756972
"""What SQLite calls an application id: it tells our databases from those of others."""

Migration = Callable[[sqlite3.Connection], None]

_log = logging.getLogger("quire.stores")


def _first(connection: sqlite3.Connection) -> None:
    # A number is never given twice: whoever remembers that of a forgotten conversation finds nothing there.
    connection.execute(
        "CREATE TABLE conversations ("
        " number INTEGER PRIMARY KEY AUTOINCREMENT,"
        " scope TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (scope, name))"
    )
    # `at` is number << 32 | version: one b-tree, where the key itself is the compare and swap.
    connection.execute(
        "CREATE TABLE entries (at INTEGER PRIMARY KEY, stream TEXT NOT NULL, body BLOB NOT NULL)"
    )


MIGRATIONS: tuple[Migration, ...] = (_first,)


def settle(
    connection: sqlite3.Connection,
    path: str,
    *,
    patience: float,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> None:
    """Bring a database up to date, all or nothing. What is not ours, or newer than this, is left as it is."""
    with _transaction(connection, "DEFERRED"):  # of one moment: another may be making the tables now
        found = _standing(connection, path, len(migrations))
    if found == len(migrations):
        return
    _keep_a_log(connection, path, patience)
    with _transaction(connection, "IMMEDIATE"):
        found = _standing(connection, path, len(migrations))  # another may have been first
        for migration in migrations[found:]:
            migration(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    if found:
        _log.info("a sqlite store was brought from version %d to %d", found, len(migrations))


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str) -> Generator[None, None, None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _standing(connection: sqlite3.Connection, path: str, newest: int) -> int:
    """The version of a database; 0 for an empty one."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if application == APPLICATION:
        if version > newest:
            raise NewerStore(f"{path} is of version {version}, and this Quire knows {newest}: update Quire")
        return version
    if application or version or tables:
        raise StoreDamaged(f"{path} is a database of another application, and was left as it is")
    return 0


def _keep_a_log(connection: sqlite3.Connection, path: str, patience: float) -> None:
    # SQLite does not wait when two switch at once, so we do.
    until = time.monotonic() + patience
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            break
    if mode != "wal":
        _log.warning(
            "a sqlite store keeps no write-ahead log here, so readers and writers wait for each other"
        )
