"""The loop through the official SDKs, streamed and not, against a local server."""

from collections.abc import Iterator

import pytest

from quire.agent import Agent, TurnEnded
from tests.agent.answering import add, assert_whole, results
from tests.clients.scenes import Stage, stage
from tests.clients.speaking import says
from tests.models.answerers import both_ways, each_wire, model_at

ADD = ("add", {"a": 1, "b": 2})


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


@each_wire
@both_ways
async def test_a_call_is_run_and_its_result_sent_back(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(says(wire, "Let me see.", calls=[ADD, ADD]), says(wire, "It is", " three."))
    async with model_at(scene, wire) as model:
        agent = Agent(instructions="Be brief.", model=model, tools=[add])
        if how == "whole":
            reply = await agent.ask("1 + 2?")
        else:
            [*_, reply] = [
                delta.reply async for delta in agent.stream("1 + 2?") if isinstance(delta, TurnEnded)
            ]
    assert reply.text == "It is three." and reply.stop == "done"
    assert [one.content for one in results(agent)] == ["3", "3"]
    assert reply.usage.input == 80 and reply.usage.cache_read == 32 and reply.cost > 0
    assert len(scene.requests) == 2 and "Let me see." in str(scene.requests[1].body)
    assert_whole(agent)
