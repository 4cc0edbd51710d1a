"""Conversations for the tests of this bridge: messages that can be told apart, and who summarizes them."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from quire.bridges.autonomy import ContextTemplate, Memory, SummarizedHistorySection
from quire.items import ToolCall
from quire.providers import Rendered

Said = Sequence[Mapping[str, Any]]


def said(role: str, text: str) -> dict[str, Any]:
    """A message."""
    return {"role": role, "content": {"text": text, "type": "text"}}


def line(n: int) -> dict[str, Any]:
    """The message of a number; those of the user are even."""
    return said("user" if n % 2 == 0 else "assistant", f"line {n}.")


def pair(n: int) -> list[dict[str, Any]]:
    """A call and its result."""
    call = {"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{n}", "content": f"line {n}."},
    ]


def lines(told: object) -> list[int]:
    """The numbers of the messages that something tells of, in order."""
    return [int(n) for n in re.findall(r"line (\d+)\.", str(told))]


def text(message: Mapping[str, Any]) -> str:
    """The words of a message."""
    content = message["content"]
    return content if isinstance(content, str) else str(content["text"])


class Clerk:
    """Writes summaries, and remembers what it was asked; it can be made to wait, or to fail."""

    def __init__(self, words: str = "THE GIST", fault: Exception | None = None) -> None:
        self.words = words
        self.fault = fault
        self.asked: list[Said] = []
        self.options: list[dict[str, Any]] = []
        self.go = asyncio.Event()
        self.go.set()

    async def complete_chat(self, messages: Said, **options: Any) -> str:
        self.asked.append(messages)
        self.options.append(options)
        await self.go.wait()
        if self.fault is not None:
            raise self.fault
        return self.words


async def settled(section: SummarizedHistorySection) -> None:
    """Wait until no summary is being written, nor about to be."""
    for session in list(section._sessions):  # pyright: ignore[reportPrivateUsage]
        await session.aio.close()


class Talk:
    """One conversation in a memory, and a template of one section that shows it."""

    def __init__(self, section: SummarizedHistorySection, memory: Memory | None = None) -> None:
        self.section = section
        self.memory = memory or Memory()
        self.template = ContextTemplate([section])

    async def add(self, *messages: Mapping[str, Any]) -> None:
        await self.memory.add_messages("ana", "one", messages)

    async def shown(self) -> list[dict[str, Any]]:
        return await self.template.build_context(self.memory, "ana", "one")

    async def shown_later(self) -> list[dict[str, Any]]:
        """What is shown once whatever a turn begins is done."""
        await settled(self.section)
        await self.shown()
        await settled(self.section)
        return await self.shown()


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run an async test."""

    async def whole() -> None:
        await work()

    asyncio.run(whole())


def look(place: str) -> str:
    """Look somewhere."""
    return f"seen {place}"


LOOKS = (ToolCall("c", "look", '{"place": "there"}'), "Nothing there.")
"""A model that looks, and then answers."""


def echo(sent: Rendered) -> str:
    """Answers with what it was sent last."""
    return f"heard {sent.payload['messages'][-1]['content']}"


def tools_in(sent: Rendered) -> set[str]:
    """The names of the tools that a model was told of."""
    return {tool["function"]["name"] for tool in sent.payload.get("tools", ())}
