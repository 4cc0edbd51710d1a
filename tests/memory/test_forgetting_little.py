"""Forgetting one thing takes that out of an index and leaves the rest, whatever else there is."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire.items import Message, ToolCall, ToolResult
from quire.memory import Leaf, Memory
from quire.memory.index import InProcess, opening
from quire.session import Session
from quire.stores import MemoryStore, Store
from tests.memory.watched import Watched


def pumps(count: int) -> tuple[Session, Memory, Watched]:
    store, index = MemoryStore(), Watched()
    session = Session.open("a/b", store=store)
    for nth in range(count):
        session.append(ToolCall(f"c{nth}", "read_pump", f'{{"pump": {nth}}}'))
        session.append(ToolResult(f"c{nth}", "read_pump", f"pump {nth} runs at {nth * 3} rpm"))
        session.user(f"Entry {nth}: noted, thank you for pump {nth}.")
    memory = Memory(store, "a", index=index)
    memory.catch_up()
    index.done.clear()
    return session, memory, index


@pytest.mark.parametrize("count", [10, 60])
@pytest.mark.parametrize("nth", [2, 14, -1])
def test_one_that_is_forgotten_is_all_that_changes(count: int, nth: int) -> None:
    session, memory, index = pumps(count)
    before = len(index)
    forgotten = session.view()[nth]
    session.forget(forgotten.id)
    memory.catch_up()
    assert index.done == [] and len(index) == before - 1
    assert all(forgotten.id not in leaf.ids for leaf in index.newest(1_000))


def test_of_a_call_whose_result_is_forgotten_only_that_is_put_again() -> None:
    session, memory, index = pumps(20)
    result = [item for item in session.view() if isinstance(item, ToolResult)][7]
    session.forget(result.id)
    memory.catch_up()
    assert len(index.done) <= 1 and "drop" not in index.done
    assert all("21 rpm" not in leaf.text for leaf in index.newest(1_000))


def test_vectors_of_what_is_not_forgotten_stay() -> None:
    session, memory, index = pumps(10)
    leaves = index.newest(100)
    index.set_vectors(leaves, [[1.0, 0.0]] * len(leaves))
    session.forget(session.view()[2].id)
    memory.catch_up()
    assert len(index._held.vectors) == len(leaves) - 1  # pyright: ignore[reportPrivateUsage]


@pytest.mark.laws
@given(
    st.lists(st.tuples(st.sampled_from(["said", "done", "look", "forget"]), st.integers(0, 40)), max_size=25)
)
def test_an_index_that_lasts_is_as_one_that_is_read_anew(program: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(opening, "SMALL", 0)
        with Store.open(Path(folder) / "chats.db") as store:
            session = Session.open("a/b", store=store)
            for verb, nth in program:
                _done(store, session, verb, nth)
            lived, fresh = Memory.of(store, "a"), Memory(store, "a", index=InProcess())
            assert _leaves(lived) == _leaves(fresh)
            for question in ("pump 3", "the word marmalade", "read_pump"):
                scores = [
                    [(hit.leaf, round(hit.score, 9)) for hit in memory.search(question).hits]
                    for memory in (lived, fresh)
                ]
                assert scores[0] == scores[1]


def _done(store: Store, session: Session, verb: str, nth: int) -> None:
    view = session.view()
    if verb == "look":
        Memory.of(store, "a").catch_up()
    elif verb == "said":
        session.append(Message("user", f"The word marmalade, pump {nth}.", created_at=1e9 + nth * 3_600))
    elif verb == "done":
        session.append(ToolCall(f"c{nth}", "read_pump", f'{{"pump": {nth}}}'))
        session.append(ToolResult(f"c{nth}", "read_pump", f"pump {nth} runs"))
    elif len(view):
        session.forget(view[nth % len(view)].id)


def _leaves(memory: Memory) -> list[Leaf]:
    memory.catch_up()
    found = memory._index.newest(10_000)  # pyright: ignore[reportPrivateUsage]
    return sorted(found, key=lambda leaf: (leaf.transcript, leaf.order))
