"""Files of items where the system, another process or the caller gets in the way."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quire.errors import InvalidValue, OutOfRange, StoreFailed, WrongType
from quire.stores import JSONLinesStore, JSONStore, MemoryStore, Store
from tests.stores.files import BOTH, HERE, THERE, entry, items_of, texts


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


APPEND_UNTIL_FULL = """
import resource, sys
from quire.errors import StoreFailed
from quire.stores import Entry, Place, Store
with Store.open(sys.argv[1]) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    version = 0
    try:
        while True:
            batch = [Entry("main", b'{"text":"%s"}' % text) for text in (b"%d" % version, b"x" * 700)]
            version = store.append(Place("", ""), batch, expected=version)
    except StoreFailed as full:
        print(full)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(version, store.version(Place("", "")))
    store.append(Place("", ""), [Entry("main", b'{"text":"room again"}')], expected=version)
"""


@BOTH
def test_a_full_disk_is_told_and_what_was_acknowledged_is_there(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    told, counts = run(APPEND_UNTIL_FULL, str(path)).splitlines()
    assert "cannot be written: File too large" in told
    acknowledged, found = map(int, counts.split())
    assert acknowledged == found > 10
    with Store.open(path) as store:
        assert store.version(HERE) == acknowledged + 1 and store.reports == ()
        assert texts(store)[-1] == "room again"
        assert len(items_of(path)) == acknowledged + 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "kept.json"
    link.symlink_to("/dev/full")
    with pytest.raises(StoreFailed, match="not a file"):
        Store.open(link)


@BOTH
def test_a_forgetting_that_finds_no_room_changes_nothing(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        store.append(HERE, [entry("x" * 9000), entry("y")], expected=0)
    before = path.read_bytes()
    run(
        "import resource, sys\n"
        "from quire.errors import StoreFailed\n"
        "from quire.stores import Place, Store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))\n"
        "with Store.open(sys.argv[1]) as store:\n"
        "    try: store.forget(Place('', ''), {2: b'{}'})\n"
        "    except StoreFailed as told: assert 'cannot be replaced' in str(told)\n"
        "    else: raise SystemExit('it did not fail')\n"
        "    assert store.version(Place('', '')) == 2\n",
        str(path),
    )
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]


WRITE_MANY = """
import sys
from quire.errors import Conflict
from quire.stores import Entry, Place, Store
with Store.open(sys.argv[1]) as store:
    for number in range(150):
        place = Place("", "shared" if number % 3 else sys.argv[2])
        version = store.version(place)
        body = b'{"text":"%s %d"}' % (sys.argv[2].encode(), number)
        while True:
            try:
                store.append(place, [Entry("main", body)], expected=version)
                break
            except Conflict as late:
                version = late.found
        if number == 75:
            store.forget(Place("", sys.argv[2]), {1: b'{"text":"gone"}'})
"""


@BOTH
def test_processes_lose_nothing_and_double_nothing(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "new" / f"kept.{ending}"
    writers = [threading.Thread(target=run, args=(WRITE_MANY, str(path), name)) for name in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with Store.open(path) as store:
        shared = texts(store, HERE._replace(conversation="shared"))
        assert len(shared) == 300
        for name in ("a", "b", "c"):
            own = texts(store, HERE._replace(conversation=name))
            assert own == ["gone", *(f"{name} {number}" for number in range(3, 150, 3))]
            mine = [text for text in shared if text.startswith(name)]
            assert mine == [f"{name} {number}" for number in range(150) if number % 3]
        assert len(items_of(path)) == 450 and store.reports == ()


@BOTH
def test_a_forked_process_has_a_lock_of_its_own(tmp_path: Path, ending: str) -> None:
    told = run(
        "import os, sys\n"
        "from quire.errors import Conflict\n"
        "from quire.stores import Entry, Place, Store\n"
        "here, store = Place('', ''), Store.open(sys.argv[1])\n"
        "child = os.fork()\n"
        "for number in range(200):\n"
        "    while True:\n"
        "        try:\n"
        "            store.append(here, [Entry('main', b'{}')], expected=store.version(here))\n"
        "            break\n"
        "        except Conflict: pass\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    print(store.version(here), len(store.read(here)))\n",
        str(tmp_path / f"kept.{ending}"),
    )
    assert told.split() == ["400", "400"]


@BOTH
def test_new_files_are_the_owners_alone(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a" / "b" / f"kept.{ending}"
    before = os.umask(0)
    try:
        with Store.open(path) as store:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            store.append(HERE, [entry("one")], expected=0)
            store.forget(HERE)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@BOTH
def test_forgetting_leaves_no_bytes_behind(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    path.with_name(f"{path.name}.new").write_bytes(b"secret: left by a crash in an earlier forgetting")
    with Store.open(path) as store:
        for at, word in enumerate(("one", "secret", "three")):
            store.append(THERE, [entry(word)], expected=at)
        store.append(HERE, [entry("secret of another")], expected=0)
        store.forget(THERE, {2: b'{"text":"-"}'})
        assert texts(store, THERE) == ["one", "-", "three"]
        store.forget(HERE)
        for file in tmp_path.iterdir():
            assert b"secret" not in file.read_bytes()
        store.forget(THERE)
        store.forget(THERE)
        assert items_of(path) == [] and store.scopes() == []


@BOTH
def test_a_version_that_is_not_there_cannot_be_forgotten(tmp_path: Path, ending: str) -> None:
    with Store.open(tmp_path / f"kept.{ending}") as store:
        store.append(HERE, [entry("one")], expected=0)
        for version in (0, 2, -1):
            with pytest.raises(OutOfRange):
                store.forget(HERE, {1: b"{}", version: b"{}"})
        assert texts(store) == ["one"]


@BOTH
def test_a_link_stays_a_link(tmp_path: Path, ending: str) -> None:
    path, link = tmp_path / f"kept.{ending}", tmp_path / f"link.{ending}"
    link.symlink_to(path)
    with Store.open(link) as store:
        store.append(HERE, [entry("one"), entry("two")], expected=0)
        store.forget(HERE, {1: entry("-").body})
    assert link.is_symlink() and len(items_of(path)) == 2


@BOTH
def test_a_file_that_was_taken_away_is_told(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        store.append(HERE, [entry("one")], expected=0)
        path.unlink()
        for verb in (lambda: store.read(HERE), lambda: store.append(HERE, [entry("two")], expected=1)):
            with pytest.raises(StoreFailed, match="No such file"):
                verb()


@BOTH
def test_paths_that_cannot_be_opened(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"folder.{ending}").mkdir()
    (tmp_path / "file").touch()
    for path, reason in (
        (tmp_path / f"folder.{ending}", "Is a directory"),
        (tmp_path / "file" / f"kept.{ending}", "Not a directory"),
        (Path(f"/proc/kept.{ending}"), "No such file|Permission denied|Operation not"),
        (tmp_path / f"{'x' * 300}.{ending}", "File name too long"),
    ):
        with pytest.raises(StoreFailed, match=reason) as told:
            Store.open(path)
        assert isinstance(told.value.__cause__, OSError)


@BOTH
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_read_only_folder_for_somebody_without_rights(tmp_path: Path, ending: str) -> None:
    told = run(
        "import os, sys, tempfile\n"
        "from quire.errors import StoreFailed\n"
        "from quire.stores import Store\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    kept = os.path.join(folder, 'kept.' + sys.argv[1])\n"
        "    Store.open(kept).close()\n"
        "    os.chmod(kept, 0o444)\n"
        "    os.chmod(folder, 0o555)\n"
        "    os.seteuid(65534)\n"
        "    for path in (kept, os.path.join(folder, 'new.' + sys.argv[1])):\n"
        "        try: Store.open(path)\n"
        "        except StoreFailed as told: print(told)\n"
        "    os.seteuid(0)\n",
        ending,
    )
    assert told.count("cannot be opened: Permission denied") == 2


def test_an_address_says_which_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, kind in (
        ("memory:", MemoryStore),
        ("a.json", JSONStore),
        (tmp_path / "b.JSON", JSONStore),
        ("new/c.jsonl", JSONLinesStore),
        (tmp_path / "odd:name.jsonl", JSONLinesStore),
    ):
        with Store.open(url) as store:
            assert type(store) is kind
            assert Store.open(store) is store
    assert json.loads(Path("a.json").read_bytes()) == [] and Path("new/c.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    "url",
    [
        *("", "memory", "memory:x", "a.txt", "json", ".json", "sqlite:a.db", "sqlite://a.db", "sqlite:///"),
        *("mysql://user:secret@host/a", "postgresql:a", "https://a/b.json", Path("a"), Path()),
    ],
)
def test_an_address_that_means_nothing_lists_the_ways(url: str | Path) -> None:
    with pytest.raises(InvalidValue, match=r"memory:.*sqlite:///.*postgresql://.*jsonl") as told:
        Store.open(url)
    assert "secret" not in str(told.value)


def test_odd_arguments_of_opening(tmp_path: Path) -> None:
    with pytest.raises(WrongType):
        Store.open(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="process"):
        Store.open(tmp_path / "a.json", durable="maybe")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="open already"):
        Store.open(MemoryStore(), key=bytes(32))
    assert os.listdir(tmp_path) == []
