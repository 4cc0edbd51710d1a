"""Who stops listening to a stream has stopped the answer: the next verb waits until that is on the record."""

from typing import Any

import pytest

from quire.agent import Agent, Began
from quire.errors import TurnBusy
from tests.agent.answering import Gate, agent_of, assert_whole, call, run


async def left_in_the_middle(agent: Agent) -> None:
    async for delta in agent.stream("go"):
        if isinstance(delta, Began):
            break


@pytest.mark.parametrize("verb", ["resume", "decide", "resume_stream", "decide_stream", "ask"])
def test_a_verb_after_a_stream_that_was_left_waits_for_its_end(verb: str) -> None:
    async def talk() -> None:
        gate = Gate()
        agent = agent_of(call("gate"), "Well.", tools=[gate.tool])
        await left_in_the_middle(agent)
        given: dict[str, Any] = {"decide": ({},), "decide_stream": ({},), "ask": ("and?",)}
        begun = getattr(agent, verb)(*given.get(verb, ()))
        if verb.endswith("_stream"):
            assert [delta async for delta in begun][-1].reply.text == "Well."
        else:
            assert (await begun).text == "Well."
        assert_whole(agent)

    run(talk)


def test_a_stream_that_is_held_is_still_listened_to() -> None:
    async def talk() -> None:
        gate = Gate()
        agent = agent_of(call("gate"), "Well.", tools=[gate.tool])
        stream = agent.stream("go")
        while not isinstance(await anext(stream), Began):
            pass
        with pytest.raises(TurnBusy):
            await agent.resume()
        gate.go.set()
        assert [delta async for delta in stream][-1].reply.text == "Well."  # type: ignore[union-attr]

    run(talk)
