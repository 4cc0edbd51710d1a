"""Agents on a node: what they see, the tools they have, and what comes back."""

from typing import Any

import pytest

from quire.bridges.autonomy import (
    Agent,
    Node,
)
from quire.errors import InvalidValue, Stopped, WrongType
from quire.items import Image, Message, ToolCall
from quire.models import Scripted
from tests.bridges.autonomy.talking import LOOKS, echo, lines, look, run, text, tools_in


def test_the_default_template_has_four_parts_in_order() -> None:
    async def talk() -> None:
        model = Scripted(LOOKS, name="gpt-4o")  # others have one system message, with all of it
        async with Node() as node:
            agent = await Agent.start(node=node, instructions="Be brief.", model=model, tools=[look])
            await agent.send("line 1.")
        messages = model.requests[1].payload["messages"]
        assert [one["role"] for one in messages] == ["system", "system", "user", "assistant", "tool"]
        assert messages[0]["content"] == "Be brief."  # first, the instructions
        assert "current_time" in messages[1]["content"] and "look" not in messages[1]["content"].replace(
            "Look", ""
        )
        assert (
            messages[2]["content"] == "line 1." and messages[4]["content"] == "seen there"
        )  # then what was said
        assert tools_in(model.requests[1]) == {"current_time", "look"}  # and, beside it all, the tools

    run(talk)


def test_an_answer_is_a_list_of_messages_the_last_reply_last() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(node=node, name="looker", model=Scripted(LOOKS), tools=[look])
            called, result, reply = await agent.send("go", scope="ana", conversation="one")
            assert called["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"place": "there"}'}
            assert result["role"] == "tool" and result["tool_call_id"] == "c" and text(result) == "seen there"
            assert (
                reply["content"] == {"text": "Nothing there.", "type": "text"}
                and reply["role"] == "assistant"
            )
            assert reply["timestamp"] >= called["timestamp"] > 0

    run(talk)


@pytest.mark.parametrize(
    "sent",
    [
        "go on",
        {"text": "go on", "type": "text"},
        {"role": "user", "content": "go on"},
        ["go", " on"],
        [{"text": "go", "type": "text"}, {"role": "user", "content": {"text": " on", "type": "text"}}],
    ],
)
def test_a_text_a_content_a_message_or_several_can_be_sent(sent: Any) -> None:
    async def talk() -> None:
        model = Scripted(["Yes."])
        async with Node() as node:
            agent = await Agent.start(node=node, model=model)
            await agent.send(sent)
            [message, _] = await agent.memory.get_messages_only("", "")
        assert "".join(str(message["content"]).split()).count("go") == 1 and "on" in str(message["content"])

    run(talk)


def test_pictures_can_be_sent() -> None:
    async def talk() -> None:
        model = Scripted(["A lamp."])
        async with Node() as node:
            agent = await Agent.start(node=node, model=model)
            await agent.send(["What is this?", Image(url="https://example.com/lamp.png")])
        assert "lamp.png" in str(model.requests[0].payload)

    run(talk)


def test_what_is_no_message_of_the_user_is_refused() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted(["Yes."]))
            others: list[Any] = [7, None, {"role": "assistant", "content": "hi"}, [], {"content": "hi"}]
            for wrong in others:
                with pytest.raises((WrongType, InvalidValue)):
                    await agent.send(wrong)
            assert await agent.send_message({"role": "user", "content": "hi"})

    run(talk)


def test_conversations_are_apart_and_each_goes_on() -> None:
    async def talk() -> None:
        model = Scripted(lambda sent: f"{len(lines(sent.payload['messages']))}")
        async with Node() as node:
            agent = await Agent.start(node=node, model=model)
            for scope, conversation, seen in (
                ("ana", "one", 1),
                ("ana", "one", 2),
                ("ana", "two", 1),
                ("bob", "one", 1),
            ):
                [reply] = await agent.send("line 1.", scope=scope, conversation=conversation)
                assert text(reply) == str(seen)

    run(talk)


def test_agents_have_names_of_their_own_or_random_ones() -> None:
    async def talk() -> None:
        async with Node() as node:
            named = await Agent.start(node=node, name="helper", model=Scripted(echo))
            others = await Agent.start_many(
                node=node, instructions="x", number_of_agents=3, model=Scripted(echo)
            )
            numbered = await Agent.start_many(node, name="clerk", number_of_agents=2, model=Scripted(echo))
            assert named.name == "helper" and len({one.name for one in others}) == 3
            assert [one.name for one in numbered] == ["clerk-1", "clerk-2"]
            assert set(node.agents) == {one.name for one in (named, *others, *numbered)}
            with pytest.raises(ValueError):
                await Agent.start(node=node, name="helper", model=Scripted(echo))
            with pytest.raises(ValueError):
                await Agent.start_many(node, number_of_agents=0)

    run(talk)


def test_the_words_come_as_they_are_said() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted(LOOKS), tools=[look])
            told = [one async for one in agent.send_stream("go")]
            words = [text(one) for one in told if one.get("partial")]
            assert "".join(words) == "Nothing there." and len(words) > 1
            assert [one["role"] for one in told if not one.get("partial")] == ["assistant", "tool"]
            assert await agent.memory.get_message_count("", "") == 4  # and are recorded once

    run(talk)


def test_who_stops_listening_stops_the_answer() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted(["one two three four", "Yes."]))
            told = agent.send_stream("go")
            assert (await anext(told))["partial"]
            await told.aclose()
            assert (await agent.get_conversation_state())["state"] == "idle"
            assert text((await agent.send("again?"))[-1]) == "Yes."

    run(talk)


def test_the_user_is_asked_and_the_next_message_is_the_answer() -> None:
    async def talk() -> None:
        model = Scripted([ToolCall("q", "ask_user", '{"question": "Which one?"}'), "The red one, then."])
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, enable_ask_for_user_input=True)
            assert not await agent.is_paused()
            asked = (await agent.send("Buy a lamp."))[-1]
            assert text(asked) == "Which one?" and asked["phase"] == "waiting_for_input"
            state = await agent.get_conversation_state()
            assert state == {
                "state": "waiting",
                "is_paused": True,
                "message_count": 2,
                "waiting_for": ["Which one?"],
            }
            [reply] = await agent.send("The red one.")
            assert text(reply) == "The red one, then." and not await agent.is_paused()
            roles = [one["role"] for one in await agent.memory.get_messages_only("", "")]
            assert roles == ["user", "assistant", "tool", "assistant"]
            assert not await agent.is_paused("somewhere", "else")

    run(talk)


def test_questions_are_streamed_too() -> None:
    async def talk() -> None:
        model = Scripted([ToolCall("q", "ask_user", '{"question": "Which one?"}')])
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, enable_ask_for_user_input=True)
            assert text([one async for one in agent.send_stream("Buy a lamp.")][-1]) == "Which one?"

    run(talk)


def test_a_node_that_stops_takes_no_more() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted(echo))
            await agent.send("hi")
        with pytest.raises(Stopped):
            await agent.send("still there?")

    run(talk)


def test_a_node_is_started_with_a_function_that_starts_its_agents() -> None:
    heard: list[str] = []

    async def main(node: Node) -> None:
        agent = await Agent.start(node=node, instructions="Be brief.", model=Scripted(echo))
        heard.append(text((await agent.send("hi"))[-1]))

    Node.start(main, wait=False)
    assert heard == ["heard hi"]


def test_an_empty_reply_is_a_message_too() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(node=node, model=Scripted([Message("assistant", "")]))
            assert [text(one) for one in await agent.send("hi")] == [""]

    run(talk)
