"""Encryption at rest: what is written shows no content, and what was changed or moved is noticed."""

import base64
import json
import sys

import pytest

from quire.errors import InvalidValue, MissingExtra, StoreDamaged
from quire.items import JSON, Message, Unknown
from quire.stores import Entry, MemoryStore, Place, Sealed, Store, items_in
from tests.stores.keeping import HERE, KEY, THERE, entry, kept

OTHER = bytes(32)
SECRET = Message(role="user", content="the swordfish costs 12 %", created_at=1_700_000_000.25)
BODY = JSON.encode_item(SECRET)
STORES = ["memory", "sqlite", "json lines", "postgres"]


@pytest.fixture
def inside() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def sealed(inside: Store) -> Store:
    store = Sealed(inside, KEY)
    store.append(HERE, [Entry("main", BODY), Entry("side", BODY)], expected=0)
    return store


def test_what_is_stored_is_an_item_of_an_unknown_kind(inside: Store, sealed: Store) -> None:
    for stored in inside.read(HERE):
        item = JSON.decode_item(stored.body)
        assert isinstance(item, Unknown) and item.name == "sealed"
        assert (item.id, item.created_at) == (SECRET.id, SECRET.created_at)
        hidden = base64.b64decode(json.loads(stored.body)["sealed"])
        assert b"swordfish" not in stored.body and b"swordfish" not in hidden
    assert len({stored.body for stored in inside.read(HERE)}) == 2  # never the same twice
    assert [stored.body for stored in sealed.read(HERE)] == [BODY, BODY]


@pytest.mark.parametrize("name", STORES)
def test_an_append_with_another_key_is_refused_before_anything_is_written(name: str) -> None:
    with kept(name) as held:
        plain = held.store

        mine, others = Sealed(plain, KEY), Sealed(plain, OTHER)
        mine.append(HERE, [entry("mine")], expected=0)
        mine.append(HERE, [entry("mine too")], expected=1)
        before = plain.read(HERE)
        for batch in ([entry("not")], [entry("not"), entry("either")]):
            with pytest.raises(StoreDamaged):
                others.append(HERE, batch, expected=2)
        with pytest.raises(InvalidValue, match="is sealed"):
            items_in(HERE, before)
        assert plain.read(HERE) == before
        assert mine.append(HERE, [entry("more")], expected=2) == 3
        assert others.append(THERE, [entry("its own")], expected=0) == 1
        plain.append(Place("", "clear"), [entry("clear")], expected=0)
        with pytest.raises(StoreDamaged, match="without a key"):
            mine.append(Place("", "clear"), [entry("not")], expected=1)
        assert [stored.body for stored in mine.read(HERE)] == [
            entry(t).body for t in ("mine", "mine too", "more")
        ]


def test_what_was_moved_changed_or_sealed_with_another_key_is_damage(
    inside: MemoryStore, sealed: Store
) -> None:
    rows = [Entry(*stored[1:]) for stored in inside.read(HERE)]
    shell = json.loads(rows[0].body)
    changed = [
        [rows[1], rows[0]],
        [Entry("other", rows[0].body)],
        [Entry("main", json.dumps({**shell, "id": "another"}).encode())],
        [Entry("main", json.dumps({**shell, "created_at": 1.5}).encode())],
        [Entry("main", json.dumps({**shell, "sealed": shell["sealed"][:-8]}).encode())],
        [Entry("main", json.dumps({**shell, "sealed": "no base64"}).encode())],
        [Entry("main", b'{"kind":"sealed","sealed":5}')],
        [Entry("main", b'{"kind":"sealed",')],
    ]
    for number, entries in enumerate(changed):
        place = Place("ana", f"{number}")
        inside.append(place, entries, expected=0)
        with pytest.raises(StoreDamaged) as refused:
            sealed.read(place)
        assert refused.value.place == str(place) and refused.value.version == 0
    with pytest.raises(StoreDamaged, match="another key"):
        Sealed(inside, OTHER).read(HERE)
    assert [one.place for one in sealed.verify()] == [
        Place("ana", f"{number}") for number in range(len(changed))
    ]


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtra, match=r"quire\[sealed\]"):
        Store.open("memory:", key=KEY)
