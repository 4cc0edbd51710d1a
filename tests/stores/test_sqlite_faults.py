"""The SQLite store where something is wrong: other versions and files, damage, no room, no right to write."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quire.errors import NewerStore, StoreDamaged, StoreError, StoreFailed
from quire.stores import Entry, Place
from quire.stores.sqlite import SQLiteStore
from quire.stores.sqlite_schema import APPLICATION, MIGRATIONS, settle

HERE = Place("ana", "q3")


def entry(text: str = "hello") -> Entry:
    return Entry("main", f'{{"kind":"message","text":"{text}"}}'.encode())


def filled(path: Path, count: int = 1) -> Path:
    with SQLiteStore(path) as store:
        store.append(HERE, [entry(str(number) + "x" * 500) for number in range(count)], expected=0)
    return path


def add_color(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE entries ADD COLUMN color TEXT")


def fail(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE entries")
    raise RuntimeError("the power went out")


def test_every_earlier_version_is_brought_up_to_date(tmp_path: Path) -> None:
    newest = (*MIGRATIONS, add_color)
    for old in range(len(newest)):
        path = tmp_path / f"{old}.db"
        connection = sqlite3.connect(path, isolation_level=None)
        settle(connection, "x", patience=1, migrations=newest[:old]) if old else None
        if old:
            connection.execute("INSERT INTO entries VALUES (1, 'main', x'7b7d')")
        for _ in range(2):
            settle(connection, "x", patience=1, migrations=newest)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(newest),)
        assert connection.execute("SELECT color FROM entries").fetchall() == [(None,)] * bool(old)
        connection.close()


def test_a_migration_that_fails_leaves_the_old_version_as_it_was(tmp_path: Path) -> None:
    path = filled(tmp_path / "kept.db")
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(RuntimeError):
        settle(connection, "x", patience=1, migrations=(*MIGRATIONS, add_color, fail))
    connection.close()
    with SQLiteStore(path) as store:
        assert store.append(HERE, [entry()], expected=1) == 2


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = filled(tmp_path / "kept.db")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NewerStore, match=r"version 7.* knows 1"):
        SQLiteStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "mark", ["CREATE TABLE theirs (x)", "PRAGMA application_id = 5", "PRAGMA user_version = 1"]
)
def test_a_database_of_another_is_refused_and_left_alone(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(mark)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another application"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    assert APPLICATION.to_bytes(4, "big") == b"Quir"


@pytest.mark.parametrize(
    "content", [b"no database", b"[]", b"\0" * 5000, os.urandom(9000)], ids=["text", "json", "zeros", "noise"]
)
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kept.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        SQLiteStore(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("seed", range(12))
def test_damage_is_an_error_of_ours_and_never_other_content(tmp_path: Path, seed: int) -> None:
    path, chance = filled(tmp_path / "kept.db", 300), random.Random(seed)
    whole = path.read_bytes()
    written = {number: entry(str(number) + "x" * 500).body for number in range(300)}
    if seed % 3 == 0:
        path.write_bytes(whole[: chance.randrange(1, len(whole))])
    else:
        page = 4096 * chance.randrange(len(whole) // 4096)
        path.write_bytes(whole[:page] + chance.randbytes(4096) + whole[page + 4096 :])
    try:
        with SQLiteStore(path) as store:
            rows = store.read(HERE)
            assert [row.version for row in rows] == list(range(1, len(rows) + 1))
            assert sum(row.body != written[row.version - 1] for row in rows) <= 10
    except StoreError as error:
        assert "x" * 50 not in str(error)


def test_entries_that_are_missing_are_noticed(tmp_path: Path) -> None:
    path = filled(tmp_path / "kept.db", 5)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM entries WHERE at & 0xffffffff = 3")
    connection.close()
    with SQLiteStore(path) as store, pytest.raises(StoreDamaged, match="missing"):
        store.read(HERE)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, filled(tmp_path / "kept.db") / "below.db"):
        with pytest.raises(StoreFailed):
            SQLiteStore(path)


def test_a_writer_that_never_ends_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.stores.sqlite_file.PATIENCE", 0.1)
    path = filled(tmp_path / "kept.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with SQLiteStore(path) as store:
        for batch in ([entry()], [entry(), entry()]):
            with pytest.raises(StoreFailed, match="busy"):
                store.append(HERE, batch, expected=1)
        assert len(store.read(HERE)) == 1
        other.execute("ROLLBACK")
        assert store.append(HERE, [entry()], expected=1) == 2
    other.close()


FULL = """
import resource, sys
from quire.errors import StoreFailed
from quire.stores import Entry, Place
from quire.stores.sqlite import SQLiteStore
store, place, version = SQLiteStore(sys.argv[1]), Place("ana", "q3"), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
batch = int(sys.argv[2])
for number in range(2000):
    try:
        added = [Entry("main", b"{%d}" % number + b" " * 2000)] * batch
        version = store.append(place, added, expected=version)
    except StoreFailed as error:
        said = str(error)
        break
assert len(store.read(place)) == store.version(place) == version, version
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert store.append(place, [Entry("main", b"{}")], expected=version) == version + 1
print(version, said)
"""


@pytest.mark.parametrize("batch", [1, 3])
def test_without_room_what_was_acknowledged_is_there(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "kept.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(batch)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    version = int(done.stdout.split()[0])
    assert version > 10 and str(path) in done.stdout
    with SQLiteStore(path) as store:
        assert store.version(HERE) == version + 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", small], capture_output=True
    ).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        with SQLiteStore(small / "kept.db") as store:
            version = 0
            with pytest.raises(StoreFailed, match=r"no room|written"):
                while version < 5000:
                    version = store.append(HERE, [entry("x" * 1000)], expected=version)
            assert store.version(HERE) == len(store.read(HERE)) == version > 10
        with SQLiteStore(small / "kept.db") as store:
            assert len(store.read(HERE)) == version
    finally:
        subprocess.run(["umount", small], check=True)


READ_ONLY = """
import os, sys
from quire.errors import StoreFailed
from quire.stores import Entry, Place
from quire.stores.sqlite import SQLiteStore
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
for path in sys.argv[1:]:
    try:
        SQLiteStore(path).append(Place("", "x"), [Entry("main", b"{}")], expected=0)
    except StoreFailed as error:
        print(error)
"""


def test_where_nothing_may_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    path = filled(folder / "kept.db")
    before = path.read_bytes()
    path.chmod(0o444)
    folder.chmod(0o555)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | 0o055)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, path, folder / "new.db", folder / "new" / "new.db"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    folder.chmod(0o755)
    assert len(done.stdout.splitlines()) == 3, done.stderr
    assert path.read_bytes() == before and os.listdir(folder) == ["kept.db"]


def test_closing_waits_for_whoever_reads(tmp_path: Path) -> None:
    store = SQLiteStore(filled(tmp_path / "kept.db", 2000))
    faults: list[BaseException] = []

    def read_on() -> None:
        try:
            while True:
                store.read(HERE)
        except BaseException as fault:
            faults.append(fault)

    reader = threading.Thread(target=read_on)
    reader.start()
    store.close()
    store.close()
    reader.join(20)
    assert [type(fault) for fault in faults] == [StoreFailed]
