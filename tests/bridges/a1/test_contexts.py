"""A context: what its verbs add, how it is read, and what becomes of what is taken out."""

import asyncio
from datetime import datetime

import pytest

from quire.bridges.a1 import Context, Message, get_context, no_context
from quire.errors import DuplicateId, WrongType
from quire.items import Message as Words, Summary, ToolCall, ToolResult, use_clock
from tests.bridges.a1.talks import call, is_paired, said, talk


def test_each_verb_adds_one_message_and_gives_it() -> None:
    context = Context()
    added = [
        context.system("be brief"),
        context.user("how much is it?"),
        context.assistant("let me see", tool_calls=[call("1"), call("2")]),
        context.tool("40", name="search", tool_call_id="1"),
        context.tool("50", name="search", tool_call_id="2"),
        context.assistant("40 or 50"),
    ]
    assert [m.role for m in context] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert list(context) == added == context.messages and len(context) == 6
    assert context[2].tool_calls == [call("1"), call("2")] and context[3].tool_call_id == "1"


def test_a_context_is_read_like_a_list() -> None:
    context = talk(Context(), 2)
    assert context[0].content == "question 0" and context[-1].content == "answer 1"
    assert [m.content for m in context[-2:]] == ["found 1", "answer 1"] and len(context[::2]) == 4
    assert not Context() and context
    with pytest.raises(IndexError):
        context[99]


def test_the_verbs_work_inside_a_running_loop() -> None:
    async def speak() -> list[str]:
        context = get_context("loop")
        await asyncio.gather(*(asyncio.to_thread(context.user, "x") for _ in range(20)))
        context.assistant("y")
        return said(context)

    assert asyncio.run(speak()) == ["x"] * 20 + ["y"]


def test_messages_are_in_the_order_of_appending_whatever_their_times() -> None:
    context = Context()
    context.user("first")
    early = Message(role="assistant", content="second", timestamp=datetime(2001, 1, 1))
    context.append(early)
    with use_clock(lambda: 5.0):
        context.user("third")
    assert said(context) == ["first", "second", "third"] and context[1] == early
    assert context[2].timestamp.timestamp() == 5.0


def test_extending_is_all_or_nothing() -> None:
    context = Context()
    one = Message(role="user", content="one")
    with pytest.raises(WrongType):
        context.extend([one, "two"])  # type: ignore[list-item]  # pyright: ignore
    with pytest.raises(DuplicateId):
        context.extend([one, one])
    assert len(context) == 0
    context.extend(message for message in (one, Message(role="user", content="two")))
    assert said(context) == ["one", "two"]


@pytest.mark.parametrize("wrong", ["text", {"role": "user"}, 7])
def test_only_messages_are_taken(wrong: object) -> None:
    with pytest.raises(WrongType):
        Context().append(wrong)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(WrongType):
        Context(messages=wrong)  # type: ignore[arg-type]  # pyright: ignore


def test_a_context_is_made_of_messages() -> None:
    first = talk(Context(), 3)
    again = Context(messages=[Message(**m.model_dump()) for m in first.messages])
    assert again.messages == first.messages and Context([]).messages == []


def test_what_a_model_is_sent_has_no_times_ids_or_nothings() -> None:
    context = Context()
    context.user("hi")
    context.assistant("", tool_calls=[call("1")])
    context.tool("4", name="search", tool_call_id="1")
    assert context.to_dict_list() == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [call("1")]},
        {"role": "tool", "content": "4", "name": "search", "tool_call_id": "1"},
    ]


def test_clearing_shows_nothing_and_keeps_the_truth() -> None:
    context = talk(Context(), 2)
    context.assistant("", tool_calls=[call("waits")])
    before = context.transcript
    context.clear()
    assert len(context) == 0 and list(context) == [] and context.messages == []
    assert len(context.session.view(before)) == 9
    context.clear()
    context.user("again")
    context.clear()
    context.user("and again")
    assert said(context) == ["and again"]


def test_two_replies_stay_two_messages() -> None:
    context = Context()
    context.assistant("let me think")
    context.assistant("", tool_calls=[call("1"), call("2")])
    context.assistant("and", tool_calls=[call("3")])
    assert [len(m.tool_calls or ()) for m in context] == [0, 2, 1]


def test_messages_can_be_set_anew_and_the_list_itself_cannot_change() -> None:
    context = talk(Context(), 3)
    before, recorded = context.messages, context.transcript
    with pytest.raises(WrongType, match="set its messages anew"):
        context.messages.append(Message(role="user", content="lost"))
    with pytest.raises(WrongType):
        del context.messages[:4]
    context.messages = before
    assert context.messages == before
    context.messages = before[4:]
    assert context.messages == before[4:] and context.transcript == recorded, "an edit is enough"
    summary = Message(role="system", content="three questions were asked")
    context.messages = [summary, *before[8:]]
    assert context.messages == [summary, *before[8:]] and is_paired(context)
    context.messages = [*context.messages, Message(role="user", content="more")]
    assert said(context)[-1] == "more" and len(context) == 6
    context.messages = before[1:2]
    assert context.messages == before[1:2], "also what the engine would not hide"
    assert len(context.session.view(recorded)) == 8


def test_what_the_engine_recorded_is_shown_too() -> None:
    context = Context()
    session = context.session
    asked = session.user("hi")
    session.append(Words("assistant", "looking"), ToolCall("1", "search"), ToolCall("2", "search"))
    session.append(ToolResult("1", "search", "4"), Summary("they spoke"))
    assert [m.role for m in context] == ["user", "assistant", "tool", "assistant"]
    assert [c["id"] for c in context[1].tool_calls or ()] == ["1", "2"]
    other = Context([context[0]])
    assert other[0] == context[0] and other.view[0].id == asked.id


def test_a_context_that_is_nobodys_is_not_among_those_of_the_runtime() -> None:
    context = no_context()
    context.user("unseen")
    assert len(get_context("main")) == 0 and said(context) == ["unseen"]
    assert repr(context) == "<Context 'main' of 1 messages>"
