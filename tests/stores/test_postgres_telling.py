"""Who adds something tells those who wait by itself, so that no writer waits for the disk of another."""

import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from quire.stores import Entry, Place, Store
from quire.stores.postgres import PostgresStore
from quire.stores.postgres_listening import tell_all

HERE, THERE = Place("ana", "here"), Place("ana", "there")
NOTE = Entry("main", b'{"kind":"note"}')
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'"
)


@contextmanager
def waited_for_a_copy(direct: "psycopg.Connection[Any]") -> Generator[None, None, None]:
    """Whatever is committed waits for another server, which never answers."""
    _copied_by(direct, "nobody")
    try:
        yield
    finally:
        _copied_by(direct, "")


def _copied_by(direct: "psycopg.Connection[Any]", name: str) -> None:
    direct.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'".encode())
    direct.execute("SELECT pg_reload_conf()")
    until = time.monotonic() + 10
    while direct.execute("SHOW synchronous_standby_names").fetchone() != (name,) and time.monotonic() < until:
        time.sleep(0.01)


def waiting_append(
    threads: ThreadPoolExecutor, store: Store, direct: "psycopg.Connection[Any]", entries: int
) -> "tuple[int, Future[int]]":
    """An append that waits, and the version that it is added to.

    The server may hear a little later than who asks it that it is to wait: what comes before does not.
    """
    version = 1
    while True:
        held = threads.submit(store.append, HERE, [NOTE] * entries, expected=version)
        while not held.done():
            if direct.execute(WAITING).fetchone() == (1,):
                return version, held
            time.sleep(0.01)
        version = held.result()


@pytest.mark.parametrize("entries", [1, 2])
def test_a_writer_does_not_wait_for_the_disk_of_another(
    url: str, direct: "psycopg.Connection[Any]", entries: int
) -> None:
    direct.execute("SET synchronous_commit = local")
    hurried = make_conninfo(url, options="-c synchronous_commit=local")
    with PostgresStore(url) as slow, PostgresStore(hurried) as quick, ThreadPoolExecutor(2) as threads:
        slow.append(HERE, [NOTE], expected=0)
        quick.append(THERE, [NOTE], expected=0)
        with waited_for_a_copy(direct):
            version, held = waiting_append(threads, slow, direct, entries)
            added = threads.submit(quick.append, THERE, [NOTE] * entries, expected=1)
            assert added.result(20) == 1 + entries and not held.done()
        assert held.result(20) == version + entries


def test_who_was_not_told_looks_again_before_long(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def tell_nobody(*_: object) -> None: ...

    monkeypatch.setattr("quire.stores.postgres.tell_all", tell_nobody)
    monkeypatch.setattr("quire.stores.postgres.LOOKING", 0.2)
    with PostgresStore(url) as store, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(store.wait, HERE, 0, 60)
        time.sleep(0.5)
        store.append(HERE, [NOTE], expected=0)
        assert waiting.result(10) == 1


def test_what_was_added_is_added_though_nobody_could_be_told(
    url: str, monkeypatch: pytest.MonkeyPatch, direct: "psycopg.Connection[Any]"
) -> None:
    def cut_off(connection: "psycopg.Connection[Any]", channel: str) -> None:
        direct.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
        tell_all(connection, channel)

    monkeypatch.setattr("quire.stores.postgres.tell_all", cut_off)
    with PostgresStore(url) as store:
        for version in range(3):
            assert store.append(HERE, [NOTE], expected=version) == version + 1
        assert store.version(HERE) == 3
