"""An agent runs nothing of an answer that its provider refused, and says that it was."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from quire import Session
from quire.agent import Agent, Done, tool
from quire.items import ToolCall
from quire.stores import MemoryStore
from tests.agent.answering import assert_whole
from tests.clients.scenes import Exchange, Stage, Step, stage
from tests.clients.speaking import Said, events, is_streamed, send, whole
from tests.models.answerers import AT_ONCE, NEEDS_SDK, both_ways, model_at

REASONS = {
    "openai": ("tool_calls", "content_filter"),
    "anthropic": ("tool_use", "refusal"),
    "gemini": ("STOP", "SAFETY"),
}
each_wire = pytest.mark.parametrize("wire", [pytest.param(wire, marks=NEEDS_SDK[wire]) for wire in REASONS])
CALLED = Said(("I purge all.",), (("purge", {}),))


@pytest.fixture(scope="module")
def server() -> Iterator[Stage]:
    with stage() as open_stage:
        yield open_stage


def refused(wire: str) -> Step:
    """An answer with a call, whole or as a stream, that ends as a refused one does."""
    usual, reason = (json.dumps(name) for name in REASONS[wire])

    def told(said: Any) -> Any:
        key = (
            "stop_reason" if wire == "anthropic" else "finish_reason" if wire == "openai" else "finishReason"
        )
        return json.loads(json.dumps(said).replace(f'"{key}": {usual}', f'"{key}": {reason}'))

    def step(exchange: Exchange) -> None:
        if is_streamed(wire, exchange):
            send(wire, exchange, told(events(wire, CALLED)))
        else:
            exchange.answer(told(whole(wire, CALLED)))

    return step


@each_wire
@both_ways
def test_its_calls_are_not_run(server: Stage, wire: str, how: str) -> None:
    ran: list[str] = []

    @tool
    async def purge(month: str = "all") -> str:
        """Delete the rows of a month, or all."""
        ran.append(month)
        return "done"

    async def run() -> None:
        scene = server.scene(refused(wire))
        async with model_at(scene, wire, retries=AT_ONCE) as model:
            agent = Agent(Session.open(store=MemoryStore()), model=model, tools=[purge])
            if how == "whole":
                reply = await agent.ask("Clean up January.")
            else:
                last = [delta async for delta in agent.stream("Clean up January.")][-1]
                assert isinstance(last, Done)
                reply = last.reply
            assert (reply.text, reply.stop, ran, len(scene.requests)) == ("I purge all.", "refused", [], 1)
            assert not any(isinstance(item, ToolCall) for item in agent.session.view())
            assert_whole(agent)

    asyncio.run(run())
