"""An answer that ended before it was done: what comes back says so, and none of that is kept."""

import asyncio
from typing import Any, get_args

import pytest

from quire.agent.reply import Stop
from quire.bridges.autonomy import Agent, Node
from quire.bridges.autonomy.reference import _UNDONE  # pyright: ignore[reportPrivateUsage]
from quire.errors import InvalidValue
from quire.items import Message
from quire.models import Scripted
from quire.providers import Parsed


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


@pytest.mark.parametrize(
    ("parsed", "phase", "said"),
    [
        (Parsed((), finish="refused"), "refused", []),
        (Parsed((Message("assistant", "No."),), finish="refused"), "refused", ["No."]),
        (Parsed((Message("assistant", "Half of"),), finish="length"), "cut_off", ["Half of"]),
    ],
)
def test_who_waits_hears_that_the_model_was_not_done(parsed: Parsed, phase: str, said: list[str]) -> None:
    async def main() -> None:
        async with Node() as node:
            agent = await Agent.start(node, "Talk.", "brief", Scripted([parsed], repeat=True))
            *before, last = await agent.send("hi")
            assert [one["content"]["text"] for one in before] == said
            assert last["role"] == "assistant" and last["phase"] == phase and last["content"]["text"]
            assert [one async for one in agent.send_stream("hi")][-1] == last
            kept = await agent.memory.get_messages_only("", "")
            assert not any("phase" in one for one in kept)

    asyncio.run(main())


def test_who_waits_hears_that_the_node_was_stopped() -> None:
    async def main() -> None:
        node = Node()
        agent = await Agent.start(node, "Talk.", "slow", Scripted(late))
        answer = asyncio.ensure_future(agent.send("hi"))
        while (await agent.get_conversation_state())["state"] != "running":
            await asyncio.sleep(0.01)
        await node.stop(grace=0)
        [last] = await answer
        assert last["phase"] == "interrupted"

    asyncio.run(main())


def test_every_reason_but_those_of_a_whole_answer_is_told() -> None:
    assert _UNDONE.keys() == set(get_args(Stop)) - {"done", "waiting"}


@pytest.mark.parametrize(
    "nothing", ["", {"role": "user", "content": ""}, [""], [], {"text": "", "type": "text"}]
)
def test_nothing_is_not_asked(nothing: Any) -> None:
    async def main() -> None:
        async with Node() as node:
            agent = await Agent.start(node, "Talk.", "brief", Scripted(["Hm."]))
            with pytest.raises(InvalidValue, match="nothing is asked"):
                await agent.send(nothing)
            with pytest.raises(InvalidValue, match="nothing is asked"):
                assert not [one async for one in agent.send_stream(nothing)]
            assert await agent.memory.get_message_count("", "") == 0

    asyncio.run(main())
