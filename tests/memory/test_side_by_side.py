"""Several processes keep up one index that lasts: nobody takes out what is live, whoever dies when."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.memory import Leaf, Memory
from quire.memory.index import InProcess, opening
from quire.memory.index.lasting import Lasting, lasting
from quire.memory.index.lasting.tables import Tables
from quire.session import Session
from quire.stores import Place, Store
from tests.stores.server import database

Act = tuple[str, int]
FEW = settings(max_examples=max(10, settings().max_examples // 10))


class Died(BaseException):
    """A process is no more: nothing catches it."""


@contextmanager
def addresses(kind: str, folder: Path) -> Generator[str, None, None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(opening, "SMALL", 0)
        if kind == "sqlite":
            yield str(folder / "chats.db")
        else:
            with database() as url:
                yield url


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with addresses(request.param, tmp_path) as one:
        yield one


def tables_of(memory: Memory) -> Tables:
    index = memory._index  # pyright: ignore[reportPrivateUsage]
    assert isinstance(index, Lasting)
    return index._tables  # pyright: ignore[reportPrivateUsage]


def between(memory: Memory, works: Mapping[int, Callable[[], object]]) -> None:
    """Have something happen right before some of the next writes to the tables, by their number."""
    tables, writes = tables_of(memory), count()
    write = type(tables).write

    def counted(done: Any) -> Any:
        works.get(next(writes), lambda: None)()
        return write(tables, done)

    tables.write = counted  # type: ignore[method-assign, assignment]


def die() -> None:
    raise Died


def leaves_of(memory: Memory) -> list[Leaf]:
    memory.catch_up()
    found = memory._index.newest(10_000)  # pyright: ignore[reportPrivateUsage]
    return sorted(found, key=lambda leaf: (leaf.source, leaf.transcript, leaf.order))


def read_anew(store: Store) -> list[Leaf]:
    return leaves_of(Memory(store, "ana", index=InProcess()))


def spoken(store: Store) -> Session:
    session = Session.open("ana/house", store=store)
    for word in ("heliotrope", "marmalade", "quicksilver"):
        session.user(f"The word for today is {word}.")
    Memory(store, "ana").knowledge.add_text("# Oil\n\nOil the pump.\n\n# Gas\n\nNo gas.", source="pump.md")
    return session


def nothing(store: Store) -> None:
    pass


def forget_one(store: Store) -> None:
    session = Session.open("ana/house", store=store)
    session.forget(session.view()[1].id)


def forget_all_of_it(store: Store) -> None:
    store.forget(Place("ana", "house"))


def change_a_document(store: Store) -> None:
    Memory(store, "ana").knowledge.add_text("# Oil\n\nOil the pump twice.", source="pump.md")


@pytest.mark.parametrize("meanwhile", [nothing, forget_one, forget_all_of_it, change_a_document])
@pytest.mark.parametrize("writes", range(6))
def test_who_dies_at_any_step_leaves_an_index_in_which_the_next_goes_on(
    address: str, writes: int, meanwhile: Callable[[Store], None]
) -> None:
    with Store.open(address) as own, Store.open(address) as others:
        session, living, dying = spoken(others), Memory.of(others, "ana"), Memory(own, "ana")
        living.catch_up()
        session.user("The meter reads 12.")

        def overtake() -> None:
            meanwhile(others)
            living.catch_up()
            if not writes:
                raise Died

        between(dying, {writes: die, 0: overtake})
        with suppress(Died):
            dying.catch_up()
        assert leaves_of(living) == read_anew(others)
        Session.open("ana/house", store=others).user("The meter reads 13.")
        assert leaves_of(living) == leaves_of(Memory(others, "ana")) == read_anew(others)


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_begun_while_another_looks_is_not_taken_for_gone(address: str, first: int) -> None:
    with Store.open(address) as one, Store.open(address) as two:
        spoken(one)
        memories = [Memory(store, "ana") for store in (one, two)]
        memories[first].catch_up()
        standings = one.standings

        def late(scope: str) -> Any:
            found = standings(scope)
            if "garden" not in found:
                Session.open("ana/garden", store=two).user("The gate is green.")
                memories[1].catch_up()
            return found

        one.standings = late  # type: ignore[method-assign]
        memories[0].catch_up()
        assert [leaf.text for leaf in memories[1].recent("garden")] == ["The gate is green."]


def test_an_index_of_another_dialect_stays_whole(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(address) as store:
        spoken(store)
        one = Memory(store, "ana")
        one.catch_up()
        with monkeypatch.context() as patched:
            patched.setattr(lasting, "dialect", lambda: "another")
            other = Memory(store, "ana", index=Lasting(tables_of(one), "ana"))
        for change in (nothing, forget_one, change_a_document, nothing):
            change(store)
            assert leaves_of(other) == leaves_of(one) == leaves_of(other) == read_anew(store)
        between(one, {0: die})  # of both: they are in the same tables
        for memory in (other, one):
            memory.catch_up()


ACTS = st.tuples(st.sampled_from(["say", "forget", "look"]), st.integers(0, 5))


@pytest.mark.laws
@FEW
@given(st.lists(st.tuples(st.integers(0, 1), ACTS, st.dictionaries(st.integers(0, 4), ACTS)), max_size=10))
def test_each_finds_its_own_live_turns_whatever_others_do_meanwhile(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[int, Act, dict[int, Act]]]
) -> None:
    with ExitStack() as until:
        address = until.enter_context(addresses("sqlite", tmp_path_factory.mktemp("side")))
        stores = [until.enter_context(Store.open(address)) for _ in range(2)]
        workers = [_Worker(store, name) for store, name in zip(stores, "ab", strict=True)]
        for who, act, meanwhile in turns:
            other = workers[1 - who]
            acts = {at: partial(other.does, *verb) for at, verb in meanwhile.items()}
            between(workers[who].memory, acts)
            workers[who].does(*act)
            between(workers[who].memory, {})
        for worker in workers:
            worker.does("look", 0)


class _Worker:
    """Who has a conversation of its own, and finds what is live of it whenever it looks."""

    def __init__(self, store: Store, name: str) -> None:
        self.session, self._name = Session.open(f"ana/{name}", store=store), name
        self._live = [self.session.user("Marker 0 lies here.").id]
        self.memory = Memory.of(store, "ana")

    def does(self, verb: str, nth: int) -> None:
        if verb == "say":
            self._live.append(self.session.user(f"Marker {nth} lies here.").id)
        elif verb == "forget" and self._live:
            self.session.forget(self._live.pop(nth % len(self._live)))
        elif verb == "look":
            assert [leaf.key for leaf in self.memory.recent(self._name, 100)] == self._live
