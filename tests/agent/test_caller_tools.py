"""Tools that the caller runs: definitions without a function, given with the agent or with one question."""

import asyncio
from threading import Event
from typing import Any

import pytest

from quire import Session, ToolCall, ToolResult
from quire.agent import Agent
from quire.agent.builtin import ask_user
from quire.errors import InvalidValue, QuireError
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.agent.answering import LOOK, Payments, agent_of, assert_whole, call, requests, results, said
from tests.stores.keeping import twin


def look(call_id: str = "l1") -> Any:
    return call("look", '{"at": "door"}', call_id)


def seen(call_id: str = "l1", content: str = "It is open.") -> ToolResult:
    return ToolResult(call_id, "look", content)


async def test_a_definition_of_the_agent_is_offered_with_every_question() -> None:
    agent = agent_of(look(), "Close it.", tools=[LOOK])
    assert (await agent.ask("Is the door open?")).stop == "waiting"
    assert [one.call_id for one in agent.waiting()] == ["l1"]
    assert (await agent.decide({"l1": seen()})).text == "Close it."
    assert all("look" in str(one.payload["tools"]) for one in requests(agent)) and agent.waiting() == ()
    assert_whole(agent)


async def test_the_tools_of_a_question_are_not_offered_with_the_next() -> None:
    agent = agent_of("Yes.", "No.")
    await agent.ask("Is it open?", tools=[LOOK])
    await agent.ask("And now?")
    assert ["tools" in one.payload for one in requests(agent)] == [True, False]


async def test_functions_of_the_response_run_and_then_the_turn_waits() -> None:
    payments, approved = Payments(), Payments("wire", approve=True)
    made = [look("l1"), call("pay", call_id="p1"), call("wire", call_id="w1"), look("l2")]
    agent = agent_of(made, "Done.", tools=[payments.tool, approved.tool])
    reply = await agent.ask("Pay, then look.", tools=[LOOK])
    assert payments.paid == [1] and [one.call_id for one in reply.waiting] == ["l1", "w1", "l2"]
    # A person who approves does not know of the caller's tools, and a caller may give one result at a time.
    assert [one.call_id for one in (await agent.decide({"w1": True})).waiting] == ["l1", "l2"]
    assert [one.call_id for one in (await agent.decide({"l2": seen("l2")})).waiting] == ["l1"]
    assert (await agent.decide({"l1": seen()})).text == "Done."
    assert payments.paid == approved.paid == [1] and len(results(agent)) == 4
    assert_whole(agent)


@pytest.mark.parametrize("verdict", [False, "the screen is off"])
async def test_the_caller_refuses_a_call(verdict: Any) -> None:
    agent = agent_of(look(), "Oh.")
    await agent.ask("Look.", tools=[LOOK])
    assert (await agent.decide({"l1": verdict})).text == "Oh." and results(agent)[0].is_error


async def test_no_approver_is_asked_about_the_calls_of_the_caller() -> None:
    def refuse(made: ToolCall) -> bool:
        pytest.fail(made.name)

    agent = agent_of(look(), "Fine.", approver=refuse)
    assert (await agent.ask("Look.", tools=[LOOK])).stop == "waiting"
    await agent.session.aio.calls.decide("l1", True)  # whoever says so: only a result answers it
    assert (await agent.resume()).stop == "waiting"


WRONG: list[tuple[Any, str, str]] = [
    ({"l9": seen("l9")}, "UnknownId", "'l9'"),
    ({"p1": True, "p9": True}, "UnknownId", "'p9'"),
    ({"p1": None}, "WrongType", "not NoneType"),
    ({"a1": True}, "InvalidValue", "`ask` answers it"),
    ({"c1": True}, "InvalidValue", "does not have"),
    ({"l1": True}, "InvalidValue", "the caller runs"),
    ({"l1": seen("l2")}, "InvalidValue", "of another call"),
    ({"l1": ToolResult("l1", "other", "!")}, "InvalidValue", "of another call"),
    ({"p1": ToolResult("p1", "pay", "paid 9")}, "InvalidValue", "the agent runs"),
    ({"l1": {"content": "open"}}, "WrongType", "not dict"),
]


async def test_a_decision_that_no_call_waits_for_is_an_error_and_changes_nothing() -> None:
    payments, question = Payments(approve=True), call("ask_user", '{"question": "?"}', "a1")
    agent = agent_of([look(), call("pay", call_id="p1"), question], tools=[payments.tool, ask_user])
    await agent.ask("Look and pay.", tools=[LOOK])
    agent.session.append(call("another", call_id="c1"))
    version = agent.session.version
    for decisions, error, words in WRONG:
        with pytest.raises(QuireError, match=words) as caught:
            await agent.decide(decisions)
        assert type(caught.value).__name__ == error
        assert agent.session.version == version and payments.paid == []


async def test_the_tools_of_a_question_are_read_beside_the_event_loop() -> None:
    loop, has_gone_on = asyncio.get_running_loop(), Event()

    class Long(dict[str, Any]):
        """A definition that takes until the loop has done something else."""

        def __contains__(self, name: object) -> bool:
            loop.call_soon_threadsafe(has_gone_on.set)
            assert has_gone_on.wait(60)
            return super().__contains__(name)

    await agent_of("Yes.").ask("Look.", tools=[Long(LOOK)])


@pytest.mark.parametrize("wrong", [[lambda: "ran here"], LOOK, "look"])
async def test_the_tools_of_a_question_are_definitions(wrong: Any) -> None:
    with pytest.raises(QuireError, match="definitions"):
        await agent_of("Yes.").ask("Look.", tools=wrong)


async def test_two_tools_of_one_name_are_an_error() -> None:
    agent = agent_of("Yes.", tools=[Payments("look").tool])
    with pytest.raises(InvalidValue, match="two tools are called 'look'"):
        await agent.ask("Look.", tools=[LOOK])
    assert said(agent) == []


async def test_another_message_closes_the_calls() -> None:
    agent = agent_of(look(), "Never mind, then.")
    await agent.ask("Look.", tools=[LOOK])
    assert (await agent.ask("Leave it.")).text == "Never mind, then."
    assert "said something else first" in results(agent)[0].text and agent.waiting() == ()
    with pytest.raises(QuireError, match="'l1'"):
        await agent.decide({"l1": seen()})
    assert_whole(agent)


async def test_a_result_may_be_given_again_after_a_crash() -> None:
    store, result, other = MemoryStore(), seen(), seen("l2")
    agent = agent_of([look(), look("l2")], ConnectionError("the process ends"), store=store)
    await agent.ask("Look.", tools=[LOOK])
    with pytest.raises(ConnectionError):
        await agent.decide({"l1": result, "l2": other})
    later = Agent(Session.open("ana/one", store=twin(store)), model=Scripted(["Close it.", "Again."]))
    reply = await later.decide({"l1": result, "l2": other}, tools=[LOOK])
    assert reply.text == "Close it." and [one.id for one in results(later)] == [result.id, other.id]
    assert (await later.decide({"l1": result})).text == "Close it."  # the turn had ended: its answer is given
    assert_whole(later)


async def test_a_call_that_waits_is_known_to_another_process() -> None:
    store = MemoryStore()
    agent = agent_of(look(), store=store)
    await agent.ask("Look.", tools=[LOOK])
    later = Agent(Session.open("ana/one", store=twin(store)), model=Scripted(["Close it."]))
    assert [one.call_id for one in later.waiting()] == ["l1"]
    assert (await later.resume()).stop == "waiting"
    assert (await later.decide({"l1": seen()})).text == "Close it."


async def test_an_agent_that_is_handed_the_conversation_has_the_tools_of_the_question() -> None:
    session = Session.open("ana/one", store=MemoryStore())
    bills = Agent(session, model=Scripted([look(), "It is paid."]), name="bills")
    front = Agent(session, model=Scripted([call("hand_over_to_bills")]), name="front", handoffs=[bills])
    reply = await front.ask("Is the bill on the screen paid?", tools=[LOOK])
    assert reply.stop == "waiting" and reply.agent == "bills"
    reply = await front.decide({"l1": seen()}, tools=[LOOK])
    assert reply.text == "It is paid." and reply.agent == "bills"


async def test_a_question_of_a_tool_is_answered_while_the_caller_runs_a_call() -> None:
    question = call("ask_user", '{"question": "Which?"}', "a1")
    agent = agent_of([question, look()], "Fine.", tools=[ask_user])
    await agent.ask("Look.", tools=[LOOK])
    assert [one.call_id for one in (await agent.ask("The left one.")).waiting] == ["l1"]
    assert (await agent.decide({"l1": seen()})).text == "Fine."
    assert said(agent) == ["Look.", "Fine."]
