"""What is not used is let go, by weight; what is in use never is, and what comes back is what it was."""

from pathlib import Path
from weakref import ref

import pytest
from hypothesis import given, strategies as st

from quire.memory import Memory, memory
from quire.memory.index import opening
from quire.memory.index.lasting import Lasting, lasting
from quire.memory.knowledge import Knowledge, log
from quire.memory.lately import Lately
from quire.session import Session
from quire.stores import MemoryStore, Place, Store, Stored

SCOPES = [f"user{nth}" for nth in range(40)]


class Thing:
    def __init__(self, key: int) -> None:
        self.key = key


@pytest.mark.laws
@given(st.lists(st.integers(0, 9)), st.frozensets(st.integers(0, 9), max_size=3), st.integers(0, 12))
def test_the_last_used_stay_and_what_is_in_use_is_never_made_twice(
    keys: list[int], in_use: frozenset[int], most: int
) -> None:
    lately, held, order = Lately[int, Thing](most, lambda thing: thing.key), dict[int, Thing](), list[int]()
    for key in keys:
        made = list[Thing]()

        def make(key: int = key, made: list[Thing] = made) -> Thing:
            made.append(Thing(key))
            return made[0]

        thing = lately.use(key, make)
        assert thing.key == key and held.get(key, thing) is thing is lately.get(key)
        order = [other for other in order if other != key]
        if made:
            while sum(order) > most:
                order.pop(0)
        order.append(key)
        if key in in_use:
            held[key] = thing
        del thing, made, make
        assert {one.key for one in lately.all()} == {*order, *held} and len(lately) == len(order)


def told(store: Store, scope: str) -> object:
    found = Memory.of(store, scope).search("Which word opens the locker?")
    return [(hit.leaf, hit.score, hit.reason) for hit in found.hits]


def spoken(store: Store) -> None:
    for nth, scope in enumerate(SCOPES):
        session = Session.open(f"{scope}/house", store=store)
        session.user(f"The word for the locker is heliotrope {nth}.")
        session.user("It was mild.")
        Knowledge(store, scope).add_text(f"The locker of {scope} is grey.", source="a.md")


@pytest.fixture(params=["memory", "sqlite", "lasting"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(opening, "SMALL", 0 if request.param == "lasting" else 4_000)
    return MemoryStore() if request.param == "memory" else Store.open(str(tmp_path / "chats.db"))


def test_many_scopes_take_no_more_than_the_bound_and_come_back_as_they_were(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_AT_HAND", 100)
    monkeypatch.setattr(log, "MOST_AT_HAND", 10)
    with store:
        spoken(store)
        before = {scope: told(store, scope) for scope in SCOPES}
        assert all(before.values())
        assert len(store.memories.lately.all()) <= 100 // 10 + 1
        assert len(log._known[store].all()) <= 100 // 10 + 1 + 10 + 1  # pyright: ignore[reportPrivateUsage]
        assert {scope: told(store, scope) for scope in SCOPES} == before


def test_one_that_is_in_use_is_the_one_that_others_are_given(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_AT_HAND", 0)
    with store:
        spoken(store)
        used, gone = Memory.of(store, SCOPES[0]), ref(Memory.of(store, SCOPES[1]))
        used.search("locker")
        for scope in SCOPES[2:]:
            told(store, scope)
        assert Memory.of(store, SCOPES[0]) is used and gone() is None
        session = Session.open(f"{SCOPES[0]}/house", store=store)
        session.forget(session.view()[0].id)
        assert "heliotrope" not in str([leaf.text for leaf in used._index.newest(99)])  # pyright: ignore


def test_what_is_forgotten_does_not_come_back_with_an_index_that_was_let_go(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_AT_HAND", 0)
    with store:
        spoken(store)
        assert "heliotrope" in str(told(store, SCOPES[0]))
        told(store, SCOPES[1])
        session = Session.open(f"{SCOPES[0]}/house", store=store)
        session.forget(session.view()[0].id)
        assert "heliotrope" not in str(told(store, SCOPES[0]))


def test_an_index_that_lasts_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_AT_HAND", 0)
    monkeypatch.setattr(opening, "SMALL", 0)
    with Store.open(str(tmp_path / "chats.db")) as store:
        spoken(store)
        before = [told(store, scope) for scope in SCOPES[:3]]
        put, read = list[object](), list[Place]()
        monkeypatch.setattr(lasting, "put", lambda *what: put.append(what))  # pyright: ignore
        reading = store.read

        def noted(place: Place, *, after: int = 0) -> list[Stored]:
            read.append(place)
            return reading(place, after=after)

        monkeypatch.setattr(store, "read", noted)
        assert [told(store, scope) for scope in SCOPES[:3]] == before
        assert not put and not [place for place in read if place.conversation == "house"]
        assert isinstance(Memory.of(store, SCOPES[0])._index, Lasting)  # pyright: ignore[reportPrivateUsage]


def test_what_embeds_in_a_scope_stays_though_its_index_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_AT_HAND", 0)
    store, asked = MemoryStore(), list[str]()
    spoken(store)

    def embed(texts: "list[str]") -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, float(len(text))] for text in texts]

    Memory.of(store, SCOPES[0], embed=embed)  # type: ignore[arg-type]  # pyright: ignore
    told(store, SCOPES[1])
    assert not asked
    told(store, SCOPES[0])
    assert asked
