"""The loop through the official SDKs, streamed and not, against a local server."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from quire import Message, Session
from quire.agent import Agent, Done, Reply, tool
from quire.errors import ModelFailed
from quire.models import Model
from quire.stores import MemoryStore
from tests.agent.answering import assert_whole, results
from tests.clients.scenes import Scene, Stage, stage
from tests.clients.speaking import breaks_off, says
from tests.models.answerers import AT_ONCE, both_ways, each_wire, model_at

ADD = ("add", {"a": 1, "b": 2})


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_of(model: Model, session: Session | None = None, **options: Any) -> Agent:
    session = session or Session.open(store=MemoryStore())
    return Agent(session, model=model, tools=[add], instructions="Be brief.", **options)


async def answered(agent: Agent, how: str, words: str = "1 + 2?") -> Reply:
    if how == "whole":
        return await agent.ask(words)
    last = [delta async for delta in agent.stream(words)][-1]
    assert isinstance(last, Done)
    return last.reply


def talk(scene: Scene, wire: str, how: str, **options: Any) -> tuple[Reply, Agent]:
    async def run() -> tuple[Reply, Agent]:
        async with model_at(scene, wire, **options) as model:
            agent = agent_of(model)
            return await answered(agent, how), agent

    return asyncio.run(run())


@each_wire
@both_ways
def test_a_call_is_run_and_its_result_sent_back(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(says(wire, "Let me see.", calls=[ADD, ADD]), says(wire, "It is", " three."))
    reply, agent = talk(scene, wire, how)
    assert reply.text == "It is three." and reply.stop == "done"
    assert [one.content for one in results(agent)] == ["3", "3"]
    assert reply.usage.input == 80 and reply.usage.cache_read == 32 and reply.cost > 0
    assert len(scene.requests) == 2 and "Let me see." in str(scene.requests[1].body)
    assert_whole(agent)


@each_wire
def test_a_stream_that_breaks_off_leaves_what_came_and_can_be_asked_again(server: Stage, wire: str) -> None:
    scene = server.scene(breaks_off(wire, "It is", " th"), says(wire, "It is three."))

    async def run() -> None:
        async with model_at(scene, wire, retries=AT_ONCE) as model:
            agent = agent_of(model)
            with pytest.raises(ModelFailed):
                await answered(agent, "streamed")
            said = agent.session.view()[-1]
            assert isinstance(said, Message) and said.interrupted and said.text == "It is th"
            assert (await answered(agent, "streamed", "Go on.")).text == "It is three."
            assert_whole(agent)

    asyncio.run(run())
