"""Changing what is shown of the past: an item hidden, an answer retracted, a message edited, a fork at it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire import Budget, Session, Template
from quire.errors import CallPending, EditRefused, InvalidValue, LastUserMessage, QuireError, UnknownId
from quire.items import ConfigChange, Hide, Message, Note, Reasoning, Span, Summary, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.sections import History
from quire.session import Adding, Hook
from quire.testing.histories import OPS, Author, Op
from tests.session.opened import called, ids, said, session, texts, write_op
from tests.stores.keeping import kept


def chat() -> Session:
    """Two turns; the second ran a tool."""
    one = session()
    one.append(*said("one", "first"), Message("user", "two", id="q"))
    one.append(ToolCall("c", "look", id="call"), ToolResult("c", "look", "seen", id="result"))
    one.append(Reasoning("so", id="thought"), Message("assistant", "second", id="answer"))
    return one


def test_a_retracted_answer_is_hidden_and_what_tools_did_stays() -> None:
    one = chat()
    edit = one.retract()
    assert edit is not None and ids(one.view())[-3:] == ["q", "call", "result"]
    assert {"thought", "answer"} <= set(ids(one.view().recorded()))
    assert one.retract() is None, "there is no answer now"
    one.assistant("better")
    assert "second" not in str(one.memory.recent()), "nor is it recalled"
    one.undo(edit.id)
    assert "second" in str(one.memory.recent())
    assert texts(one.view())[-2:] == ["second", "better"]


def test_an_edited_message_and_all_after_it_are_hidden() -> None:
    one = chat()
    one.append(ConfigChange("be kind", id="config"), Message("system", "rule", id="rule"))
    new = one.edit("q", "three", agent_id="ana")
    assert ids(one.view())[2:] == ["config", "rule", new.id] and new.text == "three" and new.agent_id == "ana"
    assert {"q", "call", "result", "answer"} <= set(ids(one.view().recorded()))
    again = one.edit("q", "four")
    assert new.id not in ids(one.view()) and ids(one.view())[-1] == again.id
    first = one.edit(one.view()[0].id, "from the start")
    assert texts(one.view()) == ["ConfigChange", "rule", "from the start"] and one.view()[-1] == first


def test_an_edit_takes_back_a_summary_of_what_it_hides() -> None:
    one = chat()
    before = ids(one.view())
    one.user("next")
    one.append(Summary("all of it", (Span(before[0], "answer"),)))
    one.edit("q", "three")
    assert texts(one.view()) == ["one", "first", "three"]
    one.append(Summary("the first turn", (Span(before[0], before[1]),)))
    one.edit(one.view()[-1].id, "four")
    assert texts(one.view()) == ["Summary", "four"], "a summary of what stays is kept"


def test_items_are_hidden_with_their_groups() -> None:
    one = chat()
    one.hide("result", one.view()[0].id)
    assert texts(one.view()) == ["first", "two", "Reasoning", "second"]
    one.undo()
    assert len(one.view()) == 7
    summary = Summary("gist", (Span(one.view()[0].id, one.view()[1].id),))
    one.append(summary)
    one.hide(summary.id)
    assert texts(one.view())[0] == "two"


def test_an_edit_leaves_pinned_items_and_groups_that_began_before() -> None:
    one = session()
    late = called(one, "look")
    question = one.user("meanwhile")
    one.assistant("keep this", id="kept")
    one.pin("kept")
    one.tool("seen", call_id=late.call_id)
    one.assistant("gone")
    one.edit(question.id, "else")
    assert texts(one.view()) == ["ToolCall", "keep this", "ToolResult", "else"]


def waiting(one: Session) -> None:
    one.append(ToolCall("w", "book", id="waits"))


def pinned(one: Session) -> None:
    one.pin("answer")
    one.pin("q")


def covered(one: Session) -> None:
    one.append(Summary("gist", (Span("call", "answer"),)))


def unchanged(_: Session) -> None:
    pass


WRONG: list[tuple[Callable[[Session], None], Callable[[Session], Any], type[QuireError], str]] = [
    (waiting, lambda one: one.hide("waits"), CallPending, "still waits"),
    (waiting, lambda one: one.retract(), CallPending, "'w' still waits"),
    (waiting, lambda one: one.edit("q", "x"), CallPending, "still waits"),
    (pinned, lambda one: one.hide("answer"), EditRefused, "undo the pin"),
    (pinned, lambda one: one.retract(), EditRefused, "undo the pin"),
    (pinned, lambda one: one.edit("q", "x"), EditRefused, "undo the pin"),
    (covered, lambda one: one.hide("result"), EditRefused, "hide or undo the summary"),
    (unchanged, lambda one: one.hide("q"), LastUserMessage, "last message of the user"),
    (unchanged, lambda one: one.hide(), InvalidValue, "ids"),
    (unchanged, lambda one: one.hide("nothing"), UnknownId, "nothing"),
    (unchanged, lambda one: one.hide(one.pin("answer").id), EditRefused, "is an edit"),
    (unchanged, lambda one: one.edit("answer", "x"), InvalidValue, "not a message of the user"),
    (unchanged, lambda one: session().retract(), InvalidValue, "asked nothing"),
    (unchanged, lambda one: one.fork("f", at=99), QuireError, "no version 99"),
]


@pytest.mark.parametrize(("prepare", "verb", "kind", "words"), WRONG)
def test_what_cannot_be_changed_is_refused_and_nothing_is_written(
    prepare: Callable[[Session], None], verb: Callable[[Session], Any], kind: type[QuireError], words: str
) -> None:
    one = chat()
    prepare(one)
    shown = list(one.view())
    with pytest.raises(kind, match=words):
        verb(one)
    assert list(one.view()) == shown


def test_a_fork_begins_at_a_version_or_with_an_item() -> None:
    with kept("sqlite") as held:
        one = session(held.store)
        one.append(*said("one", "first"))
        one.pool.keep(Note("early", key="n"))
        version, _ = one.version, one.pool.drop("n")
        two = one.user("two")
        called(one, "look")
        one.pool.keep(Note("late", key="m"))
        for name, at, expected in (("a", version, ["one", "first"]), ("b", two.id, ["one", "first", "two"])):
            fork = one.fork(name, at=at)
            assert texts(fork.view()) == texts(session(held.open()).child(name).view()) == expected
            assert [note.key for note in fork.pool] == (["n"] if name == "a" else [])
            fork.user("else")
            assert "else" not in texts(one.view())
        assert texts(one.fork("c", at=one.version).view())[-1] == "ToolResult", "its open call is closed"
        child = one.fork("d")
        with pytest.raises(QuireError, match="before this conversation began"):
            child.fork("e", at=two.id)


async def test_the_verbs_are_awaited_and_hooks_hear_them_once() -> None:
    heard: list[Adding] = []

    async def hear(event: Adding) -> None:
        heard.append(event)

    one = session(hooks=[Hook(hear, (Adding,))])
    await one.aio.append(*said("one", "first", "two", "second"))
    await one.aio.retract()
    await one.aio.hide(one.view()[1].id)
    new = await one.aio.edit(one.view()[-1].id, "three")
    fork = await one.aio.fork("f", at=4)
    assert texts(one.view()) == ["one", "three"] and texts(fork.view())[-1] == "second"
    assert [len(event.items) for event in heard] == [4, 1, 1, 2] and heard[-1].items[0] == new


VERBS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 63)), max_size=8)


def rewrite(one: Session, code: int, number: int) -> Session:
    """One verb on some item; the session to go on with."""
    recorded = one.view().recorded()
    chosen = recorded[number % len(recorded)].id if recorded else "none"
    users = [item.id for item in recorded if isinstance(item, Message) and item.role == "user"] or ["none"]
    match code:
        case 0:
            one.retract()
        case 1:
            one.edit(users[number % len(users)], f"edited {number}")
        case 2:
            one.hide(chosen)
        case 3:
            edits = [item.id for item in recorded if isinstance(item, Hide)]
            one.undo(edits[number % len(edits)] if edits else None)
        case _:
            return one.fork(f"f{number}", at=number % (one.version + 1))
    return one


@pytest.mark.laws
@settings(max_examples=max(20, settings().max_examples))
@given(OPS, VERBS, OPS)
def test_every_wire_takes_what_is_shown_after_any_of_them(
    ops: list[Op], verbs: list[tuple[int, int]], later: list[Op]
) -> None:
    one, author = session(), Author()
    for op in ops:
        write_op(one, author, op)
    for code, number in verbs:
        before = one.view().recorded()
        try:
            one = rewrite(one, code, number)
        except QuireError:
            assert one.view().recorded() == before
        else:
            assert code == 4 or one.view().recorded()[: len(before)] == before, "nothing leaves the log"
        pending = {call.id for call in one.view().pending()}
        assert pending <= set(ids(one.view())), "a call that waits is shown"
    for op in later[:5]:
        write_op(one, author, op)
    context = one.build(Template(History(), budget=Budget(window=1_000_000)))
    for name, provider in PROVIDERS.items():
        assert provider.check(context.render(name).payload) == []
