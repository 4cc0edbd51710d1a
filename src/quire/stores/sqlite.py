"""The SQLite store: one file, safe across threads and processes. The default."""

import json
import logging
import os
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from heapq import merge
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.parse import quote
from weakref import WeakSet
from zlib import crc32

from quire.errors import InvalidValue, StoreDamaged, StoreError, StoreFailed
from quire.stores.salvage import recover_sqlite
from quire.stores.store import (
    JOBS,
    Changes,
    Damage,
    Durability,
    Entry,
    Opening,
    Place,
    Recent,
    Standing,
    Store,
    Stored,
    by_activity,
    check_bodies,
    check_place,
    check_process,
    check_version,
    checked_append,
    checked_checkpoint,
    checked_path,
    checked_scope,
    checked_start,
    checked_stream,
    checked_versions,
    conflict,
    damaged,
    entry_sum,
    newest_first,
    part_stream,
    sum_of,
    summed,
    this_process,
    verified,
    verified_at,
    waits_for_disk,
    whole_entries,
)
from quire.stores.streams import LINKS

APPLICATION = 0x51756972
"""SQLite's application id: it tells our databases from those of others."""

VERSION = 6
"""The version of the tables, which is the database's `user_version`."""

PATIENCE = 10.0
"""How long a verb waits for another writer, in seconds."""

_BITS = 32
_LAST = (1 << _BITS) - 1
_PAGE = 4096
_REMOVED = -1
_MOST_KNOWN = 10_000
_MOST_CHANGES = 10_000
_PAUSE, _UNMOVED = 0.005, 0.005
_LOG_PAGES = 4000
"""The log grows to 16 MB before a checkpoint, which waits for the disk: four times SQLite's default."""

_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"

# Entries are only added at the end of their table, and what is erased is emptied in its place. So SQLite
# never moves rows between pages, which leaves copies behind: all that is erased is overwritten
# (`secure_delete`).
# `versions` leads to the entries of a conversation: `at` is number << 32 | version. After its last entry
# every conversation has an end, whose id is the negative version. An append looks for it; the trigger puts
# the id of the entry in its place, and adds the next end. So one statement compares, writes and counts; and a
# conversation whose last rows are lost is noticed, since it has no end. For example, ana/q3 with two entries,
# where it is the first conversation of the file:
#     conversations  (1, 'ana', 'q3', sum of 'ana', sum of 'q3', 0)
#     entries        (1, 1 << 32, 'ana', 'q3', sum of the names)
#                    (2, 1 << 32 | 1, 'main', '{"kind":"message",…}', sum of the entry)
#                    (3, 1 << 32 | 2, 'main', '{"kind":"message",…}', sum of the entry)
#     versions       (1 << 32, 1), (1 << 32 | 1, 2), (1 << 32 | 2, 3), (1 << 32 | 3, -3)
# The entry of version 0 has the names once more, to recover a damaged file. Names are found by their sums, in
# two indexes, so that a damaged index does not hide a conversation.
# A part of a checkpoint is an entry too: its `at` is ~(number << 32 | part), and its stream says the version
# and the needs. The head is part 0, and its sum covers the entries that it needs.
# At 0, `versions` counts the bytes that emptied rows take at most.
_TABLES = (
    "CREATE TABLE conversations (number INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL,"
    " name TEXT NOT NULL, scope_sum INTEGER NOT NULL, name_sum INTEGER NOT NULL,"
    " has_jobs INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX with_jobs ON conversations (number) WHERE has_jobs",
    "CREATE INDEX by_sum ON conversations (scope_sum, name_sum)",
    "CREATE INDEX by_same_sum ON conversations (scope_sum, name_sum)",
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, stream TEXT NOT NULL,"
    " body BLOB NOT NULL, sum INTEGER NOT NULL)",
    "CREATE TABLE versions (at INTEGER PRIMARY KEY, id INTEGER NOT NULL)",
    "CREATE TRIGGER appended AFTER INSERT ON entries BEGIN"
    " INSERT OR REPLACE INTO versions VALUES (new.at, new.id);"
    f" INSERT OR IGNORE INTO versions SELECT new.at + 1, -(new.at + 1 & {_LAST}) WHERE new.at > 0; END",
    "CREATE TRIGGER emptied AFTER UPDATE ON entries BEGIN"
    f" UPDATE versions SET id = id + min(length(old.body), {_PAGE}) WHERE at = 0; END",
)

_BY_SUMS = "scope_sum = ? AND name_sum = ?"
_IN_PLACE = f"{_BY_SUMS} AND scope = ? AND name = ?"
_FILL_END = "INSERT INTO entries SELECT NULL, at, ?, ?, ? FROM versions WHERE at = ? AND id < 0"
_ADD = "INSERT INTO entries VALUES (NULL, ?, ?, ?, ?)"
_EMPTY = "UPDATE entries SET at = 0, stream = '', body = x'', sum = 0 WHERE id"
_START = f"(SELECT number << {_BITS} FROM conversations WHERE {_IN_PLACE})"
_READ = f"""
    SELECT versions.at & {_LAST}, iif(versions.id < 0, '', stream), body, sum
    FROM versions LEFT JOIN entries ON entries.id = versions.id
    WHERE versions.at > ({_START} | ?) AND versions.at <= ({_START} | {_LAST}) ORDER BY versions.at"""
_READ_AT = f"""
    SELECT versions.at & {_LAST}, stream, body, sum FROM conversations CROSS JOIN json_each(?)
    CROSS JOIN versions ON versions.at = number << {_BITS} | value AND value > 0
    CROSS JOIN entries ON entries.id = versions.id WHERE {_IN_PLACE}"""
_VERSIONS = f"""
    SELECT versions.at & {_LAST} FROM versions CROSS JOIN entries ON entries.id = versions.id
    WHERE versions.at > {_START} AND versions.at <= ({_START} | ?) AND stream = ?
    ORDER BY versions.at DESC LIMIT ?"""
_PARTS = f"""
    SELECT value, stream, body, sum FROM conversations CROSS JOIN json_each(?)
    CROSS JOIN versions ON versions.at = ~(number << {_BITS} | value)
    CROSS JOIN entries ON entries.id = versions.id WHERE {_IN_PLACE} AND stream = '{part_stream(0, [])}'"""
_HEAD = f"""
    SELECT number << {_BITS}, stream, body, sum FROM conversations CROSS JOIN versions
    ON versions.at = ~(number << {_BITS}) CROSS JOIN entries ON entries.id = versions.id WHERE {_IN_PLACE}"""
_NAMED = """
    SELECT CAST(group_concat(body, ',') AS BLOB), CAST(group_concat(stream || ' ' || sum) AS BLOB)
    FROM json_each(?) CROSS JOIN versions ON versions.at = ? | value
    CROSS JOIN entries ON entries.id = versions.id"""
_END = f"""
    (SELECT max(at) FROM versions WHERE at BETWEEN number << {_BITS} AND number << {_BITS} | {_LAST})"""
_STANDING = f"""
    SELECT scope, name, number, at & {_LAST}, id FROM conversations INDEXED BY by_sum
    LEFT JOIN versions ON at = {_END} WHERE scope_sum = ?"""
_CHANGED = f"""
    SELECT scope, name, number, at & {_LAST}, id
    FROM (SELECT DISTINCT at >> {_BITS} AS changed FROM entries WHERE id > ? AND at > 0)
    CROSS JOIN conversations ON number = changed LEFT JOIN versions ON at = {_END} WHERE scope_sum = ?"""
_LATEST = f"""
    SELECT (SELECT coalesce(max(id), 0) FROM entries),
    (SELECT count(*) FROM conversations INDEXED BY by_sum WHERE scope_sum = {_REMOVED})"""
_RECENT = f"""
    SELECT scope, name, number, ending.at & {_LAST}, ending.id, body FROM conversations
    LEFT JOIN versions AS ending ON ending.at = {_END}
    LEFT JOIN versions AS last ON last.at = ending.at - 1 LEFT JOIN entries ON entries.id = last.id"""
_SINCE = f"AND number IN (SELECT at >> {_BITS} FROM entries WHERE id > ? AND at > 0)"
_COUNTS = f"""
    SELECT scope, name, ({_END} & {_LAST}) - 1 FROM json_each(?) CROSS JOIN conversations
    ON scope_sum = json_extract(value, '$[0]') AND name_sum = json_extract(value, '$[1]')"""
_WITH_JOBS = f"SELECT scope, name FROM conversations WHERE has_jobs AND scope_sum <> {_REMOVED} AND "
_MARK = "UPDATE conversations SET has_jobs = ? WHERE number = ? AND has_jobs <> ?"
_COUNT = "SELECT count(*) FROM conversations INDEXED BY by_same_sum WHERE"

_log = logging.getLogger("quire.stores")


class _Moment(NamedTuple):
    """A commit as the connection that reads knows it, the last entry by then, and how many removals."""

    commit: int
    last: int
    removed: int


class SQLiteStore(Store):
    """All conversations in one file.

    With `durable="process"` the system decides when the disk is written: what was acknowledged survives the
    end of the process, not always the loss of power. With `"power"` every append waits for the disk.
    """

    has_checkpoints = knows_open_jobs = True

    def __init__(self, path: str | os.PathLike[str], *, durable: Durability = "process") -> None:
        self._file = _File(path, durable)
        self.reports = self._file.reports
        # What an append has checked already: streams, and places with the row before their first entry.
        self._known: dict[Place, int] = {}
        self._streams: set[str] = set()
        self._recent: tuple[str | None, _Moment, list[Recent]] = ("", _Moment(-1, 0, 0), [])  # of a scope
        self._counted: tuple[int, dict[Place, int]] = (-1, {})  # versions of watched places, as of a commit

    def __repr__(self) -> str:
        return f"<SQLiteStore {self.path!r}>"

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int, settled: bool = False) -> int:
        start = self._known.get(place) if type(place) is Place else None
        if start is None or len(entries) != 1 or type(expected) is not int or not 0 < expected < _LAST:
            return self._append_checked(place, entries, expected, settled)
        stream, body = entries[0]
        if stream not in self._streams or stream == JOBS or type(body) is not bytes:
            return self._append_checked(place, entries, expected, settled)
        version, file = expected + 1, self._file
        check_process(file.process)
        row = (stream, body, entry_sum(*place, version, stream, body), start + version)
        try:
            with file.writing:
                cursor = file.cursor or file.writer().cursor()
                if monotonic() > file.unmoved_until:
                    file.check_place()
                is_added = cursor.execute(_FILL_END, row).rowcount == 1
        except sqlite3.Error as error:
            raise file.failure(error) from error
        if not is_added:  # another came first, or removed the conversation
            return self._append_checked(place, entries, expected, settled)
        if self._watching is not None:
            self._watching.hear(place, version)
        return version

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = min(checked_start(place, after), _LAST)
        with self._file.snapshot() as connection:
            rows = connection.execute(_READ, (*_where(place), start, *_where(place))).fetchall()
            if not rows:
                with in_transaction(connection, "BEGIN"):
                    rows = connection.execute(_READ, (*_where(place), start, *_where(place))).fetchall()
                    if not rows and self._standing(connection, place)[1] <= start:
                        return []
        return _verified(place, start, rows)

    def read_at(self, place: Place, versions: Sequence[int]) -> list[Stored]:
        wanted = checked_versions(place, versions)
        with self._file.snapshot() as connection:
            rows = connection.execute(_READ_AT, (str(wanted), *_where(place))).fetchall()
        return verified_at(place, wanted, rows)

    def versions_of(
        self, place: Place, stream: str, *, before: int | None = None, limit: int | None = None
    ) -> list[int]:
        checked_stream(stream)
        last = min(checked_start(place, _LAST if before is None else before), _LAST) - 1
        with self._file.snapshot() as connection:
            most = -1 if limit is None else checked_start(place, limit)
            values = (*_where(place), *_where(place), last, stream, most)
            return [row[0] for row in connection.execute(_VERSIONS, values)][::-1]

    def version(self, place: Place) -> int:
        check_place(place)
        with self._file.snapshot() as connection:
            return self._standing(connection, place)[1]

    def conversations(self, scope: str) -> dict[str, Standing]:
        checked_scope(scope)
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            return self._conversations(connection, scope)

    def changes(self, scope: str, since: Any = None) -> Changes:
        checked_scope(scope)
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            (commit,) = connection.execute("PRAGMA data_version").fetchone()
            if isinstance(since, _Moment) and commit == since.commit:
                return Changes({}, is_all=False, moment=since)
            moment = _Moment(commit, *connection.execute(_LATEST).fetchone())
            # An entry that is replaced gets a new id, one that is removed leaves none.
            is_told = isinstance(since, _Moment) and moment.removed == since.removed
            if not is_told or moment.last - since.last > _MOST_CHANGES:
                return Changes(self._conversations(connection, scope), is_all=True, moment=moment)
            rows = connection.execute(_CHANGED, (since.last, sum_of(scope))).fetchall()
        return Changes(self._standings(scope, rows), is_all=False, moment=moment)

    def scopes(self) -> list[str]:
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            rows = connection.execute("SELECT DISTINCT scope, scope_sum FROM conversations").fetchall()
            sums = connection.execute("SELECT DISTINCT scope_sum FROM conversations INDEXED BY by_sum")
            known = {row[0] for row in sums}
        is_right = all(one == _REMOVED or one == sum_of(str(scope)) for scope, one in rows)
        if not is_right or {one for _, one in rows} != known:
            raise StoreDamaged(f"{self.path} is damaged: the names of its scopes are not as written")
        return sorted(scope for scope, one in rows if one != _REMOVED)

    def recent(self, scope: str | None = None) -> list[Recent]:
        within = checked_scope(scope or "")
        values = () if scope is None else (sum_of(within), within)
        where = f"scope_sum <> {_REMOVED}" if scope is None else "scope_sum = ? AND scope = ?"
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            # The connection that reads never writes, so each commit of any other gives another number.
            (commit,) = connection.execute("PRAGMA data_version").fetchone()
            known_scope, since, known = self._recent
            if (known_scope, since.commit) != (scope, commit):
                moment = _Moment(commit, *connection.execute(_LATEST).fetchone())
                is_told = known_scope == scope and since.removed == moment.removed
                if is_told and 0 <= moment.last - since.last <= _MOST_CHANGES:
                    changed = connection.execute(f"{_RECENT} WHERE {where} {_SINCE}", (*values, since.last))
                    found = newest_first(map(self._last_entry, changed))
                    places = {one.place for one in found}
                    known = [*merge(found, (o for o in known if o.place not in places), key=by_activity)]
                else:
                    rows = connection.execute(f"{_RECENT} WHERE {where}", values)
                    known = newest_first(map(self._last_entry, rows))
                self._recent = scope, moment, known
        return list(known)

    def with_open_jobs(self, scope: str | None = None) -> list[Place]:
        where, values = ("true", ()) if scope is None else ("scope = ?", (checked_scope(scope),))
        with self._file.snapshot() as connection:
            return [self._place_in(row) for row in connection.execute(_WITH_JOBS + where, values)]

    def open_checkpoint(self, place: Place) -> Opening | None:
        check_place(place)
        try:
            with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
                found = connection.execute(_HEAD, _where(place)).fetchone()
                if found is None:
                    return None
                start, stream, body, known = found
                version, needs = _read_part_stream(stream)
                named, marks = _named(connection, start, needs)
                if _sum_with(entry_sum(*place, 0, stream, body), named, marks) != known:
                    return None
                rows = connection.execute(_READ, (*_where(place), version - 1, *_where(place))).fetchall()
                _, links = self._standing(connection, place._replace(conversation=LINKS))
            later = _verified(place, version - 1, rows)
            self._remember(place, start, later)
        except (StoreDamaged, TypeError, ValueError):  # a damaged database gives values of other types
            return None
        return Opening(version, body, later, json.loads(needs), named, links) if later else None

    def read_parts(self, place: Place, parts: Sequence[int]) -> dict[int, bytes]:
        wanted = checked_versions(place, parts)
        try:
            with self._file.snapshot() as connection:
                rows = connection.execute(_PARTS, (str(wanted), *_where(place))).fetchall()
        except StoreDamaged:
            return {}
        return {part: body for part, _, body in whole_entries(place, rows)}

    def write_checkpoint(
        self, place: Place, version: int, head: bytes, needs: Sequence[int], parts: Mapping[int, bytes]
    ) -> bool:
        named, (head_row, *others) = checked_checkpoint(place, version, head, needs, parts)
        with self._file.transaction() as connection:
            number, count = self._standing(connection, place)
            newest = connection.execute(_HEAD, _where(place)).fetchone()
            with suppress(TypeError, ValueError):  # of a head that is damaged, or of none
                if version < _read_part_stream(newest[1])[0] <= count:
                    return False
            if version > count:
                return False
            rows = connection.execute(_READ_AT, (str(named), *_where(place))).fetchall()
            verified_at(place, named, rows)
            covered = _named(connection, number << _BITS, str(named))
            for part, *values, known in [(*head_row[:3], _sum_with(head_row[3], *covered)), *others]:
                at = ~(number << _BITS | part)
                connection.execute(f"{_EMPTY} = (SELECT id FROM versions WHERE at = ?)", (at,))
                connection.execute(_ADD, (at, *values, known))
        return True

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        check_place(place)
        find = "SELECT id, stream FROM versions JOIN entries USING (id) WHERE versions.at = ?"
        with self._file.transaction() as connection:
            number, count = self._standing(connection, place)
            check_bodies(place, bodies, count)
            for version, body in bodies.items():
                at = number << _BITS | version
                found = connection.execute(find, (at,)).fetchone()
                if found is None:
                    raise damaged(place, version - 1, f"entry {version} is missing")
                values = (at, found[1], body, entry_sum(*place, version, found[1], body))
                connection.execute(_ADD, values)
                connection.execute(f"{_EMPTY} = ?", found[:1])
            _remove(connection, ~(number << _BITS | _LAST))

    def remove(self, place: Place) -> None:
        check_place(place)
        rename = (
            f"UPDATE conversations SET scope = '', name = '', scope_sum = {_REMOVED}, name_sum = {_REMOVED},"
            " has_jobs = 0"
        )
        with self._file.transaction() as connection:
            found = f"SELECT number FROM conversations WHERE {_IN_PLACE}"
            for (number,) in connection.execute(found, _where(place)).fetchall():
                _remove(connection, number << _BITS)
                _remove(connection, ~(number << _BITS | _LAST))
                connection.execute(f"{rename} WHERE number = ?", (number,))
        self._known.pop(place, None)

    def scrub(self, *, wait: bool = True) -> None:
        """Empty the log of the file. What was removed is overwritten in the file itself already.

        Where half of the file may be emptied rows, it is written anew, to give their room back.
        """
        self._file.empty_log(wait=wait)

    def vacuum(self) -> None:
        self._file.empty_log(wait=True, rewrites=True)

    def verify(self, place: Place | None = None) -> Iterator[Damage]:
        if place is None:
            try:
                with self._file.snapshot() as connection:
                    messages = [row[0] for row in connection.execute("PRAGMA integrity_check(100)")]
            except StoreError as fault:
                messages = [str(fault)]
            yield from (Damage(None, 0, text) for text in messages if text != "ok")
        yield from super().verify(place)

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        try:
            return iter(list(super().recover()))
        except StoreError:
            return recover_sqlite(self.path)

    def close(self) -> None:
        self._file.close()
        self._begun_watching().close()

    def _counts(self, places: Sequence[Place]) -> dict[Place, int]:
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            (commit,) = connection.execute("PRAGMA data_version").fetchone()
            known = self._counted[1] if self._counted[0] == commit else {}
            wanted = json.dumps([_sums(place) for place in places if place not in known])
            known |= {place: 0 for place in places if place not in known}
            known |= {Place(*row[:2]): row[2] for row in connection.execute(_COUNTS, (wanted,))}
        self._counted = (commit, known)
        return {place: known[place] for place in places}

    def _append_checked(self, place: Place, entries: Sequence[Entry], expected: int, settled: bool) -> int:
        place = checked_append(place, entries, expected)
        with self._file.transaction() as connection:
            number, found = self._standing(connection, place)
            if found != expected:
                raise conflict(place, expected, found)
            if not entries:
                return found
            number = number or _begun(connection, place)
            start = number << _BITS
            rows = [(*row, start + version) for version, *row in summed(place, entries, found)]
            connection.executemany(_FILL_END, rows)
            if any(entry[0] == JOBS for entry in entries):
                connection.execute(_MARK, (not settled, number, not settled))
        self._remember(place, start, entries)
        if self._watching is not None:
            self._watching.hear(place, found + len(entries))
        return found + len(entries)

    def _conversations(self, connection: sqlite3.Connection, scope: str) -> dict[str, Standing]:
        rows = connection.execute(_STANDING, (sum_of(scope),)).fetchall()
        counted = connection.execute(f"{_COUNT} scope_sum = ?", (sum_of(scope),)).fetchone()
        if counted != (len(rows),):
            raise StoreDamaged(f"{self.path} is damaged: the conversations of {scope!r} are not as written")
        return self._standings(scope, rows)

    def _standings(self, scope: str, rows: Sequence[Sequence[Any]]) -> dict[str, Standing]:
        found = {self._place_in(row): row for row in rows}
        return {
            place.conversation: Standing(_version_in(found[place]), str(found[place][2]))
            for place in sorted(found)
            if place.scope == scope
        }

    def _last_entry(self, row: Sequence[Any]) -> tuple[Place, int, bytes | None]:
        """The place, version and last body of a row of `_RECENT`; no body where the end is missing."""
        with suppress(StoreDamaged):
            return self._place_in(row), _version_in(row), row[5]
        return self._place_in(row), 0, None

    def _place_in(self, row: Sequence[Any]) -> Place:
        """The names that a row of `conversations` begins with, of any types where it is damaged."""
        place = Place(*row[:2])
        if type(row[0]) is not str or type(row[1]) is not str:
            raise StoreDamaged(f"{self.path} is damaged: the names of conversations are not as written")
        return place

    def _remember(self, place: Place, start: int, entries: Sequence[Entry | Stored]) -> None:
        """Remember what the next append need not check again."""
        if len(self._known) >= _MOST_KNOWN or len(self._streams) >= _MOST_KNOWN:
            self._known.clear()
            self._streams = set()
        self._known[place] = start
        self._streams.update(entry.stream for entry in entries)

    def _standing(self, connection: sqlite3.Connection, place: Place) -> tuple[int, int]:
        """The number and the version of a conversation; zeros where there is none."""
        rows = connection.execute(f"{_STANDING} AND name_sum = ?", _sums(place)).fetchall()
        for row in rows:
            if self._place_in(row) == place:
                return row[2], _version_in(row)
            if _sums(self._place_in(row)) != _sums(place):
                raise damaged(place, 0, "an index leads to another conversation, or its name is damaged")
        if not connection.in_transaction:  # another may begin it between the two statements
            with in_transaction(connection, "BEGIN"):
                return self._standing(connection, place)
        if connection.execute(f"{_COUNT} {_BY_SUMS}", _sums(place)).fetchone() != (len(rows),):
            raise damaged(place, 0, "its name is missing in an index")
        return 0, 0


def _sums(place: Place) -> tuple[int, int]:
    return sum_of(place.scope), sum_of(place.conversation)


def _where(place: Place) -> tuple[int, int, str, str]:
    """The values of `_IN_PLACE`."""
    return *_sums(place), place.scope, place.conversation


def _version_in(row: Sequence[Any]) -> int:
    """The version of a conversation by a row of `_STANDING`, if its end is as it was written."""
    scope, name, _, last, end = row[:5]
    if type(last) is not int or end != -last:
        raise damaged(Place(scope, name), 0, "its last entries are missing")
    return last - 1


def _named(connection: sqlite3.Connection, start: int, needs: str) -> tuple[bytes, bytes]:
    """The bodies of the entries that a head names, and their streams and sums."""
    named, marks = connection.execute(_NAMED, (needs, start)).fetchone()
    return named or b"", marks or b""


def _sum_with(known: int, named: bytes, marks: bytes) -> int:
    """The sum of a head, given that of its row alone. Many entries are checked faster as one text."""
    return crc32(marks, crc32(named, known))


def _read_part_stream(stream: str) -> tuple[int, str]:
    """The version and the needs that the stream of a head says."""
    _, version, needs = stream.split(" ", 2)
    return int(version), needs


def _verified(place: Place, after: int, rows: list[Any]) -> list[Stored]:
    """The entries of all rows after a version, the last of which is the end."""
    has_end = bool(rows) and _is_end(rows[-1])
    return verified(place, after, rows.pop()[0] - 1 if has_end else None, rows)


def _remove(connection: sqlite3.Connection, start: int) -> None:
    """Empty the entries of a conversation, or the parts of its checkpoint."""
    rows = "versions WHERE at BETWEEN ? AND ?"
    connection.execute(f"{_EMPTY} IN (SELECT id FROM {rows})", (start, start | _LAST))
    connection.execute(f"DELETE FROM {rows}", (start, start | _LAST))


def _is_end(row: Sequence[Any]) -> bool:
    return tuple(row[1:]) == ("", None, None)


def _begun(connection: sqlite3.Connection, place: Place) -> int:
    """The number of a new conversation."""
    insert = "INSERT INTO conversations VALUES (NULL, ?, ?, ?, ?, 0) RETURNING number"
    number = int(connection.execute(insert, (*place, *_sums(place))).fetchone()[0])
    name = place.conversation.encode()
    connection.execute(_ADD, (number << _BITS, place.scope, name, entry_sum(*place, 0, place.scope, name)))
    return number


_NOT_DAMAGE = {
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_INTERRUPT),
}
"""The statements are right, so after any other error the tables are not what they were."""


_files: "WeakSet[_File]" = WeakSet()


class _Connection(sqlite3.Connection):
    """A connection that needs no closing: from Python 3.13 on, dropping an open one is a warning."""

    def __del__(self) -> None:
        self.close()


class _File:
    """A file with one connection that writes and one that reads. A caller holds `writing` or `reading`.

    `cursor` belongs to the connection that writes, once that is open: making one costs as much as a lookup.
    """

    def __init__(self, path: str | os.PathLike[str], durable: Durability) -> None:
        self._synchronous = "FULL" if waits_for_disk(durable) else "NORMAL"
        self.path = os.path.abspath(checked_path(path))
        self.reports: tuple[str, ...] = ()
        self.writing = Lock()
        self.reading = Lock()
        self.cursor: sqlite3.Cursor | None = None
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._closed = False
        self.unmoved_until = 0.0
        """Until when a single append does not look whether the path leads to the file."""
        self._is_new = _create(self.path)
        found = os.stat(self.path)
        self._inode, self._device = found.st_ino, found.st_dev
        self.process = this_process()
        _files.add(self)
        self._check_forked()
        with self._guarded(), self.writing, self.reading:
            self.writer()

    def writer(self) -> sqlite3.Connection:
        """The connection that writes."""
        if self._writer is None:
            self._writer = self._connected()
            self.cursor = self._writer.cursor()
        return self._writer

    def _reading(self) -> sqlite3.Connection:
        """The connection that reads, so that a long read delays no writer."""
        if self._reader is None:
            self._reader = self._connected()
        return self._reader

    def check_place(self) -> None:
        """Raise `StoreFailed` if the path no longer leads to the file."""
        try:
            found = os.stat(self.path)
        except OSError:
            found = None
        if found is None or found.st_ino != self._inode or found.st_dev != self._device:
            raise StoreFailed(f"{self.path} was deleted, moved or replaced while it was open: open it again")
        self.unmoved_until = monotonic() + _UNMOVED

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """A transaction that writes."""
        with self._guarded(), self.writing:
            connection = self.writer()
            self.check_place()
            with in_transaction(connection, "BEGIN IMMEDIATE"):
                yield connection

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection, None, None]:
        """The connection that reads, for as long as the block runs."""
        with self._guarded(), self.reading:
            connection = self._reading()
            self.check_place()
            yield connection

    def empty_log(self, *, wait: bool, rewrites: bool = False) -> None:
        """Move the log into the file, and write a half-empty file, or any, anew.

        `StoreFailed` where others use it.
        """
        with self._guarded(), self.writing:
            connection = self.writer()
            self.check_place()
            (used,) = connection.execute("PRAGMA page_count").fetchone()
            (unused,) = connection.execute("SELECT id FROM versions WHERE at = 0").fetchone()
            is_rewritten = rewrites or unused > used * _PAGE // 2
            rewriting = (
                ("VACUUM", "UPDATE versions SET id = 0 WHERE at = 0", _EMPTY_LOG) if is_rewritten else ()
            )
            for statement in (_EMPTY_LOG, *rewriting):
                if not patiently(connection, statement, PATIENCE if wait else 0):
                    what = "its log could not be emptied: removed content may still be in it"
                    raise StoreFailed(f"{self.path} is in use by another, and {what}")

    def close(self) -> None:
        """Close both connections, after running verbs."""
        with self._guarded(), self.writing, self.reading:
            self._closed = True
            connections = (self._writer, self._reader)
            self.cursor = self._writer = self._reader = None
            for connection in connections:
                if connection is not None:
                    connection.close()

    def _check_forked(self) -> None:
        """Refuse a file that was open when this process was forked.

        SQLite's locks on files stay with the parent, and SQLite does not notice: a connection beside an
        inherited one would write to a log that others believe they may delete.
        """
        for other in list(_files):
            is_same = (other._inode, other._device) == (self._inode, self._device)
            if is_same and other.process != self.process and not other._closed:
                how = "fork before it is opened, or start processes by spawn or forkserver"
                raise StoreFailed(f"{self.path} was open when this process was forked: {how}")

    @contextmanager
    def _guarded(self) -> Generator[None, None, None]:
        """Turn SQLite's errors into ours."""
        check_process(self.process)
        try:
            yield
        except sqlite3.Error as error:
            raise self.failure(error) from error
        except MemoryError as error:  # a damaged length asks for more than there is
            raise StoreFailed(f"{self.path} needs more memory than there is") from error
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
        if code not in _NOT_DAMAGE or full == sqlite3.SQLITE_IOERR_SHORT_READ:
            return StoreDamaged(f"{self.path} is damaged ({name})")
        return StoreFailed(f"{self.path} could not be read or written: {error} ({name})")

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreFailed(f"{self.path} was closed")
        address = f"file:{quote(self.path)}?mode=rw"
        connection = sqlite3.connect(
            address,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
            uri=True,
        )
        try:
            connection.execute("PRAGMA secure_delete = ON")
            self._prepare(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of an empty file, in one transaction. What is not ours is left as it is."""
        with in_transaction(connection, "BEGIN"):  # of one moment: another may be making the tables now
            if self._has_tables(connection):
                return
        patiently(connection, "PRAGMA journal_mode = WAL")
        with in_transaction(connection, "BEGIN IMMEDIATE"):
            if self._has_tables(connection):  # another was first
                return
            about = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}")
            for statement in (*_TABLES, "INSERT INTO versions VALUES (0, 0)", *about):
                connection.execute(statement)
        if not self._is_new:
            self.reports = (f"{self.path} was an empty file: a new store was begun in it",)
            _log.warning("%s", self.reports[0])

    def _has_tables(self, connection: sqlite3.Connection) -> bool:
        """Whether the tables are there; false for an empty database, an error for another's."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        query = "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
        tables = {sql for (sql,) in connection.execute(query)}
        if application != APPLICATION and (application or version or tables):
            raise StoreDamaged(f"{self.path} is a database of another application, and was left as it is")
        if not version and not tables:
            return False
        check_version(self.path, version, VERSION)
        if tables != set(_TABLES):
            raise StoreDamaged(f"{self.path} is damaged: its tables are not those of version {version}")
        return True


@contextmanager
def in_transaction(connection: sqlite3.Connection, begin: str) -> Generator[None, None, None]:
    """A transaction: committed at the end of a block, or rolled back."""
    if begin == "BEGIN":  # it waits for nobody
        connection.execute(begin)
    else:
        patiently(connection, begin, PATIENCE)
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
    until = monotonic() + patience
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            is_over = monotonic() > until
            try:
                row = connection.execute(statement).fetchone()
                if statement != _EMPTY_LOG or not row[0] or is_over:
                    return statement != _EMPTY_LOG or not row[0]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or is_over:
                    raise
            sleep(_PAUSE)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


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
