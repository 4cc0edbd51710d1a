"""An index is only a copy: where it fails, threads go on with another, and if need be one in the process."""

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from quire.errors import StoreDamaged, StoreFailed
from quire.items import Message
from quire.memory import Memory
from quire.memory.index import InProcess, opening
from quire.memory.index.lasting import Lasting, sqlite
from quire.memory.index.lasting.sqlite import SQLiteTables
from quire.session import Session
from quire.stores import Store

THREADS = 6


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(opening, "SMALL", 0)
    path = str(tmp_path / "chats.db")
    with Store.open(path) as store:
        turns = (Message("user", f"word{nth} lies in box {nth}") for nth in range(300))
        Session.open("ana/one", store=store).append(*turns)
    return path


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    with Store.open(path) as store:
        yield store


def asked(memory: Memory) -> list[str]:
    return [hit.leaf.text for hit in memory.search("word7").hits[:1]]


FOUND = ["word7 lies in box 7"]


def kind_of(memory: Memory) -> type:
    return type(memory._index)  # pyright: ignore[reportPrivateUsage]


def test_threads_go_on_while_one_of_them_makes_an_index_anew(
    path: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory(store, "ana")
    for _ in range(3):
        assert asked(memory) == FOUND
        file = f"{path}-index"
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE marks SET mark = x'00'")
            connection.execute("UPDATE scopes SET changes = changes + 1")
        connection.close()
        caplog.clear()
        with ThreadPoolExecutor(THREADS) as threads:
            found = [threads.submit(asked, memory) for _ in range(THREADS)]
        assert [one.result() for one in found] == [FOUND] * THREADS
        assert caplog.text.count("made anew") == 1 and kind_of(memory) is Lasting


def test_a_thread_that_saw_old_damage_leaves_the_new_index(path: str, store: Store) -> None:
    memory = Memory(store, "ana")
    assert asked(memory) == FOUND
    seen, healed = Event(), Event()

    def late(index: Any) -> str:
        if not seen.is_set():
            seen.set()
            assert healed.wait(10)
            fault = StoreDamaged("old damage")
            fault.filename = f"{path}-index"
            raise fault
        return "done"

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(memory._with_index, late)  # pyright: ignore[reportPrivateUsage]
        assert seen.wait(10)
        with sqlite3.connect(f"{path}-index") as connection:
            connection.execute("UPDATE marks SET mark = x'00'")
            connection.execute("UPDATE scopes SET changes = changes + 1")
        connection.close()
        assert asked(memory) == FOUND
        made = Path(f"{path}-index").stat().st_ino
        healed.set()
        assert answer.result() == "done" and Path(f"{path}-index").stat().st_ino == made


def test_a_failure_says_why_and_where(path: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(store, "ana")
    assert asked(memory) == FOUND
    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    with sqlite3.connect(f"{path}-index", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        Session.open("ana/one", store=store).user("word301")
        with pytest.raises(StoreFailed, match=r"chats\.db-index is busy"):
            memory.catch_up()
        other.execute("ROLLBACK")
    other.close()
    memory.catch_up()
    fault = StoreDamaged("chats.db-index is damaged")
    fault.filename = "chats.db-index"
    assert str(fault) == "chats.db-index is damaged" and str(StoreDamaged()) == ""


def test_an_index_that_has_no_room_is_in_the_process(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settle = sqlite._settle  # pyright: ignore[reportPrivateUsage]

    def settled(connection: sqlite3.Connection, path: str) -> None:
        settle(connection, path)
        connection.execute("PRAGMA max_page_count = 40")

    monkeypatch.setattr(sqlite, "_settle", settled)
    memory = Memory(store, "ana")
    assert [asked(memory), asked(memory)] == [FOUND, FOUND]
    assert kind_of(memory) is InProcess
    assert caplog.text.count("has no room left") == 1 and "word7" not in caplog.text


def test_a_folder_in_the_place_of_an_index_is_left(
    path: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    Path(f"{path}-index").mkdir()
    memory = Memory.of(store, "ana")
    assert [asked(memory), asked(memory)] == [FOUND, FOUND]
    assert kind_of(memory) is InProcess and caplog.text.count("is a folder") == 1
    session = Session.open("ana/one", store=store)
    session.forget(session.view()[7].id)
    assert asked(memory) != FOUND and Path(f"{path}-index").is_dir()


def test_what_fails_in_the_store_is_not_taken_for_the_index(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(store, "ana")
    assert asked(memory) == FOUND

    def failing(scope: str) -> Any:
        raise StoreFailed("chats.db has no room left")

    monkeypatch.setattr(store, "conversations", failing)
    with pytest.raises(StoreFailed, match="no room left"):
        memory.catch_up()
    assert kind_of(memory) is Lasting


def test_who_writes_again_and_again_lets_others_write(tmp_path: Path) -> None:
    busy, other = (SQLiteTables(tmp_path / "one.db-index") for _ in range(2))
    is_done = Event()

    def write() -> None:
        while not is_done.is_set():
            busy.write(lambda asked: time.sleep(0.2))

    thread = Thread(target=write)
    thread.start()
    try:
        for _ in range(3):
            begun = time.monotonic()
            other.write(lambda asked: asked.rows("UPDATE about SET unclean = unclean"))
            assert time.monotonic() - begun < 5
    finally:
        is_done.set()
        thread.join()
        busy.close()
        other.close()
