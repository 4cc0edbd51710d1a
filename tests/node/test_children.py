"""Agents that work for one of a node: found, asked and decided for at the address of each."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire import Session
from quire.agent import Agent, tool
from quire.agent.builtin import Role, ask_user, delegating_tools
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.node import Node
from tests.agent.answering import call

HERE: dict[str, Any] = {"scope": "ana", "conversation": "one"}
CHILD: dict[str, Any] = {"scope": "ana", "conversation": "one/clerk-1"}
REFUND = call("refund", "{}", "k1")
TO_CLERK = call("delegate", '{"to": "clerk", "task": "Give it back."}')


class Office:
    """A node with an agent that has a clerk, and the clerk gives money back where a person approves."""

    def __init__(self, clerk: Any, boss: Any, store: Path | None = None, idle: float = 300.0) -> None:
        self.given_back = 0
        self._clerk, self._boss = clerk, boss
        self.node = Node(store=store, idle=idle)
        self.node.add("boss", self.make_boss)

    def _make_clerk(self, session: Session) -> Agent:
        tools = [ask_user, tool(approve=True)(self.refund)]
        return Agent(session, model=Scripted(self._clerk), tools=tools, name="clerk")

    def make_boss(self, session: Session) -> Agent:
        role = Role(name="clerk", description="Gives back.", make=self._make_clerk)
        return Agent(session, model=Scripted(self._boss), tools=delegating_tools(role), name="boss")

    async def refund(self) -> str:
        """Give money back."""
        self.given_back += 1
        return "given"


@pytest.mark.parametrize(("decision", "given"), [(True, 1), (False, 0), ("not today", 0)])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_call_of_a_child_is_found_and_decided(
    tmp_path: Path, decision: bool | str, given: int, is_restarted: bool
) -> None:
    async def serve() -> None:
        office = Office([REFUND, "Well."], [TO_CLERK, "It waits."], tmp_path / "node.db")
        await office.node.send("boss", "My money!", **HERE)
        if is_restarted:
            await office.node.stop()
            office = Office(["Well."], [], tmp_path / "node.db")
        assert office.node.waiting("boss", **HERE) == ()
        [child] = office.node.members("boss", **HERE)
        assert child == CHILD["conversation"] and office.node.state("boss", **CHILD) == "waiting"
        [waiting] = office.node.waiting("boss", scope="ana", conversation=child)
        reply = await office.node.decide("boss", {waiting.call_id: decision}, **CHILD)
        assert (reply.text, reply.agent, office.given_back) == ("Well.", "clerk", given)
        assert office.node.state("boss", **CHILD) == "idle"
        await office.node.stop()

    asyncio.run(serve())


def test_a_child_that_was_stopped_can_still_be_decided_for() -> None:
    async def serve() -> None:
        stop = call("stop_agent", '{"name": "clerk-1"}')

        def clerk(request: Any) -> Any:
            return REFUND if request["messages"][-1]["role"] == "user" else "Given."

        office = Office(clerk, [TO_CLERK, stop, "Stopped."])
        await office.node.send("boss", "My money!", **HERE)
        assert office.node.members("boss", **HERE) == ()
        reply = await office.node.decide("boss", {"k1": True}, **CHILD)
        assert reply.text == "Given." and office.given_back == 1
        await office.node.stop()

    asyncio.run(serve())


def test_a_child_that_asks_is_answered_after_its_worker_was_let_go() -> None:
    async def serve() -> None:
        asks = call("ask_user", '{"question": "How much?"}', "k1")
        answer = call("delegate", '{"to": "clerk-1", "task": "Five."}', "d2")

        def clerk(request: Any) -> Any:
            last = request["messages"][-1]
            return asks if last["role"] == "user" else f"Heard {last['content']}"

        def boss(request: Any) -> Any:
            last = request["messages"][-1]
            if last["role"] == "tool":
                return last["content"]
            return answer if last["content"] == "Five." else TO_CLERK

        office = Office(clerk, boss, idle=0)
        assert "How much?" in str(await office.node.send("boss", "My money!", **HERE))
        await office.node.send("boss", "Five.", scope="other")  # lets the first one go
        assert str(await office.node.send("boss", "Five.", **HERE)) == "Heard Five."
        await office.node.stop()

    asyncio.run(serve())


def test_children_of_children_have_addresses_too() -> None:
    async def serve() -> None:
        office = Office([REFUND, "Given."], [call("start_agent", '{"role": "clerk"}'), TO_CLERK, "It waits."])

        def chief(session: Session) -> Agent:
            role = Role(name="boss", description="Has clerks.", make=office.make_boss)
            task = call("delegate", '{"to": "boss", "task": "Give it back."}')
            return Agent(
                session, model=Scripted([task, "It waits."]), tools=delegating_tools(role), name="chief"
            )

        office.node.add("chief", chief)
        await office.node.send("chief", "My money!", **HERE)
        assert office.node.members("chief", **HERE) == ("one/boss-1",)  # for which another waits
        deep: dict[str, Any] = {"scope": "ana", "conversation": "one/boss-1/clerk-2"}
        assert office.node.members("chief", scope="ana", conversation="one/boss-1") == (
            "one/boss-1/clerk-1",
            "one/boss-1/clerk-2",
        )
        reply = await office.node.decide("chief", {"k1": True}, **deep)
        assert reply.text == "Given." and office.given_back == 1
        await office.node.stop()

    asyncio.run(serve())


def test_a_conversation_with_a_slash_in_its_name_is_nobodys_child() -> None:
    async def serve() -> None:
        office = Office(["x"], ["Good day."])
        reply = await office.node.send("boss", "hi", scope="ana", conversation="one/clerk-1")
        assert reply.agent == "boss" and office.node.members("boss", scope="ana") == ()
        await office.node.stop()

    asyncio.run(serve())


def test_an_agent_without_the_tool_decides_nothing_of_its_call() -> None:
    async def serve() -> None:
        office = Office([REFUND, "Well."], [TO_CLERK, "It waits."])
        await office.node.send("boss", "My money!", **HERE)
        session = office.node.session("boss", **CHILD)
        wrong, before = Agent(session, model=Scripted(["x"]), name="wrong"), session.version
        for decision in (True, False, "no"):
            with pytest.raises(InvalidValue, match="'refund'"):
                await wrong.decide({"k1": decision})
        assert session.version == before and len(session.steps.standing()) == 1
        assert (await office.node.decide("boss", {"k1": True}, **CHILD)).text == "Well."
        await office.node.stop()

    asyncio.run(serve())
