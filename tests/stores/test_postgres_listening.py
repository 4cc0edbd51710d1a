"""Those who wait on a PostgreSQL store share one connection, however many they are."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from quire.errors import StoreFailed
from quire.stores import Entry, Place
from quire.stores.postgres import PostgresStore
from tests.stores.test_postgres import cut_all

NOTE = Entry("main", b'{"kind":"note"}')
PLACES = [Place("ana", f"m{number}") for number in range(40)]
CONNECTED = """SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
    AND backend_type = 'client backend' AND datname = current_database()"""


def connected(direct: "psycopg.Connection[Any]") -> int:
    row = direct.execute(CONNECTED.encode()).fetchone()
    assert row is not None
    return int(row[0])


def listening(direct: "psycopg.Connection[Any]") -> int:
    row = direct.execute(
        CONNECTED.replace("AND backend", "AND query LIKE 'LISTEN%%' AND backend").encode()
    ).fetchone()
    assert row is not None
    return int(row[0])


def wait_until_heard(direct: "psycopg.Connection[Any]", is_heard: bool = True) -> None:
    until = time.monotonic() + 60
    while bool(listening(direct)) is not is_heard:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_many_who_wait_hold_one_connection_and_each_hears_of_its_own(
    url: str, direct: "psycopg.Connection[Any]"
) -> None:
    with PostgresStore(url, pool_size=2) as store, ThreadPoolExecutor(len(PLACES)) as threads:
        waiting = [threads.submit(store.wait, place, 0, 60) for place in PLACES]
        wait_until_heard(direct)
        assert connected(direct) <= 3
        for place in PLACES:
            store.append(place, [NOTE], expected=0)
        assert [one.result(60) for one in waiting] == [1] * len(PLACES)
        assert connected(direct) <= 3


def test_all_of_them_are_heard_again_after_the_connection_was_lost(
    url: str, direct: "psycopg.Connection[Any]"
) -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(10) as threads:
        waiting = [threads.submit(store.wait, place, 0, 60) for place in PLACES[:10]]
        wait_until_heard(direct)
        cut_all(direct)
        for place in PLACES[:10]:
            store.append(place, [NOTE], expected=0)
        assert [one.result(60) for one in waiting] == [1] * 10


def test_two_who_wait_for_the_same_both_hear_of_it(url: str) -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(store.wait, PLACES[0], 0, 60) for _ in range(2)]
        assert store.wait(PLACES[1], 0, 0.3) == 0
        store.append(PLACES[0], [NOTE], expected=0)
        assert [one.result(60) for one in waiting] == [1, 1]


def test_who_waits_is_told_that_the_store_was_closed(url: str, direct: "psycopg.Connection[Any]") -> None:
    store = PostgresStore(url)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(store.wait, PLACES[0], 0, 60)
        wait_until_heard(direct)
        store.close()
        assert isinstance(waiting.exception(60), StoreFailed)
    wait_until_heard(direct, False)


def test_channels_that_nobody_waits_for_any_more_are_let_go_of(
    url: str, direct: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.postgres_listening._SPARE", 3)
    with PostgresStore(url) as store, ThreadPoolExecutor(1) as threads:
        for place in PLACES[:8]:
            assert store.wait(place, 0, 0.1) == 0
        waiting = threads.submit(store.wait, PLACES[0], 0, 60)
        store.append(PLACES[0], [NOTE], expected=0)
        assert waiting.result(60) == 1


def test_a_server_with_too_many_clients_says_so(url: str, direct: "psycopg.Connection[Any]") -> None:
    role = f"narrow_{time.monotonic_ns()}"
    direct.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0".encode())
    try:
        with pytest.raises(StoreFailed, match="too many clients") as refused:
            PostgresStore(make_conninfo(url, user=role))
        assert role not in str(refused.value)
    finally:
        direct.execute(f"DROP ROLE {role}".encode())
