"""Who keeps something made of what a store holds hears when it is gone, from every store."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from quire.items import JSON, Message
from quire.stores import Entry, MemoryStore, Place, Store, beside
from tests.stores.every import SHELVES, Shelf

PLACE = Place("ana", "q3")
Heard = list[tuple[Store, Place, Collection[str]]]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    found: Heard = []
    monkeypatch.setattr(beside, "_listeners", [])
    beside.heard_by(lambda store, place, ids: found.append((store, place, ids)))
    yield found


def check(store: Store, heard: Heard) -> None:
    said = JSON.encode_item(Message("user", "hello"))
    store.append(PLACE, [Entry("main", said)], expected=0)
    store.forget(PLACE, {1: said})
    assert not heard  # who put other bodies there knows what they were
    store.forget(PLACE)
    assert heard[-1] == (store, PLACE, ())


@pytest.mark.parametrize("shelf", SHELVES.values(), ids=SHELVES)
def test_a_conversation_that_is_taken_away_is_heard_of(
    shelf: Callable[[Path], AbstractContextManager[Shelf]], tmp_path: Path, heard: Heard
) -> None:
    with shelf(tmp_path) as found, found.open() as store:
        check(store, heard)


def test_also_in_memory(heard: Heard) -> None:
    check(MemoryStore(), heard)


def test_whether_anybody_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_listeners", [])
    assert not beside.tell(MemoryStore(), PLACE)
    beside.heard_by(lambda store, place, ids: None)
    assert beside.tell(MemoryStore(), PLACE)
