"""What was forgotten is wiped from files: at once, or once for all that is forgotten together."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.items import JSON, Message
from quire.stores import Entry, Place, Store
from quire.stores.sqlite import SQLiteStore
from quire.stores.wiping import Wiping
from tests.session.recalling import SECRET, looked_up

HERE, THERE = Place("ana", "here"), Place("ana", "there")
GONE = {1: JSON.encode_item(Message("user", "[forgotten]"))}


def filled(store: Store) -> None:
    for place in (HERE, THERE):
        store.append(place, [Entry("main", JSON.encode_item(Message("user", SECRET)))], expected=0)


def held_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if b"swordfish" in path.read_bytes()]


class Traced(SQLiteStore):
    """Counts how often the file was rewritten."""

    rewritten = 0

    def _wipe(self, place: Place) -> None:
        self.rewritten += 1
        super()._wipe(place)


@pytest.mark.parametrize("key", [None, bytes(range(32))])
def test_at_the_end_of_the_block_nothing_is_left(tmp_path: Path, key: bytes | None) -> None:
    with Store.open(tmp_path / "kept.db", key=key) as store:
        filled(store)
        with store.wiping.once():
            store.forget(HERE, GONE)
            store.forget(THERE)
        assert held_in(tmp_path) == []
        assert store.conversations("ana") == ["here"]


@pytest.mark.parametrize("is_whole", [False, True])
def test_who_recalled_it_costs_no_rewriting_more(tmp_path: Path, is_whole: bool) -> None:
    counts: list[int] = []
    for recallers in (1, 4):
        with closing(Traced(tmp_path / f"{recallers}.db")) as store:
            secret = Session.open("ana/monday", store=store).user(SECRET)
            for nth in range(recallers):
                looked_up(store, f"w{nth}")
            if is_whole:
                store.forget(Place("ana", "monday"))
            else:
                Session.open("ana/monday", store=store).forget(secret.id)
            counts.append(store.rewritten)
    assert counts == [1, 1]
    assert held_in(tmp_path) == []


def test_a_reader_that_holds_the_log_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.sqlite_file.PATIENCE", 0.1)
    with closing(Traced(tmp_path / "kept.db")) as store:
        secret = Session.open("ana/monday", store=store).user(SECRET)
        looked_up(store, "w1")
        looked_up(store, "w2")
        with sqlite3.connect(store.path) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM entries").fetchall()
            with pytest.raises(StoreFailed, match="in use by another"):
                Session.open("ana/monday", store=store).forget(secret.id)
        assert store.rewritten == 1


def wiped(act: Callable[[Wiping], None]) -> list[Place]:
    done: list[Place] = []
    act(Wiping(done.append))
    return done


def test_blocks_within_blocks_wipe_at_the_end_of_the_outermost() -> None:
    def act(wiping: Wiping) -> None:
        with wiping.once():
            with wiping.once():
                wiping.after(HERE)
            wiping.after(THERE)
        wiping.after(HERE)

    assert wiped(act) == [THERE, HERE]


def test_a_block_that_is_broken_off_wipes_too_and_one_without_anything_does_not() -> None:
    def act(wiping: Wiping) -> None:
        with wiping.once():
            pass
        with pytest.raises(StoreFailed), wiping.once():
            wiping.after(HERE)
            raise StoreFailed("no room left")

    assert wiped(act) == [HERE]


def test_another_thread_does_not_wait_for_the_block() -> None:
    def act(wiping: Wiping) -> None:
        with wiping.once():
            other = Thread(target=wiping.after, args=[THERE])
            other.start()
            other.join()
            wiping.after(HERE)

    assert wiped(act) == [THERE, HERE]
