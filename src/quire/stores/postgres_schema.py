"""What the tables of a PostgreSQL store are, and how those of earlier versions become them.

They are in a schema of their own, `quire`. A new version is one more function at the end of `MIGRATIONS`;
those before it never change.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from quire.errors import NewerStore, StoreDamaged

if TYPE_CHECKING:
    from psycopg import Connection

    Migration = Callable[[Connection[Any]], None]

_ONE_AT_A_TIME = 0x51756972
"""The advisory lock of whoever changes the tables."""

_log = logging.getLogger("quire.stores")


def _first(connection: "Connection[Any]") -> None:
    # A conversation is found by the hash of its address: names can be longer than what an index takes.
    connection.execute("""
        CREATE TABLE quire.conversations (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            address bytea NOT NULL UNIQUE, scope text NOT NULL, name text NOT NULL)""")
    connection.execute("CREATE INDEX conversations_of_scope ON quire.conversations (scope)")
    connection.execute("""
        CREATE TABLE quire.entries (
            conversation bigint, version bigint, stream text NOT NULL, body bytea NOT NULL,
            PRIMARY KEY (conversation, version))""")


def _without_samples(connection: "Connection[Any]") -> None:
    # The server would keep samples of what is said, for its plans, and so after it is forgotten.
    from psycopg.errors import FeatureNotSupported

    for table, column, kind in _SAID:
        alter = f"ALTER TABLE quire.{table} ALTER {column}"
        connection.execute(f"{alter} SET STATISTICS 0".encode())
        # That a type is said again takes away the samples there are; a view of somebody's forbids it.
        with suppress(FeatureNotSupported), connection.transaction():
            connection.execute(f"{alter} TYPE {kind}".encode())


_SAID = (("entries", "body", "bytea"), ("conversations", "scope", "text"), ("conversations", "name", "text"))
MIGRATIONS: "tuple[Migration, ...]" = (_first, _without_samples)


def settle(connection: "Connection[Any]", migrations: "Sequence[Migration]" = MIGRATIONS) -> None:
    """Bring a database up to date, all or nothing. What is not ours, or newer than this, is left as it is."""
    newest = len(migrations)
    if _standing(connection, newest) == newest:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        found = _standing(connection, newest)  # another may have been first
        if not found:
            connection.execute("CREATE SCHEMA IF NOT EXISTS quire")
            connection.execute("CREATE TABLE quire.about (version integer NOT NULL)")
            connection.execute("INSERT INTO quire.about VALUES (0)")
        for migration in migrations[found:]:
            migration(connection)
        connection.execute("UPDATE quire.about SET version = %s", [newest])
    if found:
        _log.info("a postgres store was brought from version %d to %d", found, newest)


def _standing(connection: "Connection[Any]", newest: int) -> int:
    """The version of our tables; 0 where there are none."""
    tables = _one(connection, "SELECT count(*) FROM pg_tables WHERE schemaname = 'quire'")
    if not tables:
        return 0
    if _one(connection, "SELECT to_regclass('quire.about') IS NULL"):
        raise StoreDamaged(
            "the schema quire of this database is another application's, and was left as it is"
        )
    version = int(_one(connection, "SELECT max(version) FROM quire.about") or 0)
    if version > newest:
        raise NewerStore(f"the database is of version {version}, and this Quire knows {newest}: update Quire")
    return version


def _one(connection: "Connection[Any]", query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return cast("tuple[Any, ...]", row)[0]
