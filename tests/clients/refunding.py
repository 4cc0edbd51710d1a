"""An order that is to be refunded once, whatever is wrong with the stream that asks for it."""

import asyncio
from collections.abc import Callable
from typing import Any

from quire import Agent, tool
from tests.clients.said import Said
from tests.clients.scenes import Stage
from tests.clients.speaking import events, says, send
from tests.models.answerers import model_at

SAID = Said(("I refund it.",), (("refund", {"order": 7}),), "Hm.")


def check_refunded_once(server: Stage, wire: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """An agent runs the tool once and says all once, though each event comes changed."""
    told = [change(event) for event in events(wire, SAID)]
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
