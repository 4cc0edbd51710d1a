"""Agents that work for others are found again by whoever opens the conversation later, in any process."""

import asyncio
from typing import Any

import pytest

from quire import Message, Session
from quire.agent import Agent
from quire.agent.builtin import Role, ask_user, delegating_tools
from quire.models import Scripted
from quire.stores import Entry, MemoryStore, Place, Store
from tests.agent.answering import Gate, assert_whole, call, results, run

PARENT, CHILD = Place("ana", "one"), Place("ana", "one/painter-1")
ASKED = call("ask_user", '{"question": "Which colour?"}', "k1")


def role_of(*replies: Any, tools: Any = (ask_user,), sees: Any = "brief", name: str = "painter") -> Role:
    def make(session: Session) -> Agent:
        return Agent(session, model=Scripted(replies), tools=tools, name=name)

    return Role(name=name, description="Paints.", make=make, sees=sees)


def parent_of(store: Store, role: Role, *replies: Any) -> Agent:
    session = Session.open("ana/one", store=store)
    return Agent(session, model=Scripted(replies), tools=delegating_tools(role))


def given(to: str, task: str = "Go.") -> Any:
    return call("delegate", f'{{"to": "{to}", "task": "{task}"}}')


def started() -> Any:
    return call("start_agent", '{"role": "painter"}')


@pytest.mark.parametrize("sees", ["brief", "all", 1])
def test_a_question_of_a_child_is_answered_by_a_parent_that_was_made_later(sees: Any) -> None:
    async def talk() -> None:
        store = MemoryStore()
        first = parent_of(store, role_of(ASKED, sees=sees), given("painter", "Paint the door."), "Which?")
        await first.ask("Paint it.")
        later = parent_of(store, role_of("Painted blue.", sees=sees), given("painter-1", "Blue."), "Done.")
        assert (await later.ask("Blue.")).text == "Done."
        assert results(later)[-1].text == "Painted blue."
        child = Session.open("ana/one%2Fpainter-1", store=store)
        said = [item.text for item in child.view() if isinstance(item, Message)]
        assert said[-2:] == ["Paint the door.", "Painted blue."] and child.steps.standing() == []
        assert_whole(later)

    run(talk)


def test_those_who_were_started_are_listed_and_stopped_by_a_parent_that_was_made_later() -> None:
    async def talk() -> None:
        store = MemoryStore()
        await parent_of(store, role_of("x"), started(), "Started.").ask("go")
        listed = parent_of(store, role_of("x"), call("list_agents"), "Listed.")
        await listed.ask("list")
        assert "painter-1" in results(listed)[-1].text
        stopping = parent_of(store, role_of("x"), call("stop_agent", '{"name": "painter-1"}'), "Stopped.")
        await stopping.ask("stop")
        assert results(stopping)[-1].text == "painter-1 is stopped."
        again = parent_of(store, role_of("x"), [call("list_agents"), given("painter-1")], started(), "Well.")
        await again.ask("list")
        told = [one.text for one in results(again)[-3:]]
        assert "painter-1" not in told[0] and "nobody is called 'painter-1'" in told[1]
        assert told[2] == "painter-2 is started."

    run(talk)


def test_one_that_is_done_is_listed_no_more_and_one_that_waits_says_so() -> None:
    async def talk() -> None:
        store = MemoryStore()
        await parent_of(store, role_of("Done."), given("painter"), "Good.").ask("go")
        await parent_of(store, role_of(ASKED), given("painter"), "Which?").ask("go")
        listed = parent_of(store, role_of("x"), call("list_agents"), "Listed.")
        await listed.ask("list")
        told = results(listed)[-1].text
        assert "painter-1" not in told and "painter-2 (waits for a person)" in told

    run(talk)


def test_what_was_started_is_neither_said_nor_recalled() -> None:
    async def talk() -> None:
        parent = parent_of(MemoryStore(), role_of(ASKED), given("painter"), "Which?")
        await parent.ask("go")
        kinds = [type(item).__name__ for item in parent.session.view()]
        assert kinds == ["Message", "ToolCall", "ToolResult", "Message"]
        found = parent.session.memory.search("painter-1").hits
        assert found and {hit.leaf.transcript for hit in found} == {"main"}

    run(talk)


def test_a_child_of_a_process_that_died_is_found_with_what_it_did() -> None:
    async def talk() -> None:
        store, gate = MemoryStore(), Gate()
        role = role_of(call("gate"), "x", tools=[gate.tool])
        dying = asyncio.create_task(parent_of(store, role, given("painter"), "x").ask("go"))
        await gate.begun.wait()
        before = [store.read(place) for place in (PARENT, CHILD)]  # as a process leaves it that ends here
        dying.cancel()
        await asyncio.wait([dying])
        left = MemoryStore()
        for place, entries in zip((PARENT, CHILD), before, strict=True):
            left.append(place, [Entry(one.stream, one.body) for one in entries], expected=0)
        later = parent_of(left, role_of("Again.", tools=[gate.tool]), given("painter-1", "And?"), "Done.")
        assert (await later.ask("And?")).text == "Done."
        assert "uncertain" in results(later)[0].text and results(later)[-1].text == "Again."
        child = Session.open("ana/one%2Fpainter-1", store=left)
        assert child.steps.standing() == [] and gate.ran == 1

    run(talk)
