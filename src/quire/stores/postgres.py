"""The PostgreSQL store: many processes and many machines."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from quire.errors import Conflict, InvalidValue, MissingExtra, NewerStore, StoreDamaged, StoreFailed
from quire.stores.entries import (
    are_clear,
    check_bodies,
    check_seal,
    checked,
    conflict,
    damaged,
    entry_sum,
    seed_of,
    summed,
    verified,
    whole,
)
from quire.stores.postgres_link import Link
from quire.stores.store import Durability, Entry, Place, Standing, Store, Stored, place_at

try:
    from psycopg import Connection
    from psycopg.errors import FeatureNotSupported, UniqueViolation
except ImportError as missing:
    raise MissingExtra("psycopg", "postgres") from missing

VERSION = 3
"""The version of the tables, which is in the table `quire.about`."""

_ONE_AT_A_TIME = 0x51756972
"""The advisory lock of whoever changes the tables."""

_SCRUBBING, _MOMENT, _PAUSE = 10.0, 0.05, 0.01
"""Seconds that a scrub waits for transactions of others, where it may wait and where it may not."""

_LAST = (1 << 63) - 1
_MOST_KNOWN = 10_000

# A conversation is found by the hash of its address: names can be longer than what an index takes.
_TABLES = """
    CREATE TABLE quire.conversations (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        address bytea NOT NULL UNIQUE, scope text NOT NULL, name text NOT NULL, version bigint NOT NULL);
    CREATE INDEX conversations_of_scope ON quire.conversations (scope);
    CREATE TABLE quire.entries (
        conversation bigint, version bigint, stream text NOT NULL, body bytea NOT NULL, sum bigint NOT NULL,
        PRIMARY KEY (conversation, version))"""
_COLUMNS = """
    ALTER TABLE quire.conversations ADD COLUMN version bigint;
    UPDATE quire.conversations SET version =
        (SELECT coalesce(max(entries.version), 0) FROM quire.entries WHERE conversation = number);
    ALTER TABLE quire.conversations ALTER version SET NOT NULL;
    ALTER TABLE quire.entries ADD COLUMN sum bigint"""
# The server would keep samples of content for its plans, also after the content is removed.
_SAMPLED = (
    ("entries", "body", "bytea"),
    ("conversations", "scope", "text"),
    ("conversations", "name", "text"),
)

# The count is the compare and swap: another append waits for its row, and then finds another version.
_ENTRIES = """
    INSERT INTO quire.entries (conversation, version, stream, body, sum)
    SELECT counted.number, added.* FROM counted,
        unnest(%s::bigint[], %s::text[], %s::bytea[], %s::bigint[]) AS added (version, stream, body, sum)"""
_ADD = f"""
    WITH counted AS (
        UPDATE quire.conversations SET version = %s WHERE address = %s AND version = %s RETURNING number)
    {_ENTRIES}"""
_BEGIN = f"""
    WITH counted AS (
        INSERT INTO quire.conversations (version, address, scope, name) VALUES (%s, %s, %s, %s)
        ON CONFLICT (address) DO NOTHING RETURNING number)
    {_ENTRIES}"""
_STANDING = "SELECT number, version FROM quire.conversations WHERE address = %s"
_STANDINGS = "SELECT name, version, number FROM quire.conversations WHERE scope = %s"
_READ = """
    SELECT counted.version, entries.version, stream, body, sum
    FROM quire.conversations AS counted
    LEFT JOIN quire.entries ON conversation = number AND entries.version > %s
    WHERE address = %s ORDER BY entries.version"""
_FIRST = """
    SELECT body FROM quire.conversations JOIN quire.entries ON conversation = number AND entries.version = 1
    WHERE address = %s"""

# All that is committed by now has a lesser number than this.
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text"
# Who sees rows of an earlier moment keeps them, by the rules of VACUUM: whoever is in this database, or
# copies the whole server, but not another VACUUM.
_STILL_SEEN = """
    SELECT EXISTS (SELECT FROM (
        SELECT unnest(ARRAY[backend_xid, backend_xmin]) AS since FROM pg_stat_activity
        WHERE coalesce(datname, current_database()) = current_database() AND pid <> pg_backend_pid()
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
        UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        UNION ALL SELECT xmin FROM pg_replication_slots) AS seeing
    WHERE age(since) > age(%s::xid))"""

_log = logging.getLogger("quire.stores")


class PostgresStore(Store):
    """All conversations in the schema `quire` of a database.

    With `durable="process"` an append waits for what the server's `synchronous_commit` says, which is the
    server's disk unless it was changed; with `"power"` it waits for the disk in any case.
    """

    def __init__(self, url: str, *, durable: Durability = "process", pool_size: int = 4) -> None:
        if pool_size < 1:
            raise InvalidValue("pool_size is at least 1")
        self.link = Link(url, durable, pool_size)
        self.link.first(_prepare)
        self._clear: set[Place] = set()  # conversations that are known not to be encrypted
        # Appends whose connection was lost: they may have arrived, and are recognised when they are repeated.
        self._unsure: dict[Place, tuple[int, tuple[Entry, ...]]] = {}

    def __repr__(self) -> str:
        return "<PostgresStore>"  # the address may hold a password

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        """Add entries, all or none, if the version is the expected one, and return the new version.

        An append whose connection was lost before the answer came is tried again, and never added twice.
        """
        place = checked(place, entries, expected)
        doubt = (expected, tuple(entries))
        losses = [True] if self._unsure.pop(place, None) == doubt else []
        try:
            self.link.run(
                lambda connection: self._append(connection, place, entries, expected),
                lambda: losses.append(True),
            )
        except Conflict:
            if not losses or not self._holds(place, expected, entries):
                raise
        except StoreFailed:
            if losses:
                self._unsure[place] = doubt
            raise
        return expected + len(entries)

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        start = min(max(after, 0), _LAST)
        rows = self._rows(_READ, start, _address(place))
        if not rows:
            return []
        count = rows[0][0]
        found = [] if rows[0][1] is None else [row[1:] for row in rows]
        return verified(place, min(start, count), count, found)

    def version(self, place: Place) -> int:
        rows = self._rows(_STANDING, _address(place))
        return int(rows[0][1]) if rows else 0

    def conversations(self, scope: str) -> dict[str, Standing]:
        place_at(scope=scope)
        rows = self._rows(_STANDINGS, scope)
        return dict(sorted((name, Standing(version, str(number))) for name, version, number in rows))

    def scopes(self) -> list[str]:
        return sorted(row[0] for row in self._rows("SELECT DISTINCT scope FROM quire.conversations"))

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        self.link.run(lambda connection: _replace(connection, place, bodies))

    def remove(self, place: Place) -> None:
        self.link.run(lambda connection: _remove(connection, _address(place)))
        self._clear.discard(place)

    def scrub(self, *, wait: bool = True) -> None:
        """Vacuum the tables, once no transaction sees what was removed from them.

        The bytes stay in free room of the tables' files until other rows are written over them. The server's
        log, its copies and backups are the affair of whoever runs it.
        """
        scrub(self.link, "quire.entries, quire.conversations", wait=wait)

    def recover(self) -> Iterator[tuple[Place, Stored]]:
        for place in self.places():
            rows = self._rows(_READ, 0, _address(place))
            yield from ((place, stored) for stored in whole(place, _entries_in(rows)))

    def close(self) -> None:
        self.link.close()

    def _append(
        self, connection: Connection[Any], place: Place, entries: Sequence[Entry], expected: int
    ) -> None:
        address = _address(place)
        is_clear = bool(entries) and are_clear(entries)
        if expected and is_clear and place not in self._clear:
            for (first,) in connection.execute(_FIRST, [address]):
                check_seal(place, first)
        if entries and 0 <= expected < _LAST:
            columns = [list(column) for column in zip(*summed(place, entries, expected), strict=True)]
            new = expected + len(entries)
            begin = (_ADD, (new, address, expected)) if expected else (_BEGIN, (new, address, *place))
            try:
                added = connection.execute(begin[0].encode(), (*begin[1], *columns)).rowcount
            except UniqueViolation:
                raise damaged(place, expected, f"entry {expected + 1} is there, and is not counted") from None
            if added:
                self._clear = self._clear if len(self._clear) < _MOST_KNOWN else set()
                self._clear.update([place] if is_clear else ())
                return
        row = connection.execute(_STANDING, [address]).fetchone()
        found = int(row[1]) if row else 0
        if found != expected or entries:
            raise conflict(place, expected, found)

    def _holds(self, place: Place, expected: int, entries: Sequence[Entry]) -> bool:
        found = self.read(place, after=expected)[: len(entries)]
        return [Entry(*stored[1:]) for stored in found] == list(entries)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.link.run(
            lambda connection: connection.execute(query.encode(), values, binary=True).fetchall()
        )


def scrub(link: Link, tables: str, *, wait: bool = True) -> None:
    """Vacuum tables as soon as no transaction sees what was removed; `StoreFailed` where one stays.

    VACUUM itself does not say that it left rows.
    """
    now = _one(link, _NOW)
    until = time.monotonic() + (_SCRUBBING if wait else _MOMENT)
    while _one(link, _STILL_SEEN, now):
        if time.monotonic() > until:
            raise StoreFailed(
                "a transaction of another is open in the database since before: "
                "removed content may still be read in it"
            )
        time.sleep(_PAUSE)
    # To shorten the files, VACUUM would wait for whoever has only read a table.
    vacuum = f"VACUUM (TRUNCATE {'on' if wait else 'off'}) {tables}"
    link.run(lambda connection: connection.execute(vacuum.encode()))


def _one(link: Link, query: str, *values: object) -> object:
    row = link.run(lambda connection: connection.execute(query.encode(), values).fetchone())
    return row[0] if row else None


def _entries_in(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [row[1:] for row in rows if row[1] is not None]


def _replace(connection: Connection[Any], place: Place, bodies: Mapping[int, bytes]) -> None:
    with connection.transaction():
        row = connection.execute(f"{_STANDING} FOR UPDATE".encode(), [_address(place)]).fetchone()
        number, count = row or (None, 0)
        check_bodies(place, bodies, count)
        streams: dict[int, str] = dict(
            connection.execute(
                "SELECT version, stream FROM quire.entries WHERE conversation = %s AND version = ANY(%s)",
                [number, list(bodies)],
            ).fetchall()
        )
        for version, body in bodies.items():
            if version not in streams:
                raise damaged(place, version - 1, f"entry {version} is missing")
            values = (body, entry_sum(seed_of(place), version, streams[version], body), number, version)
            connection.execute(
                "UPDATE quire.entries SET body = %s, sum = %s WHERE conversation = %s AND version = %s",
                values,
            )


def _remove(connection: Connection[Any], address: bytes) -> None:
    with connection.transaction():
        removed = "DELETE FROM quire.conversations WHERE address = %s RETURNING number"
        for row in connection.execute(removed, [address]).fetchall():
            connection.execute("DELETE FROM quire.entries WHERE conversation = %s", row)


def _address(place: Place) -> bytes:
    """What a place is found by. A slash within a part is escaped, so no two places are written alike."""
    return sha256(str(place).encode()).digest()


def _prepare(connection: Connection[Any]) -> None:
    """Make the tables, or upgrade those of an earlier version, all or nothing. What is not ours is left."""
    if _version(connection) == VERSION:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        found = _version(connection)  # another may have been first
        if not found:
            connection.execute("CREATE SCHEMA IF NOT EXISTS quire")
            connection.execute("CREATE TABLE quire.about (version integer NOT NULL)")
            connection.execute("INSERT INTO quire.about VALUES (0)")
            connection.execute(_TABLES)
        elif found < VERSION:
            _upgrade(connection)
        if found in (0, 1):
            _keep_no_samples(connection)
        connection.execute("UPDATE quire.about SET version = %s", [VERSION])
    if found:
        _log.info("a postgres store was brought from version %d to %d", found, VERSION)


def _upgrade(connection: Connection[Any]) -> None:
    """Versions 1 and 2 had no counts and no sums."""
    connection.execute("LOCK TABLE quire.entries, quire.conversations IN ACCESS EXCLUSIVE MODE")
    connection.execute(_COLUMNS)
    for number, scope, name in connection.execute(
        "SELECT number, scope, name FROM quire.conversations"
    ).fetchall():
        seed = seed_of(Place(scope, name))
        rows = connection.execute(
            "SELECT version, stream, body FROM quire.entries WHERE conversation = %s", [number], binary=True
        ).fetchall()
        sums = [entry_sum(seed, version, stream, body) for version, stream, body in rows]
        connection.execute(
            "UPDATE quire.entries SET sum = added.sum FROM unnest(%s::bigint[], %s::bigint[])"
            " AS added (version, sum) WHERE conversation = %s AND entries.version = added.version",
            [[row[0] for row in rows], sums, number],
        )
    connection.execute("ALTER TABLE quire.entries ALTER sum SET NOT NULL")


def _keep_no_samples(connection: Connection[Any]) -> None:
    for table, column, kind in _SAMPLED:
        alter = f"ALTER TABLE quire.{table} ALTER {column}"
        connection.execute(f"{alter} SET STATISTICS 0".encode())
        # Setting a type again removes the samples that are there; a view on the column forbids it.
        with suppress(FeatureNotSupported), connection.transaction():
            connection.execute(f"{alter} TYPE {kind}".encode())


def _version(connection: Connection[Any]) -> int:
    """The version of our tables; 0 where there are none."""

    def one(query: str) -> Any:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None

    if not one("SELECT count(*) FROM pg_tables WHERE schemaname = 'quire'"):
        return 0
    if one("SELECT to_regclass('quire.about') IS NULL"):
        raise StoreDamaged(
            "the schema quire of this database is another application's, and was left as it is"
        )
    version = int(one("SELECT max(version) FROM quire.about") or 0)
    if version > VERSION:
        raise NewerStore(
            f"the database is of version {version}, and this Quire knows {VERSION}: update Quire"
        )
    return version
