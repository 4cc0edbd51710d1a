"""Files of items: what stands in them, what a person may write there, and what an append costs."""

import json
import os
import stat
from pathlib import Path
from unittest.mock import patch

import pytest

from quire.errors import InvalidValue, StoreDamaged
from quire.stores import Entry, Store, elements
from quire.stores.file_log import FileLog
from tests.stores.files import BOTH, HERE, THERE, entry, items_of, texts

WRITTEN = [json.loads(entry(text).body) for text in ("one", "zwei ü", "3")]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(WRITTEN),
        json.dumps(WRITTEN, indent=2, ensure_ascii=False),
        json.dumps(WRITTEN, indent="\t") + "\n\n",
        "\r\n".join(json.dumps(WRITTEN, indent=1).split("\n")),
        "[\n" + ",\n".join("\t" + json.dumps(item) for item in WRITTEN) + "\n]\n",
        " [ " + " , ".join(map(json.dumps, WRITTEN)) + "]",
        "[\n" + ",\n".join(map(json.dumps, WRITTEN)) + "]",
        "[\n" + ",\n".join(map(json.dumps, WRITTEN)) + "\n]",
    ],
)
def test_an_array_in_any_layout_is_read_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_text(text, newline="")
    path.chmod(0o640)
    with Store.open(path) as store, Store.open(path) as other:
        assert [json.loads(stored.body) for stored in store.read(HERE)] == WRITTEN
        assert path.read_bytes() == text.encode() and store.reports == ()
        store.append(HERE, [entry("four")], expected=3)
        other.append(THERE, [entry("five")], expected=0)
        assert texts(other) == texts(store) == ["one", "zwei ü", "3", "four"]
        assert texts(store, THERE) == ["five"]
    assert len(items_of(path)) == 5 and path.read_bytes().count(b"\n") == 7
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["kept.json"]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, WRITTEN)),
        "\n\n".join(map(json.dumps, WRITTEN)) + "\n\n",
        "\r\n".join(map(json.dumps, WRITTEN)) + "\r\n",
        "\n".join(json.dumps(item, indent=2) for item in WRITTEN),
    ],
)
def test_lines_in_any_layout_are_read_as_they_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text(text, newline="")
    with Store.open(path) as store:
        assert [json.loads(stored.body) for stored in store.read(HERE)] == WRITTEN
        assert path.read_bytes() == text.encode() and store.reports == ()
        store.append(HERE, [entry("four")], expected=3)
    assert items_of(path) == [*WRITTEN, json.loads(entry("four").body)]


@pytest.mark.parametrize("text", ["", "[]", "[ ]\n", "[\n]", " \n[\n\n]"])
def test_a_file_without_items_is_a_store_without_entries(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_text(text)
    with Store.open(path) as store:
        assert store.scopes() == [] and store.reports == () and items_of(path) == []
        store.append(HERE, [entry("one")], expected=0)
    assert len(items_of(path)) == 1


def test_who_wrote_the_place_by_hand_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(
        '[ { "at" : {"scope": "ana", "conversation": "q3" } , "text": "x" }, {"at": 5, "text": "y"} ]'
    )
    with Store.open(path) as store:
        assert store.read(THERE)[0].body == b'{ "text": "x" }'
        assert store.read(HERE)[0].body == b'{"at": 5, "text": "y"}'
        store.append(HERE, [entry("z")], expected=1)
        assert (texts(store, THERE), texts(store)) == (["x"], ["y", "z"])
    with Store.open(path) as store:
        assert (texts(store, THERE), texts(store)) == (["x"], ["y", "z"])


@pytest.mark.parametrize(
    "text", ["{}", "[1]", '["a"]', "[[]]", "nonsense", "[{},]", "[{} {}]", '[{"a":NaN}]', "[]x", "[x"]
)
def test_what_is_no_array_of_items_is_damage(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    for written in (text, f"{text}\n]\n"):
        path.write_text(written)
        with pytest.raises(StoreDamaged):
            Store.open(path)
        assert path.read_text() == written


@BOTH
def test_elements_are_the_bodies_and_nothing_else(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store:
        store.append(HERE, [entry("one"), entry("two")], expected=0)
        store.append(THERE, [entry("three"), entry("four", "side")], expected=0)
        store.append(HERE, [Entry("main", b' {\n"kind":\r\n"x"}\n')], expected=2)
        assert store.read(HERE)[-1].body == b'{ "kind":  "x"}'
    at = {"scope": "ana", "conversation": "q3"}
    assert items_of(path) == [
        {"kind": "message", "text": "one"},
        {"kind": "message", "text": "two"},
        {"at": at, "kind": "message", "text": "three"},
        {"at": {**at, "stream": "side"}, "kind": "message", "text": "four"},
        {"kind": "x"},
    ]


@BOTH
@pytest.mark.parametrize(
    "body", [b"", b"[]", b"1", b"{", b'{"a":"\n"}', b'{"a":"\xff"}', b"{}{}", b"{},", b"{} x"]
)
def test_a_body_that_is_no_object_is_refused(tmp_path: Path, ending: str, body: bytes) -> None:
    with Store.open(tmp_path / f"kept.{ending}") as store:
        with pytest.raises(InvalidValue, match="object of JSON"):
            store.append(HERE, [entry("fine"), Entry("main", body)], expected=0)
        store.append(HERE, [entry("fine")], expected=0)
        with pytest.raises(InvalidValue, match="object of JSON"):
            store.forget(HERE, {1: body})
        assert texts(store) == ["fine"]


@BOTH
def test_an_append_writes_its_own_bytes_and_no_more(tmp_path: Path, ending: str) -> None:
    with Store.open(tmp_path / f"kept.{ending}") as store:
        version = store.append(HERE, [entry("x" * 200) for _ in range(500)], expected=0)
        with (
            patch.object(os, "pwrite", wraps=os.pwrite) as writing,
            patch.object(FileLog, "_look_through") as reading,
        ):
            for _ in range(20):
                version = store.append(HERE, [entry("short")], expected=version)
    written = [len(call.args[1]) for call in writing.call_args_list]
    assert written == [len(entry("short").body) + len(b",\n\n]\n" if ending == "json" else b"\n\n")] * 20
    assert reading.call_count == 0


@BOTH
def test_another_opening_reads_only_what_is_new_to_it(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"kept.{ending}"
    with Store.open(path) as store, Store.open(path) as other:
        store.append(HERE, [entry("x" * 200) for _ in range(500)], expected=0)
        assert other.version(HERE) == 500
        store.append(HERE, [entry("short")], expected=500)
        with patch("quire.stores.scanning.understood", wraps=elements.understood) as looking:
            assert other.version(HERE) == 501
        assert looking.call_count <= 2


@BOTH
def test_power_is_synced_and_process_is_not(tmp_path: Path, ending: str) -> None:
    with patch.object(os, "fsync", wraps=os.fsync) as syncing:
        with Store.open(tmp_path / f"kept.{ending}") as store:
            store.append(HERE, [entry("one")], expected=0)
            assert syncing.call_count == 0
        with Store.open(tmp_path / f"kept.{ending}", durable="power") as store:
            store.append(HERE, [entry("two")], expected=1)
            assert syncing.call_count == 1
        with Store.open(tmp_path / f"new.{ending}", durable="power"):
            assert syncing.call_count > 1  # the folder knows of the new file
