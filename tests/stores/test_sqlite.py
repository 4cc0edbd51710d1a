"""The SQLite store: compare and swap, threads, processes, forks, forgetting, the owner's files."""

import os
import random
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.errors import Conflict, InvalidValue, OutOfRange
from quire.stores import Entry, Place
from quire.stores.sqlite import SQLiteStore

HERE = Place("ana", "q3")
FORKING = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def entry(text: str = "hello") -> Entry:
    return Entry("main", f'{{"kind":"message","text":"{text}"}}'.encode())


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def run_python(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "kept.db") as opened:
        assert isinstance(opened, SQLiteStore)
        yield opened


@pytest.mark.parametrize("wrong", [0, 1, 3, 4, 1000, 2**32 + 2, 2**40, 2**70, -1])
def test_an_append_with_another_version_adds_nothing_anywhere(store: SQLiteStore, wrong: int) -> None:
    store.append(HERE, [entry(), entry()], expected=0)
    neighbour = Place("ana", "next")
    store.append(neighbour, [entry(), entry()], expected=0)
    for _ in range(2):
        for batch in ([entry()], [entry(), entry()]):
            with pytest.raises(Conflict) as refused:
                store.append(HERE, batch, expected=wrong)
            assert (refused.value.expected, refused.value.found) == (wrong, 2)
    assert store.version(HERE) == store.version(neighbour) == 2


def test_reading_from_anywhere(store: SQLiteStore) -> None:
    store.append(HERE, [entry("a"), entry("b")], expected=0)
    store.append(Place("ana", "next"), [entry("c")], expected=0)
    assert [stored.version for stored in store.read(HERE, after=1)] == [2]
    assert len(store.read(HERE, after=-5)) == 2
    assert store.read(HERE, after=2) == store.read(HERE, after=2**32) == store.read(HERE, after=2**80) == []


@pytest.mark.parametrize("durable", ["process", "power"])
def test_a_choice_of_durability_is_what_sqlite_is_told(tmp_path: Path, durable: str) -> None:
    with SQLiteStore(tmp_path / "kept.db", durable=durable) as store:  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert isinstance(store, SQLiteStore)
        writer = store._file.writer()  # pyright: ignore[reportPrivateUsage]
        assert writer.execute("PRAGMA synchronous").fetchone() == ({"process": 1, "power": 2}[durable],)
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(InvalidValue):
        SQLiteStore(tmp_path / "kept.db", durable="never")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_forgotten_conversation_is_not_written_to_by_whoever_remembers_it(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "kept.db") as one, SQLiteStore(tmp_path / "kept.db") as other:
        other.append(HERE, [entry("old")], expected=0)
        other.append(HERE, [entry("old")], expected=1)
        one.forget(HERE)
        with pytest.raises(Conflict):
            other.append(HERE, [entry("late")], expected=2)
        one.append(HERE, [entry("new"), entry("new")], expected=0)
        assert other.append(HERE, [entry("newer")], expected=2) == 3
        assert [stored.body for stored in one.read(HERE)] == [entry(t).body for t in ("new", "new", "newer")]


def test_threads_share_one_store(store: SQLiteStore) -> None:
    def write(number: int) -> None:
        for step in range(40):
            store.append(Place("ana", str(number)), [entry(str(step))], expected=step)
            store.read(Place("ana", str(number)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.version(Place("ana", str(number))) for number in range(4)] == [40] * 4


WRITER = """
import sys
from quire.errors import Conflict
from quire.stores import Entry, Place
from quire.stores.sqlite import SQLiteStore
with SQLiteStore(sys.argv[1]) as store:
    version = 0
    for number in range(60):
        while True:
            try:
                body = b"%s %d" % (sys.argv[2].encode(), number)
                version = store.append(Place("", "x"), [Entry("main", body)], expected=version)
                break
            except Conflict as late:
                version = late.found
"""


def test_processes_that_open_an_empty_file_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "kept.db"
    writers = [run_python(WRITER, path, name) for name in "abc"]
    for writer in writers:
        with writer:
            assert writer.wait(60) == 0
    with SQLiteStore(path) as store:
        bodies = [stored.body.decode() for stored in store.read(Place("", "x"))]
    for name in "abc":
        assert [body for body in bodies if body[0] == name] == [f"{name} {number}" for number in range(60)]
    assert len(bodies) == 180


@FORKING
def test_a_forked_child_writes_on_its_own_connection(store: SQLiteStore, tmp_path: Path) -> None:
    store.append(HERE, [entry("parent")], expected=0)
    go_on, done = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(go_on, 1)
            version = store.version(HERE)
            for number in range(20):
                version = store.append(HERE, [entry(f"child {number}")], expected=version)
        finally:
            os._exit(0 if store.version(HERE) == 22 else 1)
    store.append(HERE, [entry("parent again")], expected=1)
    os.write(done, b"!")
    assert os.waitpid(child, 0)[1] == 0
    os.close(go_on)
    os.close(done)
    assert len(store.read(HERE)) == store.version(HERE) == 22
    assert store.append(HERE, [entry("after")], expected=22) == 23


@FORKING
def test_what_a_child_appends_is_kept_though_its_parent_closes_first(tmp_path: Path) -> None:
    # The last to close takes away the log: the parent must notice that the child still has it open.
    store = SQLiteStore(tmp_path / "kept.db")
    store.append(HERE, [entry("parent")], expected=0)
    ready, told = os.pipe()
    go_on, done = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            store.append(HERE, [entry("child")], expected=1)
            os.write(told, b"!")
            os.read(go_on, 1)
            store.append(HERE, [entry("child, later")], expected=2)
        finally:
            os._exit(0)  # without closing, as a killed process does
    os.read(ready, 1)
    store.close()
    os.write(done, b"!")
    os.waitpid(child, 0)
    for end in (ready, told, go_on, done):
        os.close(end)
    with SQLiteStore(tmp_path / "kept.db") as again:
        assert [stored.body for stored in again.read(HERE)] == [
            entry(text).body for text in ("parent", "child", "child, later")
        ]


@pytest.mark.parametrize("seed", range(6))
def test_forgotten_bytes_are_in_no_file(tmp_path: Path, seed: int) -> None:
    # Conversations that grow side by side make SQLite move rows between pages, and leave copies behind.
    chance = random.Random(seed)
    with SQLiteStore(tmp_path / "kept.db") as store:
        places = [Place("ana", f"{number}") for number in range(chance.choice([2, 5, 20]))]
        for _ in range(400):
            place = chance.choice(places)
            version = store.version(place)
            filler = "x" * chance.choice([10, 300, 900, 6000])
            store.append(place, [entry(f"<{place.conversation}.{version + 1}>{filler}")], expected=version)
        whole, partly = places[0], places[1]
        forgotten = [f"<{whole.conversation}.{at + 1}>" for at in range(store.version(whole))]
        changed = range(1, store.version(partly), 2)
        forgotten += [f"<{partly.conversation}.{at}>" for at in changed]
        store.forget(whole)
        store.forget(partly, dict.fromkeys(changed, b'{"kind":"note","text":"gone"}'))
        data = bytes_of(tmp_path)
        assert [text for text in forgotten if text.encode() in data] == []
        assert store.reports == ()
        kept = [stored.body for stored in store.read(partly)]
    assert kept[0] == b'{"kind":"note","text":"gone"}' and kept[1].startswith(entry("<1.2>").body[:-2])
    assert not any(text.encode() in bytes_of(tmp_path) for text in forgotten)


def test_forgetting_what_is_not_there(store: SQLiteStore) -> None:
    store.append(HERE, [entry("a"), entry("b")], expected=0)
    for bodies in ({3: b"{}"}, {1: b"{}", 0: b"{}"}, {2**32 + 1: b"{}"}, {-1: b"{}"}):
        with pytest.raises(OutOfRange):
            store.forget(HERE, bodies)
    with pytest.raises(OutOfRange):
        store.forget(Place("ana", "nobody"), {1: b"{}"})
    store.forget(Place("ana", "nobody"))
    assert [stored.body for stored in store.read(HERE)] == [entry("a").body, entry("b").body]


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with SQLiteStore(tmp_path / "new" / "kept.db") as store:
            store.append(HERE, [entry()], expected=0)
            files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert files == {"kept.db": 0o600, "kept.db-wal": 0o600, "kept.db-shm": 0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_names_are_bound_and_never_part_of_a_statement(store: SQLiteStore) -> None:
    odd = ["'; DROP TABLE entries; --", "%", "_", "' OR 1=1 --", '"', "?", ":name", "../../etc/passwd"]
    for name in odd:
        store.append(Place(name, name), [Entry(name, b"{}")], expected=0)
    assert store.scopes() == sorted(odd)
    for name in odd:
        assert store.conversations(name) == [name] and store.read(Place(name, name))[0].stream == name
        assert store.read(Place(name, "ana")) == []
    for bad in ("\ud800", "a\0b", "a\nb"):
        with pytest.raises(InvalidValue):
            store.append(Place(bad, "x"), [entry()], expected=0)
    with pytest.raises(InvalidValue):
        store.version(Place("\ud800", "x"))


def test_waiting_hears_of_other_processes(store: SQLiteStore, tmp_path: Path) -> None:
    begun = time.monotonic()
    with run_python(WRITER, tmp_path / "kept.db", "w") as writer:
        assert store.wait(Place("", "x"), 0, 30) > 0
        assert writer.wait(30) == 0
    assert store.wait(Place("", "x"), 60, 0.05) == 60
    assert time.monotonic() - begun < 25
