"""One SQLite file: its connections and locks, forks, read-only folders, and SQLite's errors as ours."""

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from quire.errors import InvalidValue, StoreDamaged, StoreError, StoreFailed
from quire.stores.store import Durability
from quire.stores.threads import at_forks

PATIENCE = 10.0
"""How long a verb waits for another writer, in seconds."""

_LOG_PAGES = 4000
"""The log grows to 16 MB before a checkpoint, which waits for the disk: four times SQLite's default."""

_PAUSE = 0.005
_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
_REASONS = {
    sqlite3.SQLITE_BUSY: f"is busy: another held it for {PATIENCE:.0f} seconds",
    sqlite3.SQLITE_LOCKED: "is busy",
    sqlite3.SQLITE_FULL: "has no room left",
    sqlite3.SQLITE_READONLY: "may not be written",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_PERM: "may not be opened",
    sqlite3.SQLITE_IOERR: "could not be read or written",
    sqlite3.SQLITE_NOMEM: "needs more memory than there is",
    sqlite3.SQLITE_TOOBIG: "has or was given a value that is too large",
    sqlite3.SQLITE_MISUSE: "was closed",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
}


class SQLiteFile:
    """A file with one connection that writes and one that reads. A caller holds `writing` or `reading`.

    `cursor` belongs to the connection that writes, once that is open: making one costs as much as a lookup.
    A file that may not be written, or whose folder may not, is opened to be read.
    """

    def __init__(self, path: str | os.PathLike[str], durable: Durability) -> None:
        if durable not in _SYNCHRONOUS:
            raise InvalidValue("durable is 'process' or 'power'")
        self.path = os.path.abspath(path)
        self.writing = Lock()
        self.reading = Lock()
        self.cursor: sqlite3.Cursor | None = None
        self._synchronous = _SYNCHRONOUS[durable]
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._closed = False
        self.is_new = _create(self.path)
        self.is_writable = os.access(self.path, os.W_OK) and os.access(os.path.dirname(self.path), os.W_OK)
        self._identity = _identity(self.path)
        at_forks(self)  # before it is opened: SQLite has locks of its own, which a fork would copy
        with self.guarded(), self.writing, self.reading:
            _ = self.writer() if self.is_writable else self.reader()

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Called for a new connection before its first use: to look at the tables, or to make them."""

    def writer(self) -> sqlite3.Connection:
        """The connection that writes; opened again in a forked process."""
        if self._writer is None:
            if not self.is_writable:
                raise StoreFailed(f"{self.path} may not be written")
            self._writer = self._connected()
            self.cursor = self._writer.cursor()
        return self._writer

    def reader(self) -> sqlite3.Connection:
        """The connection that reads, so that a long read delays no writer."""
        if self._reader is None:
            self._reader = self._connected()
        return self._reader

    def check_place(self) -> None:
        """`StoreFailed` where the path no longer leads to the open file: what is written would be lost."""
        if _identity(self.path) != self._identity:
            raise StoreFailed(f"{self.path} was deleted, moved or replaced while it was open: open it again")

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """A transaction that writes."""
        with self.guarded(), self.writing:
            connection = self.writer()
            self.check_place()
            patiently(connection, "BEGIN IMMEDIATE", PATIENCE)
            with ended(connection):
                yield connection

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection, None, None]:
        """The connection that reads, for as long as the block runs."""
        with self.guarded(), self.reading:
            connection = self.reader()
            self.check_place()
            yield connection

    def vacuum(self, *, wait: bool = True) -> None:
        """Rewrite the file without what was deleted, and empty its log; `StoreFailed` where others use it.

        The log is emptied first: where others keep it in use, rewriting the file would be for nothing.
        """
        with self.guarded(), self.writing:
            connection = self.writer()
            self.check_place()
            for statement in (_EMPTY_LOG, "VACUUM", _EMPTY_LOG):
                if not patiently(connection, statement, PATIENCE if wait else 0):
                    raise StoreFailed(
                        f"{self.path} is in use by another, and its log could not be emptied: "
                        "removed content may still be in it"
                    )

    def close(self) -> None:
        """Close both connections, after running verbs."""
        with self.guarded(), self.writing, self.reading:
            self._closed = True
            self._disconnect()

    def before_fork(self) -> None:
        """Wait until no connection is in use, so that the child can close what it inherits."""
        self.writing.acquire()
        self.reading.acquire()

    def after_fork(self, *, is_child: bool) -> None:
        """Release the locks; the child first closes the connections that it inherited.

        SQLite's locks on files stay with the parent, and SQLite does not notice: an inherited connection, or
        a new one beside it, would write to a log that others believe they may delete.
        """
        if is_child:
            self._disconnect()
        self.reading.release()
        self.writing.release()

    @contextmanager
    def guarded(self) -> Generator[None, None, None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.failure(error) from error
        except MemoryError as error:  # a damaged length asks for more than there is
            raise StoreFailed(f"{self.path} {_REASONS[sqlite3.SQLITE_NOMEM]}") from error
        except UnicodeEncodeError:
            raise InvalidValue("a name is made of printable characters") from None

    def failure(self, error: sqlite3.Error) -> StoreError:
        """Our error for an error of SQLite."""
        if self._closed:
            return StoreFailed(f"{self.path} was closed")
        full = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)  # without one: a text is no UTF-8
        code, name = full & 0xFF, getattr(error, "sqlite_errorname", type(error).__name__)
        if code == sqlite3.SQLITE_NOTADB:
            return StoreDamaged(f"{self.path} is not a SQLite database, and was left as it is")
        if code not in _REASONS or full == sqlite3.SQLITE_IOERR_SHORT_READ:
            # The statements are right, so the tables are not what they were.
            return StoreDamaged(f"{self.path} is damaged ({name})")
        return StoreFailed(f"{self.path} {_REASONS[code]} ({name})")

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreFailed(f"{self.path} was closed")
        connection = sqlite3.connect(
            self._address(), timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.execute("PRAGMA secure_delete = ON")
            self.prepare(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _address(self) -> str:
        name = f"file:{quote(self.path)}"
        if self.is_writable:
            return f"{name}?mode=rw"
        # Without a log, SQLite would have to make one. Nobody can write there, so it can do without.
        return f"{name}?mode=ro" if os.path.exists(f"{self.path}-wal") else f"{name}?immutable=1"

    def _disconnect(self) -> None:
        connections = (self._writer, self._reader)
        self.cursor = self._writer = self._reader = None
        for connection in connections:
            if connection is not None:
                connection.close()


@contextmanager
def ended(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Commit at the end of a block, or roll back."""
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def patiently(connection: sqlite3.Connection, statement: str, patience: float = PATIENCE) -> bool:
    """Run a statement that needs the file alone, until it succeeds or the time is over; whether it succeeded.

    SQLite's own waiting sleeps up to a tenth of a second, misses short pauses of other writers, and does not
    wait at all where two switch to a log at once.
    """
    until = time.monotonic() + patience
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            is_over = time.monotonic() > until
            try:
                row = connection.execute(statement).fetchone()
                if statement != _EMPTY_LOG or not row[0] or is_over:
                    return statement != _EMPTY_LOG or not row[0]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or is_over:
                    raise
            time.sleep(_PAUSE)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def _create(path: str) -> bool:
    """Create a file that is not there, for its owner alone; SQLite gives files beside it the same mode."""
    if os.path.isdir(path):
        raise StoreFailed(f"{path} is a folder")
    try:
        if os.path.exists(path):
            return False
        for folder in reversed(Path(path).parents):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except (OSError, ValueError) as error:
        raise StoreFailed(f"{path} cannot be made ({type(error).__name__})") from error
    return True
