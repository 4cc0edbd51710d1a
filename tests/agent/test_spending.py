"""What agents spend that are asked on the way to an answer: the question spends it, and its limits hold."""

import asyncio
import contextvars
from collections.abc import Iterable
from typing import Any

import pytest

from quire import Message, Session, ToolCall
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import Role, delegating_tools
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.providers import Parsed
from quire.session import Metered
from quire.stores import MemoryStore
from quire.tokens import Prices, Usage
from tests.agent.answering import call, results, run

_USED = Usage(input=100, output=10_000)  # little to read: the counter learns from it
_NAME = "gpt-5.6"


def priced(reply: str | ToolCall) -> Parsed:
    """An answer that costs something."""
    if isinstance(reply, str):
        return Parsed((Message("assistant", reply),), _USED, "stop", _NAME)
    return Parsed((reply,), _USED, "calls", _NAME)


def answering(*replies: Any) -> Scripted:
    return Scripted([priced(reply) for reply in replies], name=_NAME, repeat=True)


@tool
async def look() -> str:
    """Look."""
    return "seen"


def worker(session: Session) -> Agent:
    """One that asks its model twice, if it is let."""
    return Agent(session, model=answering(call("look"), "Looked."), tools=[look])


def role(**options: Any) -> Role:
    return Role(name="worker", description="Works.", make=worker, **options)


def boss(given: ToolCall, *roles: Role, cost: float | None = None, tools: Any = ()) -> Agent:
    session = Session.open("ana/one", store=MemoryStore())
    own = [*delegating_tools(*roles), *tools] if roles else tools
    return Agent(session, model=answering(given, "Done."), tools=own, limits=Limits(cost=cost))


TASK = call("delegate", '{"to": "worker", "task": "Look."}')
TASKS = call("delegate_in_parallel", '{"role": "worker", "tasks": ["1", "2", "3"]}')


async def price() -> float:
    alone = Agent("x", model=answering("x"))
    return (await alone.ask("x")).cost


@pytest.mark.parametrize(("given", "requests"), [(TASK, 4), (TASKS, 8)])
def test_what_they_spend_is_in_the_reply(given: ToolCall, requests: int) -> None:
    async def talk() -> None:
        reply = await boss(given, role()).ask("go")
        assert reply.text == "Done." and reply.usage.output == requests * _USED.output
        assert reply.cost == pytest.approx(requests * await price())

    run(talk)


def test_a_limit_stops_them_too() -> None:
    async def talk() -> None:
        one = await price()
        agent = boss(TASK, role(), cost=1.5 * one)
        reply = await agent.ask("go")
        assert reply.stop == "cost" and reply.cost == pytest.approx(2 * one)
        assert "stopped before it was done (cost)" in results(agent)[0].text

    run(talk)


def test_one_that_was_started_is_counted_once_for_each_task() -> None:
    async def talk() -> None:
        agent = Agent(
            Session.open("ana/one", store=MemoryStore()),
            model=answering(
                call("start_agent", '{"role": "worker"}', "c1"),
                call("delegate", '{"to": "worker-1", "task": "Look."}', "c2"),
                call("delegate", '{"to": "worker-1", "task": "Look."}', "c3"),
                "Done.",
            ),
            tools=delegating_tools(role()),
        )
        assert (await agent.ask("go")).usage.output == 8 * _USED.output

    run(talk)


def test_the_words_that_come_back_of_one_are_counted_too() -> None:
    async def talk() -> None:
        reply = await boss(TASK, role(returns="summary")).ask("go")
        assert reply.usage.output == 5 * _USED.output

    run(talk)


def test_an_agent_that_a_tool_asks_is_counted_wherever_it_asks() -> None:
    inner = Agent("Within.", model=answering("x"))

    @tool
    async def awaited() -> str:
        """Ask another."""
        return str(await inner.ask("x"))

    @tool
    async def streamed() -> str:
        """Ask another, and listen."""
        return str([delta async for delta in inner.stream("x")])

    @tool
    def in_a_thread() -> str:
        """Ask another from a thread."""
        return str(Agent("Within.", model=answering("x")).ask_sync("x"))

    async def talk() -> None:
        for name in ("awaited", "streamed", "in_a_thread"):
            agent = boss(call(name), tools=[awaited, streamed, in_a_thread])
            assert (await agent.ask("go")).usage.output == 3 * _USED.output, name

    run(talk)


def test_what_is_asked_after_the_end_is_not_limited_by_it() -> None:
    async def talk() -> None:
        one = await price()
        later: list[Any] = []

        @tool
        async def remember() -> str:
            """Leave something to be done later."""
            later.append((asyncio.get_running_loop(), contextvars.copy_context()))
            return "remembered"

        agent = boss(call("remember"), tools=[remember], cost=one)
        assert (await agent.ask("go")).stop == "cost"
        loop, context = later[0]
        task = loop.create_task(Agent("x", model=answering("Later.")).ask("x"), context=context)
        assert (await task).text == "Later."

    run(talk)


class Paid(Metered):
    """A model that somebody is paid for, unlike `Scripted`, whatever its name."""

    def __init__(self, replies: Iterable[Any], name: str) -> None:
        super().__init__(scripted := Scripted(replies, name=name, repeat=True), {})
        self.requests = scripted.requests


def unpriced(*replies: Any, name: str = "own-model") -> Paid:
    return Paid(replies, name)


def test_money_is_not_limited_where_nobody_knows_the_price() -> None:
    async def talk() -> None:
        model = unpriced(call("look"), "Looked.")
        agent = Agent("x", model=model, tools=[look], limits=Limits(cost=1.0))
        with pytest.raises(InvalidValue, match=r"Limits\.cost.*'own-model'"):
            await agent.ask("look")
        assert len(model.requests) == 1 and results(agent)[0].text == "seen"
        assert (await agent.resume(limits=Limits(requests=5))).text == "Looked."

    run(talk)


def test_the_price_is_that_of_the_model_that_answered() -> None:
    async def talk() -> None:
        replies = [priced(call("look")), priced("Looked.")]
        agent = Agent("x", model=unpriced(*replies, name="our-deployment"), tools=[look])
        reply = await agent.ask("look", limits=Limits(cost=1e6))
        assert reply.stop == "done" and reply.cost > 0

    run(talk)


def test_the_money_of_a_question_is_not_limited_where_another_spends_unknown_sums() -> None:
    def unknown(session: Session) -> Agent:
        return Agent(session, model=unpriced("Looked."))

    async def talk() -> None:
        own = Role(name="worker", description="Works.", make=unknown)
        with pytest.raises(InvalidValue, match="own-model"):
            await boss(TASK, own, cost=1e6).ask("go")
        assert (await boss(TASK, own).ask("go")).text == "Done."

    run(talk)


def test_a_model_that_runs_here_is_not_paid() -> None:
    class Here(Paid):
        context = 4_096

    async def talk() -> None:
        agent = Agent("x", model=Here([call("look"), "Looked."], "own-model"), tools=[look])
        assert (await agent.ask("look", limits=Limits(cost=1.0))).text == "Looked."

    run(talk)


@pytest.mark.parametrize("name", ["scripted", "own-model"])
def test_a_model_that_says_what_it_was_given_to_say_is_not_paid(name: str) -> None:
    async def talk() -> None:
        agent = Agent("x", model=Scripted([call("look"), "Looked."], name=name), tools=[look])
        reply = await agent.ask("look", limits=Limits(cost=1.0))
        assert reply.text == "Looked." and reply.cost == 0

    run(talk)


def test_a_model_that_says_what_it_was_given_to_say_has_the_price_of_its_name() -> None:
    async def talk() -> None:
        agent = Agent("x", model=answering(call("look"), "Looked."), tools=[look])
        reply = await agent.ask("look", limits=Limits(cost=await price() / 2))
        assert reply.stop == "cost" and reply.cost > 0

    run(talk)


def test_prices_that_the_session_was_given_hold() -> None:
    async def talk() -> None:
        session = Session.open(store=MemoryStore(), prices={"own-model": Prices(input=1.0, output=1.0)})
        agent = Agent(session, model=unpriced(call("look"), "Looked."), tools=[look])
        reply = await agent.ask("look", limits=Limits(cost=1.0))
        assert reply.text == "Looked." and reply.cost > 0

    run(talk)
