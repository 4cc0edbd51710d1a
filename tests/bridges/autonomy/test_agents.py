"""Agents on a node: what they are sent, what they see, their tools and limits."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire import ToolCall
from quire.bridges.autonomy import Agent, AgentReference, ContextTemplate, Model, Node
from quire.items import use_clock
from quire.models import Scripted
from quire.providers import Rendered
from tests.bridges.autonomy.test_templates import HERE, Base, lines
from tests.clients.scenes import stage
from tests.clients.speaking import says
from tests.models.answerers import NEEDS_SDK


def looks(_: Rendered) -> ToolCall:
    """A model's reply: it looks at the attic."""
    return ToolCall("c", "look", '{"place": "attic"}')


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is dark"


def words(message: Any) -> str:
    return str(message["content"]["text"])


def sent(model: Scripted, n: int = -1) -> list[dict[str, Any]]:
    return list(model.requests[n].payload["messages"])


async def started(node: Node, *replies: Any, **options: Any) -> tuple[AgentReference, Scripted]:
    model = Scripted(replies or (lambda _: "noted"), name="gpt-4o")
    return await Agent.start(node=node, name="keeper", model=model, **options), model


# Sending


@pytest.mark.parametrize(
    "message",
    [
        "Good day",
        {"text": "Good day", "type": "text"},
        {"role": "user", "content": "Good day"},
        [{"role": "user", "content": {"text": "Good day", "type": "text"}}],
    ],
)
async def test_a_text_a_content_or_messages_can_be_sent(message: Any) -> None:
    async with Node() as node:
        agent, model = await started(node)
        assert [words(one) for one in await agent.send_message(message, *HERE)] == ["noted"]
        assert sent(model)[-1] == {"role": "user", "content": "Good day"}
        assert await agent.memory.get_message_count(*HERE) == 2


async def test_a_stream_has_words_calls_and_results() -> None:
    async with Node() as node:
        agent, _ = await started(node, looks, "It is dark.", tools=[look])
        streamed = [one async for one in agent.send_stream("How is it?", *HERE)]
        pieces = "".join(words(one) for one in streamed if one.get("partial"))
        whole = [one for one in streamed if not one.get("partial")]
        assert pieces == "It is dark." and [one["role"] for one in whole] == ["assistant", "tool"]
        assert words(whole[1]) == "attic is dark"


async def test_a_question_to_the_user_pauses_and_the_next_message_answers_it(tmp_path: Path) -> None:
    asks = ToolCall("q", "ask_user_for_input", '{"question": "Which lamp?"}')
    async with Node(store=tmp_path / "talks.db") as node:
        agent, _ = await started(node, asks, enable_ask_for_user_input=True)
        question = (await agent.send("Dust a lamp.", *HERE))[-1]
        assert (words(question), question["phase"]) == ("Which lamp?", "waiting_for_input")
    async with Node(store=tmp_path / "talks.db") as node:
        agent, _ = await started(node, "Done.", enable_ask_for_user_input=True)
        assert await agent.is_paused(*HERE)
        assert words((await agent.send("The green one.", *HERE))[-1]) == "Done."
        assert not await agent.is_paused(*HERE)


async def test_a_timeout_is_an_error_and_what_was_said_is_kept(later: Callable[[float], None]) -> None:
    async def slow(place: str) -> None:
        """Look for longer than anybody waits."""
        while True:
            later(100)
            await asyncio.sleep(0)

    async with Node() as node:
        calls = [ToolCall(name, "slow", '{"place": "x"}') for name in "ab"]
        agent, _ = await started(node, *calls, tools=[slow])
        with pytest.raises(TimeoutError):
            await agent.send("How is it?", *HERE, timeout=60)
        with pytest.raises(TimeoutError):
            [one async for one in agent.send_stream("How is it?", *HERE, timeout=60)]
        assert await agent.memory.get_message_count(*HERE) >= 2


# What the model sees


class Filtered(Base):
    """A history of the user's own, without results of tools."""

    async def get_messages(self, memory: Any, scope: str, conversation: str, params: Any) -> list[Any]:
        messages = await memory.get_messages_only(scope, conversation)
        return [one for one in messages if one["role"] != "tool"]


async def test_a_call_whose_result_a_section_leaves_out_is_not_made_again() -> None:
    async with Node() as node:
        template = ContextTemplate([Filtered("conversation_history")])
        agent, model = await started(node, looks, "Dark.", "Again.", tools=[look], context_template=template)
        await agent.send("How is it?", *HERE)
        assert "done; the result is left out" in sent(model)[-1]["content"], "in the turn under way"
        await agent.send("And now?", *HERE)
        assert [one["content"] for one in sent(model)] == ["How is it?", "Dark.", "And now?"]


async def test_the_oldest_are_left_out_in_steps_and_stay_in_the_memory() -> None:
    async with Node() as node:
        agent, model = await started(node, max_messages_in_short_term_memory=8)
        for n in range(12):
            await agent.send(f"line {n}.", *HERE)
        assert max(len(sent(model, n)) for n in range(12)) <= 12 and lines(sent(model))[-1] == 11
        assert await agent.memory.get_message_count(*HERE) == 24
        model = Scripted(lambda _: "noted")
        agent = await Agent.start(node, model=model, max_tokens_in_short_term_memory=60)
        for n in range(12):
            await agent.send(f"line {n}. " + "lamp " * 15, *HERE)
        assert len(lines(sent(model))) < 6


# Tools, models and options


def counting(*asked: tuple[str, str]) -> Scripted:
    """A model that calls these tools and repeats their last result; as a subagent it counts its tasks."""

    def script(request: Rendered) -> Any:
        told = request.payload["messages"]
        if told[0]["content"] == "You count.":
            return f"{sum(one['role'] == 'user' for one in told)} tasks"
        made = sum(one["role"] == "tool" for one in told)
        return ToolCall(f"c{made}", *asked[made]) if made < len(asked) else told[-1]["content"]

    return Scripted(script, name="gpt-4o")


START = ("start_subagent", '{"role": "counter"}')
GIVE = ("delegate_to_subagent", '{"role": "counter", "task": "Count."}')
GIVE_AGAIN = ("delegate_to_subagent", '{"role": "counter-1", "task": "Count."}')
GIVE_TWO = ("delegate_to_subagents_parallel", '{"role": "counter", "tasks": ["a", "b"]}')
STOP, LIST = ("stop_subagent", '{"role": "counter-1"}'), ("list_subagents", "{}")


@pytest.mark.parametrize(
    ("asked", "last"),
    [
        ([GIVE], "1 tasks"),
        ([GIVE_TWO], "1. 1 tasks\n\n2. 1 tasks"),
        ([START, GIVE_AGAIN, GIVE_AGAIN], "2 tasks"),
        ([START, LIST], '"running": {"counter-1": "counter"}'),
        ([START, STOP, LIST], '"running": {}'),
        ([STOP], "no subagent is called 'counter-1'"),
    ],
)
async def test_work_is_delegated_by_the_documented_tools(asked: list[tuple[str, str]], last: str) -> None:
    model, counter = counting(*asked), {"instructions": "You count.", "auto_start": True}
    options: dict[str, Any] = {"instructions": "You ask.", "subagents": {"counter": counter}}
    async with Node() as node:
        agent = await Agent.start(node, model=model, **options)
        assert last in words((await agent.send("How many lamps?"))[-1])
        assert sent(model, 0)[0] == {"role": "system", "content": "You ask."}


async def test_the_time_is_told_by_the_documented_tools() -> None:
    asked = [("get_current_time_utc", "{}"), ("get_current_time", '{"timezone": "Asia/Tokyo"}')]
    with use_clock(lambda: 0.0):
        async with Node() as node:
            agent = await Agent.start(node, model=counting(*asked))
            _, utc, _, tokyo, _ = await agent.send("What time is it?")
    assert "1970-01-01T00:00:00+00:00" in words(utc) and "1970-01-01T09:00:00+09:00" in words(tokyo)


@NEEDS_SDK["openai"]
async def test_a_model_has_a_limit_and_options_that_go_with_every_request() -> None:
    with stage() as server:
        scene = server.scene(says("openai", "Good day."))
        at: Any = {"base_url": f"{scene.base_url}/v1", "api_key": "k"}
        async with Model("openai:gpt-4o", max_tokens=99, temperature=0.2, seed=7, **at) as model:
            for options in ({}, {"max_tokens": 5}):
                await model.complete_chat([{"role": "user", "content": "hello"}], **options)
    first, second = (request.body for request in scene.requests)
    assert (first["temperature"], first["seed"], model.max_tokens) == (0.2, 7, 99)
    assert 99 in first.values() and 5 in second.values() and 99 not in second.values()
