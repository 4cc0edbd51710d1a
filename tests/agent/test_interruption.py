"""Interruption and cancellation: one turn at a time, and a history that every provider accepts."""

import asyncio
from typing import Any, Literal

import pytest

from quire import Message, ToolResult
from quire.agent import tool
from quire.errors import TurnBusy
from quire.session import Added, Adding, Building, Built, Called, Calling, Hook
from quire.stores import MemoryStore
from tests.agent.answering import (
    Gate,
    Payments,
    agent_of,
    assert_whole,
    call,
    in_thread,
    look,
    results,
    said,
    soon,
)

How = Literal["message", "cancel"]


async def test_a_message_interrupts_a_turn_of_any_agent_of_the_conversation() -> None:
    gate, store = Gate(), MemoryStore()
    agent = agent_of(call("gate"), "Never.", tools=[gate.tool], store=store)
    asking = asyncio.create_task(agent.ask("first"))
    await gate.begun.wait()
    other = agent_of("Here.", tools=[gate.tool], store=store)
    for verb in (other.resume(), other.decide({"call_gate": True})):
        with pytest.raises(TurnBusy):
            await verb
    assert (await other.ask("second")).text == "Here." and (await asking).stop == "interrupted"
    assert results(agent)[0].extras["uncertain"] is True and said(agent) == ["first", "second", "Here."]
    assert_whole(agent)


@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_what_came_of_an_answer_that_is_broken_off_is_recorded(how: str) -> None:
    agent = agent_of("word " * 2_000)
    stream = agent.stream("go")
    for _ in range(40):
        await anext(stream)
    with pytest.raises(TurnBusy):
        await agent.resume()
    if how == "interrupt":
        await soon(agent.interrupt())  # though nobody reads the stream
    await stream.aclose()
    answer = agent.session.view()[-1]
    assert isinstance(answer, Message) and answer.interrupted and answer.text.startswith("word word")
    assert_whole(agent)


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("how", ["message", "cancel"])
def test_a_turn_may_be_broken_off_at_any_step(how: How, hangs: bool) -> None:
    async def pause(_: Any) -> None:
        await asyncio.sleep(0)

    async def talk(steps: int) -> bool:
        payments, gate, hooks = Payments(), Gate(), [Hook(pause, (Calling, Called, Adding, Added))]
        calls = [call("pay", f'{{"amount": {n}}}', f"c{n}") for n in range(3)] + [call("gate")] * hangs
        agent = agent_of(calls, "Paid.", "Second.", tools=[payments.tool, gate.tool], hooks=hooks)
        asking = asyncio.ensure_future(agent.ask("first"))
        for _ in range(steps):
            await asyncio.sleep(0)
        if asking.done() or (hangs and steps > 40):
            asking.cancel()
            return False
        paid = list(payments.paid)
        if how == "message":
            replies = await asyncio.gather(agent.ask("second"), asking)
            assert {reply.stop for reply in replies} <= {"interrupted", "done"}
            assert {"first", "second"} <= set(said(agent))
        else:
            for _ in range(4):  # cancelling again while calls are closed changes nothing
                asking.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(asking, return_exceptions=True)
        told = {result.call_id: result.text for result in results(agent)}
        assert [told[f"c{amount}"] for amount in paid] == [f"paid {amount}" for amount in paid]
        assert_whole(agent)
        return True

    steps = 0
    while asyncio.run(talk(steps)):
        steps += 1
    assert steps > 5


EVENTS = [(Calling, None), (Called, None), (Adding, ToolResult), (Added, ToolResult), (Adding, Message)]


@pytest.mark.parametrize(("event", "of"), [*EVENTS, (Added, Message), (Building, None), (Built, None)])
async def test_a_hook_interrupts_the_turn_that_waits_for_it(event: type, of: type | None) -> None:
    async def stop(event: Any) -> None:
        if of is None or any(isinstance(item, of) for item in event.items):
            await agent.interrupt()

    agent = agent_of(call("look"), call("look"), "Never.", tools=[look], hooks=[Hook(stop, (event,))])
    assert (await soon(agent.ask("first"))).stop == "interrupted" and "first" in said(agent)
    if event is Called:
        assert [one.text for one in results(agent)] == ["seen"]
    assert_whole(agent)


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_a_tool_that_interrupts_its_own_turn_still_gives_its_result(is_elsewhere: bool) -> None:
    @tool
    async def stop() -> str:
        if is_elsewhere:
            await asyncio.to_thread(lambda: asyncio.run(agent.interrupt()))
        else:
            await agent.interrupt()
        return "stopped"

    agent = agent_of(call("stop"), "Never.", tools=[stop])
    assert (await soon(agent.ask("first"))).stop == "interrupted"
    assert_whole(agent)


async def test_a_turn_is_interrupted_from_another_event_loop() -> None:
    gate, store = Gate(), MemoryStore()
    asking = asyncio.create_task(agent_of(call("gate"), tools=[gate.tool], store=store).ask("first"))
    await gate.begun.wait()
    other = agent_of("Here.", tools=[Gate().tool], store=store)
    reply = await asyncio.to_thread(in_thread, lambda: other.ask("second"))
    assert reply.text == "Here." and (await asking).stop == "interrupted"
    assert_whole(other)


def test_an_event_loop_that_was_left_holds_up_nobody() -> None:
    store, loop = MemoryStore(), asyncio.new_event_loop()
    stream = agent_of("word " * 500, store=store).stream("first")
    loop.run_until_complete(anext(stream))
    assert asyncio.run(agent_of("Here.", store=store).ask("second")).text == "Here."
    loop.run_until_complete(stream.aclose())
    loop.close()
