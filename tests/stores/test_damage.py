"""Damage is refused, never read shorter in silence; salvage gives back what is whole."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from quire import Budget, History, Session, Template
from quire.errors import InvalidValue, StoreDamaged, StoreError
from quire.stores import Entry, Place, Store, Stored
from quire.stores.salvage import check, salvage
from quire.stores.streams import LOST
from tests.session.opened import send
from tests.stores.keeping import FILES, FIRST, HERE, THERE, Shelf, entry, shelf_in

PLACES = (HERE, THERE, Place("bo", "q3"))
Log = dict[Place, list[Stored]]
SIZES = (20, 300, 1_500, 9_000)


def filled(shelf: Shelf, chance: Random, count: int = 60) -> Log:
    with shelf.open() as store:
        for number in range(count):
            place = PLACES[number % 3]
            body = (
                f'{{"kind":"message","n":{number},"text":"{chance.randbytes(SIZES[number % 4] // 2).hex()}"}}'
            )
            store.append(place, [Entry("main", body.encode())], expected=number // 3)
        for place in PLACES:
            store.write_checkpoint(place, 15, chance.randbytes(3_000), [1], {1: chance.randbytes(9_000)})
        return {place: store.read(place) for place in PLACES}


def check_refused_or_whole(shelf: Shelf, log: Log) -> None:
    """All verbs refuse, or give what was written. No other exception leaves a store."""
    for place in PLACES:
        with suppress(StoreError), shelf.open() as store:
            assert store.read(place) == log[place] or store.reports
            assert store.version(place) == len(log[place]) or store.reports
            opened = store.open_checkpoint(place)
            assert opened is None or opened[2:5] == (log[place][14:], [1], log[place][0].body)
            assert all(len(body) == 9_000 for body in store.read_parts(place, [1]).values())
            found = {Place(scope, name) for scope in store.scopes() for name in store.conversations(scope)}
            assert found == set(PLACES) or store.reports
            assert {one.place for one in store.recent()} == set(PLACES) or store.reports
            store.append(place, [entry("more")], expected=len(log[place]))
            assert store.read(place, after=len(log[place]))[0].body == entry("more").body


def salvaged(shelf: Shelf, folder: Path) -> Log:
    target = Shelf(str(folder / "salvaged.jsonl"), shelf.key)
    Path(target.url).unlink(missing_ok=True)
    with target.open() as store:
        salvage(shelf.url, store, key=shelf.key)
        return {place: [one for one in store.read(place) if one.stream != LOST] for place in PLACES}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", ["flip", "cut"])
def test_any_damage_to_a_file_is_noticed_and_what_is_whole_comes_back(
    tmp_path: Path, name: str, way: str
) -> None:
    chance = Random(f"{name} {way}")
    shelf = shelf_in(tmp_path, name)
    log, path = filled(shelf, chance), Path(shelf.url)
    data = path.read_bytes()
    for _ in range(12):
        changed = bytearray(data)
        if way == "flip":
            changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        else:
            del changed[chance.randrange(len(data)) :]
        for beside in tmp_path.glob(f"{path.name}-*"):
            beside.unlink()
        path.write_bytes(changed)
        given = salvaged(shelf, tmp_path)
        assert all(set(given[place]) <= set(log[place]) for place in PLACES)
        if way == "flip":
            assert sum(map(len, given.values())) >= sum(map(len, log.values())) - 1
        path.write_bytes(changed)
        check_refused_or_whole(shelf, log)


AIMED = {
    "a version": "UPDATE versions SET at = at | 1 << 20 WHERE at = (SELECT max(at) FROM versions)",
    "a version of another": f"UPDATE versions SET at = at + (2 << 32) WHERE at = {FIRST} + 1",
    "an entry of another version": f"UPDATE versions SET id = id + 1 WHERE at = {FIRST} + 2",
    "the last row": f"DELETE FROM entries WHERE at = {FIRST} + 5",
    "a row in between": f"DELETE FROM entries WHERE at = {FIRST} + 3",
    "a letter": f"UPDATE entries SET body = replace(body, 'hello', 'jello') WHERE at = {FIRST} + 2",
    "a stream": f"UPDATE entries SET stream = 'mainx' WHERE at = {FIRST} + 2",
    "a type": f"UPDATE entries SET body = 5 WHERE at = {FIRST} + 2",
    "two bodies": f"UPDATE entries SET body = (SELECT body FROM entries WHERE at = {FIRST} + 2)",
    "the end": "DELETE FROM versions WHERE id < 0",
    "the last row and the end": f"DELETE FROM versions WHERE at >= {FIRST} + 5",
    "all rows": "DELETE FROM entries",
    "all versions": "DELETE FROM versions",
    "a later end": "UPDATE versions SET at = at + 1 WHERE id < 0",
    "an earlier end": f"REPLACE INTO versions VALUES ({FIRST} + 3, -3)",
    "another end": f"INSERT INTO versions VALUES ({FIRST} + 7, 0)",
    "a name": "UPDATE conversations SET name = 'q4'",
}


def test_damage_to_one_conversation_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with Store.open(path) as store:
        for number, place in enumerate(PLACES):
            store.append(place, [Entry("main", b'{"created_at":%d}' % number)], expected=0)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(f"DELETE FROM versions WHERE at = {FIRST} + 2")
    with Store.open(path) as store:
        assert store.recent() == [(PLACES[2], 1, 2.0), (PLACES[1], 1, 1.0), (PLACES[0], 0, None)]


@pytest.mark.parametrize("aim", AIMED)
def test_sqlite_says_the_place_and_the_last_good_version(tmp_path: Path, aim: str) -> None:
    path = tmp_path / "kept.db"
    with Store.open(path) as store:
        for version in range(5):
            store.append(HERE, [entry(f"hello {version}")], expected=version)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(AIMED[aim])
    with Store.open(path) as store:
        with pytest.raises(StoreDamaged) as refused:
            store.read(HERE)
        assert refused.value.place == "ana/q3" and 0 <= refused.value.version <= 5
        assert "ana/q3" in str(refused.value)
        with pytest.raises((StoreDamaged, InvalidValue)):
            store.append(HERE, [entry("more")], expected=5)
            store.read(HERE)
        assert list(store.verify(HERE)) != [] and list(store.verify(THERE)) == []


@pytest.mark.parametrize("name", FILES)
def test_salvage_keeps_versions_and_refuses_a_store_that_is_not_empty(tmp_path: Path, name: str) -> None:
    shelf = shelf_in(tmp_path, name)
    with shelf.open() as store:
        bodies = [store.append(HERE, [entry(f"hello {at}")], expected=at) for at in range(9)]
        wanted = store.read(HERE)
    assert bodies == list(range(1, 10)) and check(shelf.url, key=shelf.key) == []
    path = Path(shelf.url)
    data = bytearray(path.read_bytes())
    raw = Store.open(shelf.url)
    with raw:
        fifth = raw.read(HERE)[4].body
    data[data.find(fifth[20:]) + 3] ^= 1
    path.write_bytes(data)
    if name.endswith("sqlite"):
        assert [one[:2] for one in check(shelf.url, key=shelf.key)] == [(HERE, 4)]
    with Store.open(tmp_path / "new.db", key=shelf.key) as target:
        assert salvage(shelf.url, target, key=shelf.key) == (1, 8, 1)
        assert [one for one in target.read(HERE) if one.version != 5] == [*wanted[:4], *wanted[5:]]
        assert target.read(HERE)[4].stream == LOST
        with pytest.raises(InvalidValue):
            salvage(shelf.url, target, key=shelf.key)


def test_what_the_key_does_not_open_is_lost_and_without_a_key_nothing_is_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    for place, key in ((HERE, bytes(32)), (THERE, None), (Place("bo", "q3"), bytes(range(32)))):
        with Store.open(path, key=key) as store:
            store.append(place, [entry("one"), entry("two")], expected=0)
    assert {one.place for one in check(path, key=bytes(32))} == {THERE, Place("bo", "q3")}
    with Store.open(tmp_path / "new.jsonl", key=bytes(32)) as target:
        with pytest.raises(InvalidValue, match="is sealed"):
            salvage(path, target)
        assert salvage(path, target, key=bytes(32)) == (1, 2, 4)
        assert [one.body for one in target.read(HERE)] == [entry("one").body, entry("two").body]


def test_a_file_that_became_empty_is_begun_anew_and_said(tmp_path: Path) -> None:
    for name in ("kept.db", "kept.jsonl"):
        (tmp_path / name).touch()
        assert [row.reason for row in check(tmp_path / name)] == [
            f"{tmp_path / name} is empty: there is no store in it"
        ]
        assert (tmp_path / name).stat().st_size == 0
        with Store.open(tmp_path / name) as store:
            assert "was an empty file" in store.reports[0] and store.scopes() == []
        with Store.open(tmp_path / name) as store:
            assert store.reports == ()


def test_after_a_salvage_no_receipt_names_what_the_model_did_not_see(tmp_path: Path) -> None:
    url, template = f"sqlite:///{tmp_path / 'kept.db'}", Template(History(), budget=Budget(window=2_000))
    with Session.open("ana/q3", store=url) as one:
        for number in range(4):
            one.user(f"question {number}")
            send(one.build(template))
            one.assistant(f"answer {number}")
    with closing(sqlite3.connect(tmp_path / "kept.db")) as database, database:
        database.execute("UPDATE entries SET body = x'00' WHERE instr(body, 'question 2')")
    with Store.open(tmp_path / "new.db") as target:
        assert salvage(tmp_path / "kept.db", target).lost == 1
    with Session.open("ana/q3", store=f"sqlite:///{tmp_path / 'new.db'}") as one:
        last = one.user("Which questions were lost?")
        send(one.build(template))
        assert [receipt.is_bare for receipt in one.receipts] == [False, False, True, True, False]
        assert one.receipts[-1].items[-1] == last and one.receipts[2].shows(last) is None
        assert list(one.receipts[1].items) == list(one.view())[:3]
