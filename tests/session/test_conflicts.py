"""Two writers on one conversation: nothing is lost, nothing comes twice, and what does not fit says so."""

import pytest
from msgspec.structs import replace

from quire.errors import Conflict
from quire.items import Hide, Message, Note, Span, ToolCall, ToolResult, use_clock
from quire.session.remembering import take_out
from quire.stores import MemoryStore
from tests.session.opened import PLACE, apart, ids, said, session, texts


def test_what_others_wrote_comes_before() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    one.user("a")
    other.user("b")
    one.user("c")
    other.refresh()
    assert texts(one.view()) == texts(other.view()) == ["a", "b", "c"]
    assert texts(apart(store).view()) == ["a", "b", "c"]


def test_two_may_not_answer_the_same_call() -> None:
    store = MemoryStore()
    one = apart(store)
    one.append(*said("look it up"), ToolCall("c1", "look"))
    other = apart(store)
    one.tool("first", call_id="c1")
    with pytest.raises(Conflict, match="answered by another"):
        other.append(ToolResult("c1", "look", "second"))
    other.refresh()
    assert [item.text for item in other.view() if isinstance(item, ToolResult)] == ["first"]


def test_an_edit_of_what_another_hid_no_longer_fits() -> None:
    store = MemoryStore()
    one = apart(store)
    a, b, *_ = one.append(*said("a", "b", "c", "d", "e"))
    other = apart(store)
    edit = one.append(Hide((Span(a.id, b.id),)))[0]
    one.undo(edit.id)
    with pytest.raises(Conflict, match="others wrote"):
        other.append(one.view("main").get(edit.id))
    assert ids(apart(store).view()) == ids(one.view())


def test_notes_of_two_writers_are_bounded_together() -> None:
    store = MemoryStore()
    one, other = apart(store, pool_limit=2), apart(store, pool_limit=2)
    one.keep(Note("1", key="a"))
    other.keep(Note("2", key="b"))
    one.keep(Note("3", key="c"))
    other.refresh()
    assert [note.key for note in one.pool] == [note.key for note in other.pool] == ["b", "c"]


def test_a_conversation_that_was_taken_out_begins_again() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    one.append(*said("a", "b", "c"))
    other.refresh()
    take_out(store, PLACE)
    one.refresh()
    assert one.version == 0 and texts(one.view()) == []
    one.append(*said("x", "y", "z", "w"))
    other.user("after")
    assert texts(other.view()) == ["x", "y", "z", "w", "after"]


def test_items_are_shown_as_they_came_though_a_clock_goes_behind() -> None:
    store = MemoryStore()
    one, other = apart(store), apart(store)
    with use_clock(lambda: 1_000.0):
        one.user("What is the time?")
    with use_clock(lambda: 990.0):
        other.assistant("It is noon.")
        other.append(Message("user", "recorded late"))
    one.refresh()
    assert texts(one.view()) == ["What is the time?", "It is noon.", "recorded late"]


def test_two_who_drop_a_note_drop_it_once() -> None:
    store = MemoryStore()
    one = session(store, pool_limit=2)
    one.keep(Note("1", key="a"))
    with one.draft() as draft:
        draft.drop("a")
        one.drop("a")
    twin = Note("n", key="x")
    one.keep(twin)
    one.keep(replace(twin, key="y"))
    one.drop("x")
    assert [note.key for note in one.pool] == [note.key for note in apart(store).pool] == ["y"]


def test_two_drafts_may_make_room_for_theirs() -> None:
    store = MemoryStore()
    one = session(store, pool_limit=2)
    one.keep(Note("1", key="a"))
    one.keep(Note("2", key="b"))
    with one.draft() as first, one.draft() as second:
        first.keep(Note("3", key="c"))
        second.keep(Note("4", key="d"))
    assert [note.key for note in apart(store).pool] == [note.key for note in one.pool]


def test_a_draft_may_not_answer_what_was_answered_meanwhile() -> None:
    one = session()
    one.append(*said("look"), ToolCall("c1", "look"))
    with pytest.raises(Conflict, match="answered by another"), one.draft() as draft:
        draft.tool("drafted", call_id="c1")
        one.tool("first", call_id="c1")


def test_an_expected_version_is_asked_for_though_nothing_is_written() -> None:
    store = MemoryStore()
    one = apart(store)
    apart(store).user("a")
    with pytest.raises(Conflict):
        one.append(expected=0)
