"""An agent with a `context_summary`: the flag, the dictionary, and a long conversation that hides nothing."""

from collections.abc import Sequence
from typing import Any

import pytest

from quire.bridges.autonomy import (
    Agent,
    AgentReference,
    ContextTemplate,
    ConversationHistorySection,
    Model,
    Node,
    SummarizedHistorySection,
)
from quire.errors import ModelFailed
from quire.items import ToolCall
from quire.models import Scripted
from quire.providers import Rendered
from quire.stores import SQLiteStore
from tests.bridges.autonomy.talking import Clerk, lines, run

GIST = "What was said is told."


def answer(sent: Rendered) -> str:
    """Answers a conversation; and a request for a summary, which comes as one message with all of it."""
    return GIST if is_for_a_summary(sent.payload["messages"]) else "Well."


def is_for_a_summary(messages: Sequence[Any]) -> bool:
    return "<conversation>" in str(messages)


async def settled(node: Node, agent: AgentReference, conversation: str = "") -> None:
    await node.worker(agent.name, "", conversation).agent.session.aio.close()


async def spoken(node: Node, agent: AgentReference, turns: range, more: str = "") -> None:
    for n in turns:
        await agent.send(f"line {n}. {more}")
        await settled(node, agent)


def asked_of(model: Scripted, *, summaries: bool) -> list[list[Any]]:
    requests = [list(request.payload["messages"]) for request in model.requests]
    return [messages for messages in requests if is_for_a_summary(messages) is summaries]


def test_the_flag_means_ten_twenty_2048_and_the_agents_own_model() -> None:
    async def talk() -> None:
        model = Scripted(answer)
        async with Node() as node:
            agent = await Agent.start(node=node, instructions="Be brief.", model=model, context_summary=True)
            await spoken(node, agent, range(11), "word " * 1000)
            summaries = asked_of(model, summaries=True)
            sizes = [terms["max_tokens"] for terms in model.terms if "max_tokens" in terms]
            assert len(summaries) == 1 and sizes == [2048]
            before = asked_of(model, summaries=False)[-1]
            assert len(before) == 1 + 21 and lines(before) == list(range(11))  # twenty, and the one too many
            await spoken(node, agent, range(11, 12))
            after = asked_of(model, summaries=False)[-1]
            assert GIST in str(after) and 1 + 10 <= len(after) <= 1 + 13

    run(talk)


def test_options_of_ones_own() -> None:
    async def talk() -> None:
        model, clerk = Scripted(answer), Clerk("The gist of it.")
        told = "Keep code:\n{conversation}\nSummary:"
        summary = {"floor": 4, "ceiling": 8, "size": 99, "model": clerk, "instructions": told}
        async with Node() as node:
            agent = await Agent.start(
                node=node, instructions="Be brief.", model=model, context_summary=summary
            )
            await spoken(node, agent, range(12), "word " * 100)
        assert asked_of(model, summaries=True) == [] and clerk.options[0] == {"max_tokens": 99}
        assert str(clerk.asked[0]).count("Keep code:") == 1 and lines(clerk.asked[0])
        assert all(len(messages) <= 2 + 1 + 10 for messages in asked_of(model, summaries=False))
        assert "The gist of it." in str(model.requests[-1].payload)

    run(talk)


@pytest.mark.parametrize(
    "given", [{"roof": 3}, {"floor": 20, "ceiling": 20}, {"floor": 0}, {"size": 0}, {"ceiling": 5}]
)
def test_options_that_make_no_sense_are_value_errors(given: dict[str, Any]) -> None:
    async def talk() -> None:
        async with Node() as node:
            with pytest.raises(ValueError):
                await Agent.start(node=node, instructions="Be brief.", context_summary=given)
            assert node.agents == ()

    run(talk)


def test_a_summary_beside_a_template_is_a_value_error() -> None:
    async def talk() -> None:
        template = ContextTemplate([ConversationHistorySection()])
        async with Node() as node:
            for summary in (True, {"floor": 5}, {}):
                with pytest.raises(ValueError, match=r"context_summary.*context_template"):
                    await Agent.start(
                        node=node, instructions="x", context_summary=summary, context_template=template
                    )
            await Agent.start(node=node, name="fine", context_summary=False, context_template=template)
            assert node.agents == ("fine",)

    run(talk)


def test_over_two_hundred_turns_all_is_shown_or_told_in_the_summary() -> None:
    async def talk() -> None:
        model = Scripted(answer)
        async with Node() as node:
            agent = await Agent.start(node=node, instructions="Be brief.", model=model, context_summary=True)
            await spoken(node, agent, range(200))
            assert await agent.memory.get_message_count("", "") == 400
        told: set[int] = set()
        turn = 0
        for request in model.requests:
            messages = list(request.payload["messages"])
            if is_for_a_summary(messages):
                told |= set(lines(messages))
                continue
            shown = lines(messages)
            assert shown == list(range(shown[0], turn + 1)) and set(range(shown[0])) <= told
            assert (GIST in str(messages)) is (shown[0] > 0) and len(messages) <= 2 + 1 + 21
            turn += 1
        assert turn == 200 and len(asked_of(model, summaries=True)) >= 15

    run(talk)


def test_turns_with_tools_are_never_split() -> None:
    async def talk() -> None:
        def look() -> str:
            """Look."""
            return "seen"

        def busy(sent: Rendered) -> Any:
            messages = sent.payload["messages"]
            if is_for_a_summary(messages):
                return GIST
            last = messages[-1]
            return (
                "Well."
                if last["role"] == "tool"
                else [ToolCall(f"c{len(asked)}", "look"), ToolCall(f"d{len(asked)}", "look")]
            )

        asked: list[Rendered] = []

        def noted(sent: Rendered) -> Any:
            asked.append(sent)
            return busy(sent)

        model = Scripted(noted)  # it refuses what its provider would refuse: a call without its result
        async with Node() as node:
            agent = await Agent.start(
                node=node, model=model, tools=[look], context_summary={"floor": 5, "ceiling": 9}
            )
            await spoken(node, agent, range(40))
        assert len(asked_of(model, summaries=True)) >= 5

    run(talk)


def test_a_failed_summary_changes_nothing() -> None:
    async def talk() -> None:
        model, writer = Scripted(answer), Scripted(lambda sent: ModelFailed("no"))
        section = SummarizedHistorySection(summary_model=writer)
        async with Node() as node:
            agent = await Agent.start(node=node, model=model, context_template=ContextTemplate([section]))
            await spoken(node, agent, range(15))
            assert section.get_metrics()["background_tasks_failed"] == 1  # and then it rests for a while
            assert section.get_cache_info()["cached_conversations"] == 0
        assert lines(model.requests[-1].payload["messages"]) == list(range(15))

    run(talk)


def test_the_cache_of_a_conversation_is_known_by_the_scope_it_was_sent_in() -> None:
    async def talk() -> None:
        section = SummarizedHistorySection(summary_model=Clerk())
        async with Node() as node:
            template = ContextTemplate([section])
            agent = await Agent.start(
                node=node, name="helper", model=Scripted(answer), context_template=template
            )
            for n in range(11):
                await agent.send(f"line {n}.", scope="user123", conversation="conv456")
                await node.worker("helper", "user123", "conv456").agent.session.aio.close()
            assert section.get_cache_info()["conversations"] == [("user123", "conv456")]
            section.clear_cache(scope="user123", conversation="conv456")
            assert section.get_cache_info()["cached_conversations"] == 0

    run(talk)


def test_a_summary_is_there_after_a_restart(tmp_path: Any) -> None:
    async def talk() -> None:
        for turns in (range(11), range(11, 12)):
            model = Scripted(answer)
            async with Node(store=SQLiteStore(tmp_path / "talks.db")) as node:
                agent = await Agent.start(node=node, name="a", model=model, context_summary=True)
                await spoken(node, agent, turns)
        assert GIST in str(model.requests[0].payload) and asked_of(model, summaries=True) == []

    run(talk)


def test_models_are_named_and_need_no_key_to_be_named() -> None:
    async def talk() -> None:
        async with Node() as node:
            agent = await Agent.start(
                node=node,
                instructions="x",
                model=Model("claude-sonnet-4-v1"),
                context_summary={"model": Model("nova-micro-v1")},
            )
            assert node.worker(agent.name).agent.model.name.startswith("claude-sonnet-4")
            other = await Agent.start(node=node, instructions="x")
            assert node.worker(other.name).agent.model.name.startswith("claude-sonnet-4")

    run(talk)
