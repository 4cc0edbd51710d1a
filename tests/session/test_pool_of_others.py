"""A pool with two writers: what goes is what hooks have heard of, whoever brought it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire.errors import Conflict, UnknownId, UnknownKey
from quire.items import Note
from quire.session import Adding, Clearing, Evicted, Evicting, Removed, Removing, Session, hook
from quire.stores import MemoryStore
from tests.session.opened import PLACE, Interrupted, apart

KEPT = "approved"
heard: list[tuple[str, Any]] = []


@pytest.fixture(autouse=True)
def _nothing_heard() -> None:
    heard.clear()


@hook(Removing, Evicting)
def guard_note_of_two(event: Any) -> None:
    if event.note.content == KEPT:
        raise PermissionError("it stays")


@hook(Clearing)
def guard_notes_of_two(event: Any) -> None:
    if any(note.content == KEPT for note in event.notes):
        raise PermissionError("they stay")


@hook(Adding, Removing, Removed, Evicting, Evicted)
def hear_pool_of_two(event: Any) -> None:
    notes: Any = event.items if isinstance(event, Adding) else (event.note,)
    heard.extend((type(event).__name__, note.content) for note in notes)


def note(key: str, content: str) -> Note:
    return Note(content, key=key)


def contents(one: Session) -> list[Any]:
    one.refresh()
    return [each.content for each in one.pool]


def two(store: MemoryStore, *hooks: Any) -> tuple[Session, Session]:
    """One with hooks, and another as a process without them would have it."""
    return apart(store, hooks=hooks, pool_limit=2), apart(store, pool_limit=2)


Act = Callable[[Session], Any]

DROPS: dict[str, Act] = {
    "drop": lambda one: one.drop("plan"),
    "take": lambda one: asyncio.run(one.take("plan")),
}
CLEARS: dict[str, Act] = {
    "clear_pool": lambda one: one.clear_pool(),
    "take_all": lambda one: asyncio.run(one.take_all()),
}
KEEPS: dict[str, Act] = {
    "keep": lambda one: one.keep(note("z", "new")),
    "put": lambda one: asyncio.run(one.put(note("z", "new"))),
}


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_a_note_of_another_is_not_dropped_unheard(drop: Act) -> None:
    one, other = two(MemoryStore(), guard_note_of_two)
    one.keep(note("plan", "sketch"))
    other.keep(note("plan", KEPT))
    with pytest.raises(PermissionError):
        drop(one)
    assert contents(other) == contents(one) == [KEPT]


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_what_is_given_is_what_was_dropped(drop: Act) -> None:
    one, other = two(MemoryStore(), hear_pool_of_two)
    one.keep(note("plan", "v1"))
    other.keep(note("plan", "v2"))
    heard.clear()
    assert drop(one).content == "v2"
    assert heard[-2:] == [("Removing", "v2"), ("Removed", "v2")] and ("Removed", "v1") not in heard
    assert contents(other) == []


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_a_note_that_another_kept_can_be_dropped(drop: Act) -> None:
    one, other = two(MemoryStore())
    other.keep(note("plan", "theirs"))
    assert drop(one).content == "theirs" and contents(other) == []
    with pytest.raises(UnknownKey):
        drop(one)


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS)
def test_a_note_that_another_dropped_first_is_not_there(drop: Act) -> None:
    one, other = two(MemoryStore())
    one.keep(note("plan", "ours"))
    other.drop("plan")
    with pytest.raises(Conflict, match="others wrote"):
        drop(one)


@pytest.mark.parametrize("clear", CLEARS.values(), ids=CLEARS)
@pytest.mark.parametrize("known", [[], ["sketch"]])
def test_notes_of_another_are_not_cleared_unheard(clear: Act, known: list[str]) -> None:
    one, other = two(MemoryStore(), guard_notes_of_two)
    for content in known:
        one.keep(note("plan", content))
    other.keep(note("x", KEPT))
    with pytest.raises(PermissionError):
        clear(one)
    assert contents(other) == [*known, KEPT]


@pytest.mark.parametrize("clear", CLEARS.values(), ids=CLEARS)
def test_what_another_kept_is_cleared_too(clear: Act) -> None:
    one, other = two(MemoryStore())
    other.keep(note("x", "theirs"))
    assert [each.content for each in clear(one)] == ["theirs"] and contents(other) == []
    assert clear(one) == []


@pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)
def test_a_note_of_another_does_not_give_way_unheard(keep: Act) -> None:
    one, other = two(MemoryStore(), guard_note_of_two)
    other.keep(note("x", KEPT))
    other.keep(note("y", "2"))
    with pytest.raises(PermissionError):
        keep(one)
    assert contents(other) == contents(one) == [KEPT, "2"]


@pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)
def test_hooks_hear_once_of_each_thing_though_it_is_decided_again(keep: Act) -> None:
    one, other = two(MemoryStore(), hear_pool_of_two)
    other.keep(note("x", "1"))
    other.keep(note("y", "2"))
    keep(one)
    assert heard == [("Adding", "new"), ("Evicting", "1"), ("Evicted", "1")]
    assert contents(other) == ["2", "new"]


def test_it_is_decided_again_where_another_writes_at_the_last_moment() -> None:
    store = Interrupted()
    one, other = two(store, guard_note_of_two)
    one.keep(note("plan", "sketch"))
    other.refresh()
    store.before[PLACE] = lambda: other.keep(note("plan", KEPT))
    with pytest.raises(PermissionError):
        one.drop("plan")
    assert contents(other) == [KEPT]


def test_where_nobody_else_writes_the_store_is_not_read() -> None:
    class Counted(MemoryStore):
        reads = 0

        def read(self, *args: Any, **options: Any) -> Any:
            self.reads += 1
            return super().read(*args, **options)

    store = Counted()
    one = apart(store, hooks=[hear_pool_of_two], pool_limit=1)
    before = store.reads
    one.keep(note("a", "1"))
    one.keep(note("plan", "2"))
    one.drop("plan")
    one.keep(note("b", "3"))
    assert store.reads == before
    one.clear_pool()  # all that is there: others may have kept something
    assert store.reads == before + 1


def test_a_call_that_another_recorded_can_be_answered() -> None:
    one, other = two(MemoryStore())
    asked, aside = other.call("look"), other.call("search", to="attempt_a")
    assert one.tool("found", call_id=asked.call_id).name == "look"
    assert one.tool("found", call_id=aside.call_id, to="attempt_a").name == "search"
    with pytest.raises(UnknownId):
        one.tool("found", call_id="nobody's")
