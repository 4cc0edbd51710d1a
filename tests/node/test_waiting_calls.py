"""Calls that wait for a person: found and decided by their address, in sub-agents and after a restart too."""

import asyncio
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from quire import Session
from quire.agent import Agent, TurnEnded, tool
from quire.agent.builtin import Role, ask_user, delegating_tools
from quire.errors import UnknownId
from quire.models import Scripted
from quire.node import Node
from quire.stores import SQLiteStore
from tests.agent.answering import assert_whole, call
from tests.session.opened import watch

HERE: dict[str, Any] = {"scope": "ana", "conversation": "one"}
CHILD: dict[str, Any] = {"scope": "ana", "conversation": "one/clerk-1"}
REFUND = call("refund", "{}", "k1")
TO_CLERK = call("delegate", '{"to": "clerk", "task": "Give it back."}')


class Office:
    """A node with a clerk, who refunds where a person approves, and a boss, for whom clerks work."""

    def __init__(self, clerk: Any, boss: Any = (), store: Path | None = None, idle: float = 300.0) -> None:
        self.refunds = 0
        self._clerk, self._boss = clerk, boss
        self._clerks: dict[str, Scripted] = {}
        self.node = Node(store=None if store is None else SQLiteStore(store), idle=idle)
        self.node.add("clerk", self.make_clerk)
        self.node.add("boss", self.make_boss)

    def make_clerk(self, session: Session) -> Agent:
        tools = [ask_user, tool(approve=True)(self.refund)]
        model = self._clerks.setdefault(str(session.place), Scripted(self._clerk))
        return Agent(session, model=model, tools=tools, name="clerk")

    def make_boss(self, session: Session) -> Agent:
        role = Role(name="clerk", description="Gives back.", make=self.make_clerk)
        return Agent(session, model=Scripted(self._boss), tools=delegating_tools(role), name="boss")

    async def refund(self) -> str:
        self.refunds += 1
        return "given"


VERBS = ("append", "read", "read_at", "version", "versions_of", "open_checkpoint", "write_checkpoint")
DECISIONS = pytest.mark.parametrize(("decision", "refunds"), [(True, 1), ("not today", 0)])


@DECISIONS
async def test_a_call_is_decided_by_its_address_also_after_a_restart(
    tmp_path: Path, decision: bool | str, refunds: int
) -> None:
    before = Office([REFUND], store=tmp_path / "node.db")
    assert (await before.node.send("clerk", "My money!", **HERE)).stop == "waiting"
    await before.node.stop()
    office = Office(["Well."], store=tmp_path / "node.db")
    assert await office.node.state("clerk", **HERE) == "waiting"
    [waiting] = await office.node.waiting("clerk", **HERE)
    stream = office.node.decide_stream("clerk", {waiting.call_id: decision}, **HERE)
    last = [delta async for delta in stream][-1]
    assert isinstance(last, TurnEnded) and last.reply.text == "Well."
    assert (office.refunds, before.refunds) == (refunds, 0)
    assert await office.node.state("clerk", **HERE) == "idle"
    assert await office.node.waiting("clerk", **HERE) == ()
    assert_whole(office.node.worker("clerk", **HERE).agent)
    await office.node.stop()


@DECISIONS
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_call_of_a_sub_agent_is_decided_at_its_address(
    tmp_path: Path, decision: bool | str, refunds: int, is_restarted: bool
) -> None:
    office = Office([REFUND, "Well."], [TO_CLERK, "It waits."], tmp_path / "node.db")
    await office.node.send("boss", "My money!", **HERE)
    if is_restarted:
        await office.node.stop()
        office = Office(["Well."], [], tmp_path / "node.db")
    assert await office.node.waiting("boss", **HERE) == ()
    assert await office.node.members("boss", **HERE) == (CHILD["conversation"],)
    assert await office.node.state("boss", **CHILD) == "waiting"
    [waiting] = await office.node.waiting("boss", **CHILD)
    reply = await office.node.decide("boss", {waiting.call_id: decision}, **CHILD)
    assert (reply.text, reply.agent, office.refunds) == ("Well.", "clerk", refunds)
    assert await office.node.state("boss", **CHILD) == "idle"
    await office.node.stop()


async def test_no_store_is_asked_on_the_event_loop(tmp_path: Path) -> None:
    here, asked = get_ident(), list[str]()

    def opened(clerk: Any, boss: Any = ()) -> Office:
        office = Office(clerk, boss, tmp_path / "node.db")
        watch(office.node.store, lambda verb, _: asked.append(verb) if get_ident() == here else None, VERBS)
        return office

    before = opened([REFUND, "Well."], [TO_CLERK, "It waits."])
    await before.node.send("boss", "My money!", **HERE)
    await before.node.stop()
    office = opened(["Well."])
    assert await office.node.members("boss", **HERE) == (CHILD["conversation"],)
    [waiting] = await office.node.waiting("boss", **CHILD)
    assert (await office.node.decide("boss", {waiting.call_id: True}, **CHILD)).text == "Well."
    await office.node.stop()
    assert asked == []


async def test_a_conversation_with_a_slash_is_no_sub_agent_unless_one_works_there() -> None:
    office = Office(["x"], ["Good day."])
    assert (await office.node.send("boss", "hi", **CHILD)).agent == "boss"
    await office.node.stop()


async def test_what_another_process_asks_and_decides_is_known(tmp_path: Path) -> None:
    one, other = (Office([REFUND, "Done."], store=tmp_path / "node.db") for _ in range(2))
    assert await other.node.state("clerk", **HERE) == "idle"
    await one.node.send("clerk", "My money!", **HERE)
    assert [call.call_id for call in await other.node.waiting("clerk", **HERE)] == ["k1"]
    await one.node.decide("clerk", {"k1": True}, **HERE)
    assert await other.node.waiting("clerk", **HERE) == ()
    await asyncio.gather(one.node.stop(), other.node.stop())


async def test_forgotten_calls_wait_for_nobody() -> None:
    office = Office([REFUND, "It was not done."])
    await office.node.send("clerk", "My money!", **HERE)
    office.node.session("clerk", **HERE).forget()
    assert await office.node.waiting("clerk", **HERE) == ()
    assert (await office.node.send("clerk", "and now?", **HERE)).text == "It was not done."
    assert office.refunds == 0
    await office.node.stop()


async def test_a_decision_waits_for_the_messages_before_it() -> None:
    office = Office([REFUND, "As you wish."])
    await office.node.send("clerk", "My money!")
    message = asyncio.create_task(office.node.send("clerk", "No, wait."))
    await asyncio.sleep(0)
    with pytest.raises(UnknownId):  # the message closed the call
        await office.node.decide("clerk", {"k1": True})
    assert (await message).text == "As you wish." and office.refunds == 0
