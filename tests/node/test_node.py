"""A node: conversations are apart, their turns run in order, and stopping loses nothing."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from quire import Message, Session
from quire.agent import Agent, tool
from quire.errors import InvalidValue, Stopped, UnknownKey, WrongType
from quire.items import use_clock
from quire.models import Scripted
from quire.node import Node
from quire.providers import Rendered
from quire.session import parts_of
from quire.stores import Place, Store
from tests.agent.answering import Gate, assert_whole, call, soon
from tests.session.opened import watch


def echo(sent: Rendered) -> str:
    return f"heard: {sent.payload['messages'][-1]['content']}"


def echoing(session: Session) -> Agent:
    return Agent(session, model=Scripted([echo], repeat=True))


def gated(gates: list[Gate]) -> Callable[[Session], Agent]:
    """Makes agents that call a tool which waits for its gate."""

    def make(session: Session) -> Agent:
        gates.append(Gate())
        return Agent(session, model=Scripted([call("gate"), "done"], repeat=True), tools=[gates[-1].tool])

    return make


async def begun(gates: list[Gate], count: int = 1) -> None:
    """Wait until so many gates are reached."""
    async with asyncio.timeout(60):
        while len(gates) < count:
            await asyncio.sleep(0.001)
        await asyncio.gather(*(gate.begun.wait() for gate in gates))


def said(node: Node, scope: str = "", conversation: str = "", name: str = "echo") -> list[str]:
    view = node.session(name, scope, conversation).view()
    return [item.text for item in view if isinstance(item, Message)]


async def test_conversations_are_apart() -> None:
    async with Node() as node:
        node.add("echo", echoing)
        node.add("other", echoing)
        assert (await node.send("echo", "hi", scope="ana", conversation="one")).text == "heard: hi"
        await node.send("echo", "ho", scope="bob", conversation="one")
        await node.send("other", "he", scope="ana", conversation="one")
        assert said(node, "ana", "one") == ["hi", "heard: hi"]
        assert said(node, "bob", "one") == ["ho", "heard: ho"] and said(node) == []
        assert said(node, "ana", "one", "other") == ["he", "heard: he"]
        await node.send("echo", "My PIN is 4711.", conversation="mine")
        found = [
            node.session("echo", "", name).memory.search("PIN").hits for name in ("mine/member", "yours")
        ]
        assert [bool(hits) for hits in found] == [True, False]


async def test_no_scope_reads_the_conversation_of_another_agent() -> None:
    async with Node() as node:
        node.add("s", echoing)
        await node.send("s", "secret", scope="b/c", conversation="one")
        with pytest.raises(InvalidValue, match="not have a slash"):
            node.session("s/b", "c", "one")
        assert str(node.session("s", "b/c", "one").place) == "s%2Fb%2Fc/one"
        assert said(node, "b%2Fc", "one", "s") == [] and said(node, "b", "c/one", "s") == []
        for name in ("a/b", "", 3, None):
            with pytest.raises((InvalidValue, WrongType)):
                node.add(name, echoing)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            with pytest.raises((InvalidValue, WrongType)):
                node.session(name)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_agents_are_known_by_name() -> None:
    async with Node() as node:
        node.add("echo", echoing)
        with pytest.raises(InvalidValue):
            node.add("echo", echoing)
        for ask in (node.state, node.waiting, node.members):
            with pytest.raises(UnknownKey, match="echo"):
                await ask("nobody")
        with pytest.raises(UnknownKey, match="echo"):
            await node.send("nobody", "hi")
        with pytest.raises(UnknownKey, match="echo"):
            await anext(node.decide_stream("nobody", {}))
        assert node.agents == ("echo",)
        await node.remove("echo")
        with pytest.raises(UnknownKey):
            await node.send("echo", "hi")
        with pytest.raises(UnknownKey):
            await node.remove("echo")


async def read_all(stream: Any) -> None:
    async for _ in stream:
        pass


async def test_turns_of_one_conversation_run_in_the_order_they_were_sent() -> None:
    async with Node() as node:
        node.add("echo", echoing)
        sending = [
            read_all(node.send_stream("echo", f"m{n}")) if n % 2 else node.send("echo", f"m{n}")
            for n in range(20)
        ]
        await asyncio.gather(*sending)
        assert said(node) == [word for n in range(20) for word in (f"m{n}", f"heard: m{n}")]


async def test_conversations_run_side_by_side() -> None:
    gates: list[Gate] = []
    async with Node() as node:
        node.add("gated", gated(gates))
        sending = [asyncio.create_task(node.send("gated", "go", conversation=str(n))) for n in range(5)]
        await begun(gates, 5)  # and none has ended
        assert {await node.state("gated", conversation=str(n)) for n in range(5)} == {"running"}
        for gate in gates:
            gate.go.set()
        assert {reply.text for reply in await asyncio.gather(*sending)} == {"done"}
        assert await node.state("gated", conversation="0") == "idle"


async def test_a_tool_that_sends_to_its_own_conversation_gets_an_error_and_does_not_wait_for_itself() -> None:
    node = Node()

    @tool
    async def again(how: str) -> str:
        """Send to the conversation whose tool this is."""
        if how == "stream":
            return str([delta async for delta in node.send_stream("echo", "and?")])
        return str(await node.send("echo", "and?"))

    calls = [call("again", f'{{"how": "{how}"}}', how) for how in ("send", "stream")]
    node.add("echo", lambda session: Agent(session, model=Scripted([calls, "Well."]), tools=[again]))
    assert (await soon(node.send("echo", "go"))).text == "Well."
    await node.stop()


async def test_idle_workers_are_dropped_and_their_conversations_stay() -> None:
    clock = [1_000.0]
    with use_clock(lambda: clock[0]):
        async with Node(idle=60) as node:
            node.add("echo", echoing)
            await node.send("echo", "hi", conversation="a")
            await node.send("echo", "hi", conversation="held")
            dropped, held = weakref.ref(node.worker("echo", "", "a")), node.worker("echo", "", "held")
            clock[0] += 61
            await node.send("echo", "hi", conversation="b")
            gc.collect()
            assert dropped() is None and node.worker("echo", "", "held") is held  # never two of one
            await node.send("echo", "ho", conversation="a")
            assert said(node, "", "a") == ["hi", "heard: hi", "ho", "heard: ho"]


async def test_a_node_holds_the_conversations_that_its_memory_allows(tmp_path: Path) -> None:
    async with Node(store=tmp_path / "a.db", memory=1_000_000) as node:
        node.add("echo", echoing)
        names = [str(number) for number in range(60)]
        for words in ("hi", "ho"):
            for name in names:
                await node.send("echo", words, conversation=name)
        gc.collect()
        held = int(repr(node).split(", ")[1].split()[0])
        assert 10 < held < 50
        latest = node.worker("echo", "", "59")
        await node.send("echo", "he", conversation="0")
        assert node.worker("echo", "", "59") is latest  # those used least recently are dropped first
        for name in names[1:]:
            assert said(node, "", name) == ["hi", "heard: hi", "ho", "heard: ho"]


async def test_a_worker_that_answers_or_whose_answer_is_read_is_not_dropped() -> None:
    gates: list[Gate] = []
    async with Node(memory=0) as node:  # it holds no idle worker
        node.add("gated", gated(gates))
        node.add("echo", echoing)
        sending = asyncio.create_task(node.send("gated", "go"))
        await begun(gates)
        stream = node.send_stream("echo", "hi", conversation="read")
        await anext(stream)
        reader = weakref.ref(node.worker("echo", "", "read"))
        for number in range(5):
            assert (await node.send("echo", "hi", conversation=str(number))).text == "heard: hi"
        assert await node.state("gated") == "running" and reader() is not None and len(gates) == 1
        gates[0].go.set()
        assert (await sending).text == "done" and said(node, name="gated")[0] == "go"
        await read_all(stream)
        gc.collect()
        assert reader() is None and "0 conversations" in repr(node)


async def test_a_conversation_that_is_being_opened_holds_up_no_other(tmp_path: Path) -> None:
    opening, go, store = Event(), Event(), Store.open(tmp_path / "a.db")

    def wait(_: str, place: Place | None) -> None:
        if place is not None and place.conversation == "slow":
            opening.set()
            assert go.wait(60)

    watch(store, wait, ("open_checkpoint", "read"))
    async with Node(store=store, memory=0) as node:
        node.add("echo", echoing)
        slow = [asyncio.create_task(node.send("echo", words, conversation="slow")) for words in ("hi", "ho")]
        assert await asyncio.to_thread(opening.wait, 60)
        assert (await node.send("echo", "hi", conversation="quick")).text == "heard: hi"
        assert await node.state("echo", conversation="slow") == "running"
        slow[1].cancel()
        late = asyncio.create_task(node.send("echo", "he", conversation="slow"))
        await asyncio.sleep(0)
        go.set()
        assert (await slow[0]).text == "heard: hi" and (await late).text == "heard: he"
        assert said(node, "", "slow") == ["hi", "heard: hi", "he", "heard: he"]


async def test_a_message_whose_conversation_was_not_open_yet_is_refused_by_a_stop(tmp_path: Path) -> None:
    opening, go, store = Event(), Event(), Store.open(tmp_path / "a.db")

    def wait(*_: object) -> None:
        opening.set()
        assert go.wait(60)

    watch(store, wait, ("open_checkpoint",))
    node = Node(store=store)
    node.add("echo", echoing)
    sending = asyncio.create_task(node.send("echo", "hi"))
    assert await asyncio.to_thread(opening.wait, 60)
    await node.stop()
    go.set()
    with pytest.raises(Stopped):
        await sending
    assert said(node) == []


async def test_stopping_lets_the_current_turn_end_and_refuses_the_rest() -> None:
    gates: list[Gate] = []
    node = Node()
    node.add("gated", gated(gates))
    first = asyncio.create_task(node.send("gated", "one"))
    await begun(gates)
    second = asyncio.create_task(node.send("gated", "two"))
    third = asyncio.ensure_future(anext(node.send_stream("gated", "three")))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(node.stop())
    await asyncio.sleep(0)
    gates[0].go.set()
    await stopping
    assert (await first).text == "done" and said(node, name="gated")[0] == "one"
    for refused in (second, third, node.send("gated", "four")):
        with pytest.raises(Stopped):
            await refused


@pytest.mark.parametrize("how", ["grace", "hurry"])
async def test_what_takes_longer_than_the_grace_is_interrupted_and_kept(how: str) -> None:
    gates: list[Gate] = []
    node, hurry = Node(), asyncio.Event()
    node.add("gated", gated(gates))
    sending = asyncio.create_task(node.send("gated", "one"))
    await begun(gates)
    agent = node.worker("gated").agent
    if how == "hurry":
        hurry.set()
    await asyncio.wait_for(node.stop(grace=3600 if how == "hurry" else 0.01, hurry=hurry), 60)
    assert (await sending).stop == "interrupted"
    assert_whole(agent)


async def test_an_error_in_one_conversation_takes_no_grace_from_the_others() -> None:
    gates, failed, node = list[Gate](), asyncio.Event(), Node()

    async def fails(*_: object) -> None:
        failed.set()
        raise OSError("the disk is full")

    node.add("gated", gated(gates))
    node.add("echo", echoing)
    await node.send("echo", "hi")
    compactions: Any = parts_of(node.worker("echo").agent.session).compactions
    compactions.close = fails
    answer = asyncio.ensure_future(node.send("gated", "hi"))
    await begun(gates)
    stopping = asyncio.ensure_future(node.stop())
    await failed.wait()
    gates[0].go.set()
    with pytest.raises(OSError, match="full"):
        await stopping
    assert (await answer).text == "done"
