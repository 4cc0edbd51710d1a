"""An answer that a limit of the agent ended: what comes back says so, and none of that is kept."""

import asyncio

from quire.bridges.autonomy import Agent, Node
from quire.models import Scripted


async def late(_: object) -> str:
    await asyncio.sleep(30)
    return "too late"


def test_who_waits_for_an_answer_hears_that_the_time_was_over() -> None:
    async def main() -> None:
        async with Node() as node:
            agent = await Agent.start(node, "Talk.", "slow", Scripted(late), max_execution_time=0.05)
            for told in (await agent.send("hi"), [one async for one in agent.send_stream("hi")]):
                [last] = told
                assert last["role"] == "assistant" and last["phase"] == "limit_reached"
                assert "max_execution_time was reached" in last["content"]["text"]
            kept = await agent.memory.get_messages_only("", "")
            assert [one["role"] for one in kept] == ["user", "user"]

    asyncio.run(main())
