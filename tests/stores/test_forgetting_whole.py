"""A whole conversation goes from where it was recalled too, also where that is broken off half way."""

from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from quire import Session
from quire.errors import StoreFailed
from quire.stores import MemoryStore, Place, Store, beside as beside_stores
from tests.session.opened import Twin
from tests.session.recalling import SECRET, looked_up, quoted, results
from tests.stores.every import SHELVES

MONDAY = Place("ana", "monday")


def left_in(store: Store) -> list[str]:
    """The conversations that still hold it."""
    names = store.conversations("ana")
    return [name for name in names if any(b"swordfish" in one.body for one in store.read(Place("ana", name)))]


def recalled_in(store: Store) -> None:
    Session.open("ana/monday", store=store).user(SECRET)
    looked_up(store, "wednesday")


@pytest.mark.parametrize("shelf", SHELVES)
def test_it_is_noted_with_those_who_recalled_before_it_is_gone(shelf: str, tmp_path: Path) -> None:
    with SHELVES[shelf](tmp_path) as kept:
        with kept.open() as store:
            recalled_in(store)
            with patch.object(beside_stores, "_listeners", [_die]), pytest.raises(KeyboardInterrupt):
                store.forget(MONDAY)
            assert left_in(store) == ["wednesday"]
        with kept.open() as again:
            assert results(Session.open("ana/wednesday", store=again)) == ["[forgotten]"]
            assert left_in(again) == []


def test_what_fails_before_it_is_gone_is_finished_by_those_who_recalled() -> None:
    class Failing(MemoryStore):
        fails = False

        def forget(self, place: Place, bodies: Mapping[int, bytes] | None = None) -> None:
            super().forget(place, bodies)
            if self.fails and bodies is None:
                raise StoreFailed("has no room left")

    store = Failing()
    recalled_in(store)
    quoted(store, "tuesday")
    store.fails = True
    with patch.object(beside_stores, "_listeners", []), pytest.raises(StoreFailed):
        store.forget(MONDAY)
    twin = Twin(store)
    for name in ("tuesday", "wednesday"):
        Session.open(f"ana/{name}", store=twin)
    assert left_in(twin) == []


def test_only_what_was_recalled_is_noted() -> None:
    store = MemoryStore()
    monday = Session.open("ana/monday", store=store)
    secret = monday.user(SECRET)
    other = monday.user("The harbour is closed on Sundays.")
    looked_up(store, "wednesday", limit=1)
    with patch.object(beside_stores, "_listeners", []):
        store.forget(MONDAY)
    (noted,) = [one.body for one in store.read(Place("ana", "wednesday")) if one.stream == ".forgotten"]
    assert secret.id.encode() in noted and other.id.encode() not in noted


def _die(*_: object) -> None:
    raise KeyboardInterrupt
