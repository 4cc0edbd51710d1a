"""A session by example: how it is opened, what its verbs record, what others wrote, what was before."""

import gc
from typing import Any, cast
from weakref import ref

import pytest

from quire import Budget, Template
from quire.errors import Conflict, DuplicateId, EditRefused, InvalidValue, UnknownId, UnknownKey
from quire.items import Hide, Message, Span, ToolCall, ToolResult
from quire.memory import Knowledge, Memory, Recall
from quire.sections import History
from quire.session import Session, current_session, new_transcript, timeline
from quire.stores import MemoryStore, place_at
from tests.session.opened import run, said, session, texts, two
from tests.stores.keeping import kept


def test_addresses() -> None:
    store = MemoryStore()
    assert Session.open("q3", store=store).place == ("/q3", "q3")
    assert Session.open("ana/", store=store).place == ("ana", "")
    assert Session.open("a%2Fb/c%25", store=store).place == ("a/b", "c%")
    assert str(Session.open(scope="a/b", conversation="c%", store=store).place) == "a%2Fb/c%25"
    for wrong in ("a/b/c", "a\nb", "%ff", "%2Fq3/q3", "agent%2F%2Fq3/q3"):
        with pytest.raises(InvalidValue):
            Session.open(wrong, store=store)
    with pytest.raises(InvalidValue):
        Session.open("a/b", scope="a", store=store)
    names = ("", "q3", "q3/fork", "a%2Fb", "ana", "/", "//", "%")
    given = [(scope, name) for scope in ("", "agent/", "ana", "a/b", "q3", "%2F", "~") for name in names]
    places = [place_at(scope=scope, conversation=name) for scope, name in given]
    assert [place_at(str(place)) for place in places] == places
    assert [place.given_scope for place in places] == [scope for scope, _ in given]
    own = {place.scope for place, (scope, _) in zip(places, given, strict=True) if scope in ("", "agent/")}
    assert len(own) == 10 and own.isdisjoint(scope for scope, _ in given)


def test_a_conversation_without_a_scope_is_a_scope_of_its_own() -> None:
    store, quoting = MemoryStore(), Template(History(), Recall(), budget=Budget(window=2_000))
    first = Session.open("ana", store=store)
    first.user("My PIN is 4711.")
    others = [Session.open(address, store=store) for address in ("bob", "ana/q3", "ana%252F", "")]
    for one, is_told in [(first.child("checker"), True), *((other, False) for other in others)]:
        one.user("What is my PIN?")
        assert ("4711" in str(one.build(quoting).render("openai").payload)) is is_told
    assert texts(Session.open("ana%2Fchecker", store=store).view()) == ["What is my PIN?"]
    for scope in ("", "agent/"):
        for make in (Memory, Knowledge):
            with pytest.raises(InvalidValue, match="name a scope"):
                make(store, scope)


def test_an_error_adds_nothing() -> None:
    one = session()
    first = one.user("hello")
    for wrong, fault in [
        ([first], DuplicateId),
        ([Message("user", "x", id="a"), Message("user", "y", id="a")], DuplicateId),
        ([Message("user", "x"), Hide((Span("nobody", "nobody"),))], UnknownId),
        ([Hide((Span(first.id, first.id),))], EditRefused),
    ]:
        with pytest.raises(fault):
            one.append(*cast(Any, wrong))
    for name in (".pool", ""):
        with pytest.raises(InvalidValue):
            one.user("x", to=name)
    with pytest.raises(UnknownId):
        one.tool("x", call_id="nobody")
    assert one.assistant(calls=[]) is None
    assert one.version == 1 and texts(one.view()) == ["hello"]


def test_named_transcripts_and_the_timeline() -> None:
    one = session()
    first = one.user("question")
    name = new_transcript(one, "attempt")
    assert name == "attempt_a"
    one.append(first, to=name)
    one.assistant("wrong", to=name)
    assert new_transcript(one, "attempt") == "attempt_b" and tuple(one.transcripts) == ("main", "attempt_a")
    one.assistant("right")
    assert texts(timeline(one)) == ["question", "wrong", "right"]
    assert texts(timeline(one, "main")) == ["question", "right"]
    assert texts(timeline(one, ["attempt"])) == ["question", "wrong"]
    assert timeline(one, "att") == [] and timeline(one, []) == []
    with pytest.raises(UnknownKey):
        one.view("nobody")


def test_a_name_is_given_once_though_nothing_is_written_to_it_yet() -> None:
    with two() as (one, other):
        with one.draft() as draft:
            names = [
                new_transcript(one, "attempt"),
                new_transcript(other, "attempt"),
                new_transcript(draft, "attempt"),
                new_transcript(one, "try"),
            ]
            draft.user("hello", to=names[2])
        assert names == ["attempt_a", "attempt_b", "attempt_c", "try_a"]
        assert tuple(one.transcripts) == ("main", "attempt_c") and len(one.view()) == 0
        more = [new_transcript(other, "attempt") for _ in range(25)]
    assert more[0] == "attempt_d" and more[-3:] == ["attempt_z", "attempt_aa", "attempt_ab"]


def test_an_expected_version_is_kept_to() -> None:
    with two() as (one, other):
        one.user("a")
        for items in (said("b"), []):
            with pytest.raises(Conflict) as fault:
                other.append(*items, expected=0)
            assert (fault.value.expected, fault.value.found) == (0, 1)
        other.refresh()
        assert texts(other.append(*said("b"), expected=1)) == ["b"]


def test_who_has_not_seen_the_result_of_a_call_may_not_answer_it() -> None:
    with two() as (one, other):
        one.append(*said("look it up"), ToolCall("c1", "look"))
        other.refresh()
        one.tool("first", call_id="c1")
        with pytest.raises(Conflict):
            other.append(ToolResult("c1", "look", "second"))
        other.refresh()
        assert [item.text for item in other.view() if isinstance(item, ToolResult)] == ["first"]
        other.append(ToolResult("c1", "look", "second"))  # by one that has seen the first
        assert [item.text for item in other.view() if isinstance(item, ToolResult)] == ["first", "second"]


def test_a_conversation_that_was_taken_out_begins_again() -> None:
    with kept("sqlite") as held:
        one, other = session(held.store), session(held.open())
        one.append(*said("a", "b", "c"))
        other.refresh()
        held.store.remove(one.place)
        one.refresh()
        assert one.version == 0 and texts(one.view()) == []
        one.append(*said("x", "y", "z", "w"))
        other.user("after")
        assert texts(other.view()) == ["x", "y", "z", "w", "after"]


def test_the_session_at_work() -> None:
    one, other = session(), session()
    with pytest.raises(UnknownKey):
        current_session()
    with one:
        assert current_session() is one
        with other:
            assert current_session() is other
        assert current_session() is one

    async def inside(third: Session) -> None:
        async with third:
            assert current_session() is third

    run(inside(session()))


def test_a_store_that_nobody_uses_is_given_back() -> None:
    store = MemoryStore()
    session(store).user("hello")
    gone = ref(store)
    del store
    gc.collect()
    assert gone() is None


def test_following_begins_at_a_version_and_goes_on_when_a_conversation_begins_again() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b"))

    async def heard() -> list[str]:
        found: list[str] = []
        async for _, item in one.follow(after=1):
            found += texts([item])
            if found == ["b"]:
                store.remove(one.place)
                one.refresh()
                one.append(Message("user", "new"))
            if found[-1] == "new":
                return found
        return found

    assert run(heard()) == ["b", "new"]
