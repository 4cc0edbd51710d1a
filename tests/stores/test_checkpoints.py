"""Checkpoints: derived from the log, all or nothing, and as if missing where they are damaged."""

import sqlite3
from contextlib import closing, suppress

import psycopg
import pytest

from quire.errors import StoreDamaged
from quire.stores import MemoryStore, Opening, Sealed, Store
from quire.stores.salvage import check, salvage
from tests.stores.keeping import FILES, FIRST, HERE, KEY, LASTING, POSTGRES, THERE, Kept, entry, kept

pytestmark = pytest.mark.laws
KEEPING = [name for name in LASTING if "json" not in name]


def filled(store: Store) -> Opening:
    """A conversation of nine entries with a checkpoint of the sixth and two parts."""
    for place in (HERE, THERE):
        store.append(place, [entry(f"{place} {number}") for number in range(9)], expected=0)
        assert store.write_checkpoint(place, 6, b"head", [1, 3], {1: b"part one", 2: b"part two"})
    found = store.open_checkpoint(HERE)
    assert found is not None and found.head == b"head"
    first, _, third, *_ = store.read(HERE)
    assert found.needs == [1, 3] and found.needed_bodies == b",".join((first.body, third.body))
    assert found.entries == store.read(HERE, after=5)
    return found


HEAD, PART = "the head", "a part"
DAMAGE = {
    "a head's body": (HEAD, "UPDATE {checkpoints} SET body = {zero} WHERE {head}"),
    "a head's version": (HEAD, "UPDATE {checkpoints} SET {head_version} WHERE {head}"),
    "a head's needs": (HEAD, "UPDATE {checkpoints} SET {needs} WHERE {head}"),
    "a head that is gone": (HEAD, "DELETE FROM {checkpoints} WHERE {head}"),
    "a named entry": (HEAD, "UPDATE {entries} SET body = {zero} WHERE {third}"),
    "the sum of a named entry": (HEAD, "UPDATE {entries} SET sum = sum + 1 WHERE {third}"),
    "the stream of a named entry": (HEAD, "UPDATE {entries} SET stream = 'mainx' WHERE {third}"),
    "a later entry": (HEAD, "UPDATE {entries} SET body = {zero} WHERE {last}"),
    "a shorter log": (HEAD, "{shorten}"),
    "a part's body": (PART, "UPDATE {checkpoints} SET body = {zero} WHERE {part}"),
    "a part of another": (PART, "{move}"),
}
SQLITE = {
    **{"checkpoints": "entries", "entries": "entries", "zero": "x'00'"},
    **{"head": f"at = ~{FIRST}", "part": f"at = ~({FIRST} + 1)"},
    "head_version": "stream = '.checkpoint 5 [1, 3]'",
    "needs": "stream = '.checkpoint 6 [1]'",
    "third": f"at = {FIRST} + 3",
    "last": f"at = {FIRST} + 9",
    "move": f"UPDATE versions SET at = ~({FIRST} + 3) WHERE at = ~({FIRST} + 1)",
    "shorten": f"DELETE FROM versions WHERE at > {FIRST} + 5 AND at < {FIRST} + (1 << 32)",
}
SERVER = {
    **{"checkpoints": "quire.checkpoints", "entries": "quire.entries", "zero": "'0'"},
    **{"head": "conversation = 1 AND part = 0", "part": "conversation = 1 AND part = 1"},
    **{"head_version": "version = 5", "needs": "needs = '{1}'"},
    **{"third": "conversation = 1 AND version = 3", "last": "conversation = 1 AND version = 9"},
    "move": "UPDATE quire.checkpoints SET part = 3 WHERE conversation = 1 AND part = 1",
    "shorten": "UPDATE quire.conversations SET version = 5 WHERE number = 1",
}


def damage(held: Kept, statement: str) -> None:
    if held.shelf.url.startswith("postgres"):
        with psycopg.connect(held.shelf.url, autocommit=True) as direct:
            direct.execute(statement.format(**SERVER).encode())
    else:
        with closing(sqlite3.connect(held.shelf.url)) as file, file:
            file.execute(statement.format(**SQLITE))


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("way", DAMAGE)
def test_a_damaged_checkpoint_is_as_if_missing(name: str, way: str) -> None:
    what, statement = DAMAGE[way]
    with kept(name) as held:
        whole = filled(held.store)
        damage(held, statement)
        assert held.store.open_checkpoint(HERE) == (None if what == HEAD else whole)
        others = held.store.read_parts(HERE, [1, 2, 3])
        assert others == ({2: b"part two"} if what == PART else {1: b"part one", 2: b"part two"})
        there = held.store.open_checkpoint(THERE)
        assert there is not None and there.version == 6
        if "checkpoints" in statement or way == "a part of another":
            assert list(held.store.verify()) == []
            assert held.store.write_checkpoint(HERE, 9, b"new", [], {1: b"again"})
            assert held.store.open_checkpoint(HERE) == (9, b"new", held.store.read(HERE, after=8), [], b"", 0)
        elif way != "a shorter log":  # a checkpoint that is written now hides the damage no more than before
            with suppress(StoreDamaged):
                held.store.write_checkpoint(HERE, 6, b"new", [1, 3], {})
            assert held.store.open_checkpoint(HERE) is None


@pytest.mark.parametrize("name", FILES)
def test_a_salvaged_store_has_the_entries_and_no_checkpoint(name: str) -> None:
    with kept(name) as held:
        store = held.store
        store.append(HERE, [entry(f"{number}") for number in range(9)], expected=0)
        assert store.write_checkpoint(HERE, 6, b"head", [1], {1: b"part" * 3000}) == store.has_checkpoints
        wanted = store.read(HERE)
        store.close()
        assert check(held.shelf.url, key=held.shelf.key) == []
        if name.endswith("sqlite"):  # so that it is read page by page
            damage(held, "DELETE FROM {entries} WHERE {last}")
        with Store.open(held.folder / "new.db", key=held.shelf.key) as target:
            salvage(held.shelf.url, target, key=held.shelf.key)
            assert target.read(HERE)[:8] == wanted[:8] and target.open_checkpoint(HERE) is None


@pytest.mark.parametrize("name", ["sqlite", POSTGRES])
def test_a_sealed_checkpoint_shows_nothing_and_opens_where_it_was_written_with_its_key(name: str) -> None:
    with kept(name) as held:
        inside, sealed = held.store, Sealed(held.store, KEY)
        assert sealed.has_checkpoints and not Sealed(MemoryStore(), KEY).has_checkpoints
        filled(sealed)
        found, parts = inside.open_checkpoint(HERE), inside.read_parts(HERE, [1, 2])
        assert found is not None and b"head" not in found.head
        assert not any(b"part" in body for body in parts.values())
        assert Sealed(inside, bytes(32)).open_checkpoint(HERE) is None
        assert Sealed(inside, bytes(32)).read_parts(HERE, [1, 2]) == {}
        assert inside.write_checkpoint(HERE, 6, found.head, [1], {1: parts[2]})
        assert sealed.read_parts(HERE, [1, 2]) == {2: b"part two"}
        assert inside.write_checkpoint(HERE, 7, found.head, [1], {})
        assert sealed.open_checkpoint(HERE) is None
        assert inside.write_checkpoint(THERE, 6, found.head, [1], {2: parts[2]})
        assert sealed.open_checkpoint(THERE) is None and sealed.read_parts(THERE, [2]) == {}
