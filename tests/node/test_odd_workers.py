"""Addresses that are no text, makers that give no agent, and a conversation that cannot be stopped."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quire import Session
from quire.agent import Agent
from quire.bridges import autonomy
from quire.errors import WrongType
from quire.models import Scripted
from quire.node import Node
from tests.agent.answering import Gate, call

ODD: list[dict[str, Any]] = [
    {"scope": None},
    {"scope": 7},
    {"scope": ["ana"]},
    {"conversation": None},
    {"conversation": 7},
]
odd_addresses = pytest.mark.parametrize("address", ODD)


def talking(session: Session) -> Agent:
    return Agent(session, model=Scripted(["Hello."], repeat=True))


async def told(stream: Any) -> None:
    async for _ in stream:
        pass


VERBS: dict[str, Callable[[Node, dict[str, Any]], Any]] = {
    "send": lambda node, address: node.send("talker", "hi", **address),
    "send_stream": lambda node, address: told(node.send_stream("talker", "hi", **address)),
    "decide": lambda node, address: node.decide("talker", {}, **address),
    "decide_stream": lambda node, address: told(node.decide_stream("talker", {}, **address)),
    "waiting": lambda node, address: node.waiting("talker", **address),
    "members": lambda node, address: node.members("talker", **address),
    "state": lambda node, address: node.state("talker", **address),
    "session": lambda node, address: node.session("talker", **address),
}


@odd_addresses
@pytest.mark.parametrize("verb", VERBS)
def test_an_address_is_made_of_texts(verb: str, address: dict[str, Any]) -> None:
    async def serve() -> None:
        async with Node() as node:
            node.add("talker", talking)
            with pytest.raises(WrongType, match="is a text, not"):
                await VERBS[verb](node, address)
            assert "0 conversations" in repr(node)

    asyncio.run(serve())


@odd_addresses
def test_so_it_is_in_autonomy(address: dict[str, Any]) -> None:
    async def serve() -> None:
        async with Node() as node:
            agent = await autonomy.Agent.start(node, "Talk.", "talker", Scripted(["Hello."]))
            for asked in (agent.get_conversation_state, agent.is_paused):
                with pytest.raises(WrongType, match="is a text, not"):
                    await asked(**address)
            with pytest.raises(WrongType, match="is a text, not"):
                await agent.send("hi", **address)
            with pytest.raises(WrongType, match="is a text, not"):
                await told(agent.send_stream("hi", **address))
            there = {"scope": "", "conversation": "", **address}
            with pytest.raises(WrongType, match="is a text, not"):
                await agent.memory.get_messages_only(**there)

    asyncio.run(serve())


def test_what_makes_agents_gives_one() -> None:
    async def serve() -> None:
        gate = Gate()
        node = Node()
        node.add("slow", lambda session: agent_at(gate, session))
        node.add("odd", lambda session: {"agent": session})  # type: ignore[arg-type, return-value]  # pyright: ignore
        with pytest.raises(WrongType, match="'odd' gives an Agent, not dict"):
            await node.send("odd", "hi")
        answer = asyncio.ensure_future(node.send("slow", "hi"))
        await gate.begun.wait()
        stopping = asyncio.ensure_future(node.stop(grace=30))
        await asyncio.sleep(0)
        gate.go.set()
        await stopping
        assert (await answer).text == "Done."

    asyncio.run(serve())


def agent_at(gate: Gate, session: Session) -> Agent:
    return Agent(session, model=Scripted([call("gate"), "Done."]), tools=[gate.tool])


def test_where_one_cannot_be_stopped_the_others_have_their_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve() -> None:
        gate = Gate()
        node = Node()
        node.add("slow", lambda session: agent_at(gate, session))
        node.add("talker", talking)
        await node.send("talker", "hi")

        async def fails(*_: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr(node.worker("talker").agent.session.compaction, "close", fails)
        answer = asyncio.ensure_future(node.send("slow", "hi"))
        await gate.begun.wait()
        stopping = asyncio.ensure_future(node.stop(grace=30))
        await asyncio.sleep(0.05)
        assert not stopping.done()
        gate.go.set()
        with pytest.raises(OSError, match="disk"):
            await stopping
        assert (await answer).text == "Done."

    asyncio.run(serve())
