"""What a PostgreSQL server acknowledged is there after one of its processes was killed."""

import os
import signal
import time
from collections.abc import Iterator

import psycopg
import pytest

from quire.errors import StoreFailed
from quire.stores import Entry, Place, Store
from quire.stores.postgres import PostgresStore
from tests.stores.server import start

HERE, THERE = Place("ana", "here"), Place("ana", "there")
APPENDS = 50


@pytest.fixture
def crashing() -> Iterator[str]:
    """A server of its own, since all who use it are cut off, which writes its log only where it has to."""
    url, stop = start()
    try:
        if url.startswith("cannot:"):
            pytest.skip(f"no PostgreSQL can run here: {url}")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        stop()


def test_what_was_acknowledged_outlives_a_process_of_the_server(crashing: str) -> None:
    with (
        psycopg.connect(crashing, autocommit=True) as victim,
        PostgresStore(crashing, durable="power") as careful,
        PostgresStore(crashing) as store,
    ):
        _fill(careful, THERE)
        _fill(store, HERE)
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        time.sleep(0.2)  # it is noticed at once, and all others are cut off
        assert _version_after(store, HERE) == _version_after(careful, THERE) == APPENDS
        assert store.append(HERE, [Entry("main", b"{}")], expected=APPENDS) == APPENDS + 1


def _fill(store: Store, place: Place) -> None:
    for version in range(APPENDS):
        store.append(place, [Entry("main", b'{"n":%d}' % version)], expected=version)


def _version_after(store: Store, place: Place) -> int:
    """What the server says, once it says anything: first it reads its log."""
    until = time.monotonic() + 30
    while True:
        try:
            return store.version(place)
        except StoreFailed:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
