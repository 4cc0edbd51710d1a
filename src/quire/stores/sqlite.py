"""The SQLite store: one file, safe across threads and processes. The default."""

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from quire.errors import NewerStore, StoreDamaged, StoreError
from quire.stores.entries import (
    are_clear,
    check_bodies,
    check_seal,
    checked,
    conflict,
    damaged,
    entry_sum,
    is_sealed,
    seed_of,
    sum_of,
    summed,
    verified,
)
from quire.stores.salvage import recover_sqlite
from quire.stores.sqlite_file import SQLiteFile, in_transaction, patiently
from quire.stores.store import Damage, Durability, Entry, Place, Standing, Store, Stored

APPLICATION = 0x51756972
"""SQLite's application id: it tells our databases from those of others."""

VERSION = 2
"""The version of the tables, which is the database's `user_version`."""

_BITS = 32
_LAST = (1 << _BITS) - 1
_MOST_KNOWN = 10_000

# `at` is number << 32 | version: the key of one b-tree is the compare and swap. No number is given twice.
# A name is found by either index, so that a damaged index does not hide a conversation.
_TABLES = (
    "CREATE TABLE conversations (number INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL,"
    " name TEXT NOT NULL, version INTEGER NOT NULL, scope_sum INTEGER NOT NULL, name_sum INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX by_name ON conversations (scope, name)",
    "CREATE INDEX by_sum ON conversations (scope_sum, name_sum)",
    "CREATE TABLE entries"
    " (at INTEGER PRIMARY KEY, stream TEXT NOT NULL, body BLOB NOT NULL, sum INTEGER NOT NULL)",
    "CREATE TRIGGER counted AFTER INSERT ON entries BEGIN"
    " UPDATE conversations SET version = version + 1"
    f" WHERE number = new.at >> {_BITS} AND version = (new.at & {_LAST}) - 1;"
    " SELECT RAISE(ABORT, 'not the next version') WHERE changes() = 0; END",
)
_FIRST_TABLES = {"conversations", "entries", "sqlite_sequence", "sqlite_autoindex_conversations_1"}
"""What a store of version 1 has."""

# Version 1 had no sums and no counts. What may not be written is read through these.
_FIRST_VIEWS = (
    "CREATE TEMP VIEW conversations AS SELECT number, scope, name, coalesce((SELECT at & {last} FROM"
    " main.entries WHERE at BETWEEN number << {bits} AND number << {bits} | {last} ORDER BY at DESC LIMIT 1),"
    " 0) AS version, sum_of(scope) AS scope_sum, sum_of(name) AS name_sum FROM main.conversations",
    "CREATE TEMP VIEW entries AS SELECT at, stream, body, NULL AS sum FROM main.entries",
)
_UPGRADE = (
    "ALTER TABLE conversations RENAME TO first_conversations",
    "ALTER TABLE entries RENAME TO first_entries",
    *_TABLES,
    "INSERT INTO conversations SELECT number, scope, name, 0, sum_of(scope), sum_of(name)"
    " FROM first_conversations",
    "INSERT INTO entries SELECT at, stream, body, entry_sum(scope, name, at & {last}, stream, body)"
    " FROM first_entries JOIN first_conversations ON number = at >> {bits} ORDER BY at",
    "UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'first_conversations')"
    " WHERE name = 'conversations'",
    "DROP TABLE first_entries",
    "DROP TABLE first_conversations",
)

# Without the entry before it the stream is NULL, which the table refuses: an append that expects too much
# fails as one that expects too little does, by a constraint, and needs no statement more.
_ADD = "INSERT INTO entries VALUES (?, (SELECT ? FROM entries WHERE at = ?), ?, ?)"
_STANDING = f"""
    SELECT number, version, coalesce((SELECT at & {_LAST} FROM entries
        WHERE at BETWEEN number << {_BITS} AND number << {_BITS} | {_LAST} ORDER BY at DESC LIMIT 1), 0),
        name, name_sum, scope_sum
    FROM conversations"""
_READ = f"""
    SELECT version, at & {_LAST}, stream, body, sum FROM conversations LEFT JOIN entries
    ON at BETWEEN (number << {_BITS} | ?) + 1 AND number << {_BITS} | {_LAST}
    WHERE scope = ? AND name = ? ORDER BY at"""
_COUNT_BY_SUM = "SELECT count(*) FROM conversations WHERE scope_sum = ? AND scope = ?"
_BY_SUM = "SELECT scope, name FROM conversations WHERE scope_sum = ? AND name_sum = ?"

_log = logging.getLogger("quire.stores")


class SQLiteStore(Store):
    """All conversations in one file.

    With `durable="process"` the system decides when the disk is written: what was acknowledged survives the
    end of the process, not always the loss of power. With `"power"` every append waits for the disk.
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: Durability = "process") -> None:
        self._file = _File(path, durable)
        self.reports = self._file.reports
        # What an append checked already: the first row of a place, its sum, and whether it is in clear.
        self._known: dict[Place, tuple[int, int, bool]] = {}
        self._streams: set[str] = set()

    def __repr__(self) -> str:
        return f"<SQLiteStore {self._file.path!r}>"

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        known = self._known.get(place)
        if known is None or len(entries) != 1 or type(expected) is not int or not 0 < expected < _LAST:
            return self._append_checked(place, entries, expected)
        stream, body = entries[0]
        start, seed, is_clear = known
        if stream not in self._streams or type(body) is not bytes or not (is_clear or is_sealed(body)):
            return self._append_checked(place, entries, expected)
        row = (
            start + expected + 1,
            stream,
            start + expected,
            body,
            entry_sum(seed, expected + 1, stream, body),
        )
        file = self._file
        try:
            with file.writing:
                cursor = file.cursor or file.writer().cursor()
                file.check_place()
                cursor.execute(_ADD, row)
        except sqlite3.IntegrityError:  # another came first, or removed the conversation
            return self._append_checked(place, entries, expected)
        except sqlite3.Error as error:
            raise file.failure(error) from error
        return expected + 1

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = min(max(after, 0), _LAST)
        with self._file.snapshot() as connection:
            rows = connection.execute(_READ, (start, *place)).fetchall()
            if not rows:
                self._check_absent(connection, place)
                return []
            count = _number(rows[0][0])
            found = [] if rows[0][1] is None else [row[1:] for row in rows]
            return verified(place, min(start, count), count, found)

    def version(self, place: Place) -> int:
        with self._file.snapshot() as connection:
            return self._standing(connection, place)[1]

    def conversations(self, scope: str) -> dict[str, Standing]:
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            rows = connection.execute(f"{_STANDING} WHERE scope = ?", (scope,)).fetchall()
            others = connection.execute(_COUNT_BY_SUM, (sum_of(scope), scope)).fetchone()
        if others != (len(rows),) or any((_name_sum(row[3]), sum_of(scope)) != row[4:] for row in rows):
            raise StoreDamaged(f"{self.path} is damaged: the conversations of {scope!r} are not as written")
        standings = {
            name: Standing(_counted(Place(scope, name), version, last), str(number))
            for number, version, last, name, *_ in rows
        }
        return dict(sorted(standings.items()))

    def scopes(self) -> list[str]:
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            found = [row[0] for row in connection.execute("SELECT DISTINCT scope FROM conversations")]
            sums = {row[0] for row in connection.execute("SELECT DISTINCT scope_sum FROM conversations")}
        if {_name_sum(scope) for scope in found} != sums:
            raise StoreDamaged(f"{self.path} is damaged: the names of its scopes are not as written")
        return sorted(found)

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        with self._file.transaction() as connection:
            number, count = self._standing(connection, place)
            check_bodies(place, bodies, count)
            seed = seed_of(place)
            for version, body in bodies.items():
                at = number << _BITS | version
                row = connection.execute("SELECT stream FROM entries WHERE at = ?", (at,)).fetchone()
                if row is None:
                    raise damaged(place, version - 1, f"entry {version} is missing")
                values = (body, entry_sum(seed, version, row[0], body), at)
                connection.execute("UPDATE entries SET body = ?, sum = ? WHERE at = ?", values)

    def remove(self, place: Place) -> None:
        with self._file.transaction() as connection:
            row = connection.execute(f"{_STANDING} WHERE scope = ? AND name = ?", place).fetchone()
            if row is not None:
                start = row[0] << _BITS
                connection.execute("DELETE FROM entries WHERE at BETWEEN ? AND ?", (start, start | _LAST))
                connection.execute("DELETE FROM conversations WHERE number = ?", row[:1])
        self._known.pop(place, None)

    def scrub(self, *, wait: bool = True) -> None:
        """Rewrite the file without what was removed, and empty its log.

        SQLite overwrites what it deletes (`secure_delete`), but not copies that it left when it moved rows.
        """
        self._file.vacuum(wait=wait)

    def verify(self, place: Place | None = None) -> Iterator[Damage]:
        if place is None:
            try:
                with self._file.snapshot() as connection:
                    said = [
                        text for (text,) in connection.execute("PRAGMA integrity_check(100)") if text != "ok"
                    ]
            except StoreError as fault:
                said = [str(fault)]
            yield from (Damage(None, 0, text) for text in said)
        yield from super().verify(place)

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        return recover_sqlite(self.path)

    def close(self) -> None:
        self._file.close()

    def _append_checked(self, place: Place, entries: Sequence[Entry], expected: int) -> int:
        place = checked(place, entries, expected)
        with self._file.transaction() as connection:
            number, found = self._standing(connection, place)
            if found != expected:
                raise conflict(place, expected, found)
            if not entries:
                return found
            number = number or _new_number(connection, place)
            start, seed, is_clear = number << _BITS, seed_of(place), are_clear(entries)
            if is_clear and self._known.get(place) != (start, seed, True):
                first = connection.execute("SELECT body FROM entries WHERE at = ?", (start + 1,)).fetchone()
                if first:
                    check_seal(place, first[0])
            rows = [(start + version, *rest) for version, *rest in summed(place, entries, found)]
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
        if len(self._known) >= _MOST_KNOWN or len(self._streams) >= _MOST_KNOWN:
            self._known.clear()
            self._streams = set()
        self._known[place] = start, seed, is_clear
        self._streams.update(entry.stream for entry in entries)
        return found + len(entries)

    def _standing(self, connection: sqlite3.Connection, place: Place) -> tuple[int, int]:
        """The number and the version of a conversation; zeros where there is none."""
        row = connection.execute(f"{_STANDING} WHERE scope = ? AND name = ?", place).fetchone()
        if row is None:
            self._check_absent(connection, place)
            return 0, 0
        if row[4:] != (sum_of(place.conversation), sum_of(place.scope)):
            raise damaged(place, 0, "an index leads to another conversation")
        return row[0], _counted(place, row[1], row[2])

    def _check_absent(self, connection: sqlite3.Connection, place: Place) -> None:
        """`StoreDamaged` where one index finds a conversation that the other does not."""
        if place in connection.execute(_BY_SUM, (sum_of(place.scope), sum_of(place.conversation))).fetchall():
            named = connection.execute(f"{_STANDING} WHERE scope = ? AND name = ?", place).fetchone()
            if named is None:  # otherwise another process made it in between
                raise damaged(place, 0, "its name is missing in an index")


class _File(SQLiteFile):
    """The file of a store: its tables are made, checked or upgraded when it is opened."""

    reports: tuple[str, ...] = ()

    def prepare(self, connection: sqlite3.Connection) -> None:
        connection.create_function("sum_of", 1, sum_of, deterministic=True)
        connection.create_function("entry_sum", 5, _entry_sum, deterministic=True)
        with in_transaction(connection, "BEGIN"):  # of one moment: another may be making the tables now
            found = self._version(connection)
        if found == VERSION:
            return
        if not self.is_writable:
            _run(connection, _FIRST_VIEWS if found else _TABLES)
            return
        patiently(connection, "PRAGMA journal_mode = WAL")
        with in_transaction(connection, "BEGIN IMMEDIATE"):
            found = self._version(connection)  # another may have been first
            if found < VERSION:
                _run(connection, _UPGRADE if found else _TABLES)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        if found:
            _log.info("a sqlite store was brought from version %d to %d", found, VERSION)
        elif not self.is_new:
            self.reports = (f"{self.path} was an empty file: a new store was begun in it",)
            _log.warning("%s", self.reports[0])

    def _version(self, connection: sqlite3.Connection) -> int:
        """The version of the tables; 0 for an empty database. What is not ours is left as it is."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
        if application != APPLICATION and (application or version or tables):
            raise StoreDamaged(f"{self.path} is a database of another application, and was left as it is")
        if version > VERSION:
            raise NewerStore(
                f"{self.path} is of version {version}, and this Quire knows {VERSION}: update Quire"
            )
        texts = {sql for name, sql in tables if not str(name).startswith("sqlite_")}
        is_first = version == 1 and {name for name, _ in tables} == _FIRST_TABLES
        if (version == VERSION and texts == set(_TABLES)) or is_first or not (version or tables):
            return int(version)
        raise StoreDamaged(f"{self.path} is damaged: its tables are not those of version {version}")


def _run(connection: sqlite3.Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        connection.execute(statement.replace("{bits}", str(_BITS)).replace("{last}", str(_LAST)))


def _entry_sum(scope: str, name: str, version: int, stream: str, body: bytes) -> int:
    return entry_sum(seed_of(Place(scope, name)), version, stream, body)


def _new_number(connection: sqlite3.Connection, place: Place) -> int:
    values = (*place, sum_of(place.scope), sum_of(place.conversation))
    insert = "INSERT INTO conversations VALUES (NULL, ?, ?, 0, ?, ?) RETURNING number"
    return int(connection.execute(insert, values).fetchone()[0])


def _counted(place: Place, version: object, last: int) -> int:
    """The version of a conversation, if its count and its last entry agree."""
    if version != last:
        found = min(_number(version), last)
        raise damaged(
            place, found, f"its count of entries is {version!r}, and its last entry has version {last}"
        )
    return last


def _number(value: object) -> int:
    """A count as it was read: of any type, where the file is damaged."""
    return value if isinstance(value, int) else 0


def _name_sum(name: object) -> int | None:
    return sum_of(name) if isinstance(name, str) else None
