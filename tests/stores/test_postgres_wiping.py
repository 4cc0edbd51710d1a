"""Forgetting in PostgreSQL is done when nobody can read it any more in a transaction, and not before."""

import logging
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.items import JSON, Message
from quire.stores import Entry, Place
from quire.stores.postgres import PostgresStore
from tests.session.recalling import SECRET
from tests.stores.server import database
from tests.stores.test_wiping import GONE, HERE, THERE, filled

STILL_READ = "may still be read"
COUNT = "SELECT count(*) FROM quire.entries WHERE position('swordfish'::bytea IN body) > 0"
FILES = "SELECT pg_relation_filepath(oid) FROM pg_class WHERE oid = ANY(ARRAY[%s::regclass, %s])"


@pytest.fixture
def store(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    monkeypatch.setattr("quire.stores.postgres_wiping.PATIENCE", 0.2)
    opened = PostgresStore(url)
    yield opened
    opened.close()


@contextmanager
def read_by_another(url: str) -> Generator["psycopg.Connection[Any]", None, None]:
    """A transaction that sees for its whole length what was there when it began."""
    with psycopg.connect(url) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1 FROM quire.entries").fetchall()
        yield reader


def dead_rows(connection: "psycopg.Connection[Any]") -> int:
    """How many rows a vacuum had to leave."""
    said: list[str] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    connection.execute("SET lc_messages = 'C'")
    connection.execute("VACUUM (VERBOSE) quire.entries")
    (line,) = [line for text in said[:2] for line in text.splitlines() if line.startswith("tuples:")][:1]
    return int(line.split(",")[2].split()[0])


@pytest.mark.parametrize("is_whole", [False, True])
def test_who_can_still_read_it_is_said_and_whoever_forgets_it_again_is_told_when_it_is_done(
    store: PostgresStore, url: str, direct: "psycopg.Connection[Any]", is_whole: bool
) -> None:
    filled(store)
    with read_by_another(url) as reader:
        for _ in range(2):
            with pytest.raises(StoreFailed, match=STILL_READ):
                store.forget(HERE, None if is_whole else GONE)
        assert b"swordfish" not in b"".join(stored.body for stored in store.read(HERE))
        assert reader.execute(COUNT).fetchone() == (2,)
        assert dead_rows(direct) > 0
        assert store.append(THERE, [Entry("main", GONE[1])], expected=1) == 2
    store.forget(HERE, None if is_whole else GONE)
    assert dead_rows(direct) == 0


def test_it_stays_due_until_whoever_opens_it_next_can_wipe_it(
    store: PostgresStore, url: str, direct: "psycopg.Connection[Any]", caplog: pytest.LogCaptureFixture
) -> None:
    session = Session.open("ana/monday", store=store)
    secret = session.user(SECRET)
    with read_by_another(url):
        with pytest.raises(StoreFailed, match=STILL_READ):
            session.forget(secret.id)
        caplog.clear()
        with PostgresStore(url) as other, caplog.at_level(logging.WARNING, "quire.session"):
            assert "swordfish" not in str(Session.open("ana/monday", store=other).view())
        assert "not wiped yet" in caplog.text and STILL_READ in caplog.text
    caplog.clear()
    with PostgresStore(url) as again:
        assert not Session.open("ana/monday", store=again)._ledger.workspace.unwiped  # pyright: ignore[reportPrivateUsage]
    assert "not wiped yet" not in caplog.text
    assert dead_rows(direct) == 0


def test_a_transaction_that_ends_soon_is_waited_for(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.postgres_wiping.PATIENCE", 20)
    filled(store)
    with read_by_another(url) as reader:
        ending = threading.Timer(0.5, reader.rollback)
        ending.start()
        begun = time.monotonic()
        store.forget(HERE)
        assert 0.3 < time.monotonic() - begun < 10
        ending.join()


def test_who_does_not_wait_is_not_kept_for_long(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.postgres_wiping.PATIENCE", 60)
    filled(store)
    with read_by_another(url):
        begun = time.monotonic()
        with pytest.raises(StoreFailed, match=STILL_READ), store.wiping.once(waits=False):
            store.forget(HERE, GONE)
        assert time.monotonic() - begun < 10


def test_who_writes_at_the_same_time_does_not_keep_it_from_being_wiped(
    store: PostgresStore, url: str
) -> None:
    filled(store)
    over = threading.Event()

    def write(name: str) -> None:
        version = 0
        with PostgresStore(url) as other:
            while not over.is_set():
                version = other.append(Place("bo", name), [Entry("main", GONE[1])], expected=version)

    writers = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for writer in writers:
        writer.start()
    try:
        for _ in range(5):
            store.forget(HERE, GONE)
    finally:
        over.set()
        for writer in writers:
            writer.join()


def test_only_those_count_who_could_see_it(store: PostgresStore, url: str) -> None:
    filled(store)
    with database() as elsewhere, PostgresStore(elsewhere), read_by_another(elsewhere):
        store.forget(HERE)
    with psycopg.connect(url) as idle:
        idle.execute("SELECT count(*) FROM quire.entries")  # each statement sees anew what is there
        begun = time.monotonic()
        with store.wiping.once(waits=False):
            store.forget(THERE)
        assert time.monotonic() - begun < 4


@pytest.mark.parametrize("length", [1, 300])
def test_what_the_page_names_writes_the_tables_anew_without_it(
    store: PostgresStore, direct: "psycopg.Connection[Any]", length: int
) -> None:
    text = "".join(f"{SECRET} {number:x} " for number in range(length))
    # Not compressed, since it is looked for.
    direct.execute("ALTER TABLE quire.entries ALTER body SET STORAGE EXTERNAL")
    for place in (HERE, THERE):
        store.append(place, [Entry("main", JSON.encode_item(Message("user", text)))] * 3, expected=0)
    assert held_in_files(direct)
    store.forget(HERE)
    store.forget(THERE, dict.fromkeys((1, 2, 3), GONE[1]))
    direct.execute("VACUUM FULL quire.entries, quire.conversations")
    assert not held_in_files(direct)


def held_in_files(connection: "psycopg.Connection[Any]") -> bool:
    """Whether it is anywhere in the files of the table of entries."""
    connection.execute("CHECKPOINT")
    toast = connection.execute("SELECT reltoastrelid FROM pg_class WHERE oid = 'quire.entries'::regclass")
    paths = connection.execute(FILES, ["quire.entries", *(toast.fetchone() or ())]).fetchall()
    assert len(paths) == 2
    files = [connection.execute("SELECT pg_read_binary_file(%s)", path).fetchone() for path in paths]
    return any(b"swordfish" in file[0] for file in files if file)
