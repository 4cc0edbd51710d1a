"""Agents for tests: scripted models, tools that can be watched, and checks of what is recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from quire import Message, Session, ToolCall, ToolResult
from quire.agent import Agent, tool
from quire.models import Scripted
from quire.node import Node
from quire.providers import PROVIDERS, Rendered
from quire.stores import MemoryStore, Store


def call(name: str, arguments: str = "{}", call_id: str | None = None) -> ToolCall:
    """A call as a model makes it."""
    return ToolCall(call_id or f"call_{name}", name, arguments)


def agent_of(
    *replies: Any, tools: Any = (), store: Store | None = None, hooks: Any = (), **options: Any
) -> Agent:
    """An agent whose model gives these replies."""
    session = Session.open("ana/one", store=store or MemoryStore(), hooks=hooks)
    return Agent(session, model=Scripted(replies), tools=tools, instructions="Be brief.", **options)


def node_of(replies: Any, *tools: Any, **options: Any) -> Node:
    """A node with one agent, whose model gives these replies in each conversation."""
    node = Node(**options)
    node.add("clerk", lambda session: Agent(session, model=Scripted(replies), tools=tools))
    return node


def results(agent: Agent) -> list[ToolResult]:
    """All results in the conversation."""
    return [item for item in agent.session.view() if isinstance(item, ToolResult)]


def said(agent: Agent) -> list[str]:
    """The texts of all messages in the conversation."""
    return [item.text for item in agent.session.view() if isinstance(item, Message)]


def requests(agent: Agent) -> Sequence[Rendered]:
    """What the model was sent."""
    assert isinstance(agent.model, Scripted)
    return agent.model.requests


def assert_whole(agent: Agent) -> None:
    """No call is open, and every provider accepts the history."""
    assert agent.session.calls.list_open() == []
    for provider in PROVIDERS.values():
        payload = provider.render(agent.session.view()).payload
        assert provider.check(payload) == []


LOOK: dict[str, Any] = {
    "type": "function",
    "name": "look",
    "description": "Look at the caller's screen.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
"""A tool that the caller runs."""


@tool
async def look() -> str:
    return "seen"


@tool
async def add(a: int, b: int) -> int:
    return a + b


class Gate:
    """A tool that says when it has begun, and waits until it may go on."""

    def __init__(self, name: str = "gate", **options: Any) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.ran = 0
        self.tool = tool(name=name, **options)(self._wait)

    async def _wait(self) -> str:
        self.ran += 1
        self.begun.set()
        await self.go.wait()
        return "through"


def is_large(arguments: Mapping[str, Any]) -> bool:
    """Whether a payment needs a person."""
    amount: int = arguments["amount"]
    return amount > 100


class Payments:
    """A tool that pays, and the amounts that it paid."""

    def __init__(self, name: str = "pay", **options: Any) -> None:
        self.paid: list[int] = []
        self.tool = tool(name=name, **options)(self._pay)

    async def _pay(self, amount: int = 1) -> str:
        self.paid.append(amount)
        return f"paid {amount}"


def in_thread(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The result of a coroutine on an event loop of another thread, as of another process."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(lambda: asyncio.run(work())).result()


async def soon(work: Awaitable[Any]) -> Any:
    """The result of work that must not wait for itself."""
    task = asyncio.ensure_future(work)
    await asyncio.wait([task], timeout=60)
    assert task.done(), "it waits for itself"
    return task.result()
