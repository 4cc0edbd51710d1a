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
    LogVersion,
    Opening,
    Place,
    Recent,
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
    checksum_entry,
    checksum_name,
    checksummed_rows,
    conflict,
    damaged,
    newest_first,
    part_stream,
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

TIMEOUT = 10.0
"""Seconds to wait for another writer."""

_MAX_REPORTED = 5
"""Faults of a damaged file that are reported one by one."""

_BITS = 32
_LAST = (1 << _BITS) - 1  # the highest version
_PAGE_BYTES = 4096
_REMOVED = -1  # in place of the checksums of a removed conversation's names
_MAX_KNOWN = 10_000
_MAX_CHANGES = 10_000
_PAUSE_SECONDS, _RECHECK_SECONDS = 0.005, 0.005
_LOG_PAGES = 4000
"""The pages (16 MB) to which SQLite's log grows before SQLite moves it into the file and waits for the disk:
four times the default."""

_TRUNCATE_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"

# Rows are only added at the end of `entries`, and an erased entry is emptied in its place. So SQLite never
# moves rows between pages, which would leave copies: all erased content is overwritten (`secure_delete`).
#
# `versions` is the index of a conversation's entries: `at` is number << 32 | version. After its last entry
# every conversation has an end marker, whose id is the negative version. An append selects the marker; the
# trigger replaces it by the id of the entry, and adds the next marker. So one statement compares, writes and
# counts; and lost rows at the end of a conversation are noticed, since its marker is lost too. For example,
# ana/q3 with two entries, as the first conversation of the file:
#     conversations  (1, 'ana', 'q3', checksum of 'ana', checksum of 'q3', 0)
#     entries        (1, 1 << 32, 'ana', 'q3', checksum of the names)
#                    (2, 1 << 32 | 1, 'main', '{"kind":"message",…}', checksum of the entry)
#                    (3, 1 << 32 | 2, 'main', '{"kind":"message",…}', checksum of the entry)
#     versions       (1 << 32, 1), (1 << 32 | 1, 2), (1 << 32 | 2, 3), (1 << 32 | 3, -3)
# The entry of version 0 repeats the names, so that they can be recovered from a damaged file. Names are
# looked up by checksum in either of two indexes, so that a damaged index does not hide a conversation.
#
# A part of a checkpoint is an entry too: its `at` is ~(number << 32 | part). The head is part 0. Its stream
# holds its version and the versions of the entries that it needs, and its checksum covers these entries.
# The row of `versions` at 0 counts the bytes of emptied rows, as an upper bound.
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
    f" UPDATE versions SET id = id + min(length(old.body), {_PAGE_BYTES}) WHERE at = 0; END",
)

# Numbers of conversations begin anywhere. So a search index knows the logs of a file from those of another
# file that took its place, such as a salvaged one.
_FIRST_NUMBER = "INSERT INTO sqlite_sequence SELECT 'conversations', abs(random() >> 35)"

_BY_SUMS = "scope_sum = ? AND name_sum = ?"
_IN_PLACE = f"{_BY_SUMS} AND scope = ? AND name = ?"
_FILL_END = "INSERT INTO entries SELECT NULL, at, ?, ?, ? FROM versions WHERE at = ? AND id < 0"
_INSERT = "INSERT INTO entries VALUES (NULL, ?, ?, ?, ?)"
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
_NEEDED_ENTRIES = """
    SELECT CAST(group_concat(body, ',') AS BLOB), CAST(group_concat(stream || ' ' || sum) AS BLOB)
    FROM json_each(?) CROSS JOIN versions ON versions.at = ? | value
    CROSS JOIN entries ON entries.id = versions.id"""
_END = f"""
    (SELECT max(at) FROM versions WHERE at BETWEEN number << {_BITS} AND number << {_BITS} | {_LAST})"""
_LOG_VERSION = f"""
    SELECT scope, name, number, at & {_LAST}, id FROM conversations INDEXED BY by_sum
    LEFT JOIN versions ON at = {_END} WHERE scope_sum = ?"""
_WITH_LAST = f"""
    LEFT JOIN versions AS ending ON ending.at = {_END}
    LEFT JOIN versions AS last ON last.at = ending.at - 1 LEFT JOIN entries ON entries.id = last.id"""
_LOG_VERSIONS = f"""
    SELECT scope, name, number, ending.at & {_LAST}, ending.id, sum
    FROM conversations INDEXED BY by_sum {_WITH_LAST} WHERE scope_sum = ?"""
_CHANGED = f"""
    SELECT scope, name, number, ending.at & {_LAST}, ending.id, sum
    FROM (SELECT DISTINCT at >> {_BITS} AS changed FROM entries WHERE id > ? AND at > 0)
    CROSS JOIN conversations ON number = changed {_WITH_LAST} WHERE scope_sum = ?"""
_LATEST = f"""
    SELECT (SELECT coalesce(max(id), 0) FROM entries),
    (SELECT count(*) FROM conversations INDEXED BY by_sum WHERE scope_sum = {_REMOVED})"""
_RECENT = f"""
    SELECT scope, name, number, ending.at & {_LAST}, ending.id, body FROM conversations {_WITH_LAST}"""
_SINCE = f"AND number IN (SELECT at >> {_BITS} FROM entries WHERE id > ? AND at > 0)"
_COUNTS = f"""
    SELECT scope, name, ({_END} & {_LAST}) - 1 FROM json_each(?) CROSS JOIN conversations
    ON scope_sum = json_extract(value, '$[0]') AND name_sum = json_extract(value, '$[1]')"""
_WITH_JOBS = f"SELECT scope, name FROM conversations WHERE has_jobs AND scope_sum <> {_REMOVED} AND "
_MARK = "UPDATE conversations SET has_jobs = ? WHERE number = ? AND has_jobs <> ?"
_COUNT = "SELECT count(*) FROM conversations INDEXED BY by_same_sum WHERE"

_log = logging.getLogger("quire.stores")


class _Moment(NamedTuple):
    """The state of the file: the commit, the last entry, and how many conversations were removed."""

    commit: int
    last: int
    removed: int


class SQLiteStore(Store):
    """All conversations in one file.

    With `durable="process"` the operating system decides when the disk is written: an acknowledged append
    survives the end of the process, but perhaps not a loss of power. With `"power"` it waits for the disk.
    """

    has_checkpoints = knows_open_jobs = True

    def __init__(self, path: str | os.PathLike[str], *, durable: Durability = "process") -> None:
        self._file = _File(path, durable)
        self.reports = self._file.reports
        # Checked by an earlier append: names of streams, and places with the `at` of their version 0.
        self._starts: dict[Place, int] = {}
        self._streams: set[str] = set()
        self._recent: tuple[str | None, _Moment, list[Recent]] = ("", _Moment(-1, 0, 0), [])  # last answer
        self._polled: tuple[int, dict[Place, int]] = (-1, {})  # versions of watched places, by commit

    def __repr__(self) -> str:
        return f"<SQLiteStore {self.path!r}>"

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int, settled: bool = False) -> int:
        start = self._starts.get(place) if type(place) is Place else None
        if start is None or len(entries) != 1 or type(expected) is not int or not 0 < expected < _LAST:
            return self._append_checked(place, entries, expected, settled)
        stream, body = entries[0]
        if stream not in self._streams or stream == JOBS or type(body) is not bytes:
            return self._append_checked(place, entries, expected, settled)
        version, file = expected + 1, self._file
        check_process(file.process)
        row = (stream, body, checksum_entry(*place, version, stream, body), start + version)
        try:
            with file.writing:
                cursor = file.cursor or file.writer().cursor()
                if monotonic() > file.path_checked_until:
                    file.check_path()
                is_added = cursor.execute(_FILL_END, row).rowcount == 1
        except sqlite3.Error as error:
            raise file.failure(error) from error
        if not is_added:  # another process appended first, or removed the conversation
            return self._append_checked(place, entries, expected, settled)
        if self._watchers is not None:
            self._watchers.notify(place, version)
        return version

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = min(checked_start(place, after), _LAST)
        with self._file.snapshot() as connection:
            rows = connection.execute(_READ, (*_where(place), start, *_where(place))).fetchall()
            if not rows:
                with in_transaction(connection, "BEGIN"):
                    rows = connection.execute(_READ, (*_where(place), start, *_where(place))).fetchall()
                    if not rows and self._log_version(connection, place)[1] <= start:
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
            max_rows = -1 if limit is None else checked_start(place, limit)
            values = (*_where(place), *_where(place), last, stream, max_rows)
            return [row[0] for row in connection.execute(_VERSIONS, values)][::-1]

    def version(self, place: Place) -> int:
        check_place(place)
        with self._file.snapshot() as connection:
            return self._log_version(connection, place)[1]

    def conversations(self, scope: str) -> dict[str, LogVersion]:
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
            # A replaced entry gets a new id, so only removals leave no trace in the ids.
            is_incremental = isinstance(since, _Moment) and moment.removed == since.removed
            if not is_incremental or moment.last - since.last > _MAX_CHANGES:
                return Changes(self._conversations(connection, scope), is_all=True, moment=moment)
            rows = connection.execute(_CHANGED, (since.last, checksum_name(scope))).fetchall()
        return Changes(self._log_versions(scope, rows), is_all=False, moment=moment)

    def scopes(self) -> list[str]:
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            rows = connection.execute("SELECT DISTINCT scope, scope_sum FROM conversations").fetchall()
            index = connection.execute("SELECT DISTINCT scope_sum FROM conversations INDEXED BY by_sum")
            indexed = {row[0] for row in index}
        are_valid = all(checksum in (_REMOVED, checksum_name(str(scope))) for scope, checksum in rows)
        if not are_valid or {checksum for _, checksum in rows} != indexed:
            raise StoreDamaged(f"{self.path} is damaged: the names of its scopes are not as written")
        return sorted(scope for scope, checksum in rows if checksum != _REMOVED)

    def recent(self, scope: str | None = None) -> list[Recent]:
        within = checked_scope(scope or "")
        values = () if scope is None else (checksum_name(within), within)
        where = f"scope_sum <> {_REMOVED}" if scope is None else "scope_sum = ? AND scope = ?"
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            # `data_version` changes with each commit of another connection, and this one never writes.
            (commit,) = connection.execute("PRAGMA data_version").fetchone()
            last_scope, since, latest = self._recent
            if (last_scope, since.commit) != (scope, commit):
                moment = _Moment(commit, *connection.execute(_LATEST).fetchone())
                is_incremental = last_scope == scope and since.removed == moment.removed
                if is_incremental and 0 <= moment.last - since.last <= _MAX_CHANGES:
                    rows = connection.execute(f"{_RECENT} WHERE {where} {_SINCE}", (*values, since.last))
                    changed = newest_first(map(self._last_entry, rows))
                    places = {recent.place for recent in changed}
                    unchanged = (recent for recent in latest if recent.place not in places)
                    latest = [*merge(changed, unchanged, key=by_activity)]
                else:
                    rows = connection.execute(f"{_RECENT} WHERE {where}", values)
                    latest = newest_first(map(self._last_entry, rows))
                self._recent = scope, moment, latest
        return list(latest)

    def with_open_jobs(self, scope: str | None = None) -> list[Place]:
        where, values = ("true", ()) if scope is None else ("scope = ?", (checked_scope(scope),))
        with self._file.snapshot() as connection:
            return [self._place_in(row) for row in connection.execute(_WITH_JOBS + where, values)]

    def open_checkpoint(self, place: Place) -> Opening | None:
        check_place(place)
        try:
            with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
                row = connection.execute(_HEAD, _where(place)).fetchone()
                if row is None:
                    return None
                start, stream, body, checksum = row
                version, needs = _read_part_stream(stream)
                needed, marks = _needed_entries(connection, start, needs)
                if _head_checksum(checksum_entry(*place, 0, stream, body), needed, marks) != checksum:
                    return None
                rows = connection.execute(_READ, (*_where(place), version - 1, *_where(place))).fetchall()
                _, links = self._log_version(connection, place._replace(conversation=LINKS))
            later = _verified(place, version - 1, rows)
            self._remember_checked(place, start, later)
        except (StoreDamaged, TypeError, ValueError):  # a damaged database returns values of other types
            return None
        return Opening(version, body, later, json.loads(needs), needed, links) if later else None

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
        needed, (head_row, *others) = checked_checkpoint(place, version, head, needs, parts)
        with self._file.transaction() as connection:
            number, count = self._log_version(connection, place)
            newest = connection.execute(_HEAD, _where(place)).fetchone()
            with suppress(TypeError, ValueError):  # the head is damaged or missing
                if version < _read_part_stream(newest[1])[0] <= count:
                    return False
            if version > count:
                return False
            rows = connection.execute(_READ_AT, (str(needed), *_where(place))).fetchall()
            verified_at(place, needed, rows)
            covered = _needed_entries(connection, number << _BITS, str(needed))
            for part, *values, checksum in [(*head_row[:3], _head_checksum(head_row[3], *covered)), *others]:
                at = ~(number << _BITS | part)
                connection.execute(f"{_EMPTY} = (SELECT id FROM versions WHERE at = ?)", (at,))
                connection.execute(_INSERT, (at, *values, checksum))
        return True

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        check_place(place)
        find = "SELECT id, stream FROM versions JOIN entries USING (id) WHERE versions.at = ?"
        with self._file.transaction() as connection:
            number, count = self._log_version(connection, place)
            check_bodies(place, bodies, count)
            for version, body in bodies.items():
                at = number << _BITS | version
                row = connection.execute(find, (at,)).fetchone()
                if row is None:
                    raise damaged(place, version - 1, f"entry {version} is missing")
                entry_id, stream = row
                values = (at, stream, body, checksum_entry(*place, version, stream, body))
                connection.execute(_INSERT, values)
                connection.execute(f"{_EMPTY} = ?", (entry_id,))
            _remove(connection, ~(number << _BITS | _LAST))

    def remove(self, place: Place) -> None:
        check_place(place)
        rename = (
            f"UPDATE conversations SET scope = '', name = '', scope_sum = {_REMOVED}, name_sum = {_REMOVED},"
            " has_jobs = 0"
        )
        with self._file.transaction() as connection:
            numbers = f"SELECT number FROM conversations WHERE {_IN_PLACE}"
            for (number,) in connection.execute(numbers, _where(place)).fetchall():
                _remove(connection, number << _BITS)
                _remove(connection, ~(number << _BITS | _LAST))
                connection.execute(f"{rename} WHERE number = ?", (number,))
        self._starts.pop(place, None)

    def scrub(self, *, wait: bool = True) -> None:
        """Truncate the file's write-ahead log. In the file itself, removed content is overwritten at once.

        If emptied rows may take half of the file, it is also rewritten without them.
        """
        self._file.truncate_log(wait=wait)

    def vacuum(self) -> None:
        self._file.truncate_log(wait=True, rewrites=True)

    def verify(self, place: Place | None = None) -> Iterator[Damage]:
        if place is None:
            try:
                with self._file.snapshot() as connection:
                    messages = [row[0] for row in connection.execute("PRAGMA integrity_check(100)")]
            except StoreError as fault:
                messages = [str(fault)]
            faults = [text for text in messages if text != "ok"]
            if len(faults) > _MAX_REPORTED:
                faults[_MAX_REPORTED:] = [f"{len(faults) - _MAX_REPORTED} more faults of the file"]
            yield from (Damage(None, 0, text) for text in faults)
        yield from super().verify(place)

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        try:
            return iter(list(super().recover()))
        except StoreError:
            return recover_sqlite(self.path)

    def close(self) -> None:
        self._file.close()
        self._opened_watchers().close()

    def _counts(self, places: Sequence[Place]) -> dict[Place, int]:
        with self._file.snapshot() as connection, in_transaction(connection, "BEGIN"):
            (commit,) = connection.execute("PRAGMA data_version").fetchone()
            counts = self._polled[1] if self._polled[0] == commit else {}
            wanted = json.dumps([_name_checksums(place) for place in places if place not in counts])
            counts |= {place: 0 for place in places if place not in counts}
            counts |= {Place(*row[:2]): row[2] for row in connection.execute(_COUNTS, (wanted,))}
        self._polled = (commit, counts)
        return {place: counts[place] for place in places}

    def _append_checked(self, place: Place, entries: Sequence[Entry], expected: int, settled: bool) -> int:
        place = checked_append(place, entries, expected)
        with self._file.transaction() as connection:
            number, current = self._log_version(connection, place)
            if current != expected:
                raise conflict(place, expected, current)
            if not entries:
                return expected
            number = number or _insert_conversation(connection, place)
            start = number << _BITS
            rows = [(*row, start + version) for version, *row in checksummed_rows(place, entries, expected)]
            connection.executemany(_FILL_END, rows)
            if any(entry[0] == JOBS for entry in entries):
                connection.execute(_MARK, (not settled, number, not settled))
        self._remember_checked(place, start, entries)
        if self._watchers is not None:
            self._watchers.notify(place, expected + len(entries))
        return expected + len(entries)

    def _conversations(self, connection: sqlite3.Connection, scope: str) -> dict[str, LogVersion]:
        rows = connection.execute(_LOG_VERSIONS, (checksum_name(scope),)).fetchall()
        counted = connection.execute(f"{_COUNT} scope_sum = ?", (checksum_name(scope),)).fetchone()
        if counted != (len(rows),):
            raise StoreDamaged(f"{self.path} is damaged: the conversations of {scope!r} are not as written")
        return self._log_versions(scope, rows)

    def _log_versions(self, scope: str, rows: Sequence[Sequence[Any]]) -> dict[str, LogVersion]:
        row_by_place = {self._place_in(row): row for row in rows}
        return {
            place.conversation: LogVersion(_version_in(row), str(row[2]), row[5])
            for place, row in sorted(row_by_place.items())
            if place.scope == scope
        }

    def _last_entry(self, row: Sequence[Any]) -> tuple[Place, int, bytes | None]:
        """The place, version and last body of a row of `_RECENT`; no body if the end marker is missing."""
        with suppress(StoreDamaged):
            return self._place_in(row), _version_in(row), row[5]
        return self._place_in(row), 0, None

    def _place_in(self, row: Sequence[Any]) -> Place:
        """The place in the first two columns of a row; `StoreDamaged` if they are not texts."""
        place = Place(*row[:2])
        if type(row[0]) is not str or type(row[1]) is not str:
            raise StoreDamaged(f"{self.path} is damaged: the names of conversations are not as written")
        return place

    def _remember_checked(self, place: Place, start: int, entries: Sequence[Entry | Stored]) -> None:
        """Remember what the next append need not check again."""
        if len(self._starts) >= _MAX_KNOWN or len(self._streams) >= _MAX_KNOWN:
            self._starts.clear()
            self._streams = set()
        self._starts[place] = start
        self._streams.update(entry.stream for entry in entries)

    def _log_version(self, connection: sqlite3.Connection, place: Place) -> tuple[int, int]:
        """The number and the version of a conversation; zeros where there is none."""
        rows = connection.execute(f"{_LOG_VERSION} AND name_sum = ?", _name_checksums(place)).fetchall()
        for row in rows:
            if self._place_in(row) == place:
                return row[2], _version_in(row)
            if _name_checksums(self._place_in(row)) != _name_checksums(place):
                raise damaged(place, 0, "an index leads to another conversation, or its name is damaged")
        if not connection.in_transaction:  # another process may create it between the two statements
            with in_transaction(connection, "BEGIN"):
                return self._log_version(connection, place)
        if connection.execute(f"{_COUNT} {_BY_SUMS}", _name_checksums(place)).fetchone() != (len(rows),):
            raise damaged(place, 0, "its name is missing in an index")
        return 0, 0


def _name_checksums(place: Place) -> tuple[int, int]:
    return checksum_name(place.scope), checksum_name(place.conversation)


def _where(place: Place) -> tuple[int, int, str, str]:
    """The values of `_IN_PLACE`."""
    return *_name_checksums(place), place.scope, place.conversation


def _version_in(row: Sequence[Any]) -> int:
    """The version in a row of `_LOG_VERSION`; `StoreDamaged` if the end marker is missing or wrong."""
    scope, name, _, last, end = row[:5]
    if type(last) is not int or end != -last:
        raise damaged(Place(scope, name), 0, "its last entries are missing")
    return last - 1


def _needed_entries(connection: sqlite3.Connection, start: int, needs: str) -> tuple[bytes, bytes]:
    """The bodies of the entries that a head needs, and their streams and checksums, each as one text."""
    needed, marks = connection.execute(_NEEDED_ENTRIES, (needs, start)).fetchone()
    return needed or b"", marks or b""


def _head_checksum(row: int, needed: bytes, marks: bytes) -> int:
    """The checksum of a head with the entries that it needs, given that of its row alone."""
    return crc32(marks, crc32(needed, row))


def _read_part_stream(stream: str) -> tuple[int, str]:
    """The version and the needs in the stream of a head."""
    _, version, needs = stream.split(" ", 2)
    return int(version), needs


def _verified(place: Place, after: int, rows: list[Any]) -> list[Stored]:
    """The entries of all rows after a version; the last row has to be the end marker."""
    has_end = bool(rows) and tuple(rows[-1][1:]) == ("", None, None)
    return verified(place, after, rows.pop()[0] - 1 if has_end else None, rows)


def _remove(connection: sqlite3.Connection, start: int) -> None:
    """Empty the entries of a conversation, or the parts of its checkpoint."""
    rows = "versions WHERE at BETWEEN ? AND ?"
    connection.execute(f"{_EMPTY} IN (SELECT id FROM {rows})", (start, start | _LAST))
    connection.execute(f"DELETE FROM {rows}", (start, start | _LAST))


def _insert_conversation(connection: sqlite3.Connection, place: Place) -> int:
    """The number of a new conversation."""
    insert = "INSERT INTO conversations VALUES (NULL, ?, ?, ?, ?, 0) RETURNING number"
    number = int(connection.execute(insert, (*place, *_name_checksums(place))).fetchone()[0])
    name = place.conversation.encode()
    checksum = checksum_entry(*place, 0, place.scope, name)
    connection.execute(_INSERT, (number << _BITS, place.scope, name, checksum))
    return number


_HARMLESS = {
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_INTERRUPT),
}
"""Errors that do not mean damage. Our statements are valid, so every other error does."""

_files: "WeakSet[_File]" = WeakSet()


class _Connection(sqlite3.Connection):
    """A connection that closes itself: since Python 3.13, dropping an open one is a warning."""

    def __del__(self) -> None:
        self.close()


class _File:
    """A file with one connection for writes and one for reads. Callers hold the lock `writing` or `reading`.

    `cursor` belongs to the writing connection, once that is open: creating one costs as much as a lookup.
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
        self._is_closed = False
        self.path_checked_until = 0.0
        """Until this time, a single append does not check the path again."""
        self._is_new = _create(self.path)
        status = os.stat(self.path)
        self._inode, self._device = status.st_ino, status.st_dev
        self.process = os.getpid()
        _files.add(self)
        self._check_forked()
        with self._wrapped_errors(), self.writing, self.reading:
            self.writer()

    def writer(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = self._connect()
            self.cursor = self._writer.cursor()
        return self._writer

    def reader(self) -> sqlite3.Connection:
        """A connection of its own, so that a long read delays no writer."""
        if self._reader is None:
            self._reader = self._connect()
        return self._reader

    def check_path(self) -> None:
        """Raise `StoreFailed` if the path no longer leads to the open file."""
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        if status is None or status.st_ino != self._inode or status.st_dev != self._device:
            raise StoreFailed(f"{self.path} was deleted, moved or replaced while it was open: open it again")
        self.path_checked_until = monotonic() + _RECHECK_SECONDS

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """A transaction that writes."""
        with self._wrapped_errors(), self.writing:
            connection = self.writer()
            self.check_path()
            with in_transaction(connection, "BEGIN IMMEDIATE"):
                yield connection

    @contextmanager
    def snapshot(self) -> Generator[sqlite3.Connection, None, None]:
        """The reading connection, locked for the block."""
        with self._wrapped_errors(), self.reading:
            connection = self.reader()
            self.check_path()
            yield connection

    def truncate_log(self, *, wait: bool, rewrites: bool = False) -> None:
        """Move the log into the file, and rewrite the file if it is half empty or `rewrites` is set.

        `StoreFailed` if another process uses it.
        """
        with self._wrapped_errors(), self.writing:
            connection = self.writer()
            self.check_path()
            (used,) = connection.execute("PRAGMA page_count").fetchone()
            (unused,) = connection.execute("SELECT id FROM versions WHERE at = 0").fetchone()
            is_rewritten = rewrites or unused > used * _PAGE_BYTES // 2
            statements = [_TRUNCATE_LOG]
            if is_rewritten:
                statements += ["VACUUM", "UPDATE versions SET id = 0 WHERE at = 0", _TRUNCATE_LOG]
            for statement in statements:
                if not retry_while_busy(connection, statement, TIMEOUT if wait else 0):
                    effect = "its log could not be emptied: removed content may still be in it"
                    raise StoreFailed(f"{self.path} is in use by another process, and {effect}")

    def close(self) -> None:
        """Close both connections, after running calls."""
        with self._wrapped_errors(), self.writing, self.reading:
            self._is_closed = True
            connections = (self._writer, self._reader)
            self.cursor = self._writer = self._reader = None
            for connection in connections:
                if connection is not None:
                    connection.close()

    def _check_forked(self) -> None:
        """Refuse a file that was open when this process was forked.

        The locks on the file stay with the parent, and SQLite does not notice: a connection beside an
        inherited one would write to a log that other processes believe they may delete.
        """
        for other in list(_files):
            is_same = (other._inode, other._device) == (self._inode, self._device)
            if is_same and other.process != self.process and not other._is_closed:
                advice = "fork before it is opened, or start processes by spawn or forkserver"
                raise StoreFailed(f"{self.path} was open when this process was forked: {advice}")

    @contextmanager
    def _wrapped_errors(self) -> Generator[None, None, None]:
        """Convert SQLite's errors into ours."""
        check_process(self.process)
        try:
            yield
        except sqlite3.Error as error:
            raise self.failure(error) from error
        except MemoryError as error:  # a damaged length may be huge
            raise StoreFailed(f"{self.path} needs more memory than there is") from error
        except UnicodeEncodeError:
            raise InvalidValue("a name must have only printable characters") from None
        except UnicodeDecodeError as error:
            raise StoreDamaged(f"{self.path} is damaged (its schema is not text)") from error

    def failure(self, error: sqlite3.Error) -> StoreError:
        """Our error for an error of SQLite."""
        if self._is_closed:
            return StoreFailed(f"{self.path} was closed")
        # A text that is not UTF-8 is an error without a code.
        full = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        code, name = full & 0xFF, getattr(error, "sqlite_errorname", type(error).__name__)
        if code == sqlite3.SQLITE_NOTADB:
            return StoreDamaged(f"{self.path} is not a SQLite database, and was left as it is")
        if code not in _HARMLESS or full == sqlite3.SQLITE_IOERR_SHORT_READ:
            return StoreDamaged(f"{self.path} is damaged ({name})")
        return StoreFailed(f"{self.path} could not be read or written: {error} ({name})")

    def _connect(self) -> sqlite3.Connection:
        if self._is_closed:
            raise StoreFailed(f"{self.path} was closed")
        address = f"file:{quote(self.path)}?mode=rw"
        connection = sqlite3.connect(
            address,
            timeout=TIMEOUT,
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
        """Create the tables of an empty file, in one transaction."""
        with in_transaction(connection, "BEGIN"):  # one snapshot: another process may be creating the tables
            if self._has_tables(connection):
                return
        retry_while_busy(connection, "PRAGMA journal_mode = WAL")
        with in_transaction(connection, "BEGIN IMMEDIATE"):
            if self._has_tables(connection):  # another process was first
                return
            about = (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}")
            for statement in (*_TABLES, "INSERT INTO versions VALUES (0, 0)", _FIRST_NUMBER, *about):
                connection.execute(statement)
        if not self._is_new:
            self.reports = (f"{self.path} was an empty file: a new store was begun in it",)
            _log.warning("%s", self.reports[0])

    def _has_tables(self, connection: sqlite3.Connection) -> bool:
        """Whether the tables exist; an error for a database of another application."""
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
    """Run the block in a transaction: committed at its end, or rolled back."""
    if begin == "BEGIN":  # it takes no lock
        connection.execute(begin)
    else:
        retry_while_busy(connection, begin, TIMEOUT)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def retry_while_busy(connection: sqlite3.Connection, statement: str, timeout: float = TIMEOUT) -> bool:
    """Run a statement that needs the file's lock, again and again while another process has the lock.

    After `timeout` seconds it raises SQLite's error, or returns False for `_TRUNCATE_LOG`, which raises none.
    SQLite's own busy timeout sleeps up to a tenth of a second, misses short pauses of other writers, and does
    not wait at all if two processes turn on the log at once.
    """
    deadline = monotonic() + timeout
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            is_over = monotonic() > deadline
            try:
                row = connection.execute(statement).fetchone()
                is_done = statement != _TRUNCATE_LOG or not row[0]  # 1: another process was in the way
                if is_done or is_over:
                    return is_done
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or is_over:
                    raise
            sleep(_PAUSE_SECONDS)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {TIMEOUT * 1000:.0f}")


def _create(path: str) -> bool:
    """Create a missing file, for its owner alone, and return whether it was missing.

    SQLite gives the files beside it the same mode.
    """
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
        raise StoreFailed(f"{path} cannot be created ({type(error).__name__})") from error
    return True
