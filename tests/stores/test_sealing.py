"""Encryption at rest: what is written shows no content, and what was changed or moved is noticed."""

import base64
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quire.errors import Conflict, InvalidValue, MissingExtra, OutOfRange, StoreDamaged
from quire.items import JSON, Message, Unknown
from quire.stores import Entry, MemoryStore, Place, Store
from quire.stores.sealing import Sealed
from quire.stores.sqlite import SQLiteStore

KEY = bytes(range(32))
HERE = Place("ana", "q3")
SECRET = Message(role="user", content="the margin is 12 %", created_at=1_700_000_000.25)
BODY = JSON.encode_item(SECRET)


@pytest.fixture
def inside() -> Iterator[Store]:
    with MemoryStore() as store:
        yield store


@pytest.fixture
def sealed(inside: Store) -> Sealed:
    store = Sealed(inside, KEY)
    store.append(HERE, [Entry("main", BODY), Entry("side", BODY)], expected=0)
    return store


def test_what_is_stored_is_an_item_of_a_kind_nobody_knows(inside: Store, sealed: Sealed) -> None:
    for stored in inside.read(HERE):
        item = JSON.decode_item(stored.body)
        assert isinstance(item, Unknown) and item.name == "sealed"
        assert (item.id, item.created_at) == (SECRET.id, SECRET.created_at)
        assert JSON.encode_item(item) == stored.body
        hidden = base64.b64decode(json.loads(stored.body)["sealed"])
        assert b"margin" not in stored.body and b"margin" not in hidden
    assert len({stored.body for stored in inside.read(HERE)}) == 2  # never the same twice
    assert [stored.body for stored in sealed.read(HERE)] == [BODY, BODY]
    assert JSON.decode_item(sealed.read(HERE, after=1)[0].body) == SECRET


@pytest.mark.parametrize("body", [b"{}", b"", b"\xff\x00", b"[1]", b'{"kind":"x","id":5}', b"[" * 5000])
def test_any_bytes_come_back(sealed: Sealed, body: bytes) -> None:
    sealed.append(HERE, [Entry("main", body)], expected=2)
    assert sealed.read(HERE)[2].body == body


def test_no_content_is_in_any_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kept.db", key=KEY) as store:
        store.append(HERE, [Entry("main", BODY)] * 3, expected=0)
        store.append(HERE, [Entry("main", BODY)], expected=3)
        for file in tmp_path.iterdir():
            assert b"margin" not in file.read_bytes()
    with Store.open(tmp_path / "kept.db", key=KEY) as store:
        assert store.read(HERE)[3].body == BODY


def test_another_key_reads_nothing(inside: Store, sealed: Sealed) -> None:
    with pytest.raises(StoreDamaged, match="version 1 of ana/q3") as damaged:
        Sealed(inside, bytes(32)).read(HERE)
    assert "margin" not in str(damaged.value)


@pytest.mark.parametrize("key", [b"", b"x" * 16, b"x" * 31, b"x" * 33, "x" * 32, None, bytearray(32)])
def test_a_key_is_32_bytes(inside: Store, key: Any) -> None:
    with pytest.raises(InvalidValue) as wrong:
        Sealed(inside, key)
    assert "xx" not in str(wrong.value)


def changed(body: bytes, name: str) -> bytes:
    fields = json.loads(body)
    if name == "sealed":
        data = bytearray(base64.b64decode(fields[name]))
        data[len(data) // 2] ^= 1
        fields[name] = base64.b64encode(data).decode()
    else:
        fields[name] = "other" if name == "id" else 5.0
    return json.dumps(fields).encode()


@pytest.mark.parametrize("name", ["sealed", "id", "created_at"])
def test_what_was_changed_is_noticed(inside: Store, sealed: Sealed, name: str) -> None:
    inside.forget(HERE, {2: changed(inside.read(HERE)[1].body, name)})
    assert len(inside.read(HERE)) == 2
    with pytest.raises(StoreDamaged, match="version 2 of ana/q3"):
        sealed.read(HERE)


@pytest.mark.parametrize("cut", ["", "AAAA", "not base64!", "A" * 40])
def test_what_was_cut_is_noticed(inside: Store, sealed: Sealed, cut: str) -> None:
    inside.forget(HERE, {1: json.dumps({"kind": "sealed", "id": SECRET.id, "sealed": cut}).encode()})
    with pytest.raises(StoreDamaged):
        sealed.read(HERE)


def test_what_was_moved_is_noticed(inside: Store, sealed: Sealed) -> None:
    first, second = (stored.body for stored in inside.read(HERE))
    for place, stream in (
        (Place("bob", "q3"), "main"),
        (Place("ana", "q4"), "main"),
        (Place("ana/q", "3"), "main"),
    ):
        inside.append(place, [Entry(stream, first)], expected=0)
        with pytest.raises(StoreDamaged):
            sealed.read(place)
    inside.forget(HERE, {1: second, 2: first})  # another version, another stream
    with pytest.raises(StoreDamaged):
        sealed.read(HERE)
    inside.forget(HERE, {1: first, 2: second})
    assert len(sealed.read(HERE)) == 2


def test_a_row_of_another_stream_is_noticed(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "kept.db") as inside:
        Sealed(inside, KEY).append(HERE, [Entry("main", BODY)], expected=0)
        other = sqlite3.connect(tmp_path / "kept.db", isolation_level=None)
        other.execute("UPDATE entries SET stream = 'side'")
        other.close()
        with pytest.raises(StoreDamaged):
            Sealed(inside, KEY).read(HERE)


def test_what_was_written_without_a_key_is_refused(inside: Store, sealed: Sealed) -> None:
    inside.append(HERE, [Entry("main", BODY)], expected=2)
    with pytest.raises(StoreDamaged, match="without a key"):
        sealed.read(HERE)
    inside.forget(HERE, {3: b"no json"})
    with pytest.raises(StoreDamaged, match="version 3"):
        sealed.read(HERE)


def test_other_verbs_are_those_of_the_store_inside(inside: Store, sealed: Sealed) -> None:
    with pytest.raises(Conflict):
        sealed.append(HERE, [Entry("main", BODY)], expected=1)
    assert (sealed.version(HERE), sealed.scopes(), sealed.conversations("ana")) == (2, ["ana"], ["q3"])
    assert sealed.wait(HERE, 1, 5) == 2
    sealed.forget(HERE, {2: b'{"kind":"note"}'})
    assert [stored[1:] for stored in sealed.read(HERE)] == [("main", BODY), ("side", b'{"kind":"note"}')]
    assert b"note" not in inside.read(HERE)[1].body
    for wrong in (0, 3):
        with pytest.raises(OutOfRange):
            sealed.forget(HERE, {wrong: b"{}"})
    inside.reports = ("a torn end",)
    assert sealed.reports == ("a torn end",)
    sealed.forget(HERE)
    assert inside.version(HERE) == 0


def test_without_the_library_the_extra_is_named(inside: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtra, match=r"quire\[sealed\]"):
        Sealed(inside, KEY)


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for module in ("quire.stores.postgres", "quire.stores.postgres_link"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtra, match=r"quire\[postgres\]"):
        Store.open("postgresql://nowhere/nothing")
