"""What is put in portions comes to what is put at once, whoever dies, forgets or looks between two."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message, Span, Summary, Undo
from quire.memory import Leaf, Memory, moving, portions
from quire.memory.index import Index, InProcess, opening
from quire.session import Session
from quire.stores import MemoryStore, Place, Store, Stored
from tests.memory.test_following import Work, works
from tests.memory.test_side_by_side import Died, between, die, leaves_of, read_anew

FEW = 2
TURNS = [f"Box {nth} holds word{nth}." for nth in range(7)]


@pytest.fixture
def few() -> Iterator[None]:
    with AtOnce(FEW):
        yield


class AtOnce:
    """So many go at once meanwhile."""

    def __init__(self, most: int) -> None:
        self._most, self._patched = most, pytest.MonkeyPatch()

    def __enter__(self) -> None:
        for module in (portions, moving):
            self._patched.setattr(module, "MOST_AT_ONCE", self._most)

    def __exit__(self, *_: object) -> None:
        self._patched.undo()


@pytest.fixture
def path(tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(opening, "SMALL", 0)
    return str(tmp_path / "chats.db")


def spoken(store: Store) -> Session:
    session = Session.open("ana/house", store=store)
    session.append(*(Message("user", turn) for turn in TURNS))
    for nth in range(4):
        Memory(store, "ana", index=InProcess()).knowledge.add_text(f"On pump {nth}.", source=f"{nth}.md")
    return session


def moves_of(index: Index) -> list[int]:
    """How many leaves are put at once, in each move from now on."""
    found, move_mark = list[int](), index.move_mark

    def counted(*marks: Any, leaves: Sequence[Leaf] = (), **more: Any) -> bool:
        found.append(len(leaves))
        return move_mark(*marks, leaves=leaves, **more)

    index.move_mark = counted  # type: ignore[method-assign]
    return found


def test_long_entries_come_in_smaller_portions() -> None:
    entries = [Stored(nth, "main", b"x" * 100_000) for nth in range(1, 6)]
    assert [len(some) for some in portions.portions(entries)] == [2, 2, 1]
    assert list(portions.portions([])) == []


def test_no_move_has_more_than_a_portion(few: None) -> None:
    store, index = MemoryStore(), InProcess()
    spoken(store)
    moves = moves_of(index)
    memory = Memory(store, "ana", index=index)
    assert leaves_of(memory) == read_anew(store)
    assert max(moves) == FEW and len(moves) == 4 + 2
    store.forget(Place("ana", "house"))
    assert [leaf.said for leaf in leaves_of(memory)] == [f"On pump {nth}." for nth in range(4)]
    assert len(moves) == 4 + 2 + 4


@given(st.lists(works(), max_size=12), st.integers(1, 3))
@pytest.mark.laws
def test_what_comes_in_portions_is_what_is_read_AtOnce(chosen: list[Work], most: int) -> None:
    store = Store.open("memory:")
    followed = Memory(store, "ana", index=InProcess())
    for work in chosen:
        with suppress(Exception):
            work(store)
        with AtOnce(most):
            followed.catch_up()
            assert leaves_of(Memory(store, "ana", index=InProcess())) == leaves_of(followed)
    assert leaves_of(followed) == read_anew(store)


@pytest.mark.parametrize("turns_between", range(4))
def test_what_is_taken_back_in_a_later_portion_comes_back(few: None, turns_between: int) -> None:
    store = MemoryStore()
    session = Session.open("ana/house", store=store)
    first, last = session.user("The gate is green."), session.user("The door is red.")
    session.user("Go on.")
    old = Summary(text="Of a gate.", spans=(Span(first.id, last.id),))
    new = Summary(text="Of a gate and a door.", spans=(Span(first.id, last.id),))
    session.append(old)
    session.append(new)
    for nth in range(turns_between):
        session.user(f"Turn {nth}.")
    session.append(Undo(new.id))
    session.user("The end.")
    leaves = leaves_of(Memory(store, "ana", index=InProcess()))
    assert "Of a gate." in {leaf.text for leaf in leaves}
    with AtOnce(100):
        assert leaves == read_anew(store)


def forget_one(store: Store) -> None:
    session = Session.open("ana/house", store=store)
    session.forget(session.view()[0].id)


def forget_the_last(store: Store) -> None:
    session = Session.open("ana/house", store=store)
    session.forget(session.view()[-1].id)


def forget_many(store: Store) -> None:
    session = Session.open("ana/house", store=store)
    session.forget(*(item.id for item in session.view()[:5]))


def forget_all_of_it(store: Store) -> None:
    store.forget(Place("ana", "house"))


def change_a_document(store: Store) -> None:
    Memory.of(store, "ana").knowledge.add_text("On pumps.", source="3.md")


def say_more(store: Store) -> None:
    Session.open("ana/house", store=store).user("One more box.")


MEANWHILE = [forget_one, forget_the_last, forget_many, forget_all_of_it, change_a_document, say_more]


@pytest.mark.parametrize("is_dying", [True, False])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("write", range(1, 7))
def test_whatever_happens_between_two_portions(
    path: str, write: int, meanwhile: Callable[[Store], None], is_dying: bool
) -> None:
    with Store.open(path) as own, Store.open(path) as others:
        spoken(others)
        one = Memory(own, "ana")

        def overtake() -> None:
            meanwhile(others)
            if is_dying:
                die()

        between(one, {write: overtake})
        with suppress(Died):
            one.catch_up()
        other = Memory(others, "ana")
        assert leaves_of(other) == read_anew(others)
        between(one, {})
        assert leaves_of(one) == leaves_of(other) == read_anew(others)


@pytest.mark.parametrize("write", range(1, 5))
def test_who_dies_while_much_is_forgotten_leaves_nothing_of_it(path: str, write: int) -> None:
    with Store.open(path) as own, Store.open(path) as others:
        spoken(others)
        one, other = Memory(own, "ana"), Memory(others, "ana")
        one.catch_up()
        between(other, {})
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Memory, "let_go", staticmethod(lambda *_: None))
            forget_many(others)
        between(one, {write: die})
        with suppress(Died):
            one.catch_up()
        assert leaves_of(other) == read_anew(others)
        assert not [turn for turn in TURNS[:5] if turn.encode() in bytes_of(path)]


def bytes_of(path: str) -> bytes:
    return b"".join(file.read_bytes() for file in Path(path).parent.glob("*-index*"))


def test_two_who_begin_at_once_share_the_work(path: str) -> None:
    with Store.open(path) as own, Store.open(path) as others:
        spoken(others)
        one, other, read, reads = Memory(own, "ana"), Memory(others, "ana"), own.read, list[Place]()
        moves = moves_of(other._index)  # pyright: ignore[reportPrivateUsage]

        def counted(place: Place, *, after: int = 0) -> list[Stored]:
            reads.append(place)
            return read(place, after=after)

        own.read = counted  # type: ignore[method-assign]
        between(one, {1: other.catch_up})
        one.catch_up()
        assert moves
        assert reads.count(Place("ana", "house")) <= 2  # once, and once to see that nothing was forgotten
        assert leaves_of(one) == leaves_of(other) == read_anew(others)
