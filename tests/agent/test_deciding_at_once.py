"""Two who decide different calls of one reply at the same moment, in processes of their own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire import Session, ToolCall
from quire.agent import Agent, Limits, Reply, tool
from quire.models import Scripted
from quire.stores import SQLiteStore
from tests.agent.answering import agent_of, assert_whole, call, results, run

BOTH = [call("pay", '{"amount": 1}', "one"), call("pay", '{"amount": 2}', "two")]


class Office:
    """Two people before one store. Each is asked of the other's call first, so that both have begun."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._together = asyncio.Barrier(2)
        self.paid: list[int] = []

    def agent(self) -> Agent:
        session = Session.open("ana/one", store=SQLiteStore(self._path))
        model = Scripted(lambda sent: "Paid." if sent["messages"][-1]["role"] == "tool" else BOTH)
        return Agent(session, model=model, tools=[tool(name="pay", approve=True)(self._pay)])

    async def decide(self, decision: dict[str, bool | str]) -> Reply:
        agent = self.agent()
        agent.speaker = agent.speaker._replace(approver=self._ask)
        return await agent.decide(decision)

    async def _ask(self, asked: ToolCall) -> Any:
        async with asyncio.timeout(10), self._together:
            return None

    async def _pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return f"paid {amount}"


@pytest.mark.parametrize("second", [True, "too much"])
def test_one_of_them_goes_on(tmp_path: Path, second: bool | str) -> None:
    async def talk() -> None:
        office = Office(tmp_path / "x.db")
        agent = office.agent()
        assert len((await agent.ask("pay")).waiting) == 2
        replies = await asyncio.gather(office.decide({"one": True}), office.decide({"two": second}))
        assert sorted(reply.stop for reply in replies) == ["done", "waiting"]
        assert [reply.text for reply in replies if reply.stop == "done"] == ["Paid."]
        assert [len(reply.waiting) for reply in replies if reply.stop == "waiting"] == [1]
        assert sorted(office.paid) == ([1, 2] if second is True else [1])
        await agent.session.aio.refresh()
        assert len(results(agent)) == 2
        assert_whole(agent)

    run(talk)


def test_a_call_that_is_refused_is_not_one_of_those_that_are_limited(tmp_path: Path) -> None:
    async def talk() -> None:
        office = Office(tmp_path / "x.db")
        pay = office.agent().tools[0]
        agent = agent_of(BOTH, "Paid.", tools=[pay])
        await agent.ask("pay")
        reply = await agent.decide({"one": "no", "two": True}, limits=Limits(calls=1))
        assert reply.text == "Paid." and office.paid == [2]

    run(talk)


@pytest.mark.parametrize("most", [1, 2])
def test_nor_is_one_that_an_approver_refuses(most: int) -> None:
    async def talk() -> None:
        asked: list[str] = []

        def approver(one: ToolCall) -> bool:
            asked.append(one.call_id)
            return one.call_id != "one"

        paid: list[int] = []

        @tool(approve=True)
        async def pay(amount: int) -> str:
            """Pay."""
            paid.append(amount)
            return "paid"

        calls = [*BOTH, call("pay", '{"amount": 3}', "three"), call("pay", '{"amount": 4}', "four")]
        agent = agent_of(calls, tools=[pay], approver=approver, limits=Limits(calls=most))
        assert (await agent.ask("pay")).stop == "calls"
        assert paid == [2, 3][:most]
        assert asked == ["one", "two", "three"][: most + 1]  # and nobody is asked of what is not run
        assert ["not approved" in result.text for result in results(agent)].count(True) == 1
        assert_whole(agent)

    run(talk)
