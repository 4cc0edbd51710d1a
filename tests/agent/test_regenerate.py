"""Answering again: the last answer is hidden, an edited question is answered, and no tool runs twice."""

import asyncio

import pytest

from quire.agent import TurnEnded
from quire.agent.builtin import ask_user
from quire.errors import CallPending, InvalidValue, ModelFailed, TurnBusy
from quire.stores import MemoryStore
from tests.agent.answering import (
    Gate,
    Payments,
    agent_of,
    assert_whole,
    call,
    is_large,
    requests,
    results,
    said,
)


async def test_regenerating_hides_the_answer_and_repeats_no_tool() -> None:
    payments = Payments()
    agent = agent_of(call("pay"), "Paid.", "It is paid.", tools=[payments.tool])
    await agent.ask("Pay.")
    reply = await agent.regenerate()
    assert reply.text == "It is paid." and said(agent) == ["Pay.", "It is paid."]
    assert payments.paid == [1] and len(results(agent)) == 1
    sent = str(requests(agent)[-1].payload)
    assert "Paid." not in sent and "paid 1" in sent
    assert any(getattr(item, "content", "") == "Paid." for item in agent.session.view().recorded())
    assert_whole(agent)


async def test_regenerating_again_after_a_failure_and_as_a_stream() -> None:
    agent = agent_of("One.", ModelFailed("busy"), "Two.")
    await agent.ask("Hello?")
    with pytest.raises(ModelFailed):
        await agent.regenerate()
    deltas = [delta async for delta in agent.regenerate_stream()]
    assert isinstance(deltas[-1], TurnEnded) and deltas[-1].reply.text == "Two."
    assert said(agent) == ["Hello?", "Two."]


async def test_regenerating_interrupts_a_turn_and_waits_for_no_person() -> None:
    gate, payments = Gate(), Payments(approve=True)
    agent = agent_of(call("gate"), "Go on.", call("pay"), tools=[gate.tool, payments.tool])
    turn = asyncio.ensure_future(agent.ask("Wait."))
    await gate.begun.wait()
    assert (await agent.regenerate()).text == "Go on." and (await turn).stop == "interrupted"
    assert (await agent.ask("Pay.")).stop == "waiting"
    with pytest.raises(CallPending, match="call_pay"):
        await agent.regenerate()
    assert payments.paid == [] and [one.name for one in agent.waiting()] == ["pay"]


async def test_there_is_nothing_to_regenerate_in_an_empty_conversation() -> None:
    with pytest.raises(InvalidValue, match="asked nothing"):
        await agent_of().regenerate()


async def test_an_edited_question_is_answered_by_resuming() -> None:
    payments = Payments()
    agent = agent_of(call("pay"), "Paid.", "Nothing is paid.", tools=[payments.tool])
    question = (await agent.ask("Pay 1.")) and agent.session.view()[0]
    await agent.session.aio.edit(question.id, "Pay nothing.")
    assert (await agent.resume()).text == "Nothing is paid." and payments.paid == [1]
    assert said(agent) == ["Pay nothing.", "Nothing is paid."] and not results(agent)
    assert_whole(agent)


async def test_a_question_is_not_edited_while_it_is_answered() -> None:
    gate = Gate()
    agent = agent_of(call("gate"), "Through.", tools=[gate.tool])
    turn = asyncio.ensure_future(agent.ask("Wait."))
    await gate.begun.wait()
    with pytest.raises(TurnBusy, match="interrupt"):
        await agent.session.aio.edit(agent.session.view()[0].id, "Do not.")
    gate.go.set()
    assert (await turn).text == "Through."


async def test_calls_that_wait_for_a_person_are_listed_also_by_another_agent() -> None:
    store = MemoryStore()
    payments, gate = Payments(approve=is_large), Gate()
    tools = [payments.tool, gate.tool, ask_user]
    calls = [call("pay", '{"amount": 500}', "c1"), call("pay", '{"amount": 5}', "c2")]
    calls.append(call("ask_user", '{"question": "Sure?"}', "c3"))
    agent = agent_of(calls, "Done.", tools=tools, store=store)
    assert agent.waiting() == ()
    await agent.ask("Pay.")
    again = agent_of("Done.", tools=tools, store=store)
    assert [one.call_id for one in again.waiting()] == ["c1", "c3"]
    begun = again.waiting()[0]
    with pytest.raises(ModelFailed):
        async with again.session.calls.running(begun):
            assert [one.call_id for one in again.waiting()] == ["c3"], "a call that runs waits for nobody"
            raise ModelFailed("the process ends")
    assert [one.call_id for one in again.waiting()] == ["c3"], "nor does one that may have run"
    await again.ask("Yes.")
    assert again.waiting() == () and payments.paid == [5]
