"""Streams that do not say of what their events are, through the official SDKs: each tool is run once."""

import asyncio
from typing import Any

import pytest

from quire import Agent, tool
from tests.clients.said import Said
from tests.clients.scenes import Stage
from tests.clients.speaking import events, says, send
from tests.models.answerers import NEEDS_SDK, model_at

WIRES = [pytest.param(wire, marks=NEEDS_SDK[wire]) for wire in ("openai-responses", "anthropic")]
PLACES: dict[str, int | None] = {"left out": None, "all the first": 0}


def misplaced(event: dict[str, Any], place: int | None) -> dict[str, Any]:
    """An event with another place, or none."""
    told = {name: value for name, value in event.items() if name not in ("index", "output_index")}
    return told | {name: place for name in ("index", "output_index") if name in event and place is not None}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_tool_is_run_once_and_nothing_is_lost(server: Stage, wire: str, place: int | None) -> None:
    said = Said(("I refund it.",), (("refund", {"order": 7}),), "Hm.")
    told = [misplaced(event, place) for event in events(wire, said)]
    scene = server.scene(lambda exchange: send(wire, exchange, told), says(wire, "Done."))
    ran: list[int] = []

    @tool
    def refund(order: int) -> str:
        """Refund an order."""
        ran.append(order)
        return "refunded"

    async def run() -> str:
        async with model_at(scene, wire) as model:
            agent = Agent("Be kind.", model=model, tools=[refund])
            return "".join([str(piece) async for piece in agent.stream("Refund order 7.")])

    assert "Done." in asyncio.run(run())
    assert ran == [7]
    assert str(scene.requests[-1].body).count("I refund it.") == 1
