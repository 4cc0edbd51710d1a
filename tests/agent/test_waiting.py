"""What waits for a person, or was left behind by a process that ended."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quire import Message, Session, ToolCall
from quire.agent import Agent, tool
from quire.agent.builtin import ask_user, bringing_back_tools
from quire.errors import UnknownId
from quire.items import Handoff
from quire.models import Scripted
from quire.stores import Entry, MemoryStore, SQLiteStore
from tests.agent.answering import Gate, agent_of, assert_whole, call, results, run


class Counted:
    """A tool that counts how often it was run."""

    def __init__(self, **options: Any) -> None:
        self.ran = 0
        self.tool = tool(name="pay", **options)(self._pay)

    async def _pay(self, amount: int = 1) -> str:
        """Pay."""
        self.ran += 1
        return f"paid {amount}"


def test_a_question_to_the_user_waits_and_the_next_message_answers_it() -> None:
    async def talk() -> None:
        agent = agent_of(call("ask_user", '{"question": "Which year?"}'), "2025 it is.", tools=[ask_user])
        reply = await agent.ask("Report.")
        assert reply.stop == "waiting" and reply.waiting[0].name == "ask_user"
        assert (await agent.ask("2025")).text == "2025 it is."
        assert [one.content for one in results(agent)] == ["2025"]
        assert [item.text for item in agent.session.view() if isinstance(item, Message)] == [
            "Report.",
            "2025 it is.",
        ]
        assert_whole(agent)

    run(talk)


def test_a_question_to_the_user_survives_a_restart(tmp_path: Path) -> None:
    def restarted(*replies: Any) -> Agent:
        session = Session.open("ana/one", store=SQLiteStore(tmp_path / "a.db"))
        return Agent(session, model=Scripted(replies), tools=[ask_user])

    asyncio.run(restarted(call("ask_user", '{"question": "Which year?"}')).ask("Report."))
    again = restarted("2025 it is.")
    assert asyncio.run(again.ask("2025")).text == "2025 it is."
    assert [one.content for one in results(again)] == ["2025"]
    assert_whole(again)


def test_several_questions_are_answered_one_by_one() -> None:
    async def talk() -> None:
        asked = [
            call("ask_user", '{"question": "Year?"}', "c1"),
            call("ask_user", '{"question": "Who?"}', "c2"),
        ]
        agent = agent_of(asked, "Thanks.", tools=[ask_user])
        assert len((await agent.ask("Report.")).waiting) == 2
        second = await agent.ask("2025")
        assert second.stop == "waiting" and [one.call_id for one in second.waiting] == ["c2"]
        assert (await agent.ask("Ana")).text == "Thanks."
        assert [one.content for one in results(agent)] == ["2025", "Ana"]

    run(talk)


@pytest.mark.parametrize(("decision", "ran"), [(True, 1), (False, 0), ("too dear", 0)])
def test_a_call_that_needs_approval_waits_for_it(decision: bool | str, ran: int) -> None:
    async def talk() -> None:
        pay = Counted(approve=True)
        agent = agent_of(call("pay", '{"amount": 5}'), "Well.", tools=[pay.tool])
        reply = await agent.ask("pay")
        assert reply.stop == "waiting" and pay.ran == 0
        assert (await agent.decide({reply.waiting[0].call_id: decision})).text == "Well."
        assert pay.ran == ran and results(agent)[0].is_error is (ran == 0)
        if isinstance(decision, str):
            assert decision in results(agent)[0].text
        assert_whole(agent)

    run(talk)


def test_a_decision_about_nothing_is_an_error() -> None:
    async def talk() -> None:
        agent = agent_of("Hello.")
        await agent.ask("hi")
        with pytest.raises(UnknownId):
            await agent.decide({"nobody": True})

    run(talk)


def is_dear(given: Mapping[str, Any]) -> bool:
    return bool(given["amount"] > 10)


def test_an_approver_decides_at_once_and_only_where_it_is_needed() -> None:
    asked: list[str] = []

    async def approver(one: ToolCall) -> bool:
        asked.append(one.arguments)
        return True

    async def talk() -> None:
        pay = Counted(approve=is_dear)
        calls = [call("pay", '{"amount": 5}', "c1"), call("pay", '{"amount": 50}', "c2")]
        agent = agent_of(calls, "Paid.", tools=[pay.tool], approver=approver)
        assert (await agent.ask("pay")).text == "Paid."
        assert asked == ['{"amount": 50}'] and pay.ran == 2

    run(talk)


def test_a_message_instead_of_an_approval_closes_the_call() -> None:
    async def talk() -> None:
        pay = Counted(approve=True)
        agent = agent_of(call("pay"), "As you wish.", tools=[pay.tool])
        await agent.ask("pay")
        assert (await agent.ask("No, wait.")).text == "As you wish."
        assert pay.ran == 0 and results(agent)[0].is_error
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize("order", [1, -1])
def test_an_approval_goes_on_waiting_where_the_message_answers_a_question(order: int) -> None:
    async def talk() -> None:
        pay = Counted(approve=True)
        calls = [call("pay", "{}", "c1"), call("ask_user", '{"question": "Which?"}', "c2")][::order]
        agent = agent_of(calls, "Paid.", tools=[pay.tool, ask_user])
        assert len((await agent.ask("pay")).waiting) == 2
        reply = await agent.ask("blue")
        assert reply.stop == "waiting" and [one.call_id for one in reply.waiting] == ["c1"]
        assert [one.content for one in results(agent)] == ["blue"]
        assert (await agent.decide({"c1": True})).text == "Paid." and pay.ran == 1
        assert_whole(agent)

    run(talk)


def left_by_a_crash(*standings: str, idempotent: bool = False) -> tuple[Agent, Counted, Scripted]:
    """An agent that finds calls of an earlier process: of each, how far it had come."""
    store = MemoryStore()
    one = Session.open("ana/one", store=store)
    one.user("pay")
    calls = [ToolCall(f"c{n}", "pay", "{}") for n in range(len(standings))]
    one.append(*calls)
    asyncio.run(one.steps.begin(*(c for c, how in zip(calls, standings, strict=True) if how != "waiting")))
    pay, model = Counted(idempotent=idempotent), Scripted(["Well."])
    session = Session.open("ana/one", store=store)
    return Agent(session, model=model, tools=[pay.tool]), pay, model


def test_a_call_that_was_not_begun_is_run_after_a_restart() -> None:
    agent, pay, _ = left_by_a_crash("waiting")
    assert asyncio.run(agent.resume()).text == "Well."
    assert pay.ran == 1 and not results(agent)[0].is_error
    assert_whole(agent)


def test_a_call_that_may_have_run_is_marked_and_not_run_again() -> None:
    agent, pay, model = left_by_a_crash("begun", "waiting")
    asyncio.run(agent.resume())
    by_call = {one.call_id: one for one in results(agent)}
    assert pay.ran == 1 and by_call["c0"].extras["uncertain"] is True and not by_call["c1"].is_error
    assert "uncertain" in str(model.requests[0].payload["messages"])
    assert_whole(agent)


def test_a_call_that_may_have_run_is_run_again_where_that_does_no_harm() -> None:
    agent, pay, _ = left_by_a_crash("begun", idempotent=True)
    asyncio.run(agent.resume())
    assert pay.ran == 1 and results(agent)[0].content == "paid 1"
    assert_whole(agent)


def test_a_message_after_a_restart_settles_what_was_left() -> None:
    agent, pay, _ = left_by_a_crash("begun", "waiting")
    assert asyncio.run(agent.ask("are you there?")).text == "Well."
    assert pay.ran == 0 and [one.is_error for one in results(agent)] == [True, True]
    assert_whole(agent)


def test_a_result_that_was_held_is_not_lost_and_its_tool_not_run_again() -> None:
    async def before() -> MemoryStore:
        store = MemoryStore()
        slow, pay = Gate("slow"), Counted()
        agent = agent_of([call("slow"), call("pay")], tools=[slow.tool, pay.tool], store=store)
        asking = asyncio.create_task(agent.ask("go"))
        while [how for _, how in agent.session.steps.standing()] != ["begun", "held"]:
            await asyncio.sleep(0)
        kept = MemoryStore()
        rows = store.read(agent.session.place)
        kept.append(agent.session.place, [Entry(row.stream, row.body) for row in rows], expected=0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return kept

    pay = Counted()
    again = agent_of("Well.", tools=[pay.tool, Gate("slow").tool], store=asyncio.run(before()))
    asyncio.run(again.resume())
    by_name = {one.name: one for one in results(again)}
    assert pay.ran == 0 and by_name["pay"].content == "paid 1" and by_name["slow"].extras["uncertain"] is True
    assert_whole(again)


def test_an_agent_hands_over_and_the_other_goes_on_also_later() -> None:
    async def talk() -> None:
        session = Session.open("ana/one", store=MemoryStore())
        billing_model = Scripted(["Billing here.", "Still billing."])
        billing = Agent(session, model=billing_model, name="billing", instructions="You do bills.")
        first = Agent(
            session, model=Scripted([call("hand_over_to_billing")]), name="front", handoffs=[billing]
        )
        reply = await first.ask("My bill?")
        assert reply.text == "Billing here." and reply.agent == "billing"
        assert [item.to_agent for item in session.view() if isinstance(item, Handoff)] == ["billing"]
        assert "You do bills." in str(billing_model.requests[0].payload["messages"])
        assert (await first.ask("And now?")).agent == "billing"
        assert_whole(first)

    run(talk)


def test_what_was_long_is_brought_back() -> None:
    @tool(max_output=100)
    def log() -> str:
        """Read the log."""
        return "\n".join(f"line {n}" for n in range(1_000))

    async def talk() -> None:
        agent = agent_of(call("log"), "Long.", tools=[log, *bringing_back_tools()])
        await agent.ask("log")
        [handle] = [note.key for note in agent.session.pool]
        assert handle is not None and handle in results(agent)[0].text
        again = Agent(
            agent.session,
            model=Scripted([call("read_back", f'{{"handle": "{handle}"}}'), "Read."]),
            tools=bringing_back_tools(),
        )
        await again.ask("read it")
        assert results(again)[-1].text.startswith("line 0\nline 1\n")

    run(talk)


def test_asking_works_inside_a_running_loop_too() -> None:
    async def notebook() -> str:
        return str(agent_of("Hello.").ask_sync("hi"))

    assert asyncio.run(notebook()) == "Hello."


def test_waiting_for_oneself_is_an_error_and_no_deadlock() -> None:
    @tool
    async def nested() -> str:
        """Ask within."""
        return str(agent_of("x").ask_sync("hi"))

    agent = agent_of(call("nested"), "Ended.", tools=[nested])
    assert str(agent.ask_sync("go")) == "Ended."
    assert "_sync" in results(agent)[0].text
