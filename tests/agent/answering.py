"""Agents for tests: with a scripted model, tools that can be watched, and checks of what is on the record."""

import asyncio
from collections.abc import Callable
from typing import Any

from quire import Session, ToolCall, ToolResult
from quire.agent import Agent, Limits, tool
from quire.models import Scripted
from quire.providers import PROVIDERS
from quire.stores import MemoryStore, Store

Answer = Any


def call(name: str, arguments: str = "{}", call_id: str | None = None) -> ToolCall:
    """A call as a model makes it."""
    return ToolCall(call_id or f"call_{name}", name, arguments)


def agent_of(*replies: Answer, tools: Any = (), store: Store | None = None, **options: Any) -> Agent:
    """An agent whose model says what it is given to say."""
    session = Session.open("ana/one", store=store or MemoryStore())
    return Agent(session, model=Scripted(replies), tools=tools, instructions="Be brief.", **options)


def results(agent: Agent) -> list[ToolResult]:
    """All results on the record."""
    return [item for item in agent.session.view() if isinstance(item, ToolResult)]


def assert_whole(agent: Agent) -> None:
    """No call waits, and every provider takes the history."""
    assert agent.session.steps.standing() == []
    for provider in PROVIDERS.values():
        payload = provider.render(agent.session.view()).payload
        assert provider.check(payload) == []


class Gate:
    """A tool that tells when it is begun, and waits until it is let through."""

    def __init__(self, name: str = "gate", **options: Any) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.ran = 0
        self.tool = tool(name=name, **options)(self._wait)

    async def _wait(self) -> str:
        """Wait at a gate."""
        self.ran += 1
        self.begun.set()
        await self.go.wait()
        return "through"


def run(work: Callable[[], Any]) -> None:
    """Run an async test."""
    asyncio.run(work())


ONCE = Limits(requests=1)
