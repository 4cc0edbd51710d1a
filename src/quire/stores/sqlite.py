"""The SQLite store: one file, safe across threads and processes. The default."""

import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from quire.errors import OutOfRange, StoreFailed
from quire.stores.beside import tell
from quire.stores.place import Place
from quire.stores.recalls import begin_forgetting
from quire.stores.seals import check_seal
from quire.stores.sqlite_file import SQLiteFile
from quire.stores.sqlite_wiping import wipe
from quire.stores.store import Durability, Entry, Standing, Store, Stored
from quire.stores.versions import checked, conflict, whole_row
from quire.stores.wiping import Wiping

_BITS = 32
_LAST = (1 << _BITS) - 1
_REMEMBERED = 10_000
_INDEX = ("-index-shm", "-index-wal", "-index")
"""The files of the index that a room above may keep beside a store."""

# Without the entry before it the stream is NULL, which the table refuses: an append that expects too much
# fails as one that expects too little does, by a constraint, and costs no statement more.
_ADD = "INSERT INTO entries VALUES (?, (SELECT ? FROM entries WHERE at = ?), ?)"
_ADD_MANY = "INSERT INTO entries VALUES (?, ?, ?)"
_NUMBER = "SELECT number FROM conversations WHERE scope = ? AND name = ?"
_VERSION = f"""
    SELECT (SELECT at & {_LAST} FROM entries
            WHERE at BETWEEN number << {_BITS} AND number << {_BITS} | {_LAST} ORDER BY at DESC LIMIT 1)
    FROM conversations WHERE scope = ? AND name = ?"""
_STANDINGS = f"""
    SELECT name, coalesce((SELECT at & {_LAST} FROM entries
            WHERE at BETWEEN number << {_BITS} AND number << {_BITS} | {_LAST} ORDER BY at DESC LIMIT 1), 0),
        number
    FROM conversations WHERE scope = ? ORDER BY name"""
_READ = f"""
    SELECT at & {_LAST}, stream, body FROM conversations JOIN entries
    ON at BETWEEN (number << {_BITS} | ?) + 1 AND number << {_BITS} | {_LAST}
    WHERE scope = ? AND name = ? ORDER BY at"""


class SQLiteStore(Store):
    """All conversations in one file.

    `durable="process"` leaves it to the system when the disk is written: an append costs some 20 µs, and what
    was acknowledged survives the end of the process, not always the loss of power. With `"power"` every
    append waits for the disk. `forget` reads the whole file, and overwrites whatever of it stayed behind.
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: Durability = "process") -> None:
        self._file = SQLiteFile(path, durable)
        # What was checked already, so that the next append need not ask for it.
        self._starts: dict[Place, int] = {}
        self._streams: set[str] = set()
        self.wiping = Wiping(self._wipe)

    def __repr__(self) -> str:
        return f"<SQLiteStore {self._file.path!r}>"

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        """Add entries, all or none, and give the new version."""
        start = self._starts.get(place)
        if start is None or len(entries) != 1 or not 0 < expected < _LAST:
            return self._append_checked(place, entries, expected)
        stream, body = entries[0]
        if stream not in self._streams:
            return self._append_checked(place, entries, expected)
        at = start + expected
        file = self._file
        try:
            with file.writing:
                adder = file.adder or file.writer()
                file.check_place()
                adder.execute(_ADD, (at + 1, stream, at, body))
        except sqlite3.IntegrityError:  # another came first, or forgot the conversation
            return self._append_checked(place, entries, expected)
        except sqlite3.Error as error:
            raise file.failure(error) from error
        return expected + 1

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        """The entries of a place from a version on."""
        start = min(max(after, 0), _LAST)
        with self._reading() as connection:
            found = list(map(Stored._make, connection.execute(_READ, (start, *place))))
        return whole_row(place, start, found)

    def version(self, place: Place) -> int:
        """How many entries a place has."""
        with self._reading() as connection:
            return _version(connection, place)

    def conversations(self, scope: str) -> list[str]:
        """The names of the conversations of one scope."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT name FROM conversations WHERE scope = ? ORDER BY name", (scope,)
            )
            return [name for (name,) in rows]

    def standings(self, scope: str) -> dict[str, Standing]:
        """How far every conversation of one scope has come, of one moment."""
        with self._reading() as connection:
            rows = connection.execute(_STANDINGS, (scope,)).fetchall()
        return {name: Standing(version, str(number)) for name, version, number in rows}

    def scopes(self) -> list[str]:
        """All scopes."""
        with self._reading() as connection:
            return [
                scope
                for (scope,) in connection.execute("SELECT DISTINCT scope FROM conversations ORDER BY 1")
            ]

    def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
        """Put other bodies in the place of some, or take the whole away; then wipe the file."""
        if bodies is not None:
            with self._writing() as connection:
                _replace(connection, place, _number(connection, place) or 0, bodies)
            self.wiping.after(place)
            return
        if not begin_forgetting(self, place):
            return
        with self.wiping.once():
            with self._writing() as connection:
                _remove(connection, _number(connection, place))
            self._starts.pop(place, None)
            self.wiping.after(place)
            if not tell(self, place):
                self._take_index_away()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append_checked(self, place: Place, entries: Sequence[Entry], expected: int) -> int:
        place, streams = checked(place, entries)
        with self._writing() as connection:
            found = _version(connection, place)
            if found != expected:
                raise conflict(place, expected, found)
            if not entries:
                return found
            number = _number(connection, place) or _added(connection, place)
            start = number << _BITS
            if self._starts.get(place) != start:
                _look_at(connection, place, start, entries)
            rows = [(at, *entry) for at, entry in enumerate(entries, start + found + 1)]
            connection.executemany(_ADD_MANY, rows)
        self._remember(place, start, streams)
        return found + len(entries)

    def _remember(self, place: Place, start: int, streams: set[str]) -> None:
        if len(self._starts) >= _REMEMBERED or len(self._streams) >= _REMEMBERED:
            self._starts.clear()
            self._streams = set()
        self._starts[place] = start
        self._streams |= streams

    def _wipe(self, place: Place) -> None:
        wipe(self._file, self._writing, waits=self.wiping.waits)

    def _take_index_away(self) -> None:
        # Nobody here knows what is in it, but other processes may have made one, and may again: it is a copy.
        for ending in _INDEX:
            try:
                os.remove(self.path + ending)
            except FileNotFoundError:
                pass
            except OSError as error:
                raise StoreFailed(
                    f"{self.path}{ending} cannot be removed ({type(error).__name__})"
                ) from error

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection, None, None]:
        with self._file.guarded(), self._file.reading:
            connection = self._file.reader()
            self._file.check_place()
            yield connection

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection, None, None]:
        with self._file.guarded(), self._file.writing:
            connection = self._file.writer()
            self._file.check_place()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection, place: Place) -> int:
    row = connection.execute(_VERSION, place).fetchone()
    return int(row[0] or 0) if row else 0


def _number(connection: sqlite3.Connection, place: Place) -> int | None:
    row = connection.execute(_NUMBER, place).fetchone()
    return int(row[0]) if row else None


def _look_at(connection: sqlite3.Connection, place: Place, start: int, entries: Sequence[Entry]) -> None:
    row = connection.execute("SELECT body FROM entries WHERE at = ?", (start + 1,)).fetchone()
    if row:
        check_seal(place, row[0], entries)


def _added(connection: sqlite3.Connection, place: Place) -> int:
    return int(
        connection.execute(
            "INSERT INTO conversations (scope, name) VALUES (?, ?) RETURNING number", place
        ).fetchone()[0]
    )


def _remove(connection: sqlite3.Connection, number: int | None) -> None:
    if number is not None:
        entries = (number << _BITS, number << _BITS | _LAST)
        connection.execute("DELETE FROM entries WHERE at BETWEEN ? AND ?", entries)
        connection.execute("DELETE FROM conversations WHERE number = ?", (number,))
        # The names are in its index too, and copies of them where that moved them: it is made anew.
        connection.execute("REINDEX conversations")


def _replace(connection: sqlite3.Connection, place: Place, number: int, bodies: Mapping[int, bytes]) -> None:
    for version, body in bodies.items():
        known = 0 < version <= _LAST
        at = (number << _BITS) + version
        if (
            not known
            or not connection.execute("UPDATE entries SET body = ? WHERE at = ?", (body, at)).rowcount
        ):
            raise OutOfRange(f"{place} has no version {version}")
