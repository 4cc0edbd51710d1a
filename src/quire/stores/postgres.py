"""The PostgreSQL store: many processes and many machines."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any, NamedTuple

from quire.errors import Conflict, StoreDamaged, StoreFailed
from quire.stores.link import Connection, Link, psycopg
from quire.stores.notifications import IS_WATCHED, Listener, Notifier, notify
from quire.stores.store import (
    JOBS,
    MAX_PART,
    Changes,
    Durability,
    Entry,
    LogVersion,
    Opening,
    Place,
    Recent,
    Store,
    Stored,
    check_bodies,
    check_place,
    checked_append,
    checked_checkpoint,
    checked_scope,
    checked_start,
    checked_stream,
    checked_versions,
    checksum_entry,
    checksummed_rows,
    conflict,
    damaged,
    newest_first,
    part_stream,
    verified,
    verified_at,
    whole_entries,
)
from quire.stores.streams import LINKS
from quire.stores.tables import create

_SCRUB_SECONDS, _MIN_SCRUB_SECONDS, _PAUSE_SECONDS = 10.0, 0.05, 0.01
"""How long `scrub` waits for other transactions, with `wait` and without it; and between two checks."""

_LAST = (1 << 63) - 1  # the highest version

# The update of the version is the compare and swap: a concurrent append waits for its row, and then finds
# another version. A row is returned if the entries were added; it says whether anybody watches.
_ENTRIES = f"""
    , added AS (INSERT INTO quire.entries (conversation, version, stream, body, sum)
        SELECT counted.number, added.* FROM counted,
        unnest(%s::bigint[], %s::text[], %s::bytea[], %s::bigint[]) AS added (version, stream, body, sum))
    SELECT {IS_WATCHED} FROM counted"""
_ADD = f"""
    WITH counted AS (
        UPDATE quire.conversations SET version = %s, has_jobs = coalesce(%s::boolean, has_jobs)
        WHERE address = %s AND version = %s RETURNING number)
    {_ENTRIES}"""
_BEGIN = f"""
    WITH counted AS (
        INSERT INTO quire.conversations (version, has_jobs, address, scope, name)
        VALUES (%s, coalesce(%s::boolean, false), %s, %s, %s)
        ON CONFLICT (address) DO NOTHING RETURNING number)
    {_ENTRIES}"""
_PLACE = "SELECT scope, name FROM quire.conversations WHERE address = %s"
_LOG_VERSION = "SELECT number, version FROM quire.conversations WHERE address = %s"
_LAST_SUM = """
    (SELECT sum FROM quire.entries WHERE conversation = number AND entries.version = conversations.version)"""
_LOG_VERSIONS = f"SELECT name, version, number::text, {_LAST_SUM} FROM quire.conversations WHERE scope = %s"
# A row has the number of the transaction that wrote it (`xmin`). A moment is the number of a transaction:
# when it was taken, all transactions with lower numbers had ended.
_CHANGED = f"""
    SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text,
        (SELECT count(*) FROM quire.conversations WHERE scope = %s), name, version, number::text, {_LAST_SUM}
    FROM (SELECT) AS always LEFT JOIN quire.conversations
        ON scope = %s AND coalesce(age(xmin) <= age(%s::xid), true)"""
_RECENT = """
    SELECT scope, name, counted.version, body FROM quire.conversations AS counted
    LEFT JOIN quire.entries ON conversation = number AND entries.version = counted.version"""
_WITH_JOBS = "SELECT scope, name FROM quire.conversations WHERE has_jobs"
_READ = """
    SELECT counted.version, entries.version, stream, body, sum
    FROM quire.conversations AS counted
    LEFT JOIN quire.entries ON conversation = number AND entries.version > %s
    WHERE address = %s ORDER BY entries.version"""
_READ_AT = """
    SELECT entries.version, stream, body, sum FROM quire.conversations
    JOIN quire.entries ON conversation = number AND entries.version = ANY(%s::bigint[])
    WHERE address = %s ORDER BY entries.version"""
_VERSIONS = """
    SELECT version FROM quire.entries
    WHERE conversation = (SELECT number FROM quire.conversations WHERE address = %s)
        AND version < %s AND stream = %s ORDER BY version DESC"""
_PARTS = """
    SELECT part, checkpoints.version, needs, body, sum FROM quire.conversations
    JOIN quire.checkpoints ON conversation = number AND part = ANY(%s::integer[]) WHERE address = %s"""
# The head, the entries that it needs, and those from its version on; the count of an entry is NULL. With both
# bounds the server plans for few rows. `open_checkpoint` sorts them, since the server takes longer.
_OPEN = """
    WITH head AS (
        SELECT counted.version AS count, needs, number, checkpoints.version, body, sum,
            coalesce((SELECT version FROM quire.conversations WHERE address = %s), 0) AS links
        FROM quire.conversations AS counted JOIN quire.checkpoints ON conversation = number AND part = 0
        WHERE address = %s)
    SELECT count, needs, version, links::text AS stream, body, sum FROM head
    UNION ALL SELECT NULL, NULL, entry.* FROM head, LATERAL (
        SELECT version, stream, body, sum FROM quire.entries
        WHERE conversation = number AND version = ANY(needs)) AS entry
    UNION ALL SELECT NULL, NULL, entry.* FROM head, LATERAL (
        SELECT version, stream, body, sum FROM quire.entries
        WHERE conversation = number AND version BETWEEN head.version AND count) AS entry"""
# A replacement or removal of the conversation waits for the lock on its row, an append does not. A concurrent
# checkpoint waits for the row of the head.
_WRITE_HEAD = """
    WITH counted AS (
        SELECT number, version FROM quire.conversations WHERE address = %s AND version >= %s FOR KEY SHARE),
    head AS (
        INSERT INTO quire.checkpoints AS old (conversation, part, version, needs, body, sum)
        SELECT number, %s, %s, %s::bigint[], %s, %s FROM counted
        ON CONFLICT (conversation, part) DO UPDATE
        SET version = excluded.version, needs = excluded.needs, body = excluded.body, sum = excluded.sum
        WHERE old.version <= excluded.version OR old.version > (SELECT version FROM counted)
        RETURNING conversation),
    others AS (
        INSERT INTO quire.checkpoints (conversation, part, version, needs, body, sum)
        SELECT conversation, added.part, 0, '{}', added.body, added.sum
        FROM head, unnest(%s::integer[], %s::bytea[], %s::bigint[]) AS added (part, body, sum)
        ON CONFLICT (conversation, part) DO UPDATE SET body = excluded.body, sum = excluded.sum)
    SELECT count(*) FROM head"""

_REMOVE_PIECES = "DELETE FROM quire.pieces WHERE address = %s"
# All transactions that are committed by now have a lower number than this.
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text"
# VACUUM keeps rows that an older transaction can still see: one in this database, or a replica of the whole
# server, but not another VACUUM.
_IS_STILL_SEEN = """
    SELECT EXISTS (SELECT FROM (
        SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS since FROM pg_stat_activity
        WHERE coalesce(datname, current_database()) = current_database() AND pid <> pg_backend_pid()
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        UNION ALL SELECT xmin FROM pg_replication_slots) AS seeing
    WHERE age(since) > age(%s::xid))"""


class _Moment(NamedTuple):
    """The oldest transaction that was open, and the numbers of the conversations of the scope."""

    transaction: str
    numbers: frozenset[str]


class PostgresStore(Store):
    """All conversations in the schema `quire` of a database.

    With `durable="process"` an append waits as the server's `synchronous_commit` says, by default for the
    disk; with `"power"` it waits for the disk in any case. `connections` is the maximum size of the pool: by
    default that of `QUIRE_POSTGRES_CONNECTIONS`, or 4.
    """

    has_checkpoints = knows_open_jobs = True

    def __init__(self, url: str, *, durable: Durability = "process", connections: int | None = None) -> None:
        self.link = Link(url, durable, connections)
        self._notifier = Notifier(self.link)
        self.link.run_unpooled(create)

    def __repr__(self) -> str:
        return "<PostgresStore>"  # the address may hold a password

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int, settled: bool = False) -> int:
        """Add entries, all or none, if the version is the expected one, and return the new version.

        An append whose connection is lost before the server answers is retried, and never added twice.
        """
        place, losses = checked_append(place, entries, expected), list[bool]()
        try:
            self.link.run(
                lambda connection: self._append(connection, place, entries, expected, settled),
                lambda: losses.append(True),
            )
        except Conflict:
            if not losses or not self._holds(place, expected, entries):
                raise
        return expected + len(entries)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = min(checked_start(place, after), _LAST)
        rows = self._rows(_READ, start, address_of(place))
        count = rows[0][0] if rows else 0
        return verified(place, min(start, count), count, [row[1:] for row in rows if row[1] is not None])

    def read_at(self, place: Place, versions: Sequence[int]) -> list[Stored]:
        wanted = checked_versions(place, versions)
        if wanted and not 1 <= wanted[0] <= wanted[-1] <= _LAST:
            return verified_at(place, wanted, [])
        return verified_at(place, wanted, self._rows(_READ_AT, _array(wanted), address_of(place)))

    def versions_of(
        self, place: Place, stream: str, *, before: int | None = None, limit: int | None = None
    ) -> list[int]:
        checked_stream(stream)
        last = min(checked_start(place, _LAST if before is None else before), _LAST)
        # The limit is not a parameter: for a prepared statement the server plans a limit of many rows.
        query = _VERSIONS if limit is None else f"{_VERSIONS} LIMIT {checked_start(place, limit)}"
        return [row[0] for row in reversed(self._rows(query, address_of(place), last, stream))]

    def version(self, place: Place) -> int:
        check_place(place)
        rows = self._rows(_LOG_VERSION, address_of(place))
        return int(rows[0][1]) if rows else 0

    def conversations(self, scope: str) -> dict[str, LogVersion]:
        checked_scope(scope)
        rows = self._rows(_LOG_VERSIONS, scope)
        return {name: LogVersion(*log_version) for name, *log_version in sorted(rows)}

    def changes(self, scope: str, since: Any = None) -> Changes:
        checked_scope(scope)
        moment, known = since if isinstance(since, _Moment) else (None, frozenset[str]())
        rows = self._rows(_CHANGED, scope, scope, moment)
        versions = {row[2]: LogVersion(*row[3:]) for row in rows if row[2] is not None}
        numbers = known.union(version.log for version in versions.values())
        if len(numbers) != rows[0][1]:  # one was removed
            return self.changes(scope)
        return Changes(versions, is_all=moment is None, moment=_Moment(rows[0][0], numbers))

    def scopes(self) -> list[str]:
        return sorted(row[0] for row in self._rows("SELECT DISTINCT scope FROM quire.conversations"))

    def recent(self, scope: str | None = None) -> list[Recent]:
        if scope is None:
            rows = self._rows(_RECENT)
        else:
            rows = self._rows(f"{_RECENT} WHERE scope = %s", checked_scope(scope))
        return newest_first((Place(*names), version, body) for *names, version, body in rows)

    def with_open_jobs(self, scope: str | None = None) -> list[Place]:
        where, values = ("true", ()) if scope is None else ("scope = %s", (checked_scope(scope),))
        rows = self._rows(f"{_WITH_JOBS} AND {where}", *values)
        return [Place(*row) for row in rows]

    def open_checkpoint(self, place: Place) -> Opening | None:
        check_place(place)
        try:
            rows = self._rows(_OPEN, address_of(place._replace(conversation=LINKS)), address_of(place))
            heads = [row for row in rows if row[0] is not None]
            if not heads:
                return None
            count, needs, version, links, body, checksum = heads[0]
            verified_at(place, [0], [(0, part_stream(version, needs), body, checksum)])
            entries = sorted(row[2:] for row in rows if row[0] is None)
            needed = verified_at(place, needs, entries[: len(needs)])
            later = verified(place, version - 1, count, entries[len(needs) :])
            bodies = b",".join(entry.body for entry in needed)
            return Opening(version, body, later, needs, bodies, int(links)) if later else None
        except StoreDamaged:
            return None

    def read_parts(self, place: Place, parts: Sequence[int]) -> dict[int, bytes]:
        wanted = [part for part in checked_versions(place, parts) if 0 <= part <= MAX_PART]
        try:
            rows = self._rows(_PARTS, wanted, address_of(place))
        except StoreDamaged:
            return {}
        entries = [(part, part_stream(at, needs), body, checksum) for part, at, needs, body, checksum in rows]
        return {part: body for part, _, body in whole_entries(place, entries)}

    def write_checkpoint(
        self, place: Place, version: int, head: bytes, needs: Sequence[int], parts: Mapping[int, bytes]
    ) -> bool:
        needed, (head_row, *others) = checked_checkpoint(place, version, head, needs, parts)
        columns = [[row[column] for row in others] for column in (0, 2, 3)]  # part, body and checksum
        values = (address_of(place), version, 0, version, _array(needed), *head_row[2:], *columns)
        ((is_written,),) = self._rows(_WRITE_HEAD, *values)
        return bool(is_written)

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        check_place(place)
        self.link.run(lambda connection: _replace(connection, place, bodies))

    def remove(self, place: Place) -> None:
        check_place(place)
        self.link.run(lambda connection: _remove(connection, address_of(place)))

    def scrub(self, *, wait: bool = True) -> None:
        """Vacuum the tables, once no transaction sees what was removed from them.

        The bytes stay in the free space of the tables' files until other rows overwrite them. The operator
        takes care of the server's log, replicas and backups.
        """
        ((now,),) = self._rows(_NOW)
        deadline = time.monotonic() + (_SCRUB_SECONDS if wait else _MIN_SCRUB_SECONDS)
        while self._rows(_IS_STILL_SEEN, now)[0][0]:  # VACUUM does not report the rows that it keeps
            if time.monotonic() > deadline:
                raise StoreFailed(
                    "another transaction is still open that began before the removal: "
                    "removed content may still be read in it"
                )
            time.sleep(_PAUSE_SECONDS)
        # Truncating the files would wait for transactions that have only read a table.
        tables = "quire.entries, quire.checkpoints, quire.conversations, quire.pieces"
        vacuum = f"VACUUM (TRUNCATE {'on' if wait else 'off'}) {tables}"
        self.link.run(lambda connection: connection.execute(vacuum.encode()))

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        for place in self.places():
            rows = [row[1:] for row in self._rows(_READ, 0, address_of(place)) if row[1] is not None]
            yield from ((place, stored) for stored in whole_entries(place, rows))

    def joining(self, connection: Connection[Any]) -> AbstractContextManager[None]:
        """Within the block, calls of this thread use the caller's connection, in its transaction.

        Their writes take effect when the caller commits. A lost connection is `StoreFailed`, without a retry.
        """
        return self.link.joining(connection)

    @property
    def listener(self) -> Listener:
        """The listener, which can watch other keys beside the conversations; see `notify`."""
        listener = self._opened_watchers()
        assert isinstance(listener, Listener)
        return listener

    def notify(self, key: bytes, count: int) -> None:
        """Notify the watchers of a key, in every process, of its new count, within a moment."""
        self._notifier.add(key, count)

    def place_of(self, address: bytes) -> Place | None:
        """The place whose `address_of` this is; `None` if there is no such conversation."""
        rows = self._rows(_PLACE, address)
        return Place(*rows[0]) if rows else None

    def close(self) -> None:
        self._notifier.send()
        self.link.close()
        self._opened_watchers().close()

    def _make_watchers(self) -> Listener:
        return Listener(self.link)

    def _watch_key(self, place: Place) -> bytes:
        return address_of(place)

    def _append(
        self,
        connection: Connection[Any],
        place: Place,
        entries: Sequence[Entry],
        expected: int,
        settled: bool,
    ) -> None:
        address = address_of(place)
        if entries and 0 <= expected < _LAST:
            rows = checksummed_rows(place, entries, expected)
            columns = [list(column) for column in zip(*rows, strict=True)]
            new = expected + len(entries)
            has_jobs = not settled if any(entry[0] == JOBS for entry in entries) else None
            values = (address, expected) if expected else (address, *place)
            query = _ADD if expected else _BEGIN
            try:
                values = (new, has_jobs, *values, *columns, address)
                added = connection.execute(query.encode(), values).fetchone()
            except psycopg.errors.UniqueViolation:
                raise damaged(place, expected, f"entry {expected + 1} is there, and is not counted") from None
            if added == (True,) and self.link.has_joined:
                notify(connection, {address: new})  # at the end of the caller's transaction
            elif added == (True,):
                self._notifier.add(address, new)
            if added:
                return
        row = connection.execute(_LOG_VERSION, [address]).fetchone()
        current = int(row[1]) if row else 0
        if current != expected or entries:
            raise conflict(place, expected, current)

    def _holds(self, place: Place, expected: int, entries: Sequence[Entry]) -> bool:
        """Whether these entries follow a version, so that an append of them was committed."""
        following = self.read(place, after=expected)[: len(entries)]
        return [Entry(*stored[1:]) for stored in following] == list(entries)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.link.run(
            lambda connection: connection.execute(query.encode(), values, binary=True).fetchall()
        )


def _replace(connection: Connection[Any], place: Place, bodies: Mapping[int, bytes]) -> None:
    with connection.transaction():
        row = connection.execute(f"{_LOG_VERSION} FOR UPDATE".encode(), [address_of(place)]).fetchone()
        number, count = row or (None, 0)
        check_bodies(place, bodies, count)
        query = "SELECT version, stream FROM quire.entries WHERE conversation = %s AND version = ANY(%s)"
        streams: dict[int, str] = dict(connection.execute(query, [number, list(bodies)]).fetchall())
        update = "UPDATE quire.entries SET body = %s, sum = %s WHERE conversation = %s AND version = %s"
        for version, body in bodies.items():
            if version not in streams:
                raise damaged(place, version - 1, f"entry {version} is missing")
            values = (body, checksum_entry(*place, version, streams[version], body), number, version)
            connection.execute(update, values)
        connection.execute("DELETE FROM quire.checkpoints WHERE conversation = %s", [number])
        connection.execute(_REMOVE_PIECES, [address_of(place)])
        changed = "UPDATE quire.conversations SET version = version WHERE number = %s"
        connection.execute(changed, [number])


def _remove(connection: Connection[Any], address: bytes) -> None:
    with connection.transaction():
        removed = "DELETE FROM quire.conversations WHERE address = %s RETURNING number"
        for row in connection.execute(removed, [address]).fetchall():
            notify(connection, {address: 0})
            connection.execute("DELETE FROM quire.entries WHERE conversation = %s", row)
            connection.execute("DELETE FROM quire.checkpoints WHERE conversation = %s", row)
        connection.execute(_REMOVE_PIECES, [address])


def _array(numbers: Sequence[int]) -> str:
    """The numbers as the literal of an array: the driver takes longer to write a list."""
    return f"{{{','.join(map(str, numbers))}}}"


def address_of(place: Place) -> bytes:
    """The key of a place in the tables: a hash, so that it holds no name."""
    return sha256(str(place).encode()).digest()
