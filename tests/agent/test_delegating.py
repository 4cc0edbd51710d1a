"""Agents that work for others: what they see, what comes back, and that they write nothing into it."""

import asyncio
from typing import Any, Literal

import pytest

from quire import Message, Session
from quire.agent import Agent, tool
from quire.agent.builtin import ask_user
from quire.agent.builtin.delegating import delegating_tools
from quire.agent.builtin.roles import Returns, Role
from quire.compactors import TruncateOldest
from quire.errors import InvalidValue
from quire.models import Scripted
from quire.stores import MemoryStore
from tests.agent.answering import Gate, assert_whole, call, results, run


class Checkers:
    """Makes agents that answer in turn, and keeps them."""

    def __init__(self, *replies: Any, tools: Any = ()) -> None:
        self._replies = replies
        self._tools = tools
        self.made: list[Agent] = []

    def make(self, session: Session) -> Agent:
        model = Scripted(self._replies, repeat=True)
        self.made.append(Agent(session, model=model, tools=self._tools, name="checker"))
        return self.made[-1]

    def role(self, sees: Literal["brief", "all"] | int = "brief", returns: Returns = "answer") -> Role:
        return Role(name="checker", description="Checks.", make=self.make, sees=sees, returns=returns)

    def seen(self, index: int = 0) -> str:
        return str(self.made[index].model.requests[0].payload["messages"])  # type: ignore[attr-defined]


def parent_of(role: Role, *replies: Any, timeout: float | None = 60.0) -> Agent:
    session = Session.open("ana/one", store=MemoryStore())
    session.user("The margin is 12 %.")
    session.assistant("Noted.")
    return Agent(session, model=Scripted(replies), tools=delegating_tools(role, timeout=timeout))


TASK = '{"to": "checker", "task": "Check the margin."}'


@pytest.mark.parametrize(("sees", "knows"), [("brief", False), ("all", True), (1, False)])
def test_what_a_child_sees_is_chosen(sees: Any, knows: bool) -> None:
    async def talk() -> None:
        checkers = Checkers("It is right.")
        parent = parent_of(checkers.role(sees), call("delegate", TASK), "Checked.")
        assert (await parent.ask("Check it.")).text == "Checked."
        assert ("The margin is 12 %." in checkers.seen()) is knows
        assert "Check the margin." in checkers.seen()
        assert [one.text for one in results(parent)] == ["It is right."]
        assert_whole(parent)

    run(talk)


def test_a_child_never_writes_into_its_parent() -> None:
    async def talk() -> None:
        checkers = Checkers("It is right.")
        parent = parent_of(checkers.role("all"), call("delegate", TASK), "Checked.")
        await parent.ask("Check it.")
        said = [item.text for item in parent.session.view() if isinstance(item, Message)]
        assert said == ["The margin is 12 %.", "Noted.", "Check it.", "Checked."]

    run(talk)


@pytest.mark.parametrize(("returns", "words"), [("all", "Check the margin."), ("summary", "In short.")])
def test_what_comes_back_is_chosen(returns: Returns, words: str) -> None:
    async def talk() -> None:
        checkers = Checkers("It is right.", "In short.")
        parent = parent_of(checkers.role(returns=returns), call("delegate", TASK), "Checked.")
        await parent.ask("Check it.")
        assert words in results(parent)[0].text

    run(talk)


def test_one_that_was_started_keeps_its_conversation_until_it_is_stopped() -> None:
    async def talk() -> None:
        checkers = Checkers("First.", "Second.")
        to_it = '{"to": "checker-1", "task": "Go."}'
        parent = parent_of(
            checkers.role(),
            call("start_agent", '{"role": "checker"}', "c1"),
            call("delegate", to_it, "c2"),
            call("delegate", to_it, "c3"),
            call("list_agents", "{}", "c4"),
            call("stop_agent", '{"name": "checker-1"}', "c5"),
            call("delegate", to_it, "c6"),
            "Done.",
        )
        await parent.ask("Go.")
        told = [one.text for one in results(parent)]
        assert told[1:3] == ["First.", "Second."] and "checker-1" in told[3] and len(checkers.made) == 1
        assert "nobody is called 'checker-1'" in told[5]

    run(talk)


def test_work_is_given_to_several_at_once() -> None:
    async def talk() -> None:
        gate = Gate()
        checkers = Checkers(call("gate"), "Through.", tools=[gate.tool])
        given = call("delegate_in_parallel", '{"role": "checker", "tasks": ["a", "b", "c"]}')
        parent = parent_of(checkers.role(), given, "Done.")
        asking = asyncio.create_task(parent.ask("Go."))
        while gate.ran < 3:
            await asyncio.sleep(0)
        gate.go.set()
        await asking
        assert results(parent)[0].text.count("Through.") == 3
        assert len({str(one.session.place) for one in checkers.made}) == 3

    run(talk)


def test_one_that_takes_too_long_is_stopped_and_its_conversation_is_whole() -> None:
    async def talk() -> None:
        gate = Gate()
        checkers = Checkers(call("gate"), "Through.", tools=[gate.tool])
        parent = parent_of(checkers.role(), call("delegate", TASK), "Too slow.", timeout=0.05)
        assert (await parent.ask("Go.")).text == "Too slow."
        assert "did not finish" in results(parent)[0].text
        assert_whole(checkers.made[0])

    run(talk)


def test_a_question_of_a_child_is_passed_on_and_its_answer_taken_back() -> None:
    async def talk() -> None:
        asking = call("ask_user", '{"question": "Which margin?"}')
        checkers = Checkers(asking, "Then it is right.", tools=[ask_user])
        answer = call("delegate", '{"to": "checker-1", "task": "The gross one."}', "c2")
        parent = parent_of(checkers.role(), call("delegate", TASK, "c1"), "Which?", answer, "Checked.")
        await parent.ask("Check it.")
        assert "Which margin?" in results(parent)[0].text and "checker-1" in results(parent)[0].text
        assert (await parent.ask("The gross one.")).text == "Checked."
        assert results(parent)[1].text == "Then it is right."
        assert results(checkers.made[0])[0].text == "The gross one." and len(checkers.made) == 1

    run(talk)


def test_a_call_of_a_child_that_needs_approval_is_named_and_can_be_decided() -> None:
    async def talk() -> None:
        pay = tool(name="pay", approve=True)(look.function)
        checkers = Checkers(call("pay", "{}", "p1"), "Paid.", tools=[pay])
        after = call("delegate", '{"to": "checker-1", "task": "And?"}', "c2")
        parent = parent_of(checkers.role(), call("delegate", TASK, "c1"), "It waits.", after, "Done.")
        await parent.ask("Check it.")
        told = results(parent)[0].text
        assert all(words in told for words in ("p1", "pay", "ana/one%2Fchecker-1"))
        theirs = parent.session.child("checker-1")
        beside = Agent(theirs, model=Scripted(["Paid."]), tools=[pay])
        assert (await beside.decide({"p1": True})).text == "Paid."
        await parent.ask("And?")
        assert results(checkers.made[0])[0].text == "seen" and len(checkers.made) == 1

    run(talk)


@pytest.mark.parametrize("beside_question", [False, True])
def test_what_becomes_of_a_call_that_waits_for_approval_is_told_as_it_is(beside_question: bool) -> None:
    async def talk() -> None:
        pay = tool(name="pay", approve=True)(look.function)
        calls = [call("pay", "{}", "p1"), call("ask_user", '{"question": "Which?"}')][: 1 + beside_question]
        checkers = Checkers(calls, "Well.", "Well.", tools=[pay, ask_user])
        after = call("delegate", '{"to": "checker-1", "task": "The gross one."}', "c2")
        parent = parent_of(checkers.role(), call("delegate", TASK, "c1"), "It waits.", after, "Done.")
        await parent.ask("Check it.")
        told = results(parent)[0].text
        assert ("takes the call back" in told) is not beside_question
        assert ("goes on waiting" in told) is beside_question
        await parent.ask("The gross one.")
        assert bool(checkers.made[0].session.steps.standing()) is beside_question

    run(talk)


def test_roles_are_checked() -> None:
    checkers = Checkers("x")
    with pytest.raises(InvalidValue):
        delegating_tools()
    with pytest.raises(InvalidValue):
        delegating_tools(checkers.role(), checkers.role())
    with pytest.raises(InvalidValue):
        Role(name="x", description="x", make=checkers.make, returns="nothing")  # type: ignore[arg-type]


def test_agents_of_one_conversation_are_unknown_in_another() -> None:
    async def talk() -> None:
        checkers = Checkers("First.")
        tools = delegating_tools(checkers.role())
        started = call("start_agent", '{"role": "checker"}')
        given = call("delegate", '{"to": "checker-1", "task": "Go."}')
        one = Agent("One.", model=Scripted([started, "Started."]), tools=tools)
        other = Agent("Other.", model=Scripted([given, "Well."]), tools=tools)
        assert one.session.place == other.session.place  # in memory both, and apart all the same
        await one.ask("go")
        await other.ask("go")
        assert "nobody is called 'checker-1'" in results(other)[0].text

    run(talk)


def test_a_conversation_that_cannot_be_begun_is_an_error_and_no_endless_search() -> None:
    async def talk() -> None:
        checkers = Checkers("First.")
        role = Role(name=".checker", description="Checks.", make=checkers.make)
        task = call("delegate", '{"to": ".checker", "task": "Go."}')
        parent = parent_of(role, task, "Well.")
        assert (await parent.ask("go")).text == "Well."
        assert results(parent)[0].is_error

    run(talk)


def test_what_was_said_comes_back_though_some_of_it_is_left_out_by_then() -> None:
    async def talk() -> None:
        def make(session: Session) -> Agent:
            compactor = TruncateOldest(unit="messages", floor=1, ceiling=2)
            replies = [[call("look", "{}", f"c{n}")] for n in range(6)]
            return Agent(session, model=Scripted([*replies, "Looked."]), tools=[look], compactor=compactor)

        role = Role(name="checker", description="Checks.", make=make, sees="all", returns="all")
        parent = parent_of(role, call("delegate", TASK), "Well.")
        for n in range(10):
            parent.session.user(f"Question {n}")
            parent.session.assistant(f"Answer {n}")
        await parent.ask("go")
        said = results(parent)[0].text
        assert said.count("seen") == 6 and "Looked." in said and "Question" not in said

    run(talk)


@tool
async def look() -> str:
    """Look."""
    await asyncio.sleep(0)
    return "seen"
