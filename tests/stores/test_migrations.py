"""The tables of PostgreSQL are made when a store is opened, or by the command."""

from typing import Any

import msgspec
import psycopg
import pytest

from quire.errors import NewerStore, StoreFailed
from quire.stores import PostgresStore
from quire.stores.tables import VERSION
from tests.cli.command_line import ran, ran_json, refused, run, started
from tests.stores.keeping import HERE, entry

FOUND = "SELECT version FROM quire.about"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'quire' ORDER BY tablename"


def test_of_two_processes_that_make_the_tables_one_does_it(url: str) -> None:
    running = [started("migrate", url, "--json") for _ in range(2)]
    done = [msgspec.json.decode(process.communicate(timeout=60)[0])["done"] for process in running]
    assert [process.returncode for process in running] == [0, 0] and sorted(done) == [False, True]


def test_the_command_says_what_is_due_and_does_it(url: str, direct: "psycopg.Connection[Any]") -> None:
    checked = run("migrate", url, "--check")
    assert (checked.exit_code, checked.stdout) == (1, f"the tables of version {VERSION} are due\n")
    assert direct.execute(TABLES).fetchall() == []
    assert ran("migrate", url).stdout == f"the tables of version {VERSION} are created\n"
    nothing = f"the tables are of version {VERSION}: nothing is due\n"
    assert ran("migrate", url).stdout == ran("migrate", url, "--check").stdout == nothing
    assert ran_json("migrate", url, "--check") == {"version": VERSION, "due": False, "done": False}


def test_a_role_that_may_not_is_told_the_command_and_works_once_another_did_it(
    url: str, direct: "psycopg.Connection[Any]", limited: str
) -> None:
    with pytest.raises(StoreFailed, match="run `quire migrate`"):
        PostgresStore(limited)
    assert "run `quire migrate`" in refused(2, "migrate", limited)
    assert ran_json("migrate", url)["done"]
    direct.execute("GRANT USAGE ON SCHEMA quire TO worker")
    direct.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA quire TO worker")
    with PostgresStore(limited) as store:
        assert store.append(HERE, [entry("one")], expected=0) == 1


def test_a_newer_or_an_older_database_is_left(url: str, direct: "psycopg.Connection[Any]") -> None:
    PostgresStore(url).close()
    for version, error, words in (
        (VERSION + 1, NewerStore, "update Quire"),
        (VERSION - 1, StoreFailed, f"this Quire reads {VERSION} and later"),
    ):
        direct.execute("UPDATE quire.about SET version = %s", [version])
        for command in (["migrate", url], ["migrate", url, "--check"]):
            assert words in refused(2, *command)
        with pytest.raises(error, match=words):
            PostgresStore(url)
        assert direct.execute(FOUND).fetchall() == [(version,)]
