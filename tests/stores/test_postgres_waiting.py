"""Whoever waits on a PostgreSQL store does not notice that a connection was lost."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from quire.errors import StoreFailed
from quire.stores import Entry, Place
from quire.stores.postgres import PostgresStore
from tests.stores.server import database
from tests.stores.test_postgres import cut_all

HERE = Place("ana", "q3")
NOTE = Entry("main", b'{"kind":"note"}')


def test_a_lost_connection_is_made_anew_while_one_waits(url: str, direct: "psycopg.Connection[Any]") -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(store.wait, HERE, 0, 20)
        for _ in range(4):
            time.sleep(0.2)
            cut_all(direct)
        assert not waiting.done()
        store.append(HERE, [NOTE], expected=0)
        assert waiting.result(5) == 1


def test_connections_that_were_lost_at_rest_are_made_anew(
    url: str, direct: "psycopg.Connection[Any]"
) -> None:
    with PostgresStore(url) as store:
        for _ in range(3):
            assert store.wait(HERE, 0, 0.05) == 0
            cut_all(direct)
        assert store.wait(HERE, 0, 0.05) == 0


def test_the_time_is_over_though_connections_are_lost(url: str, direct: "psycopg.Connection[Any]") -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(1) as threads:
        begun = time.monotonic()
        waiting = threads.submit(store.wait, HERE, 0, 0.6)
        time.sleep(0.3)
        cut_all(direct)
        assert waiting.result(5) == 0 and 0.6 <= time.monotonic() - begun < 3


def test_a_server_that_stays_away_is_an_error_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.stores.postgres_link.RECONNECTING", 0.4)
    faults: list[BaseException] = []

    def wait() -> None:
        try:
            store.wait(HERE, 0, 30)
        except BaseException as fault:
            faults.append(fault)

    with database() as url:
        store = PostgresStore(url)
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.3)
    begun = time.monotonic()
    waiting.join(10)
    assert [type(fault) for fault in faults] == [StoreFailed] and time.monotonic() - begun < 5
    store.close()
