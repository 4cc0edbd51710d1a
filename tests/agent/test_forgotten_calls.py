"""Calls whose content is forgotten before they are run: what is left of them is run by nobody."""

import asyncio
from typing import Any

from quire import Message, Session, ToolCall
from quire.agent import Agent, tool
from quire.agent.builtin import Role, ask_user, delegating_tools
from quire.agent.calls import UNCERTAIN
from quire.items import Handoff
from quire.models import Scripted
from quire.session import Calling, Hook
from tests.agent.answering import Gate, agent_of, assert_whole, call, results, run

FORGOTTEN = "This was not run: its content was forgotten."


class Removing:
    """A tool that does much where it is told nothing, and keeps what it was told."""

    def __init__(self, **options: Any) -> None:
        self.removed: list[tuple[str, bool]] = []
        self.tool = tool(name="remove", **options)(self._remove)

    async def _remove(self, folder: str = "/", is_trial: bool = False) -> str:
        """Remove a folder."""
        self.removed.append((folder, is_trial))
        return f"removed {folder}"


TRIAL = '{"folder": "/tmp/ana", "is_trial": true}'


def test_what_is_left_of_a_call_is_not_judged() -> None:
    async def talk() -> None:
        judged: list[Any] = []

        def is_large(given: Any) -> bool:
            judged.append(dict(given))
            return bool(given.get("folder"))

        removing = Removing(approve=is_large)
        agent = agent_of(call("remove", TRIAL), "It was not done.", tools=[removing.tool])
        assert (await agent.ask("Try it.")).stop == "waiting"
        agent.session.forget()
        assert (await agent.resume()).stop == "done"
        assert removing.removed == [] and {} not in judged
        assert_whole(agent)

    run(talk)


def test_a_call_that_nobody_began_is_not_run_once_it_is_forgotten() -> None:
    async def talk() -> None:
        removing = Removing()
        agent = agent_of("It was not done.", tools=[removing.tool])
        agent.session.append(Message("user", "Try it."), made := call("remove", TRIAL))
        agent.session.forget(made.id)
        await agent.resume()
        assert removing.removed == [] and [one.text for one in results(agent)] == [FORGOTTEN]
        assert_whole(agent)

    run(talk)


def test_of_a_forgotten_call_that_was_begun_nobody_knows_what_it_did() -> None:
    async def talk() -> None:
        removing = Removing(idempotent=True)
        agent = agent_of("I will look.", tools=[removing.tool])
        agent.session.append(Message("user", "Try it."), made := call("remove", TRIAL))
        await agent.session.steps.begin(made)  # and here the process ended
        agent.session.forget(made.id)
        await agent.resume()
        assert removing.removed == []
        assert [UNCERTAIN in one.extras for one in results(agent)] == [True]
        assert_whole(agent)

    run(talk)


def test_a_message_is_no_answer_to_a_question_that_was_forgotten() -> None:
    async def talk() -> None:
        agent = agent_of(call("ask_user", '{"question": "Which year?"}'), "Hello.", tools=[ask_user])
        assert (await agent.ask("Report.")).stop == "waiting"
        agent.session.forget()
        assert (await agent.ask("Something else")).text == "Hello."
        assert [one.text for one in results(agent)] == [FORGOTTEN]
        assert "Something else" in [item.text for item in agent.session.view() if isinstance(item, Message)]
        assert_whole(agent)

    run(talk)


def test_a_call_that_is_forgotten_while_somebody_is_asked_of_it_does_not_begin() -> None:
    async def talk() -> None:
        removing = Removing(approve=True)

        async def approver(_: ToolCall) -> bool:
            await asyncio.to_thread(agent.session.forget)
            return True

        agent = agent_of(call("remove", TRIAL), "Well.", tools=[removing.tool], approver=approver)
        assert (await agent.ask("Try it.")).text == "Well."
        assert removing.removed == []
        assert_whole(agent)

    run(talk)


def test_a_call_that_is_forgotten_while_a_hook_hears_of_it_does_not_begin() -> None:
    async def talk() -> None:
        removing = Removing()

        async def forgets(_: Calling) -> None:
            await asyncio.to_thread(session.forget)

        session = Session.open("ana/one", store="memory:", hooks=[Hook(forgets, (Calling,))])
        agent = Agent(session, model=Scripted([call("remove", TRIAL), "Well."]), tools=[removing.tool])
        assert (await agent.ask("Try it.")).text == "Well."
        assert removing.removed == []
        assert_whole(agent)

    run(talk)


def test_others_of_the_same_reply_are_decided_and_run() -> None:
    async def talk() -> None:
        removing = Removing(approve=True)
        first, second = call("remove", TRIAL, "c1"), call("remove", '{"folder": "/tmp/b"}', "c2")
        agent = agent_of([first, second], "Done.", tools=[removing.tool])
        one, other = (await agent.ask("Try it.")).waiting
        agent.session.forget(one.id)
        assert (await agent.decide({other.id: True})).text == "Done."
        assert removing.removed == [("/tmp/b", False)]
        assert [each.text for each in results(agent)] == [FORGOTTEN, "removed /tmp/b"]
        assert_whole(agent)

    run(talk)


def test_a_forgotten_handoff_hands_nothing_over() -> None:
    async def talk() -> None:
        session = Session.open("ana/one", store="memory:")
        bills = Agent(session, model=Scripted(["I have it."]), name="bills")
        front = Agent(session, model=Scripted(["I still have it."]), name="front", handoffs=[bills])
        session.append(Message("user", "My bill."), made := call("hand_over_to_bills", '{"why": "bill"}'))
        session.forget(made.id)
        assert (await front.resume()).agent == "front"
        assert not any(isinstance(item, Handoff) for item in session.view())
        assert_whole(front)

    run(talk)


def test_one_who_works_for_another_waits_for_nobody_once_its_call_is_forgotten() -> None:
    async def talk() -> None:
        removing = Removing(approve=True)
        made: list[Agent] = []

        def make(session: Session) -> Agent:
            made.append(
                Agent(session, model=Scripted([call("remove", TRIAL), "Well."]), tools=[removing.tool])
            )
            return made[-1]

        tools = delegating_tools(Role(name="cleaner", description="Cleans up.", make=make))
        start, give = (
            call("start_agent", '{"role": "cleaner"}', "s"),
            call("delegate", '{"to": "cleaner-1", "task": "Try it."}', "d"),
        )
        agent = agent_of(start, give, "It waits.", call("list_agents", "{}", "l"), "Listed.", tools=tools)
        await agent.ask("Clean up.")
        made[0].session.forget()
        await agent.ask("Who is there?")
        assert "waits for a person" not in results(agent)[-1].text
        await made[0].resume()
        assert removing.removed == []

    run(talk)


def test_a_call_that_is_being_run_when_it_is_forgotten_ends_as_others_do() -> None:
    async def talk() -> None:
        gate = Gate()
        agent = agent_of(call("gate"), "Done.", tools=[gate.tool])
        asked = asyncio.ensure_future(agent.ask("Go."))
        await gate.begun.wait()
        await asyncio.to_thread(agent.session.forget)
        gate.go.set()
        assert (await asked).text == "Done."
        assert gate.ran == 1
        assert_whole(agent)

    run(talk)
