"""Questions that are interrupted by what they wait for themselves: hooks, tools, agents that they ask."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quire import Message, Session, ToolResult
from quire.agent import Agent, tool
from quire.agent.builtin import Role, delegating_tools
from quire.models import Scripted
from quire.node import Node
from quire.session import Added, Adding, Building, Built, Called, Calling, Hook
from quire.stores import MemoryStore
from tests.agent.answering import assert_whole, call, results, run

Stop = Callable[[], Awaitable[None]]
_LONG = 20.0


@tool
async def look() -> str:
    """Look."""
    return "seen"


class Guard:
    """A hook that stops something as soon as it hears of an event, each time."""

    def __init__(self, event: type, of: type | None = None) -> None:
        self._of = of
        self.stop: Stop | None = None
        self.heard = 0
        self.hook = Hook(self._hear, (event,), name="guard")

    async def _hear(self, event: Any) -> None:
        if self._of is None or any(isinstance(item, self._of) for item in event.items):
            assert self.stop is not None
            self.heard += 1
            await self.stop()


EVENTS = [
    (Calling, None),
    (Called, None),
    (Adding, ToolResult),
    (Added, ToolResult),
    (Adding, Message),
    (Added, Message),
    (Building, None),
    (Built, None),
]


def guarded(guard: Guard, *replies: Any, **options: Any) -> Agent:
    session = Session.open("ana/one", store=MemoryStore(), hooks=[guard.hook])
    agent = Agent(session, model=Scripted(replies), tools=[look], **options)
    guard.stop = agent.interrupt
    return agent


async def soon(work: Awaitable[Any]) -> Any:
    """What some work gives. Where it waits for itself, this fails: it would not end when it is cancelled."""
    task = asyncio.ensure_future(work)
    await asyncio.wait([task], timeout=_LONG)
    assert task.done(), "it waits for itself"
    return task.result()


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(("event", "of"), EVENTS)
def test_a_hook_interrupts_the_question_that_waits_for_it(
    event: type, of: type | None, several: bool
) -> None:
    async def talk() -> None:
        guard = Guard(event, of)
        replies = [[call("look", "{}", f"{turn}-{one}") for one in range(1 + several)] for turn in range(4)]
        agent = guarded(guard, *replies)
        for words in ("first", "second"):
            assert (await soon(agent.ask(words))).stop == "interrupted"
            assert_whole(agent)
        assert guard.heard >= 2

    run(talk)


def test_what_ended_before_it_was_interrupted_is_on_the_record() -> None:
    async def talk() -> None:
        agent = guarded(Guard(Called), call("look"), "Never said.")
        await soon(agent.ask("first"))
        assert [one.text for one in results(agent)] == ["seen"]

    run(talk)


def test_a_question_that_is_heard_of_before_it_is_recorded_is_recorded_all_the_same() -> None:
    async def talk() -> None:
        agent = guarded(Guard(Adding, Message), "Never said.")
        assert (await soon(agent.ask("first"))).stop == "interrupted"
        assert [item.text for item in agent.session.view() if isinstance(item, Message)] == ["first"]

    run(talk)


def test_a_stream_is_interrupted_from_within_too() -> None:
    async def talk() -> None:
        agent = guarded(Guard(Called), call("look"), "Never said.")

        async def listened() -> list[Any]:
            return [delta async for delta in agent.stream("first")]

        assert (await soon(asyncio.ensure_future(listened())))[-1].reply.stop == "interrupted"
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize(("event", "of"), EVENTS)
def test_a_hook_of_a_child_interrupts_its_parent(event: type, of: type | None) -> None:
    async def talk() -> None:
        guard = Guard(event, of)
        children: list[Agent] = []

        def child(session: Session) -> Agent:
            session.hooks = Session.open("x/y", store=MemoryStore(), hooks=[guard.hook]).hooks
            children.append(Agent(session, model=Scripted([call("look"), "Looked."]), tools=[look]))
            return children[-1]

        roles = delegating_tools(Role(name="child", description="Looks.", make=child))
        task = call("delegate", '{"to": "child", "task": "Look."}')
        parent = Agent(
            Session.open("ana/one", store=MemoryStore()), model=Scripted([task, "Never said."]), tools=roles
        )
        guard.stop = parent.interrupt
        assert (await soon(parent.ask("first"))).stop == "interrupted" and guard.heard
        assert_whole(parent)
        assert_whole(children[0])

    run(talk)


def test_a_tool_that_interrupts_its_own_question_may_still_give_a_result() -> None:
    async def talk() -> None:
        @tool
        async def stop() -> str:
            """Stop."""
            await agent.interrupt()
            return "stopped"

        agent = Agent(
            Session.open("ana/one", store=MemoryStore()), model=Scripted([call("stop"), "No."]), tools=[stop]
        )
        assert (await soon(agent.ask("first"))).stop == "interrupted"
        assert [one.text for one in results(agent)] == ["stopped"]
        assert_whole(agent)

    run(talk)


def test_a_hook_interrupts_from_a_loop_of_its_own() -> None:
    async def talk() -> None:
        guard = Guard(Called)
        agent = guarded(guard, call("look"), "Never said.")
        guard.stop = lambda: asyncio.to_thread(lambda: asyncio.run(agent.interrupt()))
        assert (await soon(agent.ask("first"))).stop == "interrupted"
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize(("event", "of"), EVENTS)
def test_a_hook_stops_the_node_that_answers(event: type, of: type | None) -> None:
    async def talk() -> None:
        guard = Guard(event, of)
        agents: list[Agent] = []

        def make(session: Session) -> Agent:
            session.hooks = Session.open("x/y", store=MemoryStore(), hooks=[guard.hook]).hooks
            agents.append(Agent(session, model=Scripted([call("look"), "Never said."]), tools=[look]))
            return agents[-1]

        node = Node(store=MemoryStore())
        node.add("shop", make)
        guard.stop = lambda: node.stop(grace=0)
        assert (await soon(node.send("shop", "first"))).stop == "interrupted" and guard.heard
        assert_whole(agents[0])

    run(talk)
