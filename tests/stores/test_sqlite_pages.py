"""What SQLite leaves where it moved rows is overwritten, without rewriting the whole file."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.stores import Place
from quire.stores.sqlite import SQLiteStore
from quire.stores.sqlite_pages import Unclean, unclean_in
from tests.stores.test_sqlite import bytes_of, entry

GONE = b'{"kind":"note","text":"gone"}'
SIZES = [(10, 300, 900, 6000), (10, 50), (2000, 3900, 900), (300,)]
SEEDS = range(24)


def filled(store: SQLiteStore, chance: random.Random) -> list[Place]:
    """Conversations that grow side by side, of short and of long entries, each with its place in it."""
    places = [Place("ana", f"{number}") for number in range(chance.choice([2, 5, 20, 60]))]
    versions, sizes = dict.fromkeys(places, 0), chance.choice(SIZES)
    for _ in range(600):
        place = chance.choice(places)
        text = f"<{place.conversation}.{versions[place] + 1}>{'x' * chance.choice(sizes)}"
        versions[place] = store.append(place, [entry(text)], expected=versions[place])
    return places


def unclean(store: SQLiteStore) -> list[int]:
    store._file.empty_log()  # pyright: ignore[reportPrivateUsage]
    return [page.number for page in unclean_in(store._file.bare())]  # pyright: ignore[reportPrivateUsage]


def rewritten(store: SQLiteStore) -> list[str]:
    """The statements that rewrite the whole file, from now on."""
    said: list[str] = []
    store._file.writer().set_trace_callback(  # pyright: ignore[reportPrivateUsage]
        lambda statement: said.append(statement) if statement == "VACUUM" else None
    )
    return said


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "kept.db") as opened:
        assert isinstance(opened, SQLiteStore)
        yield opened


def test_the_pages_that_hold_such_copies_are_found(tmp_path: Path) -> None:
    found = 0
    for seed in SEEDS:
        with SQLiteStore(tmp_path / f"{seed}.db") as store:
            assert isinstance(store, SQLiteStore)
            filled(store, random.Random(seed))
            found += len(unclean(store))
    assert found > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_they_are_cleaned_and_nothing_else_is_changed(store: SQLiteStore, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    places, said = filled(store, chance), rewritten(store)
    partly, whole = places[0], places[1]
    changed = chance.sample(range(1, store.version(partly) + 1), store.version(partly) // 2)
    kept = {place: store.read(place) for place in places if place != whole}
    store.forget(partly, dict.fromkeys(changed, GONE))
    store.forget(whole)
    data = bytes_of(tmp_path)
    assert [version for version in changed if f"<{partly.conversation}.{version}>".encode() in data] == []
    assert b"<1." not in data and unclean(store) == [] and said == []
    kept[partly] = [one._replace(body=GONE) if one.version in changed else one for one in kept[partly]]
    assert {place: store.read(place) for place in kept} == kept
    assert store._file.writer().execute("PRAGMA integrity_check").fetchall() == [("ok",)]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("seed", range(4))
def test_names_of_conversations_are_in_no_file(store: SQLiteStore, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"{chance.randbytes(8).hex()}{'.' * chance.choice([1, 40, 300])}" for _ in range(300)]
    for name in names:
        store.append(Place("ana", name), [entry()], expected=0)
    for name in chance.sample(names, 5):
        store.forget(Place("ana", name))
        assert name[:16].encode() not in bytes_of(tmp_path)
        names.remove(name)
    assert store.conversations("ana") == sorted(names)


def test_what_cannot_be_cleaned_so_is_rewritten(
    store: SQLiteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if others used the page each time before it is looked at again.
    monkeypatch.setattr("quire.stores.sqlite_wiping.unclean_in", lambda _: [Unclean(2, 0, 0, 0)])  # pyright: ignore
    places, said = filled(store, random.Random(4)), rewritten(store)
    store.forget(places[0])
    assert b"<0." not in bytes_of(tmp_path) and said == ["VACUUM"]


VISITOR = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM entries'); c.close()"
)


def test_reading_the_bytes_costs_no_lock(store: SQLiteStore, tmp_path: Path) -> None:
    """Whoever is the last to close takes the log away: a visitor has to notice that another has it open."""
    path = tmp_path / "kept.db"
    with SQLiteStore(path) as other:
        other.append(Place("ana", "0"), [entry()], expected=0)
        other.forget(Place("ana", "0"))
    store.append(Place("ana", "1"), [entry()], expected=0)
    subprocess.run([sys.executable, "-c", VISITOR, str(path)], check=True)
    assert (tmp_path / "kept.db-wal").exists()
    store.append(Place("ana", "1"), [entry()], expected=1)
    with sqlite3.connect(path) as reader:
        assert reader.execute("SELECT count(*) FROM entries").fetchone() == (2,)


def test_the_file_is_closed_after_the_last_who_has_it_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    with SQLiteStore(tmp_path / "kept.db") as store:
        store.forget(Place("ana", "0"), {})
    store.close()
    assert not before or len(os.listdir("/proc/self/fd")) == before
