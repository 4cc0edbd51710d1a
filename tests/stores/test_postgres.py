"""The PostgreSQL store on a real server: lost connections, errors in words, versions, forks, scrubbing."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from quire import Session
from quire.errors import Conflict, InvalidValue, StoreDamaged, StoreFailed
from quire.stores import Place, PostgresStore
from tests.stores.keeping import HERE, THERE, entry, fill, stored_bodies, version_after

SAMPLED = "SELECT attname FROM pg_stats WHERE schemaname = 'quire' AND attname IN ('body', 'name', 'scope')"


def cut_all(connection: "psycopg.Connection[Any]") -> None:
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_connections_lost_between_and_in_appends_lose_and_double_nothing(
    store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    over = threading.Event()

    def cut() -> None:
        while not over.wait(0.02):
            cut_all(direct)

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        for number in range(60):
            while True:
                try:
                    store.append(HERE, [entry(str(number))], expected=number)
                    break
                except StoreFailed:  # it may have arrived: a caller looks before asking again
                    if version_after(store) > number:
                        break
    finally:
        over.set()
        cutter.join()
    assert [stored.body for stored in store.read(HERE)] == [entry(str(number)).body for number in range(60)]


def test_an_error_says_what_was_wrong_and_never_the_password(url: str) -> None:
    wrong = {
        "nowhere": url.replace(urlsplit(url).path, "/nowhere", 1),
        "port 1": "postgresql://nobody:top-secret@127.0.0.1:1/quire?connect_timeout=2",
    }
    for named, address in wrong.items():
        with pytest.raises(StoreFailed, match=named) as refused:
            PostgresStore(address)
        assert "top-secret" not in str(refused.value)
    with pytest.raises(InvalidValue) as unread:
        PostgresStore("postgresql://ana:top-secret@host:port/x?wrong=1")
    assert "top-secret" not in str(unread.value)


def test_what_the_server_forbids_is_said_in_words(
    url: str, store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    fill(store, HERE, "one")
    direct.execute("DROP TABLE quire.entries")
    with pytest.raises(StoreFailed, match=r"failed \(42P01\)"):
        store.read(HERE)
    with pytest.raises(StoreFailed, match="closed"):
        store.close()
        store.version(HERE)


def test_the_server_keeps_no_samples_of_content(
    store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    fill(store, HERE, *["swordfish"] * 20)
    direct.execute("ANALYZE")
    assert direct.execute(SAMPLED).fetchall() == []


def test_a_schema_of_another_application_is_left(url: str, direct: "psycopg.Connection[Any]") -> None:
    direct.execute("CREATE SCHEMA quire")
    direct.execute("CREATE TABLE quire.people (name text)")
    with pytest.raises(StoreDamaged, match="another application"):
        PostgresStore(url)


def test_damage_to_rows_is_noticed(store: PostgresStore, direct: "psycopg.Connection[Any]") -> None:
    stored = fill(store, HERE, "one", "two", "three")
    fill(store, THERE, "one")
    direct.execute("UPDATE quire.entries SET body = '{}' WHERE conversation = 1 AND version = 2")
    with pytest.raises(StoreDamaged) as refused:
        store.read(HERE)
    assert (refused.value.place, refused.value.version) == ("ana/q3", 1)
    assert [one.place for one in store.verify()] == [HERE]
    assert [one for place, one in store.recover() if place == HERE] == [stored[0], stored[2]]
    direct.execute("DELETE FROM quire.entries WHERE conversation = 2")
    with pytest.raises(StoreDamaged):
        store.read(THERE)


def test_scrubbing_waits_for_transactions_that_still_see_what_was_removed(
    url: str, store: PostgresStore, direct: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.postgres._SCRUB_SECONDS", 0.3)
    fill(store, HERE, "swordfish")
    with psycopg.connect(url) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM quire.entries")
        store.remove(HERE)
        for wait in (True, False):
            with pytest.raises(StoreFailed, match="another transaction"):
                store.scrub(wait=wait)
        monkeypatch.setattr("quire.stores.postgres._SCRUB_SECONDS", 60.0)
        later = threading.Timer(0.1, other.rollback)
        later.start()
        store.scrub()
        later.join()
    dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'quire' AND relname = 'entries'"
    assert direct.execute(dead).fetchone() == (0,)


def test_the_pool_has_as_many_connections_as_is_said(
    url: str, direct: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted"
    working, ended = "SELECT pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1)", threading.Event()

    def most(connections: int | None = None, expected: int = 4) -> int:
        direct.execute("SELECT pg_advisory_lock(1)")
        with PostgresStore(url, connections=connections) as opened, ThreadPoolExecutor(8) as threads:
            for _ in range(8):
                threads.submit(opened.link.run, lambda connection: connection.execute(working))
            try:
                found = 0
                for _ in range(600):
                    (found,) = direct.execute(waiting).fetchall()[0]
                    if found >= expected:
                        break
                    ended.wait(0.1)
                return int(found)
            finally:
                direct.execute("SELECT pg_advisory_unlock(1)")

    assert most() == 4 and most(2, 2) == 2
    monkeypatch.setenv("QUIRE_POSTGRES_CONNECTIONS", "3")
    assert most(None, 3) == 3 and most(1, 1) == 1
    for wrong in (0, -1):
        with pytest.raises(InvalidValue, match="from 1 on"):
            PostgresStore(url, connections=wrong)
    monkeypatch.setenv("QUIRE_POSTGRES_CONNECTIONS", "many")
    with pytest.raises(InvalidValue, match="QUIRE_POSTGRES_CONNECTIONS"):
        PostgresStore(url)


def test_one_connection_suffices_to_forget_and_to_update_a_document(url: str) -> None:
    with PostgresStore(url, connections=1) as store:
        session = Session.open(HERE.conversation, store=store)
        secret = session.user("the swordfish is in the safe")
        knowledge = session.memory.knowledge
        knowledge.add_text("the swordfish costs 12 euros", source="prices")
        assert len(session.memory.search("swordfish").hits) == 2
        session.forget(secret.id)
        knowledge.add_text("the trout costs 9 euros", source="prices")
        assert not session.memory.search("swordfish").hits
        assert not any(b"swordfish" in body for _, body in stored_bodies(store))


def test_a_table_that_is_partitioned_as_documented_serves_as_well(
    url: str, direct: "psycopg.Connection[Any]"
) -> None:
    PostgresStore(url).close()
    page = (Path(__file__).parents[2] / "docs/how-to/postgresql.md").read_text()
    (partitions,) = re.findall(r"^```sql\n(DROP TABLE.*?)^```", page, re.MULTILINE | re.DOTALL)
    direct.execute(partitions.encode())
    with PostgresStore(url) as store:
        places = [Place("ana", str(number)) for number in range(40)]
        for place in places:
            fill(store, place, "one", "two", "three")
        used = {
            row[0] for row in direct.execute("SELECT DISTINCT tableoid::regclass::text FROM quire.entries")
        }
        assert len(used) > 10 and list(store.verify()) == []
        store.replace(places[0], {2: b"{}"})
        assert [stored.version for stored in store.read_at(places[0], [1, 3])] == [1, 3]
        assert store.versions_of(places[1], "main", limit=2) == [2, 3]
        assert store.write_checkpoint(places[1], 3, b"head", [1], {}) and store.open_checkpoint(places[1])
        with pytest.raises(Conflict):
            store.append(places[2], [entry("late")], expected=2)
        store.remove(places[0])
        store.scrub()
        assert len(store.recent("ana")) == 39
        direct.execute("ANALYZE")
        assert direct.execute(SAMPLED).fetchall() == []
