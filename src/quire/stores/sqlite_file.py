"""One SQLite file: made for its owner alone, with one connection to write and one to read."""

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from quire.errors import InvalidValue, StoreDamaged, StoreError, StoreFailed
from quire.stores.bare_files import bare, identity_of, share
from quire.stores.forking import watch
from quire.stores.sqlite_schema import settle
from quire.stores.store import Durability

PATIENCE = 10.0
"""How long a verb waits for another writer, in seconds."""

_LOG_PAGES = 4000
"""How far the log grows before it is worked into the file, which waits for the disk: 16 MB, four times what
SQLite does by itself."""

_NAP = 0.02
_TURN = 250
"""Milliseconds that one try to empty the log waits for readers: so long it keeps writers waiting too."""

_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
_REASONS = {
    sqlite3.SQLITE_BUSY: f"is busy: another held it for {PATIENCE:.0f} seconds",
    sqlite3.SQLITE_LOCKED: "is busy",
    sqlite3.SQLITE_FULL: "has no room left",
    sqlite3.SQLITE_READONLY: "may not be written",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_IOERR: "could not be read or written",
}


class SQLiteFile:
    """A file and its two connections. Whoever uses one holds its lock: `writing`, `reading`.

    `adder` is a cursor of the one that writes, if that is open: to make one costs as much as a small lookup.
    """

    def __init__(self, path: str | os.PathLike[str], durable: Durability) -> None:
        if durable not in _SYNCHRONOUS:
            raise InvalidValue('durable is "process" or "power"')
        self.path = os.path.abspath(path)
        self.writing = Lock()
        self.reading = Lock()
        self._synchronous = _SYNCHRONOUS[durable]
        self.adder: sqlite3.Cursor | None = None
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._closed = False
        _make(self.path)
        watch(self)  # before it is opened: SQLite has locks of its own, which a fork would copy
        with self.guarded(), self.writing:
            self.writer()
        self._identity = identity_of(self.path) or (0, 0)
        self._let_go_of_bytes = share(self, self._identity)

    def writer(self) -> sqlite3.Connection:
        """The connection that writes; opened again in a process that was forked off."""
        if self._writer is None:
            self._writer = self._connected()
            self.adder = self._writer.cursor()
        return self._writer

    def reader(self) -> sqlite3.Connection:
        """The connection that reads, so that a long reading holds up no writer."""
        if self._reader is None:
            self._reader = self._connected()
        return self._reader

    def check_place(self) -> None:
        """`StoreFailed` where the path no longer leads to the file that is open: nobody would find that."""
        if identity_of(self.path) != self._identity:
            raise StoreFailed(f"{self.path} was deleted, moved or replaced while it was open: open it again")

    def bare(self) -> int:
        """What its bytes are read by, as they are on the disk."""
        self.check_place()
        return bare(self.path, self._identity)

    def empty_log(self, *, waits: bool = True) -> None:
        """Work the log into the file and leave nothing in it; `StoreFailed` where others keep it in use.

        SQLite waits for readers, but not for another who works the log into the file at the moment. Who does
        not wait tries once.
        """
        until = time.monotonic() + PATIENCE
        while not self._is_log_emptied(_TURN if waits else 0):
            if not waits or time.monotonic() > until:
                raise StoreFailed(
                    f"{self.path} is in use by another, and its log could not be emptied: "
                    "what was forgotten may still be in it"
                )
            time.sleep(_NAP)

    def close(self) -> None:
        """Close both connections, after those who use them now."""
        with self.guarded(), self.writing, self.reading:
            self._closed = True
            self.drop()
            self._let_go_of_bytes()

    def drop(self) -> None:
        """Close both connections, both locks being held."""
        connections = (self._writer, self._reader)
        self.adder = self._writer = self._reader = None
        for connection in connections:
            if connection is not None:
                connection.close()

    def hold(self) -> None:
        """At a fork: no connection is in use, so that the child can close what it inherits."""
        self.writing.acquire()
        self.reading.acquire()

    def let_go(self) -> None:
        """After a fork."""
        self.reading.release()
        self.writing.release()

    def begin_anew(self) -> None:
        """In a process that was forked off: close what was inherited."""
        # The locks that SQLite holds on files stay with the parent, and SQLite does not notice: an inherited
        # connection, or a new one beside it, would write to a log that others believe they may delete.
        self.drop()

    @contextmanager
    def guarded(self) -> Generator[None, None, None]:
        """Whatever SQLite raises within becomes an error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.failure(error) from error
        except UnicodeEncodeError:
            raise InvalidValue("a name is made of printable characters") from None

    def failure(self, error: sqlite3.Error) -> StoreError:
        """What an error of SQLite is called here."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if code == sqlite3.SQLITE_NOTADB:
            return StoreDamaged(f"{self.path} is not a SQLite database, and was left as it is")
        if code == sqlite3.SQLITE_CORRUPT:
            return StoreDamaged(f"{self.path} is damaged ({name})")
        return StoreFailed(f"{self.path} {_REASONS.get(code, 'failed')} ({name})")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables what they are to be, and choose how they are written."""
        settle(connection, self.path, patience=PATIENCE)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")

    def _is_log_emptied(self, turn: int) -> bool:
        with self.guarded(), self.writing:
            connection = self.writer()
            connection.execute(f"PRAGMA busy_timeout = {turn}")
            try:
                return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreFailed(f"{self.path} was closed")
        connection = sqlite3.connect(
            self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _make(path: str) -> None:
    """Make a file that is not there yet, its owner's alone; SQLite gives those beside it the same mode."""
    if os.path.isdir(path):
        raise StoreFailed(f"{path} is a folder")
    try:
        for folder in reversed(Path(path).parents):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except (OSError, ValueError) as error:
        raise StoreFailed(f"{path} cannot be made ({type(error).__name__})") from error
