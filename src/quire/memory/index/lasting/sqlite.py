"""Tables in a SQLite file of their own, for its owner alone, for several threads and processes at once."""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import msgspec

from quire.errors import QuireError, StoreDamaged, StoreError, StoreFailed
from quire.memory.index.lasting.tables import APPLICATION, SCHEMA, TABLES, VERSION, Asked, Row, Tables
from quire.stores.sqlite_file import PATIENCE, SQLiteFile
from quire.stores.store import Durability

_CACHE = -32_000
"""Kibibytes of pages that a connection holds at most."""

_LOG_PAGES = 4000
"""How far the log grows before it is worked into the file, as for a store: that waits for the disk."""

_NAP = 0.005
"""How long who waits for others sleeps before trying again: much less than a rest."""

_STINT, _REST = 0.5, 0.02
"""After so many seconds of writing, so many are left to others, who would starve: SQLite has no queue."""

_NONSENSE = (LookupError, ValueError, TypeError, OverflowError, AssertionError, msgspec.MsgspecError)
"""What comes of rows that are not as they were written, or not there."""

_UNLIKELY = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG)
"""What our statements meet in tables that are not as they were made."""

_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_Result = TypeVar("_Result")


class SQLiteTables(Tables):
    """One file, which may hold several scopes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = _IndexFile(path, "process")
        self._written = 0.0

    def read(self, work: Callable[[Asked], _Result]) -> _Result:
        file = self._file
        with file.guarded(), file.reading:
            return _within(file.reader(), "BEGIN", work)

    def write(self, work: Callable[[Asked], _Result]) -> _Result:
        file = self._file
        if self._written > _STINT:
            self._written = 0.0
            time.sleep(_REST)
        with file.guarded(), file.writing:
            connection = file.writer()
            _patiently(connection, "BEGIN IMMEDIATE")
            begun = time.monotonic()
            try:
                return _ended(connection, work)
            finally:
                self._written += time.monotonic() - begun

    def wipe(self) -> None:
        # SQLite overwrites what it deletes, but not the copies it left when it moved rows between pages.
        file = self._file
        with file.guarded(), file.writing:
            _patiently(file.writer(), "VACUUM")
        file.empty_log()

    def close(self) -> None:
        self._file.close()


class _IndexFile(SQLiteFile):
    """A file of which only the tables are others than those of a store.

    An error that is its own, and does not pass as that of one who waits for others does, has it as its
    `filename`: so a faulty index is told from a faulty store.
    """

    def __init__(self, path: str | os.PathLike[str], durable: Durability) -> None:
        try:
            super().__init__(path, durable)
        except StoreFailed as fault:
            if not isinstance(fault.__cause__, sqlite3.Error):  # it cannot even be made
                fault.filename = self.path
            raise

    @contextmanager
    def guarded(self) -> Generator[None, None, None]:
        """As for a store. And what is read here we wrote, so that it is damaged where it makes no sense."""
        try:
            with super().guarded():
                yield
        except QuireError:
            raise
        except _NONSENSE as error:
            raise self._damaged(type(error).__name__) from error

    def failure(self, error: sqlite3.Error) -> StoreError:
        found = super().failure(error)
        code = getattr(error, "sqlite_errorcode", None)
        is_unread = code is None and isinstance(error, sqlite3.OperationalError)  # no text, by its bytes
        if is_unread or code == sqlite3.SQLITE_IOERR_SHORT_READ or (code or 0) & 0xFF in _UNLIKELY:
            found = self._damaged(getattr(error, "sqlite_errorname", type(error).__name__))
        if (code or 0) & 0xFF not in _PASSING:
            found.filename = self.path
        return found

    def _damaged(self, why: str) -> StoreDamaged:
        fault = StoreDamaged(f"{self.path} is damaged ({why})")
        fault.filename = self.path
        return fault

    def prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")  # no words in files that nobody wipes
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        _settle(connection, self.path)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")


class _Asked(Asked):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, *values: object) -> list[Row]:
        found = self._connection.execute(_spelled(statement), [*map(_listed, values)])
        return found.fetchall()

    def many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(_spelled(statement), values)


@cache
def _spelled(statement: str) -> str:
    return (
        statement.replace("IN (??)", "IN (SELECT value FROM json_each(?))")
        .replace("SERIAL", "INTEGER")
        .replace("CLUSTERED", "WITHOUT ROWID")
    )


def _listed(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value


def _within(connection: sqlite3.Connection, begin: str, work: Callable[[Asked], _Result]) -> _Result:
    connection.execute(begin)
    return _ended(connection, work)


def _ended(connection: sqlite3.Connection, work: Callable[[Asked], _Result]) -> _Result:
    try:
        result = work(_Asked(connection))
        connection.execute("COMMIT")
        return result
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _settle(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables where there are none of this version."""
    if _within(connection, "BEGIN", lambda asked: _is_settled(asked, path)):
        return
    _patiently(connection, "PRAGMA journal_mode = WAL")
    _within(connection, "BEGIN IMMEDIATE", lambda asked: _make(asked, path))


def _is_settled(asked: Asked, path: str) -> bool:
    ((application,),) = asked.rows("PRAGMA application_id")
    ((version,),) = asked.rows("PRAGMA user_version")
    ((tables,),) = asked.rows("SELECT count(*) FROM sqlite_master")
    if application != APPLICATION and (application or version or tables):
        fault = StoreDamaged(f"{path} is no index of ours, and was left as it is: move it away")
        fault.filename = path
        raise fault
    return bool(tables) and version == VERSION


def _make(asked: Asked, path: str) -> None:
    if _is_settled(asked, path):  # another was first
        return
    for table in TABLES:
        asked.rows(f"DROP TABLE IF EXISTS {table}")
    for statement in SCHEMA:
        asked.rows(statement)
    # What an earlier version had is to be wiped, not only dropped.
    asked.rows("INSERT INTO about VALUES (?, 1, 1)", VERSION)
    asked.rows(f"PRAGMA application_id = {APPLICATION}")
    asked.rows(f"PRAGMA user_version = {VERSION}")


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Run what nobody else may run meanwhile, as soon as they let us."""
    # SQLite does not wait where two switch to a log at once; else it tries ten times a second, and so misses
    # the rest that others take.
    until = time.monotonic() + PATIENCE
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while not _is_run(connection, statement, is_last=time.monotonic() > until):
            time.sleep(_NAP)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


def _is_run(connection: sqlite3.Connection, statement: str, *, is_last: bool) -> bool:
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or is_last:
            raise
        return False
    return True
