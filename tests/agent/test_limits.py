"""Limits of a question: requests, seconds, calls and cost, also of agents that are asked on the way."""

import asyncio
import contextvars
from typing import Any

import pytest

from quire import Message, Session, ToolCall
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import Role, delegating_tools
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.providers import Parsed
from quire.stores import MemoryStore
from quire.tokens import Prices, Usage
from tests.agent.answering import call, look, results

USED = Usage(input=100, output=10_000)
NAME = "gpt-5.6"
TASK = call("delegate", '{"to": "worker", "task": "Look."}')
TASKS = call("delegate_in_parallel", '{"role": "worker", "tasks": ["1", "2", "3"]}')


def priced(*replies: str | ToolCall, name: str = NAME) -> Scripted:
    """A model whose every answer costs the same."""
    items = [Message("assistant", one) if isinstance(one, str) else one for one in replies]
    return Scripted([Parsed((item,), USED, "stop", NAME) for item in items], name=name, repeat=True)


async def price() -> float:
    return (await Agent(instructions="x", model=priced("x")).ask("x")).cost


def worker(session: Session) -> Agent:
    return Agent(session, model=priced(call("look"), "Looked."), tools=[look])


def boss(given: ToolCall, cost: float | None = None, tools: Any = (), make: Any = worker) -> Agent:
    own = [*delegating_tools(Role(name="worker", description="Works.", make=make)), *tools]
    session = Session.open("ana/one", store=MemoryStore())
    return Agent(session, model=priced(given, "Done."), tools=own, limits=Limits(cost=cost))


@pytest.mark.parametrize(("given", "requests"), [(TASK, 4), (TASKS, 8)])
async def test_the_reply_counts_agents_that_were_asked_on_the_way(given: ToolCall, requests: int) -> None:
    reply = await boss(given).ask("go")
    assert reply.usage.output == requests * USED.output
    assert reply.cost == pytest.approx(requests * await price())


async def test_a_limit_of_cost_stops_them_too() -> None:
    one = await price()
    agent = boss(TASK, cost=1.5 * one)
    reply = await agent.ask("go")
    assert reply.stop == "cost" and reply.cost == pytest.approx(2 * one)
    assert "stopped before it was done (cost)" in results(agent)[0].text


async def test_an_agent_that_a_tool_asks_is_counted_however_it_is_asked() -> None:
    inner = Agent(instructions="Within.", model=priced("x"))

    @tool
    async def streamed() -> str:
        return str([delta async for delta in inner.stream("x")])

    @tool
    def in_a_thread() -> str:
        return str(Agent(instructions="Within.", model=priced("x")).ask_sync("x"))

    for one in (streamed, in_a_thread):
        assert (await boss(call(one.name), tools=[one]).ask("go")).usage.output == 3 * USED.output, one.name


async def test_a_turn_that_a_tool_left_for_later_is_not_limited_by_it() -> None:
    contexts: list[contextvars.Context] = []

    @tool
    async def remember() -> str:
        contexts.append(contextvars.copy_context())
        return "remembered"

    assert (await boss(call("remember"), tools=[remember], cost=await price()).ask("go")).stop == "cost"
    later = Agent(instructions="x", model=priced("Later.")).ask("x")
    task = asyncio.get_running_loop().create_task(later, context=contexts[0])
    assert (await task).text == "Later."


def unpriced(*replies: Any, kind: type[Scripted] = Scripted) -> Scripted:
    return kind(replies, name="own-model", repeat=True)


async def test_a_cost_limit_with_an_unknown_price_is_an_error_before_the_next_request() -> None:
    model = unpriced(call("look"), "Looked.")
    agent = Agent(instructions="x", model=model, tools=[look])
    with pytest.raises(InvalidValue, match=r"Limits\.cost.*'own-model'"):
        await agent.ask("look", limits=Limits(cost=1.0))
    assert len(model.requests) == 1
    assert (await agent.resume(limits=Limits(requests=5))).text == "Looked."

    def make(session: Session) -> Agent:
        return Agent(session, model=unpriced("Looked."))

    with pytest.raises(InvalidValue, match="own-model"):
        await boss(TASK, cost=1e6, make=make).ask("go")


async def test_prices_come_from_the_session_and_local_models_cost_nothing() -> None:
    class Here(Scripted):
        context = 4_096

    paid = Session.open(store=MemoryStore(), prices={"own-model": Prices(input=1.0, output=1.0)})
    for session, kind in ((paid, Scripted), (Session.open(store=MemoryStore()), Here)):
        model = unpriced(call("look"), "Looked.", kind=kind)
        reply = await Agent(session, model=model, tools=[look], limits=Limits(cost=1.0)).ask("look")
        assert reply.text == "Looked." and (reply.cost > 0) is (session is paid)
