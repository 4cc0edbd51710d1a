"""Snapshots: opened instead of reading the log, without what was forgotten, made anew if damaged."""

import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from threading import Event, Thread

import pytest

from quire.items import Message
from quire.memory import Memory, snapshots
from quire.memory.follower import Follower
from quire.memory.index import Index
from quire.session import Session, erase_scopes
from quire.stores import PostgresStore, Store
from quire.stores.salvage import salvage
from tests.session.opened import watch
from tests.stores.server import database

SECRET = b"heliotrope"
TURNS = [f"word{nth} lies in box {nth % 30} by the {nth % 7} gate" for nth in range(60)]
QUESTIONS = ("word7 box", "gate 3", "word40", "lies in box 12", "heliotrope")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot is written at every change."""
    for name, value in {"SMALL": 0, "LEAST_CHANGES": 1, "_SHARE": 1_000_000}.items():
        monkeypatch.setattr(snapshots, name, value)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "chats.db")
    else:
        with database() as url:
            yield url


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with a snapshot beside it."""
    path = str(tmp_path / "chats.db")
    with Store.open(path) as store:
        talk(store)
        answers(Memory(store, "ana"))
    return path


def talk(store: Store) -> Session:
    session = Session.open("ana/house", store=store)
    session.append(*(Message("user", text) for text in TURNS))
    session.user("The word for the locker is heliotrope.")
    return session


def answers(memory: Memory) -> list[list[tuple[str, float]]]:
    found = [memory.search(question, at=1e9).hits for question in QUESTIONS]
    return [[(hit.leaf.text, hit.score) for hit in hits] for hits in found]


def read_from_log(store: Store) -> list[list[tuple[str, float]]]:
    return answers(Memory(store, "ana", index=Index()))


def kept(store: Store, scope: str = "ana") -> int:
    """The leaves in the snapshot of a scope."""
    return len(snapshots.open_index(store, scope))


def contents(address: str) -> bytes:
    """All bytes of the files of a store, or of the rows of its snapshots."""
    if not address.startswith("postgres"):
        return b"".join(file.read_bytes() for file in Path(address).parent.rglob("*") if file.is_file())
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        rows = connection.execute("SELECT body FROM quire_index.parts").fetchall()
        samples = "SELECT concat(most_common_vals::text, histogram_bounds::text) FROM pg_stats"
        told = connection.execute(f"{samples} WHERE schemaname = 'quire_index'".encode()).fetchall()
    return b"".join(row[0] for row in rows) + repr(told).encode()


def run(code: str, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment)


# Opening and saving


def test_snapshot_finds_what_the_log_does_without_reading_it(address: str) -> None:
    with Store.open(address) as store:
        session = talk(store)
        whole = read_from_log(store)
        assert answers(Memory(store, "ana")) == whole
    with Store.open(address) as store:
        looks = list[str]()
        watch(store, lambda step, _: looks.append(step), ["read"])
        assert answers(Memory(store, "ana")) == whole and not looks
        session = Session.open("ana/house", store=store)
        session.user("A zeppelin came by.")
        memory = Memory(store, "ana")
        assert memory.search("zeppelin").hits, "it catches up from the log"
        assert answers(memory) == read_from_log(store)


def test_after_a_restore_the_index_has_what_the_store_has(path: str) -> None:
    copy = Path(f"{path}.copy")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    for word, is_restored in (("heliotrope", False), ("marigold", True)):
        if is_restored:
            copy.replace(path)
        with Store.open(path) as store:
            for name in ("ana/house", "ana/note"):  # in the copy, and not in the copy
                Session.open(name, store=store).user(f"The {word} is in box 12.")
            assert answers(Memory(store, "ana")) == read_from_log(store)


def test_after_a_salvage_the_index_has_what_the_store_has(path: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE entries SET sum = sum + 1 WHERE instr(body, ?)", (b"word40 ",))
    with Store.open(f"{path}.new.db") as target:
        assert salvage(path, target).lost == 1
    Path(f"{path}.new.db").replace(path)
    with Store.open(path) as store:
        assert answers(Memory(store, "ana")) == read_from_log(store)


def file_of(path: str) -> Path:
    """The snapshot of the only scope."""
    (file,) = Path(f"{path}-index").iterdir()
    return file


def test_file_is_for_its_owner_alone_and_only_a_copy(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of(path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.unlink()
    with Store.open(path) as store:
        assert Memory(store, "ana").search("locker").hits and file.exists() and kept(store)
        monkeypatch.setattr(snapshots, "dialect", lambda: "another")
        assert not kept(store), "one by other rules is not used"
        assert Memory(store, "ana").search("locker").hits and kept(store)


# Forgetting


def forget_elsewhere(address: str) -> None:
    """As by a process that has no index open."""
    with Store.open(address) as store:
        session = Session.open("ana/house", store=store)
        session.forget(next(item.id for item in session.view() if SECRET.decode() in str(item)))


def test_nothing_stays_of_what_was_forgotten(address: str) -> None:
    with Store.open(address) as store:
        session, memory = talk(store), Memory.of(store, "ana")
        memory.knowledge.add_text("A heliotrope is a flower.", source="flowers.md")
        assert len(memory.search("locker with a flower").hits) > 1 and SECRET in contents(address)
        session.forget(session.view()[-1].id)
        memory.knowledge.add_text("A rose is a flower.", source="flowers.md")
        assert SECRET not in contents(address) and kept(store) >= len(TURNS)
        assert answers(Memory(store, "ana")) == read_from_log(store)


@pytest.mark.parametrize("is_saved", [True, False])
def test_writer_that_had_read_before_writes_nothing_forgotten(address: str, is_saved: bool) -> None:
    """Another process forgets after an index was read, and before its snapshot is written."""
    with Store.open(address) as store:
        session = talk(store)
        memory = Memory(store, "ana")
        memory.catch_up()
        session.user("One more.")
        index = memory._opened().index if is_saved else Index()  # pyright: ignore[reportPrivateUsage]
        held = Follower(store, "ana", index, memory.knowledge)
        held.catch_up()
        forget_elsewhere(address)
        with pytest.raises(snapshots.SnapshotChanged) if is_saved else nullcontext():
            snapshots.save_index(store, "ana", index, held.catch_up_to_save)
        assert SECRET not in contents(address) and kept(store)
        assert answers(memory) == read_from_log(store)


def test_of_a_scope_that_is_erased_no_snapshot_is_left(address: str) -> None:
    with Store.open(address) as store:
        talk(store)
        memory = Memory(store, "ana")
        assert answers(memory)[0] and kept(store)
        assert list(erase_scopes(store, ["ana"]))
        assert kept(store) == 0 and answers(Memory.of(store, "ana")) == answers(memory) == [[]] * 5
        if isinstance(store, PostgresStore):
            found = store.link.run_unpooled(
                lambda one: one.execute("SELECT FROM quire_index.parts").fetchall()
            )
            assert found == []
        else:
            assert list(Path(f"{address}-index").iterdir()) == []


def test_forgetting_waits_for_whoever_writes_a_snapshot(path: str) -> None:
    with Store.open(path) as store:
        session = Session.open("ana/house", store=store)
        memory = Memory.of(store, "ana")
        answers(memory)
        begun, go_on = Event(), Event()
        index = memory._opened().index  # pyright: ignore[reportPrivateUsage]
        index.changes += 1

        def catch_up() -> None:  # the last look at the store, before it is forgotten
            begun.set()
            assert go_on.wait(60)

        writer = Thread(target=snapshots.save_index, args=(store, "ana", index, catch_up))
        writer.start()
        assert begun.wait(60)
        forgetting = Thread(target=session.forget, args=(session.view()[-1].id,))
        forgetting.start()
        go_on.set()
        writer.join(60)
        forgetting.join(60)
        assert SECRET not in contents(path)


def test_index_is_opened_again_where_another_process_has_written_its_snapshot(address: str) -> None:
    with Store.open(address) as store:
        talk(store)
        Memory(store, "ana").catch_up()
        memory = Memory(store, "ana")
        hits = memory.search("word7 box", at=1e9).hits
        assert hits and SECRET in contents(address)
        forget_elsewhere(address)
        assert SECRET not in contents(address) and kept(store) >= len(TURNS)
        assert 'has "word7"' in hits[0].reason
        assert answers(memory) == read_from_log(store)


PUTTING = """
import sys
from quire.memory import Memory, snapshots
from quire.session import Session
from quire.stores import Store
snapshots.SMALL = 0
snapshots.LEAST_CHANGES = 1
with Store.open(sys.argv[1]) as store:
    session, memory = Session.open(f"ana/{sys.argv[2]}", store=store), Memory(store, "ana")
    for nth in range(6):
        session.user(f"dog {sys.argv[2]} {nth}")
        assert memory.search("dog").hits
"""


def test_several_processes_write_at_once(address: str) -> None:
    with Store.open(address) as store:
        talk(store)
        processes = [run(PUTTING, address, name) for name in ("one", "two")]
        assert [one.wait(120) for one in processes] == [0, 0]
        memory = Memory(store, "ana")
        assert answers(memory) == read_from_log(store)
        assert len(memory.search("dog", limit=99).hits) >= 12 and kept(store) >= len(TURNS) + 12


# Damage


def finds_all(path: str) -> None:
    """Twice: the index is made anew, and then there again."""
    for _ in range(2):
        with Store.open(path) as store:
            assert answers(Memory(store, "ana")) == read_from_log(store)
    with Store.open(path) as store:
        assert kept(store) == len(TURNS) + 1


@pytest.mark.parametrize("seed", range(3))
def test_file_with_lost_bytes_is_made_anew(path: str, seed: int) -> None:
    drawn, file = random.Random(seed), file_of(path)
    content = bytearray(file.read_bytes())
    first = 0 if seed % 3 == 0 else 512 * drawn.randrange(len(content) // 512)
    content[first : first + 512] = bytes(512)
    for _ in range(20):
        content[drawn.randrange(len(content))] = drawn.randrange(256)
    file.write_bytes(content[: drawn.randrange(len(content))] if seed % 3 == 1 else content)
    finds_all(path)
