"""Who listens and reads no further holds up nobody else: once the answer is there, it goes on."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from quire import Message
from quire.agent import Agent, Delta, Done, Words
from quire.errors import ModelFailed, QuireError, Stopped
from quire.models import Scripted
from quire.node import Node
from tests.agent.answering import Gate, assert_whole, call

LONG = "word " * 200
"""More than is told ahead of who listens to an agent."""


def node_of(*replies: Any, tools: Any = ()) -> Node:
    node = Node()
    node.add("teller", lambda session: Agent(session, model=Scripted(replies), tools=tools))
    return node


def said(node: Node) -> list[str]:
    return [item.text for item in node.session("teller").view() if isinstance(item, Message)]


def words(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Words))


async def stalled(node: Node) -> AsyncGenerator[Delta, None]:
    """A stream of which the first is read and nothing else."""
    stream = node.send_stream("teller", "tell")
    assert words([await anext(stream)])
    return stream


async def until_idle(node: Node) -> None:
    while node.state("teller") == "running":
        await asyncio.sleep(0)


async def answered(waited_for: Awaitable[Any]) -> Any:
    """What comes: what never does is an error and no test without end."""
    return await asyncio.wait_for(waited_for, 600)


@pytest.mark.parametrize("reply", ["Once upon a time.", LONG])
def test_the_next_turn_begins_once_the_answer_has_ended(reply: str) -> None:
    async def serve() -> None:
        node = node_of(reply, "And then?")
        stream = await stalled(node)
        assert (await answered(node.send("teller", "and?"))).text == "And then?"
        assert said(node) == ["tell", reply, "and?", "And then?"] and node.state("teller") == "idle"
        assert stream is not None

    asyncio.run(serve())


@pytest.mark.parametrize("reply", ["Once upon a time.", LONG])
def test_who_goes_on_later_hears_everything_in_order(reply: str) -> None:
    async def serve() -> None:
        node = node_of(reply, "And then?")
        stream = node.send_stream("teller", "tell")
        first = await anext(stream)
        await answered(node.send("teller", "and?"))
        deltas = [first, *[delta async for delta in stream]]
        assert words(deltas) == reply
        assert isinstance(deltas[-1], Done) and deltas[-1].reply.text == reply

    asyncio.run(serve())


def test_a_conversation_that_nobody_listens_to_comes_to_rest() -> None:
    async def serve() -> None:
        node = node_of(LONG)
        stream = await stalled(node)
        await answered(until_idle(node))
        assert said(node) == ["tell", LONG] and not node.worker("teller").is_busy
        await answered(node.stop(grace=0.01))
        assert words([delta async for delta in stream]) == LONG.removeprefix("word")

    asyncio.run(serve())


def test_an_interruption_frees_the_conversation() -> None:
    async def serve() -> None:
        gate = Gate()
        node = node_of([Message("assistant", "Wait."), call("gate")], "Well.", tools=[gate.tool])
        stream = await stalled(node)
        await gate.begun.wait()
        await node.worker("teller").agent.interrupt()
        assert (await answered(node.send("teller", "and?"))).text == "Well."
        last = [delta async for delta in stream][-1]
        assert isinstance(last, Done) and last.reply.stop == "interrupted"
        assert_whole(node.worker("teller").agent)

    asyncio.run(serve())


async def closes(stream: AsyncGenerator[Delta, None]) -> None:
    await stream.aclose()


async def drops(stream: AsyncGenerator[Delta, None]) -> None:
    del stream
    gc.collect()


@pytest.mark.parametrize("leaves", [closes, drops])
def test_who_leaves_stops_the_answer_and_frees_the_conversation(
    leaves: Callable[[AsyncGenerator[Delta, None]], Awaitable[None]],
) -> None:
    async def serve() -> None:
        gate = Gate()
        node = node_of([Message("assistant", "Wait."), call("gate")], "Well.", tools=[gate.tool])
        streams = [await stalled(node)]
        await gate.begun.wait()
        await leaves(streams.pop())
        assert (await answered(node.send("teller", "and?"))).text == "Well."
        assert node.state("teller") == "idle"
        assert_whole(node.worker("teller").agent)

    asyncio.run(serve())


def test_who_is_cancelled_before_anything_came_frees_the_conversation() -> None:
    async def serve(steps: int) -> None:
        node = node_of("Never heard.", "Well.")
        listening = asyncio.ensure_future(anext(node.send_stream("teller", "tell")))
        for _ in range(steps):
            await asyncio.sleep(0)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await answered(node.send("teller", "and?"))
        assert node.state("teller") == "idle"

    for steps in range(12):
        asyncio.run(serve(steps))


def test_what_went_wrong_is_told_after_what_came() -> None:
    async def serve() -> None:
        node = node_of([Message("assistant", "Wait."), call("gate")], ModelFailed("gone"), "Well.")
        stream = await stalled(node)
        assert (await answered(node.send("teller", "and?"))).text == "Well."
        with pytest.raises(ModelFailed, match="gone"):
            async for delta in stream:
                assert not isinstance(delta, Done)

    asyncio.run(serve())


def test_what_cannot_be_sent_frees_the_conversation() -> None:
    async def serve() -> None:
        node, nothing = node_of("Well."), 3
        with pytest.raises(QuireError):
            await anext(node.send_stream("teller", nothing))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert (await answered(node.send("teller", "and?"))).text == "Well."

    asyncio.run(serve())


def test_streams_and_messages_are_in_the_order_they_were_sent() -> None:
    async def heard(node: Node, text: str) -> None:
        async for _ in node.send_stream("echo", text):
            pass

    async def serve() -> None:
        async with Node() as node:
            node.add("echo", lambda session: Agent(session, model=Scripted(["So."], repeat=True)))
            send: list[Callable[[str], Awaitable[Any]]] = [
                lambda text: heard(node, text),
                lambda text: node.send("echo", text),
            ]
            await asyncio.gather(*(send[n % 2](f"m{n}") for n in range(10)))
            view = node.session("echo").view()
            asked = [item.text for item in view if isinstance(item, Message) and item.role == "user"]
            assert asked == [f"m{n}" for n in range(10)]

    asyncio.run(serve())


def test_a_stream_that_waits_is_refused_when_the_node_stops() -> None:
    async def serve() -> None:
        gate = Gate()
        node = node_of(call("gate"), "Well.", tools=[gate.tool])
        first = asyncio.ensure_future(node.send("teller", "one"))
        await gate.begun.wait()
        second = asyncio.ensure_future(anext(node.send_stream("teller", "two")))
        await asyncio.sleep(0)
        stopping = asyncio.ensure_future(node.stop())
        await asyncio.sleep(0)
        gate.go.set()
        await answered(stopping)
        assert (await first).text == "Well."
        with pytest.raises(Stopped):
            await second

    asyncio.run(serve())
