"""Watchers conversations: many at once, on every store; on PostgreSQL by notifications, and without them."""

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from quire.errors import Conflict, StoreFailed
from quire.stores import Place, PostgresStore, Sealed, Store
from tests.stores.keeping import HERE, KEY, POSTGRES, THERE, entry, kept

PATIENCE = 60.0
OPENED = ["memory", "sqlite", "json lines", POSTGRES]
LEASES = "SELECT count(*) FROM quire.watchers"


class Told:
    """One who watches, and counts how often it was told."""

    def __init__(self) -> None:
        self.times = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.times += 1
            self._changed.notify_all()

    def after(self, times: int) -> bool:
        """Whether it was told more often than this, within a while."""
        with self._changed:
            return self._changed.wait_for(lambda: self.times > times, PATIENCE)


def watching(store: Store, place: Place) -> Told:
    """One who watches a place and has been told for the first time."""
    told = Told()
    store.watch(place, told)
    assert told.after(0)
    return told


def until(is_true: Callable[[], bool]) -> bool:
    """Whether something becomes true within a while."""
    end = time.monotonic() + PATIENCE
    while not is_true() and time.monotonic() < end:
        time.sleep(0.01)
    return is_true()


@pytest.mark.parametrize("name", OPENED)
def test_a_thousand_watch_in_one_thread_and_each_is_told_of_its_own(name: str) -> None:
    with kept(name) as held:
        before, writer = set(threading.enumerate()), held.open()
        places = [Place("many", str(number)) for number in range(1000)]
        told = [Told() for _ in places]
        for place, one in zip(places, told, strict=True):
            held.store.watch(place, one)
        assert all(one.after(0) for one in told)
        names = [thread.name for thread in set(threading.enumerate()) - before]
        assert names.count("quire-watchers") == 1
        times = [one.times for one in told]
        for number in (0, 500, 999):
            writer.append(places[number], [entry("x")], expected=0)
            assert told[number].after(times[number])
        others = [one.times for number, one in enumerate(told) if number not in (0, 500, 999)]
        assert others == [1] * 997


@pytest.mark.parametrize("name", OPENED)
def test_those_who_wait_are_woken_when_the_store_is_closed(name: str) -> None:
    with kept(name) as held:
        outcome = list[str]()

        def wait() -> None:
            try:
                held.store.wait(HERE, 0, PATIENCE)
            except StoreFailed as closed:
                outcome.append(str(closed))

        waiting = threading.Thread(target=wait)
        waiting.start()
        watching(held.store, HERE)
        held.store.close()
        waiting.join(PATIENCE)
        assert len(outcome) == 1 and "closed" in outcome[0]
        with pytest.raises(StoreFailed, match="closed"):
            held.store.watch(HERE, list)


# PostgreSQL


def test_only_an_append_that_somebody_watches_notifies(
    url: str, store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    told = watching(store, HERE)
    assert direct.execute(LEASES).fetchone() == (1,)
    (listener,) = direct.execute("SELECT listener FROM quire.watchers").fetchall()[0]
    direct.execute(f'LISTEN "quire_{listener}"'.encode())
    with PostgresStore(url) as writer:
        for place in (THERE, HERE, THERE):
            writer.append(place, [entry("one")], expected=writer.version(place))
    assert told.after(1)
    direct.execute("LISTEN others")
    direct.execute("NOTIFY others, 'and nothing more'")
    heard = [found.payload.split()[1] for found in direct.notifies(timeout=60, stop_after=2)]
    assert heard == ["1", "nothing"]


def test_an_append_that_began_before_the_watching_is_not_missed(url: str, store: PostgresStore) -> None:
    with psycopg.connect(url) as connection, PostgresStore(url) as writer:
        with writer.joining(connection):
            writer.append(HERE, [entry("early")], expected=0)  # it sees no lease, and is not committed
        told = watching(store, HERE)
        assert store.version(HERE) == 0
        times = told.times
        connection.commit()
        assert told.after(times) and store.version(HERE) == 1


def test_a_lost_connection_is_replaced_and_nothing_is_missed(
    url: str, store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    told = watching(store, HERE)
    listening = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
    assert until(lambda: bool(direct.execute(listening).fetchall()))
    first = direct.execute(listening).fetchall()
    direct.execute(f"SELECT pg_terminate_backend(pid) FROM ({listening}) AS found".encode())
    times = told.times
    store.append(HERE, [entry("one")], expected=0)
    assert told.after(times)
    assert until(lambda: bool(direct.execute(listening).fetchall())) and (
        direct.execute(listening).fetchall() != first
    )


def test_a_role_that_only_reads_is_told_too(
    store: PostgresStore, direct: "psycopg.Connection[Any]", limited: str
) -> None:
    direct.execute("GRANT USAGE ON SCHEMA quire TO worker")
    direct.execute("GRANT SELECT ON ALL TABLES IN SCHEMA quire TO worker")
    with PostgresStore(limited) as reader:
        told = watching(reader, HERE)
        store.append(HERE, [entry("one")], expected=0)
        assert told.after(1)
        with pytest.raises(StoreFailed, match="42501"):
            reader.append(HERE, [entry("two")], expected=1)


@pytest.mark.parametrize("is_sealed", [False, True])
def test_verbs_that_join_a_transaction_belong_to_it(url: str, store: PostgresStore, is_sealed: bool) -> None:
    used = Sealed(store, KEY) if is_sealed else store
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE outbox (conversation text)")
        connection.commit()
        for expected, keep in ((0, connection.rollback), (0, connection.commit), (1, connection.rollback)):
            connection.execute("INSERT INTO outbox VALUES ('ana/q3')")
            with store.joining(connection):
                assert used.append(HERE, [entry("one")], expected=expected) == expected + 1
                assert len(used.read(HERE)) == expected + 1
                with pytest.raises(Conflict):
                    used.append(HERE, [entry("late")], expected=expected)
            assert used.version(HERE) == expected
            keep()
        assert used.version(HERE) == 1
        assert connection.execute("SELECT count(*) FROM outbox").fetchone() == (1,)


def test_a_joined_connection_is_of_one_thread_and_never_tried_again(
    url: str, store: PostgresStore, direct: "psycopg.Connection[Any]"
) -> None:
    with psycopg.connect(url) as connection, store.joining(connection):
        store.append(HERE, [entry("one")], expected=0)
        seen = list[int]()
        other = threading.Thread(target=lambda: seen.append(store.version(HERE)))
        other.start()
        other.join()
        assert seen == [0]
        direct.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(StoreFailed, match=r"lost|terminat"):
            store.append(HERE, [entry("two")], expected=1)
    assert store.version(HERE) == 0
