"""Tables in a SQLite file of their own, for its owner alone, for several threads and processes at once."""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import msgspec

from quire.errors import QuireError, StoreDamaged, StoreError
from quire.memory.index.lasting.tables import APPLICATION, SCHEMA, TABLES, VERSION, Asked, Row, Tables
from quire.stores.sqlite_file import PATIENCE, SQLiteFile

_CACHE = -32_000
"""Kibibytes of pages that a connection holds at most."""

_NAP = 0.02

_NONSENSE = (LookupError, ValueError, TypeError, OverflowError, AssertionError, msgspec.MsgspecError)
"""What comes of rows that are not as they were written, or not there."""

_UNLIKELY = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG)
"""What our statements meet in tables that are not as they were made."""

_Result = TypeVar("_Result")


class SQLiteTables(Tables):
    """One file, which may hold several scopes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = _IndexFile(path, "process")

    def read(self, work: Callable[[Asked], _Result]) -> _Result:
        file = self._file
        with file.guarded(), file.reading:
            return _within(file.reader(), "BEGIN", work)

    def write(self, work: Callable[[Asked], _Result]) -> _Result:
        file = self._file
        with file.guarded(), file.writing:
            return _within(file.writer(), "BEGIN IMMEDIATE", work)

    def wipe(self) -> None:
        # SQLite overwrites what it deletes, but not the copies it left when it moved rows between pages.
        file = self._file
        with file.guarded(), file.writing:
            file.writer().execute("VACUUM")
        file.empty_log()

    def close(self) -> None:
        self._file.close()


class _IndexFile(SQLiteFile):
    """A file of which only the tables are others than those of a store."""

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
        found.filename = self.path  # by which a damaged index is told from a damaged store
        return found

    def _damaged(self, why: str) -> StoreDamaged:
        fault = StoreDamaged(f"{self.path} is damaged ({why})")
        fault.filename = self.path
        return fault

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")  # no words in files that nobody wipes
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        _settle(connection, self.path)
        connection.execute("PRAGMA synchronous = NORMAL")


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
    _keep_a_log(connection)
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


def _keep_a_log(connection: sqlite3.Connection) -> None:
    # SQLite does not wait when two switch at once, so we do.
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_NAP)
