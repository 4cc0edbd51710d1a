"""The loop through the official SDKs, streamed and not, against a local server."""

from collections.abc import Iterator

import pytest

from quire import Message
from quire.agent import Agent, Done, Reply, tool
from quire.errors import ModelFailed
from tests.agent.answering import assert_whole, results
from tests.clients.scenes import Stage, stage
from tests.clients.speaking import breaks_off, says
from tests.models.answerers import AT_ONCE, both_ways, each_wire, in_loop, model_at

ADD = ("add", {"a": 1, "b": 2})


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def answered(agent: Agent, how: str, words: str = "1 + 2?") -> Reply:
    if how == "whole":
        return await agent.ask(words)
    last = [delta async for delta in agent.stream(words)][-1]
    assert isinstance(last, Done)
    return last.reply


@each_wire
@both_ways
@in_loop
async def test_a_call_is_run_and_its_result_sent_back(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(says(wire, "Let me see.", calls=[ADD, ADD]), says(wire, "It is", " three."))
    async with model_at(scene, wire) as model:
        agent = Agent("Be brief.", model=model, tools=[add])
        reply = await answered(agent, how)
    assert reply.text == "It is three." and reply.stop == "done"
    assert [one.content for one in results(agent)] == ["3", "3"]
    assert reply.usage.input == 80 and reply.usage.cache_read == 32 and reply.cost > 0
    assert len(scene.requests) == 2 and "Let me see." in str(scene.requests[1].body)
    assert_whole(agent)


@each_wire
async def test_a_stream_that_breaks_off_leaves_what_came_and_can_be_asked_again(
    server: Stage, wire: str
) -> None:
    scene = server.scene(breaks_off(wire, "It is", " th"), says(wire, "It is three."))
    async with model_at(scene, wire, retries=AT_ONCE) as model:
        agent = Agent("Be brief.", model=model, tools=[add])
        with pytest.raises(ModelFailed):
            await answered(agent, "streamed")
        said = agent.session.view()[-1]
        assert isinstance(said, Message) and said.interrupted and said.text == "It is th"
        assert (await answered(agent, "streamed", "Go on.")).text == "It is three."
    assert_whole(agent)
