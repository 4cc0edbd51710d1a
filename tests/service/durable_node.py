"""The node of the processes that tests start. What its tools and its model wait for are files in a folder.

A message says what happens: `tool NAME` calls a tool that waits for the file NAME, `model NAME` has the model
wait for it, `limited NAME` finds the model's service overloaded once, `deadly` kills the process.
"""

import asyncio
import json
import os
import signal
from pathlib import Path

from quire import Agent, Message, Node, ToolCall, tool
from quire.agent import running_call
from quire.errors import RateLimited
from quire.models import Scripted
from quire.providers import Rendered
from quire.service import Schedule

FOLDER = Path(os.environ["QUIRE_TEST_FOLDER"])


async def wait_for(name: str) -> None:
    """Tell which process waits, and wait for a file."""
    begun(name).touch()
    try:
        while not (FOLDER / name).exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        begun(f"cancelled.{name}").touch()
        raise


def begun(name: str) -> Path:
    """The file that tells that this process has begun something."""
    return FOLDER / f"{name}.{os.getpid()}"


@tool(idempotent=True)
async def book(name: str) -> str:
    """Book a seat, once for each call."""
    await wait_for(name)
    call = running_call()
    assert call is not None
    (FOLDER / f"booked.{name}.{call.id}").touch()
    return f"booked {name}"


@tool
async def pay(name: str) -> str:
    """Pay, each time."""
    (FOLDER / f"paid.{name}.{os.getpid()}").touch()
    await wait_for(name)
    return f"paid {name}"


async def says(sent: Rendered) -> str | list[Message | ToolCall]:
    """What the model says to a request."""
    last = sent.payload["messages"][-1]
    words = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    verb, _, name = words.partition(" ")
    if last["role"] == "tool":
        return f"It is done: {words}"
    if verb in ("book", "pay"):
        call = ToolCall(f"call-{name}", verb, json.dumps({"name": name}))
        return [Message("assistant", "One moment."), call]
    if verb == "model":
        await wait_for(name)
    if verb == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if verb == "limited" and not list(FOLDER.glob(f"{name}.*")):
        begun(name).touch()
        raise RateLimited("too many requests")
    return f"You said: {words}"


node = Node(store=os.environ["QUIRE_TEST_STORE"])
node.add("shop", lambda session: Agent(session, model=Scripted(says), tools=[book, pay]))

schedules = [Schedule("tick", "* * * * * *", "shop", "what is new", conversation="scheduled")]
