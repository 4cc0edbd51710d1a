"""One question at a time in a conversation, whoever asks it: other agents, sessions, loops, processes."""

import asyncio
import threading
from pathlib import Path

import pytest

from quire import Message, Session
from quire.agent import Agent, tool
from quire.errors import Conflict, InvalidValue, TurnBusy
from quire.models import Scripted
from quire.node import Node
from quire.stores import MemoryStore, SQLiteStore, Store
from tests.agent.answering import Answer, Gate, assert_whole, call, results, run


def agent_at(store: Store, gate: Gate, *replies: Answer) -> Agent:
    """An agent of one request: it opens the conversation for itself."""
    return Agent(Session.open("ana/one", store=store), model=Scripted(replies), tools=[gate.tool])


def said(agent: Agent) -> list[str]:
    return [item.text for item in agent.session.view() if isinstance(item, Message)]


@pytest.mark.parametrize("shares", ["the store", "the session", "the store, long after"])
def test_a_message_interrupts_a_question_of_another_agent(shares: str) -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate()
        one = agent_at(store, gate, call("gate"), "Never said.")
        asking = asyncio.create_task(one.ask("first"))
        await gate.begun.wait()
        if shares == "the session":
            other = Agent(one.session, model=Scripted(["Here."]), name="other")
        else:
            if shares == "the store, long after":
                for number in range(100):
                    Session.open(f"ana/{number}", store=store)
            other = agent_at(store, gate, "Here.")
        assert (await other.ask("second")).text == "Here."
        assert (await asking).stop == "interrupted"
        [told] = results(other)
        assert told.extras["uncertain"] is True and "broken off" in told.text and gate.ran == 1
        assert said(other) == ["first", "second", "Here."]
        assert_whole(other)

    run(talk)


def test_what_goes_on_does_not_interrupt_what_is_on_its_way() -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate(idempotent=True)
        one, other = agent_at(store, gate, call("gate"), "Done."), agent_at(store, gate, "Again?")
        asking = asyncio.create_task(one.ask("first"))
        await gate.begun.wait()
        with pytest.raises(TurnBusy):
            await other.resume()
        with pytest.raises(TurnBusy):
            await other.decide({"call_gate": True})
        gate.go.set()
        assert (await asking).text == "Done." and gate.ran == 1
        assert (await other.resume()).text == "Done."
        assert_whole(one)

    run(talk)


def test_any_agent_of_a_conversation_stops_what_is_on_its_way() -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate()
        one, other = agent_at(store, gate, call("gate")), agent_at(store, gate)
        asking = asyncio.create_task(one.ask("first"))
        await gate.begun.wait()
        await other.interrupt()
        assert (await asking).stop == "interrupted"
        assert_whole(one)

    run(talk)


def test_a_stream_that_is_left_open_does_not_hold_up_another_agent() -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate()
        one, other = agent_at(store, gate, "word " * 500), agent_at(store, gate, "Here.")
        stream = one.stream("first")
        await anext(stream)
        with pytest.raises(TurnBusy):
            await other.resume()
        assert (await asyncio.wait_for(other.ask("second"), 60)).text == "Here."
        await stream.aclose()
        assert_whole(other)

    run(talk)


def test_a_question_is_interrupted_from_another_loop() -> None:
    store = MemoryStore()
    begun, told = threading.Event(), list[str]()

    async def first() -> None:
        gate = Gate()
        one = agent_at(store, gate, call("gate"))
        asking = asyncio.create_task(one.ask("first"))
        await gate.begun.wait()
        begun.set()
        told.append((await asking).stop)

    thread = threading.Thread(target=lambda: asyncio.run(first()))
    thread.start()
    assert begun.wait(60)
    other = agent_at(store, Gate(), "Here.")
    assert asyncio.run(other.ask("second")).text == "Here."
    thread.join(60)
    assert told == ["interrupted"]
    assert_whole(other)


def test_a_loop_that_was_left_holds_up_nobody() -> None:
    store, loop = MemoryStore(), asyncio.new_event_loop()
    stream = agent_at(store, Gate(), "word " * 500).stream("first")
    loop.run_until_complete(anext(stream))
    other = agent_at(store, Gate(), "Here.")
    assert asyncio.run(other.ask("second")).text == "Here."
    loop.run_until_complete(stream.aclose())
    loop.close()


def test_another_agent_is_not_asked_from_within_either() -> None:
    async def talk() -> None:
        store = MemoryStore()

        @tool
        async def nested() -> str:
            """Ask the same conversation."""
            return str(await Agent(Session.open("ana/one", store=store), model=Scripted(["x"])).ask("hm"))

        agent = Agent(
            Session.open("ana/one", store=store), model=Scripted([call("nested"), "Oh."]), tools=[nested]
        )
        assert (await agent.ask("go")).text == "Oh."
        assert InvalidValue.__name__ in results(agent)[0].text and said(agent) == ["go", "Oh."]

    run(talk)


def test_a_node_knows_of_an_agent_beside_it() -> None:
    async def talk() -> None:
        gate = Gate()
        async with Node(store=(store := MemoryStore())) as node:
            node.add("shop", lambda session: Agent(session, model=Scripted(["From the node."])))
            session = Session.open(scope="shop/", conversation="", store=store)
            beside = Agent(session, model=Scripted([call("gate")]), tools=[gate.tool])
            asking = asyncio.create_task(beside.ask("first"))
            await gate.begun.wait()
            assert node.state("shop") == "running" and node.waiting("shop") == ()
            assert (await node.send("shop", "second")).text == "From the node."
            assert (await asking).stop == "interrupted" and node.state("shop") == "idle"
            assert_whole(beside)

    run(talk)


def test_a_call_that_another_runs_is_left_to_it(tmp_path: Path) -> None:
    async def talk() -> None:
        gate = Gate()
        one = agent_at(SQLiteStore(tmp_path / "a.db"), gate, call("gate"), "Done.")
        other = agent_at(SQLiteStore(tmp_path / "a.db"), gate, "Here.")  # as another process would
        asking = asyncio.create_task(one.ask("first"))
        await gate.begun.wait()
        with pytest.raises(TurnBusy, match="call_gate"):
            await other.ask("second")
        with pytest.raises(TurnBusy):
            await other.resume()
        gate.go.set()
        assert (await asking).text == "Done." and gate.ran == 1
        assert (await other.ask("third")).text == "Here."
        assert said(other) == ["first", "Done.", "third", "Here."]
        assert_whole(other)

    run(talk)


def test_a_result_of_a_call_that_was_answered_is_refused() -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate()
        one = agent_at(store, gate, call("gate"), "Never said.")
        asking = asyncio.create_task(one.ask("first"))
        await gate.begun.wait()
        one.session.tool("by hand", call_id="call_gate")
        gate.go.set()
        with pytest.raises(Conflict, match="call_gate"):
            await asking
        assert [told.text for told in results(one)] == ["by hand"]
        assert_whole(one)

    run(talk)
