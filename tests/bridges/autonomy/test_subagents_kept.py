"""Subagents of an agent that was started again: what they ask is answered, and their calls are decided."""

import asyncio
from pathlib import Path
from typing import Any

from quire import ToolCall
from quire.agent import tool
from quire.agent.builtin import ask_user
from quire.bridges.autonomy import Agent, Node
from quire.bridges.autonomy.reference import AgentReference
from quire.models import Scripted


@tool(approve=True)
async def refund() -> str:
    """Give money back."""
    await asyncio.sleep(0)
    return "given"


async def started(node: Node, boss: Any, clerk: Any) -> AgentReference:
    told = {"instructions": "You are the clerk.", "model": Scripted(clerk), "tools": [ask_user, refund]}
    return await Agent.start(node, "You are the boss.", "boss", Scripted(boss), subagents={"clerk": told})


def given(to: str, task: str) -> ToolCall:
    return ToolCall("d1", "delegate", f'{{"to": "{to}", "task": "{task}"}}')


def test_a_question_of_a_subagent_is_answered_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        asks = ToolCall("k1", "ask_user", '{"question": "How much?"}')
        async with Node(store=tmp_path / "talks.db") as node:
            agent = await started(node, [given("clerk", "Give it back."), "How much?"], [asks])
            await agent.send("My money!", "ana")
        async with Node(store=tmp_path / "talks.db") as node:
            agent = await started(node, [given("clerk-1", "Five."), "Done."], ["Five it is."])
            replies = await agent.send("Five.", "ana")
            assert [one["content"]["text"] for one in replies[-2:]] == ["Five it is.", "Done."]

    asyncio.run(main())


def test_a_call_of_a_subagent_is_decided_by_its_own_agent_and_what_it_sees(tmp_path: Path) -> None:
    async def main() -> None:
        async with Node(store=tmp_path / "talks.db") as node:
            replies = [given("clerk", "Give it back."), "It waits."]
            agent = await started(node, replies, [ToolCall("k1", "refund")])
            await agent.send("My money!", "ana", "one")
        async with Node(store=tmp_path / "talks.db") as node:
            seen: list[str] = []

            def clerk(request: Any) -> str:
                seen.append(str(request["messages"][0]))
                return "It is given."

            agent = await started(node, [], clerk)
            [child] = node.members("boss", scope="ana", conversation="one")
            assert await agent.is_paused("ana", child)
            replies_of_it = await agent.decide({"k1": True}, "ana", child)
            assert [one["content"]["text"] for one in replies_of_it] == ["given", "It is given."]
            assert "You are the clerk." in seen[0] and "boss" not in seen[0]

    asyncio.run(main())
