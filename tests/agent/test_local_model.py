"""The loop on the model of this machine: it is tiny, so shapes are held and never sense."""

import asyncio
from dataclasses import dataclass

import pytest

from quire import Message, Session, ToolCall
from quire.agent import Agent, Done, Limits, tool
from quire.stores import MemoryStore
from tests.agent.answering import assert_whole, results
from tests.models.answerers import NEEDS_LOCAL, shared_local

pytestmark = list(NEEDS_LOCAL)


@tool
async def order_status(number: int) -> str:
    """Look up where an order is."""
    return f"Order {number} left the warehouse on Monday."


@dataclass
class Mood:
    """How somebody feels."""

    is_happy: bool


def local_agent(**options: object) -> Agent:
    session = Session.open(store=MemoryStore())
    return Agent(session, model=shared_local(), instructions="Help.", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["whole", "streamed"])
def test_a_turn_with_tools_comes_to_its_end_and_is_whole(how: str) -> None:
    async def talk() -> None:
        agent = local_agent(tools=[order_status], limits=Limits(requests=3))
        if how == "whole":
            reply = await agent.ask("Where is order 17?")
        else:
            last = [delta async for delta in agent.stream("Where is order 17?")][-1]
            assert isinstance(last, Done)
            reply = last.reply
        assert reply.stop in ("done", "requests", "length") and reply.usage.input > 0
        for item in agent.session.view():
            assert not isinstance(item, ToolCall) or item.name == "order_status"
        assert len(results(agent)) == sum(isinstance(item, ToolCall) for item in reply.items)
        assert_whole(agent)

    asyncio.run(talk())


def test_a_call_can_be_forced_and_is_run() -> None:
    async def talk() -> None:
        agent = local_agent(tools=[order_status])
        agent.session.user("Where is order 17?")
        context = await agent.preview()
        sent = context.render("openai", model=agent.model.name)
        parsed = await agent.model.send(sent, tool_choice="order_status", max_tokens=60).whole()
        [called] = parsed.items
        assert isinstance(called, ToolCall) and called.name == "order_status" and parsed.finish == "calls"
        await agent.session.aio.record(parsed)
        reply = await agent.resume(limits=Limits(requests=1))
        assert results(agent)[0].call_id == called.call_id
        assert reply.stop in ("done", "requests", "length")

    asyncio.run(talk())


def test_an_answer_can_be_a_value() -> None:
    async def talk() -> None:
        reply = await local_agent().ask("I won a prize today!", output=Mood)
        assert isinstance(reply.output, Mood)
        assert any(isinstance(item, Message) for item in reply.items)

    asyncio.run(talk())
