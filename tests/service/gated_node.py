"""A node for processes that are ended: its model waits until a file is there, its tool writes a line."""

import asyncio
import os
from pathlib import Path
from typing import Any

from quire.agent import Agent, tool
from quire.items import ToolCall, new_id
from quire.models import Scripted
from quire.node import Node
from quire.providers import Rendered

FOLDER = Path(os.environ["GATED"])


@tool
def book(seat: str) -> str:
    """Book a seat.

    Args:
        seat: which.
    """
    with (FOLDER / "booked").open("a") as file:
        file.write(f"{seat}\n")
    return "booked"


async def answer(rendered: Rendered) -> Any:
    """Books a seat, then answers once the gate is open."""
    if rendered.payload["messages"][-1]["role"] == "user":
        return ToolCall(f"call_{new_id()}", "book", '{"seat": "4A"}')
    (FOLDER / "waiting").touch()
    while not (FOLDER / "open").exists():
        await asyncio.sleep(0.01)
    return "The seat is booked."


node = Node(store=FOLDER / "store.db")
node.add("support", lambda session: Agent(session, model=Scripted(answer), tools=[book]))
