"""What a scope has spent: one question to the store a turn, and of conversations what they grew by."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire.errors import StoreFailed
from quire.items import JSON, Message
from quire.session.remembering import take_out
from quire.session.scope import scope_spending
from quire.session.spending import Spending, spent_on
from quire.stores import Entry, MemoryStore, Place, Store, Stored
from quire.stores.sqlite import SQLiteStore
from quire.stores.store import Standing
from quire.stores.streams import MAIN, USAGE
from quire.tokens import Usage

PATIENCE = 20.0


def said() -> Entry:
    return Entry(MAIN, JSON.encode_item(Message("user", "hello")))


def used(tokens: int, model: str = "gpt-5.6") -> Entry:
    return Entry(USAGE, JSON.encode_item(spent_on(Usage(input=tokens), model)))


def add(store: Store, place: Place, *entries: Entry) -> None:
    store.append(place, entries, expected=store.version(place))


class Watched(SQLiteStore):
    """A store that tells what it is asked for, and may be kept from answering."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []
        self.on_read: Callable[[Place], None] = lambda _: None

    def read(self, place: Place, *, after: int = 0) -> list[Stored]:
        self.asked.append(f"read {place.conversation} after {after}")
        self.on_read(place)
        return super().read(place, after=after)

    def version(self, place: Place) -> int:
        self.asked.append(f"version {place.conversation}")
        return super().version(place)

    def conversations(self, scope: str) -> dict[str, Standing]:
        self.asked.append("conversations")
        return super().conversations(scope)


@pytest.fixture
def watched(tmp_path: Path) -> Generator[Watched, None, None]:
    store = Watched(tmp_path / "kept.db")
    with store:
        yield store


def test_a_scope_that_did_not_grow_costs_one_question(watched: Watched) -> None:
    for number in range(9):
        add(watched, Place("ana", str(number)), said(), used(10))
    assert scope_spending(watched, "ana").tokens == 90
    watched.asked.clear()
    assert scope_spending(watched, "ana").tokens == 90
    assert watched.asked == ["conversations"]


def test_only_what_grew_is_read_from_where_it_was_read_last(watched: Watched) -> None:
    for number in range(9):
        add(watched, Place("ana", str(number)), said(), said(), said(), used(10))
    scope_spending(watched, "ana")
    add(watched, Place("ana", "4"), said(), used(5))
    watched.asked.clear()
    assert scope_spending(watched, "ana").tokens == 95
    assert watched.asked == ["conversations", "read 4 after 3"]  # the last one that is known, and what is new


@contextmanager
def held_up(store: Watched, scope: str) -> Generator[threading.Thread, None, None]:
    """Somebody asks for what a scope spent, and the store does not answer before the block is over."""
    reading, answer = threading.Event(), threading.Event()

    def wait(place: Place) -> None:
        if place.scope == scope:
            reading.set()
            assert answer.wait(PATIENCE)

    store.on_read = wait
    asking = threading.Thread(target=scope_spending, args=(store, scope))
    asking.start()
    try:
        assert reading.wait(PATIENCE)
        yield asking
    finally:
        answer.set()
        asking.join(PATIENCE)


def test_a_scope_that_is_being_read_keeps_no_other_waiting(watched: Watched) -> None:
    add(watched, Place("big", "a"), used(10))
    add(watched, Place("small", "a"), used(7))
    found: list[int] = []
    with held_up(watched, "big"):
        other = threading.Thread(target=lambda: found.append(scope_spending(watched, "small").tokens))
        other.daemon = True
        other.start()
        other.join(PATIENCE)
        assert found == [7]


def test_the_same_scope_of_another_store_is_not_kept_waiting(watched: Watched) -> None:
    other = MemoryStore()
    add(watched, Place("ana", "a"), used(10))
    add(other, Place("ana", "a"), used(7))
    with held_up(watched, "ana") as asking:
        assert scope_spending(other, "ana").tokens == 7
        assert asking.is_alive()


def test_a_reading_that_failed_is_taken_up_again(watched: Watched) -> None:
    for name in "abc":
        add(watched, Place("ana", name), used(10))

    def fail(place: Place) -> None:
        if place.conversation == "b":
            raise StoreFailed("not now")

    watched.on_read = fail
    with pytest.raises(StoreFailed):
        scope_spending(watched, "ana")
    watched.on_read = lambda _: None
    assert scope_spending(watched, "ana").tokens == 30


def test_what_was_given_does_not_grow() -> None:
    store = MemoryStore()
    add(store, Place("ana", "a"), used(10))
    before = scope_spending(store, "ana")
    add(store, Place("ana", "a"), used(10))
    assert (scope_spending(store, "ana").tokens, before.tokens) == (20, 10)


@pytest.mark.laws
@pytest.mark.parametrize("is_lasting", [False, True])
@given(data=st.data())
def test_the_sum_is_that_of_all_that_is_there(
    is_lasting: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever was added, or forgotten and begun again, since somebody asked last."""
    store = SQLiteStore(tmp_path_factory.mktemp("kept") / "kept.db") if is_lasting else MemoryStore()
    steps = st.tuples(st.sampled_from("abc"), st.sampled_from(["say", "use", "forget", "ask"]))
    with store:
        for number, (name, step) in enumerate(data.draw(st.lists(steps, max_size=12))):
            place = Place("ana", name)
            if step == "forget":
                take_out(store, place)
            elif step == "ask":
                assert _figures(scope_spending(store, "ana")) == _figures(_summed(store))
            else:
                add(store, place, said() if step == "say" else used(1 + number))
        assert _figures(scope_spending(store, "ana")) == _figures(_summed(store))


def _summed(store: Store) -> Spending:
    total = Spending()
    for name in store.conversations("ana"):
        stored = store.read(Place("ana", name))
        total.take(JSON.decode_item(entry.body) for entry in stored if entry.stream == USAGE)
    return total


def _figures(spending: Spending) -> tuple[object, ...]:
    return spending.usage, round(spending.cost, 9), spending.requests, spending.unpriced
