"""The tables of PostgreSQL go from one version to the next: when a store is opened, or by the command."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import psycopg
import pytest

from quire import Message, Session
from quire.errors import NewerStore, StoreFailed
from quire.stores import Place, PostgresStore
from quire.stores.tables import STEPS, VERSION
from tests.cli.command_line import ran, ran_json, refused, run, started
from tests.stores.keeping import entry

OLD = Path(__file__).with_name("version_4.sql").read_text("utf-8")
THERE = Place("ana", "q3")
FOUND = "SELECT version FROM quire.about"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'quire' ORDER BY tablename"


@pytest.fixture
def old(url: str, direct: "psycopg.Connection[Any]") -> str:
    """A database of version 4, with conversations."""
    direct.execute(OLD.encode())
    return url


@contextmanager
def role(url: str, direct: "psycopg.Connection[Any]", *rights: str) -> Generator[str]:
    """The address of a role that has some rights only."""
    direct.execute("CREATE ROLE worker LOGIN")
    try:
        for right in rights:
            direct.execute(f"GRANT {right} TO worker".encode())
        yield url.replace(f"{urlsplit(url).username}:@", "worker:@")
    finally:
        direct.execute("DROP OWNED BY worker")
        direct.execute("DROP ROLE worker")


def check_whole(url: str) -> None:
    """All that was kept is there, and can be added to."""
    with PostgresStore(url) as store:
        assert [damage.reason for damage in store.verify()] == []
        assert {str(place): store.version(place) for place in store.places()} == {
            "ana/q3": 3,
            "bob/gr%C3%B6%C3%9Fe%20%E2%9C%93": 1,
        }
        session = Session.open("ana/q3", store=store)
        said = [item.content for item in session.view() if isinstance(item, Message)]
        assert said == ["How did Q3 go?", "Revenue rose by 4 %."]
        session.user("And the margin?")
        assert store.version(THERE) == 4
        opened = store.open_checkpoint(THERE)
        assert opened is not None and opened.head == b'{"head":1}'


def test_an_older_store_is_migrated_when_it_is_opened(old: str, direct: "psycopg.Connection[Any]") -> None:
    check_whole(old)
    assert direct.execute(FOUND).fetchall() == [(VERSION,)]


def test_a_migrated_database_has_the_tables_of_a_new_one(old: str, direct: "psycopg.Connection[Any]") -> None:
    columns = (
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'quire' ORDER BY 1, 2"
    )
    PostgresStore(old).close()
    migrated = direct.execute(columns).fetchall()
    direct.execute("DROP SCHEMA quire CASCADE")
    PostgresStore(old).close()
    assert direct.execute(columns).fetchall() == migrated


def test_where_many_migrate_at_once_one_does_it(old: str, direct: "psycopg.Connection[Any]") -> None:
    with ThreadPoolExecutor(6) as threads:
        for store in threads.map(PostgresStore, [old] * 6):
            store.close()
    assert direct.execute(FOUND).fetchall() == [(VERSION,)]
    check_whole(old)


def test_of_two_processes_that_migrate_one_does_it(old: str) -> None:
    running = [started("migrate", old, "--json") for _ in range(2)]
    done = [msgspec.json.decode(process.communicate(timeout=60)[0])["done"] for process in running]
    assert [process.returncode for process in running] == [0, 0] and sorted(done) == [[], [5]]
    check_whole(old)


def test_the_command_says_what_is_due_and_does_it(old: str, direct: "psycopg.Connection[Any]") -> None:
    for _ in range(2):
        checked = run("migrate", old, "--check")
        assert (checked.exit_code, checked.stdout) == (1, f"version 5 is due: {STEPS[5][0]}\n")
        assert direct.execute(FOUND).fetchall() == [(4,)]
    assert ran("migrate", old).stdout == f"version 5 is done: {STEPS[5][0]}\n"
    nothing = f"the tables are of version {VERSION}: nothing is due\n"
    assert ran("migrate", old).stdout == ran("migrate", old, "--check").stdout == nothing
    assert ran_json("migrate", old, "--check") == {"version": VERSION, "due": [], "done": []}
    check_whole(old)


def test_the_command_prepares_an_empty_database(url: str, direct: "psycopg.Connection[Any]") -> None:
    assert run("migrate", url, "--check").exit_code == 1
    assert direct.execute(TABLES).fetchall() == []
    assert ran_json("migrate", url) == {"version": VERSION, "due": [], "done": list(STEPS)}
    with PostgresStore(url) as store:
        assert store.append(THERE, [entry("one")], expected=0) == 1


def test_a_role_that_may_not_is_told_the_command_and_works_once_another_did_it(
    old: str, direct: "psycopg.Connection[Any]"
) -> None:
    rights = ("USAGE ON SCHEMA quire", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA quire")
    with role(old, direct, *rights) as limited:
        with pytest.raises(StoreFailed, match="run `quire migrate`"):
            PostgresStore(limited)
        assert "run `quire migrate`" in refused(2, "migrate", limited)
        assert ran_json("migrate", old)["done"] == [5]
        direct.execute(f"GRANT {rights[1]} TO worker".encode())
        with PostgresStore(limited) as store:
            assert store.append(THERE, [entry("more")], expected=3) == 4


def test_tables_are_added_as_their_owner(old: str, direct: "psycopg.Connection[Any]") -> None:
    with role(old, direct) as owner:
        direct.execute("ALTER SCHEMA quire OWNER TO worker")
        for name in ("about", "conversations", "entries", "checkpoints"):
            direct.execute(f"ALTER TABLE quire.{name} OWNER TO worker".encode())
        ran("migrate", old)  # as another role, which may act as the owner
        with PostgresStore(owner) as store:
            assert store.append(THERE, [entry("more")], expected=3) == 4


def test_a_newer_or_a_much_older_database_is_left(old: str, direct: "psycopg.Connection[Any]") -> None:
    for version, error, words in (
        (VERSION + 1, NewerStore, "update Quire"),
        (3, StoreFailed, "this Quire reads 4 and later"),
    ):
        direct.execute("UPDATE quire.about SET version = %s", [version])
        for command in (["migrate", old], ["migrate", old, "--check"]):
            assert words in refused(2, *command)
        with pytest.raises(error, match=words):
            PostgresStore(old)
        assert direct.execute(FOUND).fetchall() == [(version,)]


def test_only_a_database_is_migrated() -> None:
    assert "only the tables of a PostgreSQL database" in refused(2, "migrate", "chats.db")
