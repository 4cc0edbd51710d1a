"""Streams of Responses whose end does not list all that was done, by the official client: calls are made."""

import asyncio
from typing import Any

import pytest

from quire import Agent, tool
from tests.clients.said import Said
from tests.clients.scenes import Stage
from tests.clients.speaking import events, says, send
from tests.models.answerers import NEEDS_SDK, model_at

pytestmark = NEEDS_SDK["openai-responses"]

WIRE = "openai-responses"


def shortened(event: dict[str, Any], kept: str) -> dict[str, Any]:
    """The last event with items of one kind alone."""
    if event["type"] != "response.completed":
        return event
    listed = [item for item in event["response"]["output"] if item["type"] == kept]
    return {**event, "response": {**event["response"], "output": listed}}


@pytest.mark.parametrize("kept", ["message", "reasoning", "function_call", "none"])
def test_a_call_is_made_once_whatever_the_end_lists(server: Stage, kept: str) -> None:
    said = Said(("I send it.",), (("send_back", {"order": 7}),), "Hm.")
    told = [shortened(event, kept) for event in events(WIRE, said)]
    scene = server.scene(lambda exchange: send(WIRE, exchange, told), says(WIRE, "Done."))
    ran: list[int] = []

    @tool
    def send_back(order: int) -> str:
        """Send an order back."""
        ran.append(order)
        return "sent"

    async def run() -> str:
        async with model_at(scene, WIRE) as model:
            agent = Agent("Be kind.", model=model, tools=[send_back])
            return "".join([str(piece) async for piece in agent.stream("Send order 7 back.")])

    assert "Done." in asyncio.run(run())
    assert ran == [7]
    assert str(scene.requests[-1].body).count("I send it.") == 1
