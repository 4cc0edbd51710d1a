"""Turns that are broken off at awkward moments: ids that come again, listeners that stall, signals."""

import asyncio
import os
import signal
from typing import Any

import pytest

from quire import Note, Session, ToolCall
from quire.agent import Agent, Limits, tool
from quire.errors import UnknownId, WindowExceeded
from quire.items import Handoff
from quire.models import Scripted
from quire.node import Node
from quire.stores import MemoryStore
from tests.agent.answering import Gate, agent_of, assert_whole, call, results, run


@tool
async def balance(account: str) -> str:
    """Look up a balance."""
    return f"balance of {account}"


def two(account: str) -> list[ToolCall]:
    """A reply whose calls have the ids that those of every reply have."""
    return [call("gate", "{}", "call_0"), call("balance", f'{{"account": "{account}"}}', "call_1")]


async def held_then_interrupted(agent: Agent, gate: Gate, words: str) -> None:
    asking = asyncio.create_task(agent.ask(words))
    while [how for _, how in agent.session.steps.standing()] != ["begun", "held"]:
        await asyncio.sleep(0)
    await agent.interrupt()
    assert (await asking).stop == "interrupted"
    gate.begun.clear()


def test_call_ids_that_come_again_have_their_own_results() -> None:
    async def talk() -> None:
        gate = Gate()
        agent = agent_of(two("A"), two("B"), "Done.", tools=[gate.tool, balance])
        await held_then_interrupted(agent, gate, "first")
        await held_then_interrupted(agent, gate, "second")
        told = [one.text for one in results(agent) if one.name == "balance"]
        assert told == ["balance of A", "balance of B"]
        assert (await agent.ask("third")).text == "Done."
        assert_whole(agent)

    run(talk)


def test_what_came_with_a_held_result_is_kept_with_it() -> None:
    @tool
    async def find() -> Note:
        """Find something."""
        return Note("a finding", description="finding")

    async def talk() -> None:
        gate = Gate()
        session = Session.open("ana/one", store=MemoryStore())
        bills = Agent(session, model=Scripted(["Bills."]), name="bills")
        reply = [call("gate"), call("find"), call("hand_over_to_bills")]
        agent = Agent(session, model=Scripted([reply]), tools=[gate.tool, find], handoffs=[bills])
        asking = asyncio.create_task(agent.ask("go"))
        while [how for _, how in session.steps.standing()] != ["begun", "held", "held"]:
            await asyncio.sleep(0)
        await agent.interrupt()
        await asking
        kinds = [type(item) for item in session.view()]
        assert kinds.count(Note) == 1 and kinds.count(Handoff) == 1
        assert (await agent.ask("and now?")).agent == "bills"
        assert_whole(agent)

    run(talk)


def test_a_call_that_was_begun_is_never_said_not_to_have_run() -> None:
    ran: list[int] = []

    @tool(idempotent=True)
    async def look() -> str:
        """Look."""
        ran.append(1)
        return "seen"

    async def talk() -> None:
        store = MemoryStore()
        one = Session.open("ana/one", store=store)
        one.user("look")
        one.append(called := ToolCall("c1", "look"))
        await one.steps.begin(called)
        agent = Agent(Session.open("ana/one", store=store), model=Scripted(["Well."]), tools=[look])
        await agent.ask("are you there?")
        assert results(agent)[0].extras["uncertain"] is True and ran == []

    run(talk)


def test_a_wrong_decision_leaves_what_waits_as_it_is() -> None:
    @tool(approve=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def talk() -> None:
        agent = agent_of(call("pay"), "Paid.", tools=[pay])
        reply = await agent.ask("pay")
        with pytest.raises(UnknownId):
            await agent.decide({"nobody": True})
        assert (await agent.decide({reply.waiting[0].call_id: True})).text == "Paid."
        assert results(agent)[0].text == "paid"

    run(talk)


def test_a_listener_that_stalls_does_not_hold_up_an_interruption() -> None:
    async def talk() -> None:
        agent = agent_of("word " * 500, "Later.")
        stream = agent.stream("go on")
        await anext(stream)
        for _ in range(200):
            await asyncio.sleep(0)
        await asyncio.wait_for(agent.interrupt(), 60)
        assert (await asyncio.wait_for(agent.ask("and?"), 60)).text == "Later."
        await stream.aclose()
        assert_whole(agent)

    run(talk)


def test_a_node_stops_though_a_listener_stalls() -> None:
    async def serve() -> None:
        node = Node()
        node.add("talker", lambda session: Agent(session, model=Scripted(["word " * 500])))
        stream = node.send_stream("talker", "go on")
        await anext(stream)
        await asyncio.wait_for(node.stop(grace=0.05), 60)
        await stream.aclose()

    asyncio.run(serve())


def test_a_window_that_was_exceeded_stays_smaller_for_the_rest_of_the_question() -> None:
    async def talk() -> None:
        agent = agent_of(
            WindowExceeded("too long"), call("balance", '{"account": "A"}'), "Done.", tools=[balance]
        )
        for n in range(100):
            agent.session.user(f"question {n} " + "word " * 20)
            agent.session.assistant(f"answer {n}")
        assert (await agent.ask("and now?")).text == "Done."
        sizes = [len(one.payload["messages"]) for one in agent.model.requests]  # type: ignore[attr-defined]
        assert sizes[1] < sizes[0] and sizes[2] <= sizes[1] + 2

    run(talk)


def test_what_cannot_be_written_is_told_to_the_model() -> None:
    @tool
    async def odd(kind: str) -> Any:
        """Give something odd."""
        if kind == "error":
            raise ValueError("cannot parse r\udce9sum\udce9.txt")
        return Note(object(), key="k" if kind == "kept" else None, description="an object")

    async def talk() -> None:
        calls = [call("odd", f'{{"kind": "{kind}"}}', kind) for kind in ("error", "kept", "said")]
        agent = agent_of(calls, "Oh.", tools=[odd])
        assert (await agent.ask("go")).text == "Oh."
        assert [one.is_error for one in results(agent)] == [True, True, True]
        assert_whole(agent)

    run(talk)


def test_a_node_that_is_told_to_stop_lets_main_have_its_answer() -> None:
    told: list[str] = []

    async def main(node: Node) -> None:
        gate = Gate()
        model = Scripted([call("gate"), "done"])
        node.add("gated", lambda session: Agent(session, model=model, tools=[gate.tool]))
        loop = asyncio.get_running_loop()

        async def stop() -> None:
            await gate.begun.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            loop.call_later(0.05, gate.go.set)

        stopping = loop.create_task(stop())
        told.append((await node.send("gated", "go")).text)
        await stopping

    Node.start(main)
    assert told == ["done"]


def test_a_limit_on_calls_leaves_what_a_person_is_asked() -> None:
    @tool(approve=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def talk() -> None:
        calls = [call("pay", "{}", "c1"), call("balance", '{"account": "A"}', "c2")]
        agent = agent_of(calls, "Paid.", tools=[pay, balance])
        reply = await agent.ask("pay", limits=Limits(calls=1))
        assert reply.stop == "waiting" and [one.call_id for one in reply.waiting] == ["c1"]
        assert "limit of calls" in results(agent)[0].text and results(agent)[0].call_id == "c2"
        assert (await agent.decide({"c1": True})).text == "Paid."
        assert results(agent)[-1].text == "paid"
        assert_whole(agent)

    run(talk)


def test_a_call_that_waits_is_run_by_who_made_it_though_another_goes_on() -> None:
    @tool(approve=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def talk() -> None:
        session = Session.open("ana/one", store=MemoryStore())
        bills = Agent(session, model=Scripted(["Bills."]), name="bills")
        reply = [call("pay", "{}", "c1"), call("hand_over_to_bills")]
        front = Agent(session, model=Scripted([reply]), tools=[pay], name="front", handoffs=[bills])
        assert (await front.ask("pay")).stop == "waiting"
        decided = await front.decide({"c1": True})
        assert decided.agent == "bills" and results(front)[-1].text == "paid"
        assert_whole(front)

    run(talk)


@pytest.mark.parametrize("gate_ends", [False, True])
def test_calls_of_one_reply_that_have_one_id_have_their_own_results(gate_ends: bool) -> None:
    async def talk() -> None:
        gate = Gate()
        accounts = [call("balance", f'{{"account": "{one}"}}', "call_0") for one in "AB"]
        reply = [call("gate", "{}", "call_0"), *accounts]
        agent = agent_of(reply, "Done.", "Done.", tools=[gate.tool, balance])
        asking = asyncio.create_task(agent.ask("first"))
        while [how for _, how in agent.session.steps.standing()] != ["begun", "held", "held"]:
            await asyncio.sleep(0)
        if gate_ends:
            gate.go.set()
        else:
            await agent.interrupt()
        await asking
        first, *others = [one.text for one in results(agent)]
        assert (first == "through") is gate_ends and others == ["balance of A", "balance of B"]
        assert (await agent.ask("second")).text == "Done."
        assert_whole(agent)

    run(talk)
