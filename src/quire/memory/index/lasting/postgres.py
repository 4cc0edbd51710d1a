"""Tables in the schema `quire_index` of the PostgreSQL database that a store is in."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from quire.memory.index.lasting.tables import SCHEMA, TABLES, VERSION, Asked, Row, Tables

if TYPE_CHECKING:
    from psycopg import Connection

    from quire.stores.postgres_link import Link

_ONE_AT_A_TIME = 0x51756978
"""The advisory lock of whoever writes to an index."""

_HERE = "SET LOCAL search_path = quire_index"
_TELLING = """
    SELECT format('ALTER TABLE quire_index.%I ALTER %I SET STATISTICS 0', table_name, column_name)
    FROM information_schema.columns WHERE table_schema = 'quire_index' AND data_type IN ('text', 'bytea')"""
_Result = TypeVar("_Result")


class PostgresTables(Tables):
    """They are asked over the connections of a store, which closes them."""

    def __init__(self, link: "Link") -> None:
        self._link = link
        self._run(_settle)

    def read(self, work: Callable[[Asked], _Result]) -> _Result:
        return self._run(
            lambda connection: _within(
                connection, work, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", _HERE
            )
        )

    def write(self, work: Callable[[Asked], _Result]) -> _Result:
        return self._run(
            lambda connection: _within(
                connection, work, _HERE, f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})"
            )
        )

    def wipe(self) -> None:
        tables = ", ".join(f"quire_index.{table}" for table in TABLES)
        self._run(lambda connection: connection.execute(f"VACUUM {tables}".encode()))

    def close(self) -> None:
        """The connections are the store's."""

    def _run(self, work: "Callable[[Connection[Any]], _Result]") -> _Result:
        # What is done twice because an answer was lost does no harm: the same leaves are put again.
        return self._link.run(work, lambda: None)


class _Asked(Asked):
    def __init__(self, connection: "Connection[Any]") -> None:
        self._connection = connection

    def rows(self, statement: str, *values: object) -> list[Row]:
        found = self._connection.execute(_spelled(statement), values, binary=True)
        return found.fetchall() if found.description else []

    def many(self, statement: str, values: Iterable[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_spelled(statement), list(values))


@cache
def _spelled(statement: str) -> bytes:
    return (
        statement.replace("IN (??)", "= ANY(?)")
        .replace("?", "%s")
        .replace("INTEGER", "bigint")
        .replace("SERIAL", "bigint GENERATED ALWAYS AS IDENTITY")
        .replace(" REAL", " double precision")
        .replace("BLOB", "bytea")
        .replace("CLUSTERED", "")
        .encode()
    )


def is_there(link: "Link") -> bool:
    """Whether somebody has made the tables."""
    return link.run(_version, lambda: None) > 0


def _within(connection: "Connection[Any]", work: Callable[[Asked], _Result], *first: str) -> _Result:
    with connection.transaction():
        for statement in first:
            connection.execute(statement.encode())
        return work(_Asked(connection))


def _settle(connection: "Connection[Any]") -> None:
    """Make the tables where there are none of this version."""
    if _version(connection) == VERSION:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        if _version(connection) == VERSION:  # another was first
            return
        connection.execute("DROP SCHEMA IF EXISTS quire_index CASCADE")
        connection.execute("CREATE SCHEMA quire_index")
        connection.execute(_HERE.encode())
        asked = _Asked(connection)
        for statement in SCHEMA:
            asked.rows(statement)
        asked.rows("INSERT INTO about VALUES (?, 0, 0)", VERSION)
        # The server would keep samples of words, for its plans, and so after they are forgotten.
        for (statement,) in connection.execute(_TELLING.encode()).fetchall():
            connection.execute(statement.encode())


def _version(connection: "Connection[Any]") -> int:
    there = connection.execute("SELECT to_regclass('quire_index.about') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return 0
    row = connection.execute("SELECT max(version) FROM quire_index.about").fetchone()
    return int(row[0] or 0) if row else 0
