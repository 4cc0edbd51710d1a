"""Forks, merges and drafts of a session."""

import asyncio
from typing import Any

import pytest

from quire import Budget, Template
from quire.compactors import TruncateOldest
from quire.errors import Conflict, Forgotten, InvalidValue, UnknownKey
from quire.items import Hide, Message, Note, Span, Summary, ToolCall
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Session
from quire.stores import MemoryStore
from tests.session.opened import Twin, apart, said, session, texts


def test_a_fork_has_the_past_and_goes_its_own_way() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b", "c"))
    one.keep(Note("n", key="n"))
    child = one.fork("checker")
    one.user("parent")
    child.user("child")
    child.keep(Note("m", key="m"))
    assert texts(child.view()) == ["a", "b", "c", "child"] and texts(one.view())[-1] == "parent"
    assert child.place == ("ana", "q3/checker") and len(one.pool) == 1 and len(child.pool) == 2
    again = Session.open("ana/q3%2Fchecker", store=store)
    assert texts(again.view()) == texts(child.view())
    with pytest.raises(InvalidValue, match="already"):
        one.fork("checker")


def test_a_fork_is_the_same_when_nothing_is_remembered() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a", "b", "c", "d", "e"), ToolCall("c1", "look"))
    child = one.fork("narrow", turns=1)
    one.append(*said("later"))
    child.assistant("done")
    again = Session.open("ana/q3%2Fnarrow", store=Twin(store))
    assert [item.id for item in again.view()] == [item.id for item in child.view()]
    assert again.view().pending() == [] and one.view().pending() != []


def test_what_a_fork_did_comes_back() -> None:
    one = session()
    one.append(*said("a"))
    child = one.fork("checker", turns=3)
    child.user("Check it.")
    child.assistant("It is right.")
    assert texts(asyncio.run(one.merge(child, keep="result", agent_id="checker"))) == ["It is right."]
    assert asyncio.run(one.merge(child, keep="result")) == ()
    assert texts(asyncio.run(one.merge(child))) == ["Check it."]
    assert sorted(texts(one.view())) == ["Check it.", "It is right.", "a"]
    with pytest.raises(InvalidValue):
        asyncio.run(one.merge(child, keep="some"))  # type: ignore[arg-type]


def test_a_summary_of_what_a_fork_did() -> None:
    one = session()
    one.append(*said("a"))
    child = one.fork("checker")
    child.append(*said("Check it.", "It is right."))
    with pytest.raises(InvalidValue, match="a model is needed"):
        asyncio.run(one.merge(child, keep="summary"))
    model = Scripted(["It was checked."])
    written = asyncio.run(one.merge(child, keep="summary", model=model))
    assert [item.text for item in written if isinstance(item, Summary)] == ["It was checked."]
    assert "It is right." in str(model.requests[0].payload)
    assert asyncio.run(one.merge(child, keep="summary", model=model)) == ()


def test_a_draft_is_merged_at_once() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a"))
    with one.draft() as draft:
        draft.assistant("b")
        draft.user("side", to="attempt_a")
        draft.keep(Note("n", key="n"))
        assert texts(one.view()) == ["a"] and texts(draft.view()) == ["a", "b"]
    assert texts(one.view()) == ["a", "b"] and texts(one.view("attempt_a")) == ["side"]
    assert "n" in one.pool
    assert texts(apart(store).view()) == ["a", "b"]


def test_a_draft_that_fails_leaves_nothing() -> None:
    store = MemoryStore()
    one = session(store)
    one.append(*said("a"))
    before = store.version(one.place)
    with pytest.raises(ZeroDivisionError), one.draft() as draft:
        draft.assistant("b")
        raise ZeroDivisionError
    assert store.version(one.place) == before and texts(one.view()) == ["a"]


def test_a_draft_comes_after_what_was_said_meanwhile() -> None:
    one = session()
    one.append(*said("a"))
    with one.draft() as draft:
        draft.assistant("draft")
        one.user("meanwhile")
    assert sorted(texts(one.view())) == ["a", "draft", "meanwhile"]


def test_a_draft_that_no_longer_fits() -> None:
    store = MemoryStore()
    one = session(store)
    a, b, *_ = one.append(*said("a", "b", "c"))
    with pytest.raises(Conflict), one.draft() as draft:
        edit = draft.append(Hide((Span(a.id, b.id),)))[0]
        apart(store).append(Message("user", "x", id=edit.id))
    one.refresh()
    assert texts(one.view()) == ["a", "b", "c", "x"]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_what_was_sent_in_a_draft_is_kept_where_it_can_be_shown(meanwhile: bool) -> None:
    one = session()
    one.append(*said("a"))
    template = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))
    asyncio.run(one.build(template)).render("openai")
    with one.draft() as draft:
        draft.assistant("b")
        draft.user("c")
        tools: list[dict[str, Any]] = [{"name": "look", "parameters": {"type": "object", "properties": {}}}]
        sent = asyncio.run(draft.build(template, tools=tools)).render("openai").payload
        if meanwhile:
            one.user("meanwhile")
    kept = one.receipts()[1]
    if meanwhile:
        with pytest.raises(Forgotten, match="went with its draft"):
            kept.payload()
    else:
        assert kept.payload().payload == sent


def test_what_a_draft_sent_before_it_failed_was_sent() -> None:
    one = session()
    one.user("a")
    template = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))
    with pytest.raises(ZeroDivisionError), one.draft() as draft:
        draft.user("secret")
        asyncio.run(draft.build(template)).render("openai")
        raise ZeroDivisionError
    (kept,) = one.receipts()
    assert kept.provider == "openai" and kept.tokens > 0 and list(kept.items) == []
    assert not any(b"secret" in entry.body for entry in one._ledger.store.read(one.place))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(Forgotten):
        kept.payload()


def test_a_timeline_keeps_the_order_of_what_is_shown() -> None:
    one = session()
    one.append(*said("a", "b", "c", "d"), to="side")
    items = one.view("side")
    one.append(Summary("a and b", (Span(items[0].id, items[1].id),)), to="side")
    one.user("later")
    assert texts(one.timeline("side")) == ["Summary", "c", "d"]
    assert texts(one.timeline()) == ["Summary", "c", "d", "later"]


@pytest.mark.parametrize("how", ["fork", "beside"])
def test_one_that_was_begun_before_is_reopened_with_the_options_of_this(how: str) -> None:
    store = MemoryStore()
    one = session(store, compactor=TruncateOldest())
    one.user("hello")
    child = one.fork("x") if how == "fork" else one.beside("x")
    child.user("of its own")
    again = session(store, compactor=TruncateOldest()).reopened("x")
    assert texts(again.view()) == (["hello"] if how == "fork" else []) + ["of its own"]
    assert (again.compaction is not None) is (how == "fork")
    with pytest.raises(UnknownKey, match="no conversation 'y' was begun"):
        one.reopened("y")
