"""Calls that another answers first: what was to be recorded with their results is recorded all the same."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from quire import Message, Session, ToolCall, ToolResult
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import ask_user
from quire.models import Scripted
from quire.session import Adding, Hook
from quire.stores import MemoryStore, SQLiteStore, Store
from tests.agent.answering import Gate, assert_whole, call, results, run


@tool(approve=True)
async def pay() -> str:
    """Pay."""
    return "paid"


class Quicker:
    """Answers a call in the moment in which another is about to record something, once."""

    def __init__(self, stores: Callable[[], Store], call_id: str) -> None:
        self._stores, self._call_id = stores, call_id
        self.is_watching = False
        self.hook = Hook(self.answer, (Adding,), name="quicker")

    async def answer(self, _: Adding) -> None:
        if self.is_watching:
            self.is_watching = False
            other = Session.open("ana/one", store=self._stores())
            other.tool("by hand", call_id=self._call_id)


@pytest.fixture(params=["this process", "another"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """A store that two share, or two that share a file."""
    if request.param == "this process":
        one = MemoryStore()
        return lambda: one
    return lambda: SQLiteStore(tmp_path / "a.db")


def _said(agent: Agent) -> list[str]:
    return [item.text for item in agent.session.view() if isinstance(item, Message) and item.role == "user"]


@pytest.mark.parametrize("answered", ["c1", "c2"])
def test_a_message_is_recorded_though_another_answers_a_call_first(
    answered: str, stores: Callable[[], Store]
) -> None:
    async def talk() -> None:
        quicker = Quicker(stores, answered)
        session = Session.open("ana/one", store=stores(), hooks=[quicker.hook])
        calls = [call("pay", "{}", "c1"), call("pay", "{}", "c2")]
        agent = Agent(session, model=Scripted([calls, "As you wish."]), tools=[pay])
        assert (await agent.ask("pay")).stop == "waiting"
        quicker.is_watching = True
        assert (await agent.ask("No, wait.")).text == "As you wish."
        assert _said(agent) == ["pay", "No, wait."]
        told = {one.call_id: one.text for one in results(agent)}
        assert told.pop(answered) == "by hand" and all("not run" in text for text in told.values())
        assert_whole(agent)

    run(talk)


def test_what_was_to_be_an_answer_is_a_message_where_another_answered(stores: Callable[[], Store]) -> None:
    async def talk() -> None:
        quicker = Quicker(stores, "c1")
        session = Session.open("ana/one", store=stores(), hooks=[quicker.hook])
        asked = call("ask_user", '{"question": "Which?"}', "c1")
        agent = Agent(session, model=Scripted([asked, "Well."]), tools=[ask_user])
        await agent.ask("A pen.")
        quicker.is_watching = True
        assert (await agent.ask("Blue.")).text == "Well."
        assert _said(agent) == ["A pen.", "Blue."] and results(agent)[0].text == "by hand"
        assert_whole(agent)

    run(talk)


def test_what_was_left_is_settled_though_another_answers_some_of_it(stores: Callable[[], Store]) -> None:
    async def talk() -> None:
        before = Session.open("ana/one", store=stores())
        before.user("go")
        before.append(*(calls := [ToolCall("c1", "gate"), ToolCall("c2", "gate")]))
        await before.steps.begin(*calls)
        quicker = Quicker(stores, "c1")
        session = Session.open("ana/one", store=stores(), hooks=[quicker.hook])
        agent = Agent(session, model=Scripted(["Well."]), tools=[Gate().tool])
        quicker.is_watching = True
        assert (await agent.resume()).text == "Well."
        told = {one.call_id: one for one in results(agent)}
        assert told["c1"].text == "by hand" and told["c2"].extras["uncertain"] is True
        assert_whole(agent)

    run(talk)


def test_a_turn_is_tidied_though_another_answers_some_of_its_calls(stores: Callable[[], Store]) -> None:
    async def talk() -> None:
        gate, quicker = Gate(), Quicker(stores, "c1")
        session = Session.open("ana/one", store=stores(), hooks=[quicker.hook])
        calls = [call("gate", "{}", "c1"), call("gate", "{}", "c2")]
        agent = Agent(session, model=Scripted([calls]), tools=[gate.tool])
        asking = asyncio.create_task(agent.ask("go"))
        await gate.begun.wait()
        quicker.is_watching = True
        await agent.interrupt()
        reply = await asking
        assert reply.stop == "interrupted"
        told = {one.call_id: one for one in results(agent)}
        assert told["c1"].text == "by hand" and told["c2"].extras["uncertain"] is True
        assert [item.call_id for item in reply.items if isinstance(item, ToolResult)] == ["c2"]
        assert_whole(agent)

    run(talk)


def test_what_the_user_says_is_recorded_though_the_time_is_up() -> None:
    async def slowly(_: Adding) -> None:
        await asyncio.sleep(0.02)

    async def talk() -> None:
        session = Session.open("ana/one", store=MemoryStore(), hooks=[Hook(slowly, (Adding,))])
        agent = Agent(session, model=Scripted(["Later."]))
        assert (await agent.ask("first", limits=Limits(seconds=0.01))).stop == "seconds"
        assert _said(agent) == ["first"]
        assert (await agent.resume()).text == "Later."

    run(talk)


@pytest.mark.parametrize("first", ["seconds", "interrupted"])
def test_what_is_broken_off_already_ends_as_it_would_have(first: str) -> None:
    async def talk() -> None:
        tidying, go = asyncio.Event(), asyncio.Event()

        async def hold(event: Adding) -> None:
            if any(isinstance(item, ToolResult) for item in event.items):
                tidying.set()
                await go.wait()

        gate = Gate()
        session = Session.open("ana/one", store=MemoryStore(), hooks=[Hook(hold, (Adding,))])
        agent = Agent(session, model=Scripted([call("gate"), "Later."]), tools=[gate.tool])
        limits = Limits(seconds=0.05 if first == "seconds" else None)
        asking = asyncio.create_task(agent.ask("first", limits=limits))
        await gate.begun.wait()
        stops = [asyncio.create_task(agent.interrupt())] if first == "interrupted" else []
        await tidying.wait()
        again = asyncio.create_task(agent.ask("second"))
        for _ in range(10):
            await asyncio.sleep(0)
        go.set()
        assert (await asking).stop == first and (await again).text == "Later."
        await asyncio.gather(*stops)
        assert _said(agent) == ["first", "second"] and len(results(agent)) == 1
        assert_whole(agent)

    run(talk)
