"""The PostgreSQL store, on a real server: compare and swap, processes, lost connections, being told."""

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from quire.errors import Conflict, InvalidValue, OutOfRange, StoreFailed
from quire.stores import Entry, Place
from quire.stores.postgres import PostgresStore
from tests.stores.server import database

HERE = Place("ana", "q3")


def entry(text: str = "hello") -> Entry:
    return Entry("main", f'{{"kind":"message","text":"{text}"}}'.encode())


def texts(store: PostgresStore) -> list[bytes]:
    return [stored.body for stored in store.read(HERE)]


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


def cut_all(connection: "psycopg.Connection[Any]") -> None:
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


@pytest.mark.parametrize("wrong", [0, 1, 3, 1000, 2**62, 2**70, -1])
def test_an_append_with_another_version_adds_nothing(store: PostgresStore, wrong: int) -> None:
    store.append(HERE, [entry(), entry()], expected=0)
    for batch in ([entry()], [entry(), entry()]):
        with pytest.raises(Conflict) as refused:
            store.append(HERE, batch, expected=wrong)
        assert (refused.value.expected, refused.value.found) == (wrong, 2)
    assert store.version(HERE) == 2
    assert store.append(HERE, [entry()], expected=2) == 3
    assert store.read(HERE, after=2**80) == [] and len(store.read(HERE, after=-1)) == 3


def test_threads_write_to_one_conversation(store: PostgresStore) -> None:
    def write(writer: int) -> None:
        version = 0
        for number in range(15):
            while True:
                try:
                    version = store.append(HERE, [entry(f"{writer} {number}")], expected=version)
                    break
                except Conflict as late:
                    version = late.found

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(6)))
    found = texts(store)
    assert len(found) == len(set(found)) == 90


def test_many_who_open_an_empty_database_at_once_all_succeed(url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(PostgresStore, [url] * 6))
    for number, store in enumerate(stores):
        assert store.append(HERE, [entry()], expected=number) == number + 1
        store.close()


def test_a_connection_lost_between_appends_is_made_anew(
    store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    version = 0
    for number in range(6):
        version = store.append(HERE, [entry(str(number))], expected=version)
        cut_all(direct)
    assert texts(store) == [entry(str(number)).body for number in range(6)]


def test_connections_lost_in_the_middle_of_appends_lose_and_double_nothing(
    store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    version, failed, over = 0, 0, threading.Event()

    def cut() -> None:
        while not over.wait(0.02):
            cut_all(direct)

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        for number in range(150):
            while True:
                try:
                    version = store.append(HERE, [entry(str(number))], expected=version)
                    break
                except StoreFailed:
                    failed += 1  # asking again, with the same words, is what a caller does
    finally:
        over.set()
        cutter.join()
    assert texts(store) == [entry(str(number)).body for number in range(150)]


def test_an_append_that_arrived_though_the_answer_was_lost_is_not_added_again(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(HERE, [entry("a")], expected=0)
    real = PostgresStore._append  # pyright: ignore[reportPrivateUsage]
    losses = [True, True]

    def lossy(self: PostgresStore, *given: Any) -> int:
        version = real(self, *given)
        if losses:
            losses.pop()
            raise psycopg.OperationalError("the connection was lost")
        return version

    monkeypatch.setattr(PostgresStore, "_append", lossy)
    assert store.append(HERE, [entry("b"), entry("c")], expected=1) == 3
    losses[:] = [True, True]
    assert store.append(HERE, [entry("d")], expected=3) == 4
    assert texts(store) == [entry(text).body for text in "abcd"]
    with pytest.raises(Conflict):
        store.append(HERE, [entry("d")], expected=3)


def test_a_server_that_is_not_there_is_a_clear_error_without_the_password() -> None:
    with pytest.raises(StoreFailed) as failed:
        PostgresStore("postgresql://me:secret@/nowhere?host=/nonexistent")
    assert "secret" not in str(failed.value)


def test_a_database_that_goes_away_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.stores.postgres_link.PATIENCE", 0.5)
    with database() as url:
        store = PostgresStore(url)
        store.append(HERE, [entry()], expected=0)
    with pytest.raises(StoreFailed):
        store.append(HERE, [entry()], expected=1)
    store.close()


def test_a_reader_is_told_at_once(store: PostgresStore, url: str) -> None:
    other = PostgresStore(url)
    store.append(HERE, [entry()], expected=0)
    heard: list[tuple[int, float]] = []

    def wait(version: int) -> None:
        heard.append((other.wait(HERE, version, 20), time.monotonic()))

    for version in range(1, 4):
        waiting = threading.Thread(target=wait, args=(version,))
        waiting.start()
        time.sleep(0.1)
        begun = time.monotonic()
        store.append(HERE, [entry()], expected=version)
        waiting.join()
        assert heard[-1][0] == version + 1 and heard[-1][1] - begun < 0.4
    assert other.wait(HERE, 4, 0.1) == 4
    waiting = threading.Thread(target=wait, args=(4,))
    waiting.start()
    store.forget(HERE)
    waiting.join()
    assert heard[-1][0] == 0
    other.close()


def test_whoever_waits_notices_that_the_store_was_closed(url: str) -> None:
    store, faults = PostgresStore(url), list[BaseException]()

    def wait() -> None:
        try:
            store.wait(HERE, 0, 30)
        except BaseException as fault:
            faults.append(fault)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    store.close()
    waiting.join(10)
    assert [type(fault) for fault in faults] == [StoreFailed]


def test_many_who_wait_do_not_keep_writers_out(url: str) -> None:
    store = PostgresStore(url, pool_size=1)
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(store.wait, HERE, 0, 20) for _ in range(4)]
        time.sleep(0.1)
        store.append(HERE, [entry()], expected=0)
        assert [done.result() for done in waiting] == [1] * 4
    store.close()


def test_closing_leaves_no_thread_and_no_connection(url: str, direct: "psycopg.Connection[Any]") -> None:
    before = set(threading.enumerate())
    store = PostgresStore(url)
    store.append(HERE, [entry()], expected=0)
    store.wait(HERE, 1, 0.01)
    store.close()
    assert set(threading.enumerate()) == before
    count = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    until = time.monotonic() + 5
    while direct.execute(count).fetchone() != (1,) and time.monotonic() < until:
        time.sleep(0.01)
    assert direct.execute(count).fetchone() == (1,)
    del store
    gc.collect()


def test_a_forgotten_conversation_is_not_written_to_by_whoever_remembers_it(
    store: PostgresStore, url: str, direct: "psycopg.Connection[Any]"
) -> None:
    other = PostgresStore(url)
    other.append(HERE, [entry("old")], expected=0)
    other.append(HERE, [entry("old")], expected=1)
    store.forget(HERE)
    assert direct.execute("SELECT count(*) FROM quire.entries").fetchone() == (0,)
    with pytest.raises(Conflict):
        other.append(HERE, [entry("late")], expected=2)
    store.append(HERE, [entry("new")], expected=0)
    assert other.append(HERE, [entry("newer")], expected=1) == 2
    store.forget(HERE, {1: b"{}"})
    with pytest.raises(OutOfRange):
        store.forget(HERE, {2: b"{}", 3: b"{}"})
    assert texts(other) == [b"{}", entry("newer").body]
    other.close()


def test_appends_and_forgetting_at_once_leave_no_orphans(
    store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    def write(_: int) -> None:
        version = 0
        for _ in range(40):
            try:
                version = store.append(HERE, [entry("secret")], expected=version)
            except Conflict as late:
                version = late.found

    with ThreadPoolExecutor(3) as threads:
        writing = [threads.submit(write, number) for number in range(3)]
        for _ in range(8):
            store.forget(HERE)
        for done in writing:
            done.result()
    store.forget(HERE)
    assert direct.execute("SELECT count(*) FROM quire.entries").fetchone() == (0,)


def test_names_are_bound_and_never_part_of_a_statement(store: PostgresStore) -> None:
    odd = ["'; DROP TABLE quire.entries; --", "%s", "%", "' OR 1=1 --", "$1", "../x", "🧵" * 500]
    for name in odd:
        store.append(Place(name, name), [Entry(name, b"{}")], expected=0)
    assert store.scopes() == sorted(odd)
    for name in odd:
        assert store.conversations(name) == [name] and store.read(Place(name, name))[0].stream == name
        assert store.wait(Place(name, name), 1, 0.01) == 1
    for bad in ("\ud800", "a\0b"):
        with pytest.raises(InvalidValue):
            store.append(Place(bad, "x"), [entry()], expected=0)
        with pytest.raises(InvalidValue):
            store.conversations(bad)


@pytest.mark.parametrize("chosen", ["on", "off", "remote_write"])
def test_unless_power_is_asked_for_the_choice_of_the_servers_keeper_holds(
    url: str, direct: "psycopg.Connection[Any]", chosen: str
) -> None:
    name = direct.info.dbname
    direct.execute(f"ALTER DATABASE {name} SET synchronous_commit = {chosen}".encode())
    for durable, told in (("process", chosen), ("power", "on")):
        store = PostgresStore(url, durable=durable)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        run = store._link.run  # pyright: ignore[reportPrivateUsage]
        assert run(lambda c: c.execute("SHOW synchronous_commit").fetchone(), lambda: None) == (told,)
        store.close()


def test_an_option_that_is_none_is_refused(url: str) -> None:
    for wrong in ({"durable": "never"}, {"pool_size": 0}):
        with pytest.raises(InvalidValue):
            PostgresStore(url, **wrong)  # pyright: ignore[reportArgumentType]
