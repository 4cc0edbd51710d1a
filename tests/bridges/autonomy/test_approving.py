"""Calls that wait for an approval, by the address of their conversation; and the time that streams have."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire import ToolCall
from quire.agent import tool
from quire.bridges.autonomy import Agent, Node
from quire.bridges.autonomy.reference import AgentReference
from quire.errors import Forgotten, InvalidValue
from quire.models import Scripted

HERE = ("ana", "monday")


class Refunds:
    """A tool that a person has to approve of."""

    def __init__(self) -> None:
        self.given: list[int] = []

    async def refund(self, amount: int = 50) -> str:
        """Give money back."""
        self.given.append(amount)
        return "given"

    async def started(self, node: Node, *replies: Any) -> AgentReference:
        tools = [tool(approve=True)(self.refund)]
        return await Agent.start(node, "Help.", "clerk", Scripted(replies), tools)


ASKED = ToolCall("c1", "refund", '{"amount": 5}')


@pytest.mark.parametrize(("decision", "given"), [(True, [5]), (False, []), ("not today", [])])
def test_a_call_is_decided_also_after_a_restart(
    tmp_path: Path, decision: bool | str, given: list[int]
) -> None:
    async def main() -> None:
        refunds = Refunds()
        async with Node(store=tmp_path / "talks.db") as node:
            agent = await refunds.started(node, ASKED)
            asked = (await agent.send("My money!", *HERE))[-1]
            assert asked["phase"] == "waiting_for_approval" and asked["tool_call_id"] == "c1"
            assert "refund" in asked["content"]["text"]
        async with Node(store=tmp_path / "talks.db") as node:
            agent = await refunds.started(node, "Well.")
            assert await agent.is_paused(*HERE)
            replies = await agent.decide({"c1": decision}, *HERE)
            assert [one["role"] for one in replies] == ["tool", "assistant"]
            assert replies[-1]["content"]["text"] == "Well." and refunds.given == given
            assert not await agent.is_paused(*HERE)

    asyncio.run(main())


def test_what_waits_is_not_run_once_the_memory_of_it_is_cleared(tmp_path: Path) -> None:
    async def main() -> None:
        refunds = Refunds()
        async with Node(store=tmp_path / "talks.db") as node:
            agent = await refunds.started(node, ASKED)
            await agent.send("My money!", *HERE)
            await agent.memory.clear_short_term_memory(*HERE)
        async with Node(store=tmp_path / "talks.db") as node:
            agent = await refunds.started(node, "Hello.")
            with pytest.raises(Forgotten):
                await agent.decide({"c1": True}, *HERE)
            assert (await agent.send("Hi.", *HERE))[-1]["content"]["text"] == "Hello."
        assert refunds.given == []

    asyncio.run(main())


def test_calls_under_one_id_are_decided_by_their_own() -> None:
    async def main() -> None:
        refunds = Refunds()
        async with Node() as node:
            much = ToolCall("c1", "refund", '{"amount": 5000}')
            agent = await refunds.started(node, [ASKED, much], "Well.")
            *_, little, large = await agent.send("My money!", *HERE)
            assert little["tool_call_id"] == large["tool_call_id"] == "c1"
            with pytest.raises(InvalidValue, match=little["id"]):
                await agent.decide({"c1": True}, *HERE)
            await agent.decide({little["id"]: True, large["id"]: False}, *HERE)
            assert refunds.given == [5]

    asyncio.run(main())


def test_a_decision_is_told_as_it_comes() -> None:
    async def main() -> None:
        refunds = Refunds()
        async with Node() as node:
            agent = await refunds.started(node, ASKED, "It is given.")
            await agent.send("My money!", *HERE)
            told = [one async for one in agent.decide_stream({"c1": True}, *HERE)]
            words = "".join(one["content"]["text"] for one in told if one.get("partial"))
            assert words == "It is given." and refunds.given == [5]

    asyncio.run(main())


def test_a_listener_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop, spent = asyncio.get_running_loop(), [0.0]
        true_time = loop.time
        monkeypatch.setattr(loop, "time", lambda: true_time() + spent[0])
        async with Node() as node:
            agent = await Agent.start(node, "Talk.", "talker", Scripted(["word " * 60]))
            words = ""
            async for one in agent.send_stream("hi", timeout=60):
                spent[0] += 5  # in all more than the timeout
                await asyncio.sleep(0)
                words += one["content"]["text"]
            assert words == "word " * 60

    asyncio.run(main())


@pytest.mark.parametrize("verb", ["send", "send_stream"])
def test_an_agent_that_takes_too_long_is_a_timeout_and_nothing_else(verb: str) -> None:
    async def hangs(_: object) -> str:
        await asyncio.sleep(600)
        return "never"

    async def main() -> None:
        async with Node() as node:
            agent = await Agent.start(node, "Talk.", "talker", Scripted([hangs, "Here."]))
            with pytest.raises(TimeoutError):
                if verb == "send":
                    await agent.send("hi", timeout=0.05)
                else:
                    async for _ in agent.send_stream("hi", timeout=0.05):
                        pass
            assert (await agent.send("hi"))[-1]["content"]["text"] == "Here."

    asyncio.run(main())


def test_a_listener_that_leaves_early_stops_the_answer() -> None:
    async def main() -> None:
        async with Node() as node:
            agent = await Agent.start(node, "Talk.", "talker", Scripted(["word " * 500, "Here."]))
            stream = agent.send_stream("hi", timeout=60)
            await anext(stream)
            await stream.aclose()
            assert (await agent.send("hi"))[-1]["content"]["text"] == "Here."

    asyncio.run(main())
