"""Who is being told an answer when a node stops hears it to its end, as long as there is grace."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from quire.agent import Agent, Delta, Done, Words
from quire.bridges import autonomy
from quire.models import Scripted
from quire.node import Node, telling
from tests.agent.answering import Gate, call

WORDS = 30
TEXT = "word " * WORDS


@pytest.fixture(autouse=True)
def is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PATIENCE", 3600.0)


async def answered(waited_for: Awaitable[Any]) -> Any:
    """What comes: what never does is an error and no test without end."""
    return await asyncio.wait_for(waited_for, 600)


class Client:
    """Reads slowly, and says when it has begun and whether it heard the end."""

    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self.begun = asyncio.Event()
        self.heard: list[Any] = []
        self.has_ended = False
        self.task = asyncio.ensure_future(self._listen(stream))

    async def _listen(self, stream: AsyncGenerator[Any, None]) -> None:
        async for delta in stream:
            self.begun.set()
            await asyncio.sleep(0.001)
            self.heard.append(delta)
        self.has_ended = True

    @property
    def words(self) -> str:
        return "".join(delta.text for delta in self.heard if isinstance(delta, Words))


async def stalled(node: Node) -> AsyncGenerator[Delta, None]:
    """A stream of which the first is read and nothing else, by somebody else than who stops."""
    stream = node.send_stream("teller", "tell")
    await asyncio.ensure_future(anext(stream))
    return stream


def teller(node: Node, *replies: Any, tools: Any = ()) -> None:
    node.add("teller", lambda session: Agent(session, model=Scripted(replies or [TEXT]), tools=tools))


def test_who_listens_slowly_hears_the_end_before_a_node_has_stopped() -> None:
    async def serve() -> None:
        async with Node() as node:
            teller(node)
            clients = [Client(node.send_stream("teller", "tell", conversation=str(n))) for n in range(5)]
            await asyncio.gather(*(client.begun.wait() for client in clients))
        assert all(client.has_ended for client in clients)
        assert {client.words for client in clients} == {TEXT}

    asyncio.run(serve())


def test_who_waits_for_a_tool_hears_the_end_too() -> None:
    async def serve() -> None:
        gate, node = Gate(), Node()
        teller(node, call("gate"), TEXT, tools=[gate.tool])
        client = Client(node.send_stream("teller", "tell"))
        await gate.begun.wait()
        stopping = asyncio.ensure_future(node.stop())
        await asyncio.sleep(0)
        gate.go.set()
        await answered(stopping)
        assert client.has_ended and client.words == TEXT

    asyncio.run(serve())


@pytest.mark.parametrize("is_awaited", [True, False])
def test_a_process_that_is_told_to_stop_tells_its_clients_all(is_awaited: bool) -> None:
    clients: list[Client] = []

    async def main(node: Node) -> None:
        teller(node)
        clients.extend(Client(node.send_stream("teller", "tell", scope=str(n))) for n in range(5))
        await asyncio.gather(*(client.begun.wait() for client in clients))
        signal.raise_signal(signal.SIGTERM)
        await (asyncio.gather(*(client.task for client in clients)) if is_awaited else asyncio.Event().wait())

    Node.start(main, grace=3600)
    assert len(clients) == 5 and all(client.has_ended for client in clients)


def test_an_agent_of_autonomy_is_heard_to_its_end() -> None:
    clients: list[Client] = []

    async def main(node: Node) -> None:
        agent = await autonomy.Agent.start(node, "Be brief.", "teller", model=Scripted([TEXT]))
        clients.append(Client(agent.send_stream("tell")))
        await clients[0].begun.wait()
        signal.raise_signal(signal.SIGTERM)
        await clients[0].task

    Node.start(main)
    assert clients[0].has_ended and len(clients[0].heard) >= WORDS


async def by_its_grace(node: Node) -> None:
    await node.stop(grace=0.01)


async def by_hurry(node: Node) -> None:
    hurry = asyncio.Event()
    stopping = asyncio.ensure_future(node.stop(grace=3600, hurry=hurry))
    await asyncio.sleep(0.01)
    assert not stopping.done()
    hurry.set()
    await stopping


@pytest.mark.parametrize("stop", [by_its_grace, by_hurry])
def test_who_has_stalled_is_given_up_in_the_end(stop: Callable[[Node], Awaitable[None]]) -> None:
    async def serve() -> None:
        node = Node()
        teller(node)
        stream = await stalled(node)
        await answered(stop(node))
        assert isinstance([delta async for delta in stream][-1], Done)  # it is kept for whoever holds it

    asyncio.run(serve())


def test_who_has_read_nothing_for_long_has_no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PATIENCE", 0.01)

    async def serve() -> None:
        node = Node()
        teller(node)
        stream = await stalled(node)
        await answered(node.stop(grace=3600))
        assert isinstance([delta async for delta in stream][-1], Done)

    asyncio.run(serve())


def test_who_stops_the_node_while_it_listens_is_not_waited_for() -> None:
    async def serve() -> None:
        node = Node()
        teller(node)
        heard: list[Delta] = []
        async for delta in node.send_stream("teller", "tell"):
            if not heard:
                await node.stop(grace=3600)
            heard.append(delta)
        assert isinstance(heard[-1], Done)

    asyncio.run(answered(serve()))


def test_who_keeps_up_hears_of_the_interruption() -> None:
    async def serve() -> None:
        gate, node, heard = Gate(), Node(), list[Delta]()

        async def listen(stream: AsyncGenerator[Delta, None]) -> None:
            async for delta in stream:
                heard.append(delta)

        teller(node, call("gate"), tools=[gate.tool])
        listening = asyncio.ensure_future(listen(node.send_stream("teller", "tell")))
        await gate.begun.wait()
        await answered(node.stop(grace=0))
        assert listening.done()
        assert isinstance(heard[-1], Done) and heard[-1].reply.stop == "interrupted"

    asyncio.run(serve())


def test_who_leaves_while_the_node_stops_is_not_waited_for() -> None:
    async def serve() -> None:
        node = Node()
        teller(node)
        stream = await stalled(node)
        stopping = asyncio.ensure_future(node.stop(grace=3600))
        await asyncio.sleep(0.01)
        assert not stopping.done()
        await stream.aclose()
        await answered(stopping)

    asyncio.run(serve())
