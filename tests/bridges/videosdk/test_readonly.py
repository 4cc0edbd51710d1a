"""A context to look at: it stays live and refuses every change."""

import asyncio
from typing import Any

import pytest

from quire.bridges.videosdk import ChatContext, ChatMessage, ChatRole, ReadOnlyChatContext
from tests.bridges.videosdk.talks import Streaming, talk, told


@pytest.mark.parametrize("of_items", [True, False])
def test_a_view_shows_all_that_becomes_of_its_context(of_items: bool) -> None:
    context = talk()
    view = ReadOnlyChatContext(context.items if of_items else context)
    context.add_message(ChatRole.USER, "more")
    assert told(view)[-1] == "more"
    context.truncate(max_items=10)
    assert view.items == context.items and len(view.items) <= 10
    asyncio.run(context.summarize(Streaming(), keep_recent_turns=1))
    context.add_message(ChatRole.SYSTEM, "New.", replace=True)
    assert view.to_dict() == context.to_dict() and view.active_config_at() == ("New.", None)
    context.cleanup()
    assert view.items == []
    context.add_message(ChatRole.USER, "again")
    assert told(view) == ["again"]


def test_a_view_of_a_view_is_live() -> None:
    context = talk()
    view = ReadOnlyChatContext(ReadOnlyChatContext(context).items)
    context.cleanup()
    assert view.items == []


def test_a_view_reads_and_converts_like_its_context() -> None:
    context = talk()
    view = ReadOnlyChatContext(context)
    assert view.messages() == context.messages() and view.turn_count() == 6
    assert view.estimated_tokens() == context.estimated_tokens()
    assert view.to_openai_messages() == context.to_openai_messages()
    assert isinstance(view, ChatContext)


@pytest.mark.parametrize("verb", ["copy", "fork", "fork_filtered"])
def test_copies_and_forks_of_a_view_can_change(verb: str) -> None:
    context = talk()
    other = getattr(ReadOnlyChatContext(context), verb)()
    assert type(other) is ChatContext
    other.add_message(ChatRole.USER, "mine")
    assert told(other)[-1] == "mine" and len(context.items) == 25


SYNC: list[tuple[str, tuple[Any, ...]]] = [
    ("add_message", (ChatRole.USER, "hi")),
    ("add_function_call", ("f", "{}")),
    ("add_function_output", ("f", "x", "c")),
    ("add_handoff", ("b",)),
    ("add_config_update", ()),
    ("insert", (ChatMessage(role=ChatRole.USER, content="hi"),)),
    ("insert_many", ([],)),
    ("truncate", (5,)),
    ("cleanup", ()),
]
ASYNC: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("merge", (talk(),), {}),
    ("merge_result", (talk(),), {}),
    ("merge_with_summary", (talk(),), {"llm": Streaming()}),
    ("summarize", (Streaming(),), {"keep_recent_turns": 1}),
]


@pytest.mark.parametrize(("verb", "arguments"), SYNC)
def test_every_change_is_refused(verb: str, arguments: tuple[Any, ...]) -> None:
    context = talk()
    with pytest.raises(RuntimeError, match="read-only"):
        getattr(ReadOnlyChatContext(context), verb)(*arguments)
    assert len(context.items) == 25


@pytest.mark.parametrize(("verb", "arguments", "options"), ASYNC)
def test_every_change_that_waits_is_refused(
    verb: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    context = talk()
    with pytest.raises(RuntimeError, match="read-only"):
        asyncio.run(getattr(ReadOnlyChatContext(context), verb)(*arguments, **options))
    assert len(context.items) == 25


def test_the_transcript_is_not_given_away() -> None:
    with pytest.raises(RuntimeError, match="read-only"):
        ReadOnlyChatContext(talk()).transcript  # noqa: B018  # pyright: ignore[reportUnusedExpression]


def test_a_view_of_a_plain_list_holds_what_was_in_it() -> None:
    assert told(ReadOnlyChatContext(list(talk(1).items))) == ["Be brief.", "question 0", "answer 0"]
