"""Calls that wait on a node: found and decided by the address of their conversation, after a restart too."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quire import Message, Session, ToolResult
from quire.agent import Agent, Done, tool
from quire.errors import InvalidValue, UnknownId, UnknownKey
from quire.models import Scripted
from quire.node import Node
from quire.stores import SQLiteStore
from tests.agent.answering import Gate, assert_whole, call

HERE: dict[str, Any] = {"scope": "ana", "conversation": "one"}


class Shop:
    """A node with an agent that pays only where a person approves of it."""

    def __init__(self, *replies: Any, store: Path | None = None) -> None:
        self.paid = 0
        self.node = Node(store=store)
        self.node.add("seller", self._make)
        self._replies = replies

    def _make(self, session: Session) -> Agent:
        return Agent(session, model=Scripted(self._replies), tools=[tool(approve=True)(self.pay)])

    async def pay(self) -> str:
        """Pay."""
        self.paid += 1
        return "paid"


@pytest.mark.parametrize(("decision", "paid"), [(True, 1), (False, 0), ("too dear", 0)])
def test_a_call_is_decided_by_its_address_also_after_a_restart(
    tmp_path: Path, decision: bool | str, paid: int
) -> None:
    async def serve() -> None:
        before = Shop(call("pay", "{}", "c1"), store=tmp_path / "node.db")
        assert (await before.node.send("seller", "pay", **HERE)).stop == "waiting"
        await before.node.stop()
        shop = Shop("Well.", store=tmp_path / "node.db")
        assert shop.node.state("seller", **HERE) == "waiting"
        [waiting] = shop.node.waiting("seller", **HERE)
        reply = await shop.node.decide("seller", {waiting.call_id: decision}, **HERE)
        assert reply.text == "Well." and shop.paid == paid and before.paid == 0
        assert shop.node.state("seller", **HERE) == "idle" and shop.node.waiting("seller", **HERE) == ()
        assert_whole(shop.node.worker("seller", **HERE).agent)
        await shop.node.stop()

    asyncio.run(serve())


def test_what_another_process_asks_and_decides_is_known(tmp_path: Path) -> None:
    async def serve() -> None:
        path = tmp_path / "node.db"
        one, other = Shop(call("pay", "{}", "c1"), "Done.", store=path), Node(store=SQLiteStore(path))
        other.add("seller", one._make)  # pyright: ignore[reportPrivateUsage]
        assert other.state("seller", **HERE) == "idle"
        await one.node.send("seller", "pay", **HERE)
        assert [call.call_id for call in other.waiting("seller", **HERE)] == ["c1"]
        await one.node.decide("seller", {"c1": True}, **HERE)
        assert other.waiting("seller", **HERE) == () and other.state("seller", **HERE) == "idle"
        await asyncio.gather(one.node.stop(), other.stop())

    asyncio.run(serve())


def test_a_call_that_was_forgotten_waits_for_nobody() -> None:
    async def serve() -> None:
        shop = Shop(call("pay", "{}", "c1"), "It was not done.")
        await shop.node.send("seller", "pay", **HERE)
        shop.node.session("seller", "ana", "one").forget()
        assert shop.node.waiting("seller", **HERE) == () and shop.node.state("seller", **HERE) == "idle"
        assert (await shop.node.send("seller", "and now?", **HERE)).text == "It was not done."
        assert shop.paid == 0
        await shop.node.stop()

    asyncio.run(serve())


def test_calls_under_one_id_are_decided_by_their_own() -> None:
    async def serve() -> None:
        shop = Shop([call("pay", "{}", "c1"), call("pay", "{}", "c1")], "Well.")
        await shop.node.send("seller", "pay twice", **HERE)
        one, other = shop.node.waiting("seller", **HERE)
        with pytest.raises(InvalidValue, match="2 calls wait under the id 'c1'"):
            await shop.node.decide("seller", {"c1": True}, **HERE)
        assert shop.paid == 0 and shop.node.state("seller", **HERE) == "waiting"
        await shop.node.decide("seller", {one.id: True, other.id: False}, **HERE)
        assert shop.paid == 1
        await shop.node.stop()

    asyncio.run(serve())


def test_what_a_process_left_in_the_middle_waits_for_nobody(tmp_path: Path) -> None:
    async def serve() -> None:
        before = Shop(store=tmp_path / "node.db")
        session = before.node.session("seller", "ana", "one")
        begun, held, asked = (call("pay", "{}", name) for name in ("c1", "c2", "c3"))
        await session.aio.append(Message("user", "Pay."), begun, held)
        await session.steps.begin(begun, held)
        await session.steps.hold(ToolResult("c2", "pay", "paid"))
        assert before.node.state("seller", **HERE) == "idle" and before.node.waiting("seller", **HERE) == ()
        await session.aio.append(asked)
        assert before.node.state("seller", **HERE) == "waiting"
        assert [one.call_id for one in before.node.waiting("seller", **HERE)] == ["c3"]
        await before.node.stop()

    asyncio.run(serve())


def test_a_decision_is_told_as_it_comes() -> None:
    async def serve() -> None:
        shop = Shop(call("pay", "{}", "c1"), "Paid.")
        await shop.node.send("seller", "pay")
        told = [delta async for delta in shop.node.decide_stream("seller", {"c1": True})]
        assert isinstance(told[-1], Done) and told[-1].reply.text == "Paid." and shop.paid == 1

    asyncio.run(serve())


def test_a_decision_waits_for_the_messages_before_it() -> None:
    async def serve() -> None:
        shop = Shop(call("pay", "{}", "c1"), "As you wish.")
        await shop.node.send("seller", "pay")
        message = asyncio.create_task(shop.node.send("seller", "No, wait."))
        await asyncio.sleep(0)
        with pytest.raises(UnknownId):  # the message closed it
            await shop.node.decide("seller", {"c1": True})
        assert (await message).text == "As you wish." and shop.paid == 0

    asyncio.run(serve())


def test_addresses_are_checked() -> None:
    async def serve() -> None:
        shop = Shop("x")
        with pytest.raises(UnknownKey):
            await shop.node.decide("nobody", {})
        with pytest.raises(UnknownKey):
            shop.node.waiting("nobody")
        with pytest.raises(UnknownKey):
            await anext(shop.node.send_stream("nobody", "hi"))

    asyncio.run(serve())


def test_streams_that_are_read_later_have_one_worker() -> None:
    async def serve() -> None:
        gates: list[Gate] = []

        def gated(session: Session) -> Agent:
            gates.append(Gate())
            return Agent(session, model=Scripted([call("gate"), "done"], repeat=True), tools=[gates[-1].tool])

        node = Node(idle=0)
        node.add("gated", gated)

        async def read(stream: Any) -> str:
            return str([delta async for delta in stream][-1].reply)

        first, second = node.send_stream("gated", "one"), node.send_stream("gated", "two")
        reading = asyncio.gather(read(first), read(second))
        while not gates:
            await asyncio.sleep(0)
        await gates[0].begun.wait()
        gates[0].go.set()
        assert [*await reading] == ["done", "done"] and len(gates) == 1
        await node.stop()

    asyncio.run(serve())


def test_a_conversation_that_is_sent_to_by_its_own_tool_says_so_and_does_not_wait_for_itself() -> None:
    async def serve() -> None:
        node = Node()

        @tool
        async def again(how: str) -> str:
            """Send something to the conversation whose tool this is."""
            if how == "stream":
                return str([delta async for delta in node.send_stream("seller", "and?")])
            return str(await node.send("seller", "and?"))

        @tool
        async def other() -> str:
            """Ask another agent, that asks back."""
            return str(await node.send("clerk", "and?"))

        calls = [call("again", f'{{"how": "{how}"}}', how) for how in ("send", "stream")]
        seller = Scripted([[*calls, call("other")], "Well."])
        clerk = Scripted([call("again", '{"how": "send"}'), "Busy."])
        node.add("seller", lambda session: Agent(session, model=seller, tools=[again, other]))
        node.add("clerk", lambda session: Agent(session, model=clerk, tools=[again]))
        assert (await asyncio.wait_for(node.send("seller", "go"), 60)).text == "Well."
        for name in ("seller", "clerk"):
            items = node.session(name).view()
            told = [one for one in items if isinstance(one, ToolResult) and one.name == "again"]
            assert told and all("from within" in one.text for one in told)
        await node.stop()

    asyncio.run(serve())


def test_a_worker_of_a_conversation_refuses_what_is_no_decision() -> None:
    async def serve() -> None:
        shop = Shop(call("pay", "{}", "c1"), "Paid.")
        await shop.node.send("seller", "pay")
        with pytest.raises(UnknownId):
            await shop.node.decide("seller", {"c2": True})
        with pytest.raises(InvalidValue):
            await shop.node.send("seller", "")
        assert (await shop.node.decide("seller", {"c1": True})).text == "Paid."

    asyncio.run(serve())
