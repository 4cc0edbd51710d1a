"""Calls that a person answers or approves: waiting, deciding, approvers, and calls that were forgotten."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from quire import Message, Session, ToolCall
from quire.agent import Agent, Limits, tool
from quire.agent.builtin import ask_user
from quire.errors import Conflict, Forgotten, InvalidValue, UnknownId
from quire.models import Scripted
from quire.session import Adding, Built, Calling, Hook
from quire.stores import MemoryStore
from tests.agent.answering import Payments, agent_of, assert_whole, call, is_large, requests, results
from tests.session.opened import called
from tests.stores.keeping import stored_bodies, twin

ASK = call("ask_user", '{"question": "Which colour?"}')


def never(_: ToolCall) -> bool:
    pytest.fail("nobody is asked")


def pay(amount: int, call_id: str = "c1") -> ToolCall:
    return call("pay", f'{{"amount": {amount}}}', call_id)


@pytest.mark.parametrize(
    ("verdict", "told", "paid"),
    [
        (True, "paid 500", [500]),
        (False, "This was not run: it was not approved.", []),
        ("", "This was not run: it was not approved.", []),
        ("too much", "This was not run: too much.", []),
    ],
)
async def test_a_verdict_runs_or_refuses_a_call(verdict: Any, told: str, paid: list[int]) -> None:
    payments = Payments(approve=is_large)
    agent = agent_of([pay(50, "c0"), pay(500)], "Done.", tools=[payments.tool])
    assert (await agent.ask("Pay.")).stop == "waiting" and payments.paid == [50]
    assert (await agent.decide({"c1": verdict})).text == "Done." and payments.paid == [50, *paid]
    assert [one.text for one in results(agent)] == ["paid 50", told]
    assert_whole(agent)


@pytest.mark.parametrize("approver", [None, never])
@pytest.mark.parametrize("made", [call("pay", '{"amount": "much"}'), call("ask_user", '{"quest": "?"}')])
async def test_nobody_is_asked_about_arguments_that_do_not_fit(made: ToolCall, approver: Any) -> None:
    agent = agent_of(made, "Oh.", tools=[Payments(approve=True).tool, ask_user], approver=approver)
    assert (await agent.ask("Pay.")).text == "Oh." and "was not run" in results(agent)[0].text


async def test_a_call_is_decided_once_by_one_of_its_ids() -> None:
    payments = Payments(approve=True)
    agent = agent_of([pay(5), pay(6)], "Done.", tools=[payments.tool])
    one, other = (await agent.ask("Pay.")).waiting  # the second is given an id of its own
    with pytest.raises(InvalidValue, match="both of its ids"):
        await agent.decide({one.id: True, one.call_id: False})
    assert [call.id for call in (await agent.decide({one.id: True})).waiting] == [other.id]
    assert (await agent.decide({other.call_id: True})).text == "Done." and payments.paid == [5, 6]


async def test_refused_calls_do_not_count_and_calls_beyond_the_limit_are_not_asked_about() -> None:
    asked: list[str] = []

    def approver(call: ToolCall) -> bool:
        asked.append(call.call_id)
        return call.call_id != "c1"

    payments = Payments(approve=True)
    calls = [pay(1, "c1"), pay(2, "c2"), pay(3, "c3")]
    agent = agent_of(calls, tools=[payments.tool], approver=approver, limits=Limits(calls=1))
    assert (await agent.ask("Pay.")).stop == "calls"
    assert asked == ["c1", "c2"] and payments.paid == [2] and "limit of calls" in results(agent)[2].text
    waiting = agent_of(calls, tools=[payments.tool], limits=Limits(calls=1))
    assert [one.call_id for one in (await waiting.ask("Pay.")).waiting] == ["c1"]
    assert len(results(waiting)) == 2  # the other two are closed


async def test_a_call_that_waits_when_another_agent_speaks_is_run_by_the_agent_that_made_it() -> None:
    payments, session = Payments(approve=True), Session.open("ana/one", store=MemoryStore())
    bills = Agent(session, model=Scripted(["Bills here."]), name="bills")
    made = [pay(5), call("hand_over_to_bills", "{}", "c2")]
    front = Agent(session, model=Scripted([made]), name="front", tools=[payments.tool], handoffs=[bills])
    assert (await front.ask("Pay.")).stop == "waiting"
    reply = await front.decide({"c1": True})
    assert reply.agent == "bills" and payments.paid == [5]


# Decisions elsewhere


@pytest.mark.parametrize("how", ["resume", "decide", "ask"])
@pytest.mark.parametrize(
    ("verdict", "told"),
    [(True, "paid 5"), (False, "This was not run: it was not approved."), ("no", "This was not run: no.")],
)
async def test_a_decision_on_the_record_is_acted_on_by_the_next_turn(
    verdict: bool | str, told: str, how: str
) -> None:
    store, payments = MemoryStore(), Payments(approve=True)
    assert (await agent_of(pay(5), tools=[payments.tool], store=store).ask("Pay.")).stop == "waiting"
    there = twin(store)
    await Session.open("ana/one", store=there).aio.calls.decide("c1", verdict)
    assert payments.paid == []
    later = agent_of("Done.", tools=[payments.tool], store=twin(there))
    assert later.waiting() == ()
    given: dict[str, Any] = {"resume": (), "decide": ({},), "ask": ("Any news?",)}
    assert str(await getattr(later, how)(*given[how])) == "Done."
    assert results(later)[0].text == told and payments.paid == ([5] if verdict is True else [])
    assert_whole(later)


async def test_an_approval_is_taken_back_until_the_call_begins_and_a_refusal_is_final() -> None:
    payments = Payments(approve=True)
    agent = agent_of([pay(5), pay(6, "c2"), pay(7, "c3")], "Done.", tools=[payments.tool])
    steps = agent.session.aio.calls
    with pytest.raises(UnknownId):
        await steps.decide("c1", True)
    await agent.ask("Pay.")
    for name in ("c1", "c1", "c2", "c3"):
        await steps.decide(name, True)
    assert agent.waiting() == ()
    await steps.decide("c1", "on second thoughts, no")
    for again in (True, False):
        with pytest.raises(UnknownId):
            await steps.decide("c1", again)
    with pytest.raises(UnknownId):
        await agent.decide({"c1": True})
    assert (await agent.decide({"c2": "nor this"})).text == "Done." and payments.paid == [7]
    with pytest.raises(UnknownId):
        await steps.decide("c3", False)


async def test_a_call_that_begins_is_not_decided_and_one_that_was_refused_does_not_begin() -> None:
    agent = agent_of([pay(5), pay(6, "c2")], tools=[Payments(approve=True).tool])
    one, other = (await agent.ask("Pay.")).waiting
    await agent.session.aio.calls.decide(one, False)
    await agent.session.aio.calls.begin(other)
    with pytest.raises(Conflict):
        await agent.session.aio.calls.begin(one)
    with pytest.raises(Conflict):
        await agent.session.aio.calls.decide(other, False)


async def test_a_question_is_answered_and_not_approved() -> None:
    agent = agent_of(ASK, "Blue it is.", tools=[ask_user])
    await agent.ask("A pen.")
    await agent.session.aio.calls.decide("call_ask_user", True)
    assert len(agent.waiting()) == 1 and (await agent.resume()).stop == "waiting"
    assert (await agent.ask("Blue.")).text == "Blue it is." and results(agent)[0].text == "Blue."


async def test_the_reason_of_a_refusal_is_redacted_heard_and_forgotten() -> None:
    def redact(item: Any) -> Any:
        return replace(item, content="[cut]") if "4711" in getattr(item, "text", "") else item

    heard: list[str] = []
    listen = Hook(lambda event: heard.append(getattr(event.items[0], "text", "")), (Adding,))
    store = MemoryStore()
    session = Session.open("ana/one", store=store, redact=redact, hooks=[listen])
    one, other = called(session, "pay", "{}"), called(session, "pay", "{}")
    heard.clear()
    await session.aio.calls.decide(one, "the card is 4711")
    await session.aio.calls.decide(other, "the swordfish says no")
    assert heard == ["[cut]", "This was not run: the swordfish says no."]
    session.forget(*[item.id for item in session.view() if getattr(item, "call_id", "") == other.call_id][1:])
    assert not any(b"swordfish" in body or b"4711" in body for _, body in stored_bodies(store))
    third = called(session, "pay", "{}")
    session.forget(third.id)
    with pytest.raises(Forgotten):
        await session.aio.calls.decide(third, True)


# Calls that were forgotten


async def test_a_forgotten_call_is_not_decided_and_not_run() -> None:
    payments = Payments(approve=True)
    agent = agent_of([pay(5), pay(6, "c2")], "Done.", tools=[payments.tool])
    one, other = (await agent.ask("Pay.")).waiting
    agent.session.forget(one.id)
    with pytest.raises(Forgotten):
        await agent.decide({one.id: True})
    assert (await agent.decide({other.id: True})).text == "Done." and payments.paid == [6]
    assert results(agent)[0].text == "This was not run: its content was forgotten."
    assert_whole(agent)


@pytest.mark.parametrize("is_begun", [False, True])
async def test_resume_closes_a_forgotten_call(is_begun: bool) -> None:
    payments = Payments(idempotent=True)
    agent = agent_of("Well.", tools=[payments.tool])
    agent.session.append(Message("user", "Pay."), made := pay(5))
    if is_begun:
        await agent.session.aio.calls.begin(made)
    agent.session.forget(made.id)
    assert (await agent.resume()).text == "Well." and payments.paid == []
    assert results(agent)[0].extras.get("uncertain", False) is is_begun
    assert_whole(agent)


@pytest.mark.parametrize("when", ["approver", "hook"])
async def test_a_call_that_is_forgotten_while_others_look_at_it_is_not_run(when: str) -> None:
    async def forget(_: Any) -> bool:
        await asyncio.to_thread(agent.session.forget)
        return True

    payments = Payments(approve=when == "approver")
    hooks = [Hook(forget, (Calling,))] if when == "hook" else []
    agent = agent_of(pay(5), "Well.", tools=[payments.tool], hooks=hooks, approver=forget)
    assert (await agent.ask("Pay.")).text == "Well." and payments.paid == []
    assert_whole(agent)


async def test_what_is_forgotten_before_a_request_is_sent_is_not_in_it() -> None:
    calls = 0

    @tool
    async def look() -> str:
        return "seen"

    async def forgets(_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            await asyncio.to_thread(agent.session.forget, agent.session.view()[0].id)

    agent = agent_of(call("look"), "Done.", tools=[look], hooks=[Hook(forgets, (Built,))])
    assert (await agent.ask("the secret")).text == "Done."
    first, second = requests(agent)
    assert "the secret" in str(first.payload) and "the secret" not in str(second.payload)
