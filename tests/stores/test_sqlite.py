"""The SQLite store: its file, its versions, what others do with it, and what is left of what was removed."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import pytest

from quire.errors import NewerStore, StoreDamaged, StoreFailed
from quire.memory.knowledge import Knowledge
from quire.stores import Entry, Place, SQLiteStore, Store
from tests.stores.keeping import HERE, THERE, at_once, entry, fill, held_in, read_by_another


def test_what_is_not_a_store_of_ours_is_refused_and_left(tmp_path: Path) -> None:
    def made(name: str, *statements: str) -> Path:
        with closing(sqlite3.connect(tmp_path / name)) as other, other:
            for statement in statements:
                other.execute(statement)
        return tmp_path / name

    for name in ("newer.db", "older.db", "changed.db"):
        Store.open(tmp_path / name).close()
    (tmp_path / "text.db").write_text("hello, this is a text, and no database at all " * 30)
    (tmp_path / "folder.db").mkdir()
    cases: list[tuple[type[Exception], Path]] = [
        (NewerStore, made("newer.db", "PRAGMA user_version = 7")),
        (StoreFailed, made("older.db", "PRAGMA user_version = 1")),
        (StoreDamaged, made("other.db", "CREATE TABLE people (name TEXT)")),
        (StoreDamaged, made("changed.db", "DROP TRIGGER appended")),
        (StoreDamaged, tmp_path / "text.db"),
        (StoreFailed, tmp_path / "folder.db"),
        (StoreFailed, Path("/proc/none/kept.db")),
    ]
    for error, path in cases:
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(error):
            Store.open(path)
        assert not path.is_file() or path.read_bytes() == before


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    for name in ("deep/kept.db", "deep/kept.jsonl"):
        with Store.open(tmp_path / name) as store:
            fill(store, HERE, "one")
            assert all(found.stat().st_mode & 0o077 == 0 for found in (tmp_path / "deep").iterdir())


def delete(path: Path) -> None:
    for found in path.parent.glob("kept.db*"):
        found.unlink()


def move(path: Path) -> None:
    for found in path.parent.glob("kept.db*"):
        found.rename(path.with_name(found.name.replace("kept", "moved")))


def replace(path: Path) -> None:
    move(path)
    SQLiteStore(path).close()


VERBS: dict[str, Callable[[Store], Any]] = {
    "append": lambda store: store.append(HERE, [entry("more")], expected=2),
    "append several": lambda store: store.append(HERE, [entry("more")] * 2, expected=2),
    "read": lambda store: store.read(HERE),
    "version": lambda store: store.version(HERE),
    "conversations": lambda store: store.conversations("ana"),
    "recent": lambda store: store.recent(),
    "replace": lambda store: store.replace(HERE, {1: b"{}"}),
    "remove": lambda store: store.remove(HERE),
    "scrub": lambda store: store.scrub(),
}


@pytest.mark.parametrize("way", [delete, move, replace])
def test_a_file_that_is_gone_is_said_by_every_verb(
    tmp_path: Path, way: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "quire.stores.sqlite._RECHECK_SECONDS", -1.0
    )  # appends in quick succession check the path, too
    path = tmp_path / "kept.db"
    with SQLiteStore(path) as store:
        fill(store, HERE, "one", "two")
        way(path)
        for verb in VERBS.values():
            with pytest.raises(StoreFailed, match="deleted, moved or replaced"):
                verb(store)


def test_another_who_writes_is_waited_for_and_then_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.stores.sqlite.TIMEOUT", 0.2)
    with SQLiteStore(tmp_path / "kept.db") as store:
        fill(store, HERE, "one", "two")
        with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreFailed, match="locked"):
                store.append(HERE, [entry("a"), entry("b")], expected=2)
            assert len(store.read(HERE)) == 2
            monkeypatch.undo()
            later = Timer(0.05, other.execute, ["COMMIT"])
            later.start()
            assert store.append(HERE, [entry("a"), entry("b")], expected=2) == 4
            later.join()


def test_scrubbing_says_that_another_still_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.stores.sqlite.TIMEOUT", 0.2)
    with SQLiteStore(tmp_path / "kept.db") as store:
        fill(store, HERE, "swordfish", "two")
        with read_by_another(store.path):
            store.replace(HERE, {1: b"{}"})
            for wait in (True, False):
                with pytest.raises(StoreFailed, match="log could not be emptied"):
                    store.scrub(wait=wait)
        store.scrub(wait=False)
        assert held_in(tmp_path) == []


def written() -> int:
    """The bytes that this process has written so far."""
    return int(re.findall(r"wchar: (\d+)", Path("/proc/self/io").read_text())[0])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs the counters of Linux")
def test_what_an_erasure_writes_does_not_grow_with_what_else_the_file_holds(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "kept.db") as store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text("the swordfish costs 12 euros", source="prices")
        store.append(HERE, [Entry("main", b'{"text":"%b"}' % (b"x" * 4_000))] * 2_000, expected=0)
        store.scrub()
        before = written()
        knowledge.add_text("the trout costs 9 euros", source="prices")
        assert written() - before < 500_000 and held_in(tmp_path) == []


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_left_of_rows_that_sqlite_moved_between_pages(tmp_path: Path, seed: int) -> None:
    chance, places = Random(seed), [Place("ana", f"room {number:02}") for number in range(20)]
    with SQLiteStore(tmp_path / "kept.db") as store:
        for place in chance.choices(places, k=2_500):
            text = f"secret {place.conversation} " * chance.choice((2, 10, 40))
            store.append(place, [entry(text)], expected=store.version(place))
        for number, place in enumerate(places):
            if number % 2:
                store.replace(place, dict.fromkeys(range(1, store.version(place) + 1), b'{"kind":"gone"}'))
            else:
                store.remove(place)
            store.scrub()
            secret = f"secret {place.conversation}" if number % 2 else place.conversation
            assert held_in(tmp_path, secret.encode()) == []
        assert list(store.verify()) == [] and len(store.recent("ana")) == 10


APPEND_UNTIL_FULL = """
import resource, signal, sys
from quire.errors import StoreFailed
from quire.stores import Entry, Place, Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store.open(sys.argv[1]) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    version = 0
    try:
        while True:
            batch = [Entry("main", b'{"text":"%s"}' % text) for text in (b"%d" % version, b"x" * 700)]
            version = store.append(Place("", ""), batch, expected=version)
    except StoreFailed:
        pass
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert store.version(Place("", "")) == version > 10
    print(store.append(Place("", ""), [Entry("main", b'{"text":"room again"}')], expected=version))
"""


@pytest.mark.parametrize("ending", ["db", "jsonl"])
def test_a_full_disk_is_said_and_what_was_acknowledged_is_there(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    command = [sys.executable, "-c", APPEND_UNTIL_FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    with Store.open(path) as store:
        assert store.version(THERE) == int(done.stdout) and store.reports == ()
        assert list(store.verify()) == []


def test_what_another_begins_and_removes_between_two_statements_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, selected = sqlite3.connect, list[str]()

    def begin_or_remove(statement: str) -> None:
        if statement.lstrip().startswith("SELECT"):
            selected.append(statement)
            if other.version(HERE):
                other.remove(HERE)
            else:
                other.append(HERE, [entry("one")], expected=0)

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(begin_or_remove)
        return connection

    with SQLiteStore(tmp_path / "kept.db") as other, SQLiteStore(other.path) as store:
        assert other.version(HERE) == 0
        monkeypatch.setattr(sqlite3, "connect", traced)  # for the first read of `store`
        for _ in range(3):
            assert store.version(HERE) in (0, 1)
            assert len(store.read(HERE)) in (0, 1)
            assert store.conversations(HERE.scope).keys() <= {HERE.conversation}
            assert len(store.recent()) in (0, 1)
        assert len(selected) > 12


OPENER = """
from quire.stores import Store
for number in range(20):
    Store.open(f"{sys.argv[1]}/{number}.db").close()
"""


def test_processes_that_open_new_files_at_once_all_succeed(tmp_path: Path) -> None:
    assert at_once(OPENER, *[[str(tmp_path)]] * 4) == []
