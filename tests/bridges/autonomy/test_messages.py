"""Messages in a memory: read as they were written, with the time, and sent to a model as they were said."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.autonomy import Agent, ContextTemplate, Memory, Node
from quire.bridges.autonomy.messages import items_in, messages_of
from quire.errors import QuireError
from quire.items import Image, Message, Opaque, Reasoning, Summary, ToolCall, ToolResult, use_clock
from quire.models import Scripted
from tests.bridges.autonomy.talking import pair, run, said

CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
WORDS = st.text(min_size=1, max_size=20)
CONTENT = WORDS | WORDS.map(lambda words: {"text": words, "type": "text"})
PLAIN = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": CONTENT},
    optional={
        "phase": st.sampled_from(["system", "planning", "executing"]),
        "name": WORDS,
        "timestamp": st.floats(1, 2e9),
    },
)


async def kept(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    memory = Memory()
    await memory.add_messages("ana", "one", messages)
    return [dict(message) for message in await memory.get_messages_only("ana", "one")]


@pytest.mark.laws
@given(st.lists(PLAIN, max_size=8))
def test_what_is_read_is_what_was_written_and_the_time(messages: list[dict[str, Any]]) -> None:
    async def talk() -> None:
        read = await kept(*messages)
        assert [
            message | {"timestamp": one["timestamp"]} for message, one in zip(messages, read, strict=True)
        ] == read
        times = [
            one["timestamp"] for one, given in zip(read, messages, strict=True) if "timestamp" not in given
        ]
        assert times == sorted(times)
        for one, message in zip(read, messages, strict=True):
            assert message.get("timestamp", one["timestamp"]) == one["timestamp"]

    run(talk)


def test_what_is_handed_in_is_not_changed() -> None:
    async def talk() -> None:
        message = said("user", "hi")
        with use_clock(lambda: 12.5):
            [read] = await kept(message)
        assert message == said("user", "hi") and read["timestamp"] == 12.5

    run(talk)


def test_calls_and_results() -> None:
    async def talk() -> None:
        both = {
            "role": "assistant",
            "content": {"text": "Let me see.", "type": "text"},
            "tool_calls": [CALL, CALL | {"id": "d"}],
        }
        result = {"role": "tool", "tool_call_id": "c", "content": "seen"}
        words, alone = (
            said("assistant", "Well."),
            {"role": "assistant", "content": "", "tool_calls": [CALL | {"id": "e"}]},
        )
        read = await kept(said("user", "go"), both, result, result | {"tool_call_id": "d"}, words, alone)
        assert len(read) == 6  # words and a later reply of calls alone are two messages
        assert read[1]["tool_calls"] == both["tool_calls"] and read[1]["content"] == both["content"]
        assert read[2]["name"] == "look" and read[2]["content"] == "seen" and read[3]["tool_call_id"] == "d"
        assert read[5]["tool_calls"] == alone["tool_calls"] and read[4]["content"] == words["content"]

    run(talk)


def test_media_is_given_as_parts() -> None:
    async def talk() -> None:
        picture = Image(url="https://example.com/lamp.png")
        [read] = await kept({"role": "user", "content": [{"text": "this?", "type": "text"}, picture]})
        assert read["content"] == [{"text": "this?", "type": "text"}, picture]

    run(talk)


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        {"content": "hi"},
        {"role": "nobody", "content": "hi"},
        {"role": "user"},
        {"role": "user", "content": 7},
        {"role": "tool", "content": "hi"},
        {"role": "user", "content": {"text": "x", "type": "hologram"}},
    ],
)
def test_what_is_no_message_is_refused_and_nothing_is_kept(message: Any) -> None:
    async def talk() -> None:
        memory = Memory()
        with pytest.raises(QuireError):
            await memory.add_messages("ana", "one", [said("user", "hi"), message])
        assert await memory.get_messages_only("ana", "one") == []

    run(talk)


def test_a_message_that_was_read_is_the_same_items_until_it_is_changed() -> None:
    thought = Reasoning("hm", state=Opaque("anthropic", "m", "sig"))
    items = (thought, Message("assistant", "Let me see."), ToolCall("c", "look"))
    [message] = messages_of(items)
    assert items_in([message], "mine") == items
    changed = items_in([{**message, "content": "Other."}], "mine")
    message["content"]["text"] = "Another."
    again = items_in([message], "mine")
    assert [getattr(one[0], "content", None) for one in (changed, again)] == ["Other.", "Another."]
    assert all(not isinstance(item, Reasoning) for item in (*changed, *again))


def test_a_summary_is_words_of_the_system() -> None:
    [message] = messages_of([Summary("They met.")])
    assert message["role"] == "system" and "They met." in message["content"]["text"]
    [item] = items_in([message], "mine")
    assert isinstance(item, Message)


def test_a_section_of_ones_own_hands_on_what_no_message_shows() -> None:
    class Whole:
        name = "conversation_history"

        async def get_messages(
            self, memory: Memory, scope: str, conversation: str, params: dict[str, Any]
        ) -> Any:
            return await memory.get_messages_only(scope, conversation)

    async def talk() -> None:
        def look() -> str:
            """Look."""
            return "seen"

        model = Scripted([[Reasoning("hm"), ToolCall("c", "look")], "Done."])
        async with Node() as node:
            template = ContextTemplate([Whole()])
            agent = await Agent.start(node, model=model, tools=[look], context_template=template)
            await agent.send("go")
            seen = (await node.worker(agent.name).agent.preview()).items
        assert [type(item) for item in seen] == [Message, Reasoning, ToolCall, ToolResult, Message]

    run(talk)


def test_pairs_are_read_back_as_pairs() -> None:
    async def talk() -> None:
        read = await kept(said("user", "go"), *pair(1), *pair(2))
        assert [one["role"] for one in read] == ["user", "assistant", "tool", "assistant", "tool"]

    run(talk)
