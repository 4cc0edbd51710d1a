"""Where an index is kept, who may read it, and that nothing stays in it of what was forgotten."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quire.errors import OutOfRange
from quire.memory import Memory
from quire.memory.index import Gone, Index, InProcess, Question, opened_index, opening
from quire.memory.index.lasting import Lasting, lasting, sqlite
from quire.memory.index.lasting.sqlite import SQLiteTables
from quire.session import Session, remove_conversation
from quire.stores import Place, Store
from tests.memory.index.leaves import NOW, said
from tests.stores.server import database

SECRET = "heliotrope"
FORGETTING = """
import sys
from quire.memory.index import opening
from quire.session import Session
opening.SMALL = 0
session = Session.open("ana/house", store=sys.argv[1])
session.forget(session.view()[0].id)
"""
PUTTING = """
import os, signal, sys
from quire.memory.index.lasting import Lasting
from quire.memory.index.lasting.sqlite import SQLiteTables
from tests.memory.index.leaves import said
index = Lasting(SQLiteTables(sys.argv[1]), "ana")
for nth in range(0, 60, 3):
    leaves = [said(f"dog number {order}", order) for order in range(nth, nth + 3)]
    while not index.move_mark("one", index.mark("one"), b"%d" % nth, leaves=leaves):
        pass
    if sys.argv[2] == "killed" and nth == 30:
        index.put([said("dog unmarked", 33)])
        os.kill(os.getpid(), signal.SIGKILL)
index.close()
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(opening, "SMALL", 0)
    return str(tmp_path / "chats.db")


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, path: str) -> Iterator[str]:
    if request.param == "sqlite":
        yield path
    else:
        with database() as url:
            yield url


def speak(address: str, scope: str = "ana") -> None:
    with Store.open(address) as store:
        spoken(store, scope)


def spoken(store: Store, scope: str = "ana") -> Session:
    session = Session.open(f"{scope}/house", store=store)
    session.user(f"The word for the locker of {scope} is {SECRET}.")
    session.user("It was mild, with a little wind.")
    return session


def run(code: str, *arguments: str) -> "subprocess.Popen[bytes]":
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment)


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_small_scopes_and_those_without_a_database_are_indexed_in_process(tmp_path: Path) -> None:
    speak(str(tmp_path / "chats.db"))
    with Store.open(tmp_path / "chats.db") as store:
        assert isinstance(opened_index(store, "ana"), InProcess)
    assert os.listdir(tmp_path) == ["chats.db"]


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.db"])
def test_what_is_sealed_or_in_plain_files_leaves_no_words_elsewhere(path: str, name: str) -> None:
    folder = Path(path).parent
    with Store.open(folder / name, key=bytes(32)) as store:
        Session.open("ana/house", store=store).user(f"The word is {SECRET}.")
        assert Memory.of(store, "ana").search("word").hits
        assert SECRET.encode() not in bytes_of(folder)
        assert not [file for file in os.listdir(folder) if "-index" in file]


def test_an_index_is_for_its_owner_alone_and_only_a_cache(path: str) -> None:
    speak(path)
    file = Path(path + "-index")
    for _ in range(2):
        with Store.open(path) as store:
            assert SECRET in Memory(store, "ana").search("locker").hits[0].leaf.text
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for one in file.parent.glob("chats.db-index*"):
            one.unlink()


def test_what_was_indexed_is_not_read_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(address)
    with Store.open(address) as store:
        assert Memory(store, "ana").search("locker").hits
    with Store.open(address) as store:
        monkeypatch.setattr(store, "read", None)
        assert SECRET in Memory(store, "ana").search("locker").hits[0].leaf.text


def test_scopes_never_see_each_other(address: str) -> None:
    speak(address)
    speak(address, "ben")
    with Store.open(address) as store:
        for scope in ("ana", "ben"):
            found = Memory(store, scope).search(f"locker {SECRET} ana ben").hits
            assert {hit.leaf.text for hit in found if SECRET in hit.leaf.text} == {
                f"The word for the locker of {scope} is {SECRET}."
            }
        assert not Memory(store, "carl").search("locker").hits


def assert_forgotten(path: str) -> None:
    kept = bytes_of(Path(path).parent)
    assert SECRET.encode() not in kept and b"mild" in kept


@pytest.mark.parametrize("is_open", [True, False])
def test_what_was_forgotten_is_in_no_byte(path: str, is_open: bool) -> None:
    with Store.open(path) as store:
        session = spoken(store)
        index = opened_index(store, "ana")
        assert Memory(store, "ana", index=index).search("locker").hits
        index.close()
        assert SECRET.encode() in Path(path + "-index").read_bytes()
        if is_open:
            assert Memory.of(store, "ana").search("locker").hits
        session.forget(session.view()[0].id)
        assert_forgotten(path)


def test_what_another_process_forgot_is_in_no_byte(path: str) -> None:
    speak(path)
    with Store.open(path) as store:
        memory = Memory.of(store, "ana")
        assert memory.search("locker").hits
        assert run(FORGETTING, path).wait() == 0
        assert_forgotten(path)
        assert SECRET not in "".join(hit.leaf.text for hit in memory.search("locker").hits)
        assert_forgotten(path)


def test_what_was_forgotten_is_in_no_table(address: str) -> None:
    with Store.open(address) as store:
        session = spoken(store)
        assert Memory.of(store, "ana").search("locker").hits
        session.forget(session.view()[0].id)
        assert [leaf.text for leaf in Memory(store, "ana").recent()] == ["It was mild, with a little wind."]
        remove_conversation(store, Place("ana", "house"))
        assert Memory(store, "ana").recent() == []


def found(index: Index) -> list[tuple[str, float]]:
    return [(hit.leaf.text, hit.score) for hit in index.search(Question.of("which dog number 7", NOW)).hits]


def in_process() -> InProcess:
    index = InProcess()
    index.put([said(f"dog number {order}", order) for order in range(60)])
    return index


def test_several_processes_put_the_same_leaves_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "one.db-index")
    running = [run(PUTTING, path, "whole") for _ in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    index = Lasting(SQLiteTables(path), "ana")
    assert len(index) == 60 and found(index) == found(in_process())
    index.close()


def test_what_a_killed_process_put_is_whole_and_is_marked_no_further(tmp_path: Path) -> None:
    path = str(tmp_path / "one.db-index")
    assert run(PUTTING, path, "killed").wait() == -9
    index = Lasting(SQLiteTables(path), "ana")
    assert index.mark("one") == b"30" and len(index) == 34
    assert run(PUTTING, path, "whole").wait() == 0
    assert index.mark("one") == b"30" and index.marked() == ["one"] and index.mark("one") == b"57"
    assert found(index) == found(in_process())
    index.close()


def test_another_dialect_has_an_index_of_its_own_and_forgets_with_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = SQLiteTables(tmp_path / "one.db-index")
    one = Lasting(tables, "ana")
    one.move_mark("one", None, b"1", leaves=[said("dog"), said(SECRET, 1)])
    monkeypatch.setattr(lasting, "dialect", lambda: "another")
    other = Lasting(tables, "ana")
    assert len(other) == 0 and other.mark("one") is None
    other.move_mark("one", None, b"1", leaves=[said("dog")])
    assert len(one) == 2
    other.move_mark("one", b"1", None, gone=[Gone(source="one")])
    assert one.marked() == other.marked() == []
    assert len(one) == len(other) == 0 and SECRET.encode() not in bytes_of(tmp_path)
    tables.close()


def test_tables_of_another_version_are_made_anew_and_wiped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.db-index"
    index = Lasting(SQLiteTables(path), "ana")
    index.put([said(SECRET)])
    index.close()
    monkeypatch.setattr(sqlite, "VERSION", 99)
    index = Lasting(SQLiteTables(path), "ana")
    assert len(index) == 0 and SECRET.encode() not in bytes_of(tmp_path)
    index.close()


def test_what_is_no_index_is_set_aside_as_it_is(path: str, caplog: pytest.LogCaptureFixture) -> None:
    speak(path)
    Store.open(f"sqlite:///{path}-index").close()
    before = Path(path + "-index").read_bytes()
    with Store.open(path) as store:
        assert SECRET in Memory(store, "ana").search("locker").hits[0].leaf.text
    assert Path(path + "-index-aside-1").read_bytes() == before
    assert "no index of ours" in caplog.text and SECRET not in caplog.text


@pytest.mark.parametrize("damage", ["of no kind", "at its beginning", "within"])
def test_a_damaged_index_is_made_anew(path: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    speak(path)
    file = Path(path + "-index")
    with Store.open(path) as store:
        index = opened_index(store, "ana")
        Memory(store, "ana", index=index).catch_up()
        index.close()
    whole = file.read_bytes()
    damaged = {"of no kind": b"nothing " * 900, "at its beginning": whole[:100] + b"\xff" * 4096}
    file.write_bytes(damaged.get(damage, whole[:4096] + b"\xff" * (len(whole) - 4096)))
    with Store.open(path) as store:
        assert SECRET in Memory(store, "ana").search("locker").hits[0].leaf.text
        assert [leaf.text for leaf in Memory(store, "ana").recent()][-1].startswith("It was mild")
    assert "made anew" in caplog.text and SECRET not in caplog.text


def test_an_index_that_is_damaged_while_it_is_used_is_made_anew(path: str) -> None:
    speak(path)
    with Store.open(path) as store:
        memory = Memory(store, "ana")
        assert memory.search("locker").hits
        Path(path + "-index").write_bytes(b"nothing " * 9_000)
        Path(path + "-index-wal").write_bytes(b"")
        Session.open("ana/house", store=store).user("The locker is grey.")
        texts = {hit.leaf.text for hit in memory.search("locker").hits}
        assert "The locker is grey." in texts and any(SECRET in text for text in texts)


def test_what_is_forgotten_between_reading_and_putting_is_in_no_byte(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(path) as own, Store.open(path) as other:
        session = spoken(own)
        index = opened_index(other, "ana")
        move_mark = index.move_mark

        def late(*marks: Any, **more: Any) -> bool:
            monkeypatch.setattr(index, "move_mark", move_mark)
            session.forget(session.view()[0].id)
            return move_mark(*marks, **more)

        monkeypatch.setattr(index, "move_mark", late)
        memory = Memory(other, "ana", index=index)
        assert [leaf.text for leaf in memory.recent()] == ["It was mild, with a little wind."]
        assert_forgotten(path)
        index.close()


def test_a_place_beyond_all_numbers_is_refused(tmp_path: Path) -> None:
    index = Lasting(SQLiteTables(tmp_path / "one.db-index"), "ana")
    with pytest.raises(OutOfRange):
        index.put([said("dog", 1 << 31)])
    assert len(index) == 0
    index.close()
