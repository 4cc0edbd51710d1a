"""The pool of a session: notes by key, a limit, hooks that hear of each change, and other writers."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from quire.compactors import Offload
from quire.items import Note, ToolResult
from quire.session import Added, Adding, Dropped, Dropping, Session, hook
from tests.session.opened import called, run, session, two

KEPT = "approved"
Act = Callable[[Session], Any]
heard: list[tuple[str, Any]] = []


@pytest.fixture(autouse=True)
def _nothing_heard() -> None:  # pyright: ignore[reportUnusedFunction]
    heard.clear()


@hook(Adding, Added, Dropping, Dropped)
def hear(event: Any) -> None:
    notes: Any = event.items if isinstance(event, Adding | Added) else event.notes
    heard.append((type(event).__name__, [note.content for note in notes]))


@hook(Dropping)
def guard(event: Dropping) -> None:
    if any(note.content == KEPT for note in event.notes):
        raise PermissionError("it stays")


def note(key: str, content: str = "x") -> Note:
    return Note(content, key=key)


def contents(one: Session) -> list[Any]:
    one.refresh()
    return [each.content for each in one.pool]


REFUSED: dict[str, Act] = {
    "keep": lambda one: one.pool.keep(note("z", "new")),
    "drop": lambda one: one.pool.drop("plan"),
    "awaited drop": lambda one: run(one.aio.pool.drop("plan")),
    "clear": lambda one: one.pool.clear(),
}


def test_hooks_hear_of_each_change_before_and_after() -> None:
    one = session(hooks=[hear], pool_limit=1)
    one.pool.keep(note("a", "1"))
    one.pool.keep(note("b", "2"))
    assert heard[2:] == [("Dropping", ["1"]), ("Adding", ["2"]), ("Dropped", ["1"]), ("Added", ["2"])]
    heard.clear()
    one.pool.drop("b")
    assert one.pool.clear() == []
    assert heard == [("Dropping", ["2"]), ("Dropped", ["2"])]


@pytest.mark.parametrize("act", REFUSED.values(), ids=REFUSED)
def test_a_hook_may_refuse_and_then_nothing_has_changed(act: Act) -> None:
    one = session(hooks=[guard], pool_limit=1)
    one.pool.keep(note("plan", KEPT))
    with pytest.raises(PermissionError):
        act(one)
    assert contents(one) == [KEPT]


def test_a_note_of_another_is_not_dropped_unheard() -> None:
    with two(hooks=[guard, hear]) as (one, other):
        one.pool.keep(note("plan", "v1"))
        other.pool.keep(note("plan", "v2"))
        assert one.pool.drop("plan").content == "v2"
        assert ("Dropped", ["v2"]) in heard and ("Dropped", ["v1"]) not in heard
        one.pool.keep(note("plan", "sketch"))
        other.pool.keep(note("plan", KEPT))
        with pytest.raises(PermissionError):
            one.pool.drop("plan")
        assert contents(other) == contents(one) == [KEPT]


def test_which_note_gives_way_is_decided_on_what_is_there() -> None:
    with two(hooks=[hear], pool_limit=2) as (one, other):
        one.pool.keep(note("a", "1"))
        one.pool.keep(note("b", "2"))
        other.refresh()
        other.pool.drop("a")
        one.pool.keep(note("z", "new"))
        assert contents(one) == ["2", "new"] and ("Dropped", ["2"]) not in heard


def test_a_draft_drops_the_note_that_it_saw() -> None:
    one = session()
    one.pool.keep(note("plan", "v1"))
    with one.draft() as draft:
        draft.pool.drop("plan")
        one.pool.keep(note("plan", "v2"))
    assert contents(one) == ["v2"]


def test_notes_of_drafts_make_room_when_they_are_merged() -> None:
    one = session(hooks=[hear], pool_limit=2)
    for key in "ab":
        one.pool.keep(note(key, key))
    heard.clear()
    with one.draft() as first, one.draft() as second:
        first.pool.keep(note("c", "c"))
        second.pool.keep(note("d", "d"))
        assert heard == []
    assert contents(one) == ["d", "c"] and ("Dropped", ["a"]) in heard and ("Dropped", ["b"]) in heard


def offloaded(limit: int) -> Session:
    """A session that has moved seven long outputs to its pool."""
    one = session(pool_limit=limit, compactor=Offload())
    for n in range(8):
        one.user(f"question {n}")
        call = called(one, "read_file", f'{{"path":"{n}"}}')
        one.tool(f"line {n} " * 3_000, call_id=call.call_id)
        one.assistant("done")
    one.compaction.run()
    return one


def handles_shown(one: Session) -> set[str]:
    stubs = (item.text for item in one.view() if isinstance(item, ToolResult))
    return {handle for stub in stubs for handle in re.findall("output-[0-9a-f]{10}", stub)}


def test_long_outputs_do_not_give_way_and_do_not_count() -> None:
    one = offloaded(3)
    assert len(handles_shown(one)) == 7
    for n in range(5):
        one.pool.keep(note(f"own {n}"))
    keys = [str(each.key) for each in one.pool]
    assert handles_shown(one) <= set(keys)
    assert [key for key in keys if not key.startswith("output-")] == ["own 2", "own 3", "own 4"]
