"""A session by example: how it is opened, what its verbs record, what others wrote, what was before."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from weakref import ref

import pytest

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import (
    Conflict,
    DuplicateId,
    EditRefused,
    InvalidValue,
    UnknownId,
    UnknownKey,
    WrongType,
)
from quire.items import Handoff, Hide, Message, Span, ToolCall, ToolResult
from quire.memory import Knowledge, Memory, Recall
from quire.sections import History
from quire.session import Caps, Session, current_session, find_items, new_transcript, timeline
from quire.stores import MemoryStore, place_at
from tests.session.opened import TEMPLATE, called, run, said, session, texts, two
from tests.stores.keeping import kept

PUBLIC = """
aio append assistant build calls child close compaction draft edit follow forget fork hide
hook_failures jobs listen memory merge open pin place pool receipts record refresh retract spending
tool transcripts undo user version view
"""
HELD = {
    "calls": "standing begin running decide",
    "compaction": "use run past metrics close",
    "jobs": "submit cancel pending outcome current",
    "pool": "keep drop clear copy catalogue",
    "receipts": "versions count index",
    "spending": "usage cost requests unknown tokens unpriced cached since with_usage",
}


def test_a_session_has_these_names_and_no_others() -> None:
    one = session()
    assert public_names(one) == set(PUBLIC.split())
    assert {name: public_names(getattr(one, name)) for name in HELD} == {
        name: set(names.split()) for name, names in HELD.items()
    }


def public_names(one: object) -> set[str]:
    return {name for name in dir(one) if not name.startswith("_")}


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
    assert [place.named for place in places] == [scope for scope, _ in given]
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


WORD: Any = "1"
WRONG: list[Any] = [5, object(), b"x", [5], {"a": 5}]
VERBS: dict[str, Callable[[Session, Any], object]] = {
    "open": lambda _, wrong: Session.open(wrong, store=MemoryStore()),
    "open a path with a NUL": lambda _, wrong: Session.open("ana/q3", store="chats\0.db"),
    "append": lambda one, wrong: one.append(wrong),
    "append expected": lambda one, wrong: one.append(Message("user", "x"), expected=WORD),
    "append expected, a bool": lambda one, wrong: one.append(Message("user", "x"), expected=False),
    "user": lambda one, wrong: one.user(wrong),
    "user to": lambda one, wrong: one.user("x", to=wrong),
    "assistant": lambda one, wrong: one.assistant("x", calls=wrong),
    "tool": lambda one, wrong: one.tool("x", call_id=wrong, to=wrong),
    "pin": lambda one, wrong: one.pin(wrong),
    "undo": lambda one, wrong: one.undo(wrong),
    "view": lambda one, wrong: one.view(wrong),
    "view at": lambda one, wrong: one.view(at=WORD),
    "new": lambda one, wrong: new_transcript(one, wrong),
    "fork": lambda one, wrong: one.fork(wrong),
    "fork turns": lambda one, wrong: one.fork("x", turns=WORD),
    "fork tools": lambda one, wrong: one.fork("x", tools=cast(Any, 5)),
    "child": lambda one, wrong: one.child(wrong),
    "merge": lambda one, wrong: one.merge(wrong),
    "merge model": lambda one, wrong: one.merge(session(), model=wrong),
    "merge keep": lambda one, wrong: one.merge(session(), keep=wrong),
    "forget": lambda one, wrong: one.forget(wrong),
    "find": lambda one, wrong: find_items(one, wrong),
    "build": lambda one, wrong: one.build(wrong),
    "build input": lambda one, wrong: one.build(TEMPLATE, input=wrong),
    "build counter": lambda one, wrong: one.build(TEMPLATE, counter=wrong),
    "build model": lambda one, wrong: one.build(TEMPLATE, model=wrong),
    "record": lambda one, wrong: one.record(wrong, provider=wrong),
    "listen": lambda one, wrong: one.listen(cast(Any, 5), provider="openai"),
    "close timeout": lambda one, wrong: one.close(timeout=WORD),
    "keep": lambda one, wrong: one.pool.keep(wrong),
    "drop": lambda one, wrong: one.pool.drop(wrong),
    "compaction": lambda one, wrong: one.compaction.use(wrong),
    "compaction model": lambda one, wrong: one.compaction.use(Summarize(), wrong),
    "model": lambda _, wrong: session(model=wrong),
    "hooks": lambda _, wrong: session(hooks=[wrong]),
    "redact": lambda _, wrong: session(redact=wrong),
    "caps": lambda _, wrong: session(caps=wrong),
    "a cap": lambda _, wrong: Caps(tokens=WORD),
    "prices": lambda _, wrong: session(prices={"m": wrong}),
    "pool limit": lambda _, wrong: session(pool_limit=WORD),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_what_is_of_the_wrong_type_is_refused_with_an_error_that_says_so(verb: Any) -> None:
    for wrong in WRONG:
        one = session()
        with pytest.raises((WrongType, InvalidValue)):
            verb(one, wrong)
        assert one.version == 0


def test_an_option_that_is_misspelt_is_named(tmp_path: Path) -> None:
    wrong: Any = {"redacted": str.upper}
    with pytest.raises(InvalidValue, match="'redacted'"):
        Session.open("ana/q3", store=tmp_path / "kept.db", **wrong)
    assert not list(tmp_path.iterdir())
    wrong = {"modle": "gpt-5.6"}
    with pytest.raises(InvalidValue, match="'modle'"):
        session().build(TEMPLATE, **wrong)


def test_verbs_give_what_they_recorded() -> None:
    one = session()
    assert one.user("hello") is one.view()[0]
    call = called(one, "look", '{"q":1}')
    assert call.arguments == '{"q":1}'
    assert one.tool("found", call_id=call.call_id).name == "look"
    assert one.append(Handoff("billing", "front"))[0] is one.view()[-1]
    assert one.assistant(calls=[]) is None
    with pytest.raises(UnknownId):
        one.tool("x", call_id="nobody")


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
