"""A node: conversations side by side, turns in order, and nothing lost when it is told to stop."""

import asyncio
import gc
import signal
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from typing import Any

import pytest

from quire import Message, Session
from quire.agent import Agent, Done
from quire.errors import InvalidValue, Stopped, UnknownKey
from quire.items import use_clock
from quire.models import Scripted
from quire.node import Node
from quire.providers import Rendered
from tests.agent.answering import Gate, assert_whole, call


def echo(sent: Rendered) -> str:
    return f"heard: {sent.payload['messages'][-1]['content']}"


def echoing(session: Session) -> Agent:
    return Agent(session, model=Scripted([echo], repeat=True))


def said(node: Node, scope: str = "", conversation: str = "") -> list[str]:
    view = node.worker("echo", scope, conversation).agent.session.view()
    return [item.text for item in view if isinstance(item, Message)]


def test_conversations_are_apart() -> None:
    async def serve() -> None:
        async with Node() as node:
            node.add("echo", echoing)
            node.add("other", echoing)
            reply = await node.send("echo", "hi", scope="ana", conversation="one")
            await node.send("echo", "ho", scope="bob", conversation="one")
            await node.send("other", "he", scope="ana", conversation="one")
            assert reply.text == "heard: hi"
            assert said(node, "ana", "one") == ["hi", "heard: hi"]
            assert said(node, "bob", "one") == ["ho", "heard: ho"] and said(node) == []

    asyncio.run(serve())


@pytest.mark.parametrize("store", ["memory:", None])
def test_what_is_kept_in_memory_is_there_once_a_worker_was_let_go(store: str | None) -> None:
    async def serve() -> None:
        async with Node(store=store, idle=0) as node:
            node.add("echo", echoing)
            await node.send("echo", "hi", scope="ana")
            assert len(node.session("echo", "ana").view()) == 2
            node.worker("echo", "bob")  # who comes next lets go of who has nothing to do
            gc.collect()
            await node.send("echo", "ho", scope="ana")
            assert said(node, "ana") == ["hi", "heard: hi", "ho", "heard: ho"]

    asyncio.run(serve())


def test_turns_of_one_conversation_are_in_the_order_they_were_sent() -> None:
    async def serve() -> None:
        async with Node() as node:
            node.add("echo", echoing)
            await asyncio.gather(*(node.send("echo", f"m{n}") for n in range(20)))
            assert said(node) == [word for n in range(20) for word in (f"m{n}", f"heard: m{n}")]

    asyncio.run(serve())


def test_conversations_go_on_side_by_side() -> None:
    async def serve() -> None:
        gates: list[Gate] = []

        def gated(session: Session) -> Agent:
            gates.append(Gate())
            return Agent(session, model=Scripted([call("gate"), "done"]), tools=[gates[-1].tool])

        async with Node() as node:
            node.add("gated", gated)
            sending = [asyncio.create_task(node.send("gated", "go", conversation=str(n))) for n in range(5)]
            while len(gates) < 5:
                await asyncio.sleep(0)
            await asyncio.gather(*(gate.begun.wait() for gate in gates))  # all at once, none has ended
            assert {node.state("gated", conversation=str(n)) for n in range(5)} == {"running"}
            for gate in gates:
                gate.go.set()
            assert {reply.text for reply in await asyncio.gather(*sending)} == {"done"}

    asyncio.run(serve())


def test_a_stream_is_a_turn_too() -> None:
    async def serve() -> None:
        async with Node() as node:
            node.add("echo", echoing)
            deltas = [delta async for delta in node.send_stream("echo", "hi")]
            assert isinstance(deltas[-1], Done) and deltas[-1].reply.text == "heard: hi"
            assert node.state("echo") == "idle"

    asyncio.run(serve())


def test_stopping_lets_the_running_turn_end_and_refuses_the_rest() -> None:
    async def serve() -> None:
        gate = Gate()
        node = Node()
        node.add(
            "gated", lambda session: Agent(session, model=Scripted([call("gate"), "done"]), tools=[gate.tool])
        )
        first = asyncio.create_task(node.send("gated", "one"))
        await gate.begun.wait()
        second = asyncio.create_task(node.send("gated", "two"))
        await asyncio.sleep(0)
        stopping = asyncio.create_task(node.stop())
        await asyncio.sleep(0)
        gate.go.set()
        await stopping
        assert (await first).text == "done"
        with pytest.raises(Stopped):
            await second
        with pytest.raises(Stopped):
            await node.send("gated", "three")

    asyncio.run(serve())


def test_what_takes_longer_than_the_grace_is_interrupted_and_kept() -> None:
    async def serve() -> None:
        gate = Gate()
        agents: list[Agent] = []

        def gated(session: Session) -> Agent:
            agents.append(Agent(session, model=Scripted([call("gate")]), tools=[gate.tool]))
            return agents[-1]

        node = Node()
        node.add("gated", gated)
        sending = asyncio.create_task(node.send("gated", "one"))
        await gate.begun.wait()
        await node.stop(grace=0.01)
        assert (await sending).stop == "interrupted"
        assert_whole(agents[0])

    asyncio.run(serve())


def test_workers_with_nothing_to_do_are_let_go_and_their_conversations_stay() -> None:
    clock = [1_000.0]

    async def serve() -> None:
        async with Node(idle=60) as node:
            node.add("echo", echoing)
            await node.send("echo", "hi", conversation="a")
            await node.send("echo", "hi", conversation="held")
            before, held = weakref.ref(node.worker("echo", "", "a")), node.worker("echo", "", "held")
            clock[0] += 61
            await node.send("echo", "hi", conversation="b")
            gc.collect()
            assert before() is None and node.worker("echo", "", "held") is held  # never two of one
            assert said(node, "", "a") == ["hi", "heard: hi"]

    with use_clock(lambda: clock[0]):
        asyncio.run(serve())


def test_names_are_checked() -> None:
    async def serve() -> None:
        async with Node() as node:
            node.add("echo", echoing)
            with pytest.raises(InvalidValue):
                node.add("echo", echoing)
            with pytest.raises(InvalidValue):
                node.add("a/b", echoing)
            with pytest.raises(UnknownKey, match="echo"):
                await node.send("nobody", "hi")
            await node.remove("echo")
            with pytest.raises(UnknownKey):
                await node.send("echo", "hi")
            with pytest.raises(UnknownKey):
                await node.remove("echo")

    asyncio.run(serve())


SERVER = """
import asyncio, sys
from quire.agent import Agent, tool
from quire.models import Scripted
from quire.node import Node
from quire import ToolCall

@tool
async def work() -> str:
    "Work."
    print("working", flush=True)
    await asyncio.sleep(float(sys.argv[2]))
    return "worked"

def make(session):
    return Agent(session, model=Scripted([ToolCall("c1", "work"), "done"]), tools=[work])

async def main(node):
    node.add("worker", make)
    asyncio.get_running_loop().create_task(node.send("worker", "go", conversation="one"))

Node.start(main, store=sys.argv[1], grace=float(sys.argv[3]))
print("stopped", flush=True)
"""


@pytest.mark.parametrize(("seconds", "grace", "answer"), [("0.3", "60", "done"), ("600", "0.05", None)])
def test_a_process_that_is_told_to_stop_loses_nothing(
    tmp_path: Path, seconds: str, grace: str, answer: str | None
) -> None:
    store = tmp_path / "node.db"
    command = [sys.executable, "-c", textwrap.dedent(SERVER), str(store), seconds, grace]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "stopped\n"
    assert process.returncode == 0
    one = Session.open(scope="worker/", conversation="one", store=store)
    items: list[Any] = list(one.view())
    assert one.steps.standing() == [] and items[0].text == "go"
    assert (items[-1].text == answer) if answer else ("uncertain" in items[-1].text)


def test_a_failing_main_ends_the_node() -> None:
    async def main(node: Node) -> None:
        raise LookupError("no such row")

    with pytest.raises(LookupError):
        Node.start(main)


def test_without_waiting_it_ends_when_main_has_returned() -> None:
    told: list[str] = []

    async def main(node: Node) -> None:
        node.add("echo", echoing)
        told.append((await node.send("echo", "hi")).text)

    Node.start(main, wait=False)
    assert told == ["heard: hi"]
