"""The JSON lines store: what other programs find in its file, and what a crash leaves of an append."""

import json
from pathlib import Path

import pytest

from quire.errors import InvalidValue, StoreDamaged, StoreFailed
from quire.stores import Entry, JSONLinesStore, Place, Store
from tests.counting import calls_of
from tests.stores.keeping import HERE, THERE, at_once, entry, fill


def test_every_line_is_an_object_that_any_program_reads(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    with Store.open(path) as store:
        fill(store, HERE, "one", "two")
        head, *lines = map(json.loads, path.read_text().splitlines())
        assert head["quire"] == 2 and head["size"] == path.stat().st_size
        assert [line["text"] for line in lines] == ["one", "two"]
        assert lines[1]["at"] == {**lines[1]["at"], "scope": "ana", "conversation": "q3", "version": 2}
        before = path.read_bytes().partition(b"\n")[2]
        fill(store, HERE, "three")
        assert path.read_bytes().partition(b"\n")[2].startswith(before), (
            "an append writes its own bytes alone"
        )


def test_a_body_is_one_object_on_one_line(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kept.jsonl") as store:
        for body in (b"", b"[1]", b"{", b"{} {}", b'"a"', b'{"a":"\xff"}', b"[" * 5000, b"{\n}", b" {}"):
            with pytest.raises(InvalidValue):
                store.append(HERE, [entry("fine"), Entry("main", body)], expected=0)
            with pytest.raises(InvalidValue):
                store.replace(THERE, {store.append(THERE, [entry("x")], expected=store.version(THERE)): body})
        assert store.version(HERE) == 0 and {one.body for one in store.read(THERE)} == {entry("x").body}


@pytest.mark.parametrize("left", [b"{", b'{"at":{"sco', b"\0" * 700, b'{"kind":"message"}\n', b"garbage\n"])
def test_an_append_that_never_returned_is_removed_and_said(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "kept.jsonl"
    with Store.open(path) as store:
        stored = fill(store, HERE, "one", "two")
    with path.open("ab") as file:
        file.write(left)
    with Store.open(path) as store:
        assert f"{len(left):,} bytes" in store.reports[0] and store.read(HERE) == stored
        fill(store, HERE, "three")
    with Store.open(path) as store:
        assert store.reports == () and store.version(HERE) == 3


def test_a_file_that_another_replaced_or_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    with JSONLinesStore(path) as store, JSONLinesStore(path) as other:
        fill(store, HERE, "one", "two")
        other.remove(HERE)
        assert store.version(HERE) == 0
        assert fill(store, HERE, "again") == other.read(HERE)
        data = path.read_bytes()
        path.write_bytes(data[:-3])
        for verb in (
            lambda: store.read(HERE),
            lambda: other.append(Place("", "new"), [entry("x")], expected=0),
        ):
            with pytest.raises(StoreDamaged, match="ends at byte"):
                verb()
        path.unlink()
        with pytest.raises(StoreFailed):
            store.read(HERE)


WRITER = """
from quire.stores import Entry, Place, Store
for number in range(10):
    with Store.open(f"{sys.argv[1]}/{number}.jsonl") as store:
        place = Place("writers", sys.argv[2])
        for version in range(10):
            store.append(place, [Entry("main", b'{"n":%d}' % version)], expected=version)
            if version % 3 == 0:
                store.replace(place, {version + 1: b"{}"})
"""


def test_processes_that_rewrite_a_file_lose_nothing_of_others(tmp_path: Path) -> None:
    assert at_once(WRITER, *([str(tmp_path), name] for name in "abcd")) == []
    wanted = [b"{}" if version % 3 == 0 else b'{"n":%d}' % version for version in range(10)]
    for number in range(10):
        with Store.open(tmp_path / f"{number}.jsonl") as store:
            assert store.reports == ()
            for name in "abcd":
                assert [stored.body for stored in store.read(Place("writers", name))] == wanted


def test_what_is_no_file_or_no_store_is_refused_and_left(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(items := b'{"kind":"message","text":"one"}\n' * 9)
    with Store.open(path) as store, pytest.raises(StoreDamaged, match="not a store"):
        store.append(HERE, [entry("two")], expected=0)
    assert path.read_bytes() == items
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "null.jsonl").symlink_to("/dev/null")
    for name in ("folder.jsonl", "null.jsonl"):
        with pytest.raises(StoreFailed, match="not a file"):
            Store.open(tmp_path / name)


@pytest.mark.parametrize("name", ["memory:", "kept.jsonl"])
def test_entries_cost_the_same_to_read_whatever_follows_them(name: str, tmp_path: Path) -> None:
    costs = list[int]()
    with Store.open(name if name == "memory:" else tmp_path / name) as store:
        for version in (0, 1_000):
            store.append(HERE, [entry("x")] * 1_000, expected=version)
            costs.append(calls_of(lambda: store.read_at(HERE, range(1, 11))))
    assert costs[1] <= costs[0] < 100
