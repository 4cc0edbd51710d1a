"""Streamed answers on a node: a slow listener delays nobody, and hears everything within the grace."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from quire import Message
from quire.agent import Delta, TextDelta, TurnEnded
from quire.errors import ModelFailed, QuireError
from quire.node import Node
from tests.agent.answering import Gate, assert_whole, call, node_of, soon

LONG = "word " * 200
"""More deltas than an agent produces ahead of its listener."""


def words(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def stalled(node: Node) -> tuple[Delta, AsyncGenerator[Delta, None]]:
    """A stream of which only the first delta was read."""
    stream = node.send_stream("clerk", "tell")
    return await anext(stream), stream


@pytest.mark.parametrize("reply", ["Once upon a time.", LONG])
async def test_the_next_turn_begins_once_the_answer_has_ended_and_late_listeners_hear_all(reply: str) -> None:
    node = node_of([reply, "And then?"])
    first, stream = await stalled(node)
    assert (await soon(node.send("clerk", "and?"))).text == "And then?"
    view = node.session("clerk").view()
    assert [item.text for item in view if isinstance(item, Message)] == ["tell", reply, "and?", "And then?"]
    assert await node.state("clerk") == "idle"
    deltas = [first, *[delta async for delta in stream]]
    assert words(deltas) == reply and isinstance(deltas[-1], TurnEnded)


@pytest.mark.parametrize("how", ["interrupt", "close", "drop"])
async def test_a_listener_that_leaves_and_an_interruption_free_the_conversation(how: str) -> None:
    gate = Gate()
    node = node_of([[Message("assistant", "Wait."), call("gate")], "Well."], gate.tool)
    streams = [(await stalled(node))[1]]
    await gate.begun.wait()
    if how == "interrupt":
        await node.worker("clerk").agent.interrupt()
        last = [delta async for delta in streams.pop()][-1]
        assert isinstance(last, TurnEnded) and last.reply.stop == "interrupted"
    elif how == "close":
        await streams.pop().aclose()
    else:
        streams.clear()
        gc.collect()
    assert (await soon(node.send("clerk", "and?"))).text == "Well."
    assert await node.state("clerk") == "idle"
    assert_whole(node.worker("clerk").agent)


async def test_a_message_that_is_cancelled_while_it_waits_frees_the_conversation() -> None:
    gate = Gate()
    node = node_of([call("gate"), "Well."], gate.tool)
    first = asyncio.ensure_future(node.send("clerk", "one"))
    await gate.begun.wait()
    second = asyncio.ensure_future(node.send("clerk", "two"))
    await asyncio.sleep(0)
    second.cancel()
    gate.go.set()
    await soon(asyncio.gather(first, second, return_exceptions=True))
    assert await node.state("clerk") == "idle"


async def test_a_listener_that_is_cancelled_before_anything_came_frees_the_conversation() -> None:
    for steps in range(12):
        node = node_of(["Never heard.", "Well."])
        listening = asyncio.ensure_future(anext(node.send_stream("clerk", "tell")))
        for _ in range(steps):
            await asyncio.sleep(0)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await soon(node.send("clerk", "and?"))
        assert await node.state("clerk") == "idle"


async def test_an_error_is_raised_after_what_came_before_it() -> None:
    node = node_of([[Message("assistant", "Wait."), call("gate")], ModelFailed("gone"), "Well."])
    first, stream = await stalled(node)
    assert words([first]) and (await soon(node.send("clerk", "and?"))).text == "Well."
    with pytest.raises(ModelFailed, match="gone"):
        async for delta in stream:
            assert not isinstance(delta, TurnEnded)
    nothing: Any = 3
    with pytest.raises(QuireError):
        await anext(node.send_stream("clerk", nothing))
    assert await node.state("clerk") == "idle"


class Client:
    """Reads slowly, and knows whether it has heard the end."""

    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self.begun = asyncio.Event()
        self.heard: list[Any] = []
        self.has_ended = False
        self.task = asyncio.ensure_future(self._listen(stream))

    async def _listen(self, stream: AsyncGenerator[Any, None]) -> None:
        async for delta in stream:
            self.begun.set()
            await asyncio.sleep(0)
            self.heard.append(delta)
        self.has_ended = True


async def test_slow_listeners_hear_the_end_before_the_node_has_stopped() -> None:
    gate = Gate()
    async with node_of([call("gate"), LONG[:100]], gate.tool) as node:
        clients = [Client(node.send_stream("clerk", "tell", conversation=str(n))) for n in range(3)]
        await asyncio.gather(*(client.begun.wait() for client in clients))
        gate.go.set()
    assert all(client.has_ended for client in clients)
    assert {words(client.heard) for client in clients} == {LONG[:100]}


@pytest.mark.parametrize("has_left", [False, True])
async def test_a_stalled_listener_delays_stopping_by_the_grace_at_most(has_left: bool) -> None:
    node = node_of(["Once upon a time."])
    _, stream = await stalled(node)
    stopping = asyncio.ensure_future(node.stop(grace=3600 if has_left else 0.01))
    await asyncio.sleep(0)
    if has_left:
        await stream.aclose()
    await soon(stopping)
    if not has_left:
        assert isinstance([delta async for delta in stream][-1], TurnEnded)  # it is buffered for its listener


async def test_a_listener_that_keeps_up_hears_of_the_interruption() -> None:
    gate = Gate()
    node = node_of([call("gate")], gate.tool)
    client = Client(node.send_stream("clerk", "tell"))
    await gate.begun.wait()
    await soon(asyncio.gather(node.stop(grace=0), client.task))
    assert client.heard[-1].reply.stop == "interrupted"
