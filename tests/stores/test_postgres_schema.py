"""Versions of the PostgreSQL store, processes that are forked off, and the server that tests run on."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from quire.errors import NewerStore, StoreDamaged
from quire.stores import Entry, Place
from quire.stores.postgres import PostgresStore
from quire.stores.postgres_schema import MIGRATIONS, settle
from tests.stores.server import database, server, start

HERE = Place("ana", "q3")
HELLO = Entry("main", b'{"kind":"message"}')
SAMPLED = "SELECT attname FROM pg_stats WHERE schemaname = 'quire' AND attname IN ('body', 'name', 'scope')"


def add_color(connection: "psycopg.Connection[Any]") -> None:
    connection.execute("ALTER TABLE quire.entries ADD COLUMN color text")


def fail(connection: "psycopg.Connection[Any]") -> None:
    connection.execute("DROP TABLE quire.entries")
    raise RuntimeError("the power went out")


def test_every_earlier_version_is_brought_up_to_date() -> None:
    newest = (*MIGRATIONS, add_color)
    for old in range(len(newest)):
        with database() as url, psycopg.connect(url, autocommit=True) as connection:
            if old:
                settle(connection, newest[:old])
                connection.execute("INSERT INTO quire.entries VALUES (1, 1, 'main', '{}')")
            for _ in range(2):
                settle(connection, newest)
            assert connection.execute("SELECT version FROM quire.about").fetchall() == [(len(newest),)]
            assert connection.execute("SELECT color FROM quire.entries").fetchall() == [(None,)] * bool(old)


def test_a_migration_that_fails_leaves_the_old_version_as_it_was(
    url: str, direct: "psycopg.Connection[Any]"
) -> None:
    for old in ((), MIGRATIONS):
        settle(direct, old) if old else None
        with pytest.raises(RuntimeError):
            settle(direct, (*MIGRATIONS, add_color, fail))
        with PostgresStore(url) as store:
            assert store.append(HERE, [HELLO], expected=store.version(HERE)) > 0


@pytest.mark.parametrize("opened", [0, 1])
def test_the_server_keeps_no_samples_of_what_is_said(
    url: str, direct: "psycopg.Connection[Any]", opened: int
) -> None:
    if opened:
        settle(direct, MIGRATIONS[:opened])
        direct.execute("INSERT INTO quire.conversations (address, scope, name) VALUES ('a', 'ana', 'q3')")
        direct.execute(
            "INSERT INTO quire.entries SELECT 1, nth, 'main', '{}' FROM generate_series(1, 50) nth"
        )
        direct.execute("ANALYZE")
        assert direct.execute(SAMPLED).fetchall() != []
    with PostgresStore(url) as store:
        store.append(HERE, [HELLO] * 50, expected=0)
        direct.execute("ANALYZE")
        assert direct.execute(SAMPLED).fetchall() == []


def test_who_made_a_view_of_the_entries_is_brought_up_to_date_too(
    url: str, direct: "psycopg.Connection[Any]"
) -> None:
    settle(direct, MIGRATIONS[:1])
    direct.execute("CREATE VIEW said AS SELECT body FROM quire.entries")
    with PostgresStore(url) as store:
        assert store.append(HERE, [HELLO], expected=0) == 1
    assert direct.execute("SELECT count(*) FROM said").fetchone() == (1,)


def test_a_newer_store_is_refused(url: str, direct: "psycopg.Connection[Any]") -> None:
    PostgresStore(url).close()
    direct.execute("UPDATE quire.about SET version = 7")
    with pytest.raises(NewerStore, match=rf"version 7.* knows {len(MIGRATIONS)}"):
        PostgresStore(url)


def test_a_schema_of_another_is_refused_and_left_alone(url: str, direct: "psycopg.Connection[Any]") -> None:
    direct.execute("CREATE SCHEMA quire")
    direct.execute("CREATE TABLE quire.entries (x int)")
    with pytest.raises(StoreDamaged, match="another application"):
        PostgresStore(url)
    assert direct.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'quire'").fetchone() == (1,)


def test_any_bytes_come_back(url: str) -> None:
    bodies = [bytes(range(256)), b"", b"\\x00", b"x" * 3_000_000]
    with PostgresStore(url) as store:
        store.append(HERE, [Entry("main", body) for body in bodies], expected=0)
        for body in bodies:
            store.append(HERE, [Entry("main", body)], expected=store.version(HERE))
        assert [stored.body for stored in store.read(HERE)] == bodies * 2


FORKING = """
import os, sys
from quire.stores import Entry, Place
from quire.stores.postgres import PostgresStore
place, hello = Place("ana", "q3"), Entry("main", b"{}")
store = PostgresStore(sys.argv[1])
store.append(place, [hello], expected=0)
child = os.fork()
if child == 0:
    for version in range(1, 6):
        store.append(place, [hello], expected=version)
    store.close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
for version in range(6, 9):
    store.append(place, [hello], expected=version)
store.close()
"""


def test_a_forked_child_leaves_its_parents_connections_alone(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", FORKING, url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with PostgresStore(url) as store:
        assert store.version(HERE) == 9


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="these tests run as an ordinary user"
)
def test_the_server_also_runs_as_an_ordinary_user() -> None:
    server()  # skips where none can run at all
    url, stop = start(user=65534)
    try:
        assert not url.startswith("cannot:"), url
        with PostgresStore(url) as store:
            assert store.append(HERE, [HELLO], expected=0) == 1
    finally:
        stop()


KILLED = """
import os, signal
from tests.stores.server import server
print(server(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_server_outlives_tests_that_are_killed() -> None:
    server()
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as killed:
        url = killed.communicate(timeout=60)[0].strip()
    folder = Path(url.partition("host=")[2]).parent
    assert folder.name.startswith("quire-pg-")
    until = time.monotonic() + 30
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not folder.exists()
