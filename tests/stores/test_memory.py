"""Stores that have their entries in memory."""

from pathlib import Path

import pytest

from quire.stores import Entry, Store, place_at
from tests.counting import calls_of


@pytest.mark.parametrize("name", ["memory:", "kept.jsonl"])
def test_entries_cost_the_same_to_read_whatever_follows_them(name: str, tmp_path: Path) -> None:
    store = Store.open(name if name == "memory:" else tmp_path / name)
    place, costs = place_at(conversation="c"), list[int]()
    for version in (0, 1_000):
        store.append(place, [Entry("main", b"{}") for _ in range(1_000)], expected=version)
        costs.append(calls_of(lambda: store.read_at(place, range(1, 11))))
    assert costs[1] <= costs[0] < 100
    store.close()
