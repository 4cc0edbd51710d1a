"""OpenAI Agents: a session of unchecked dictionaries in an in-memory SQLite database."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from agents import SQLiteSession
from agents.models.chatcmpl_converter import Converter

from libraries.adapter import Adapter
from transcript import Entry


class OpenAIAgents(Adapter):
    name = "openai-agents"
    package = "openai-agents"
    how: ClassVar = {
        "append": "`SQLiteSession.add_items` on `:memory:`, one message a call",
        "truncate": "`get_items(limit=…)`, by count, calls and results may part",
        "render": "`Converter.items_to_messages` on its items, taken from the session beforehand",
    }
    absent: ClassVar = {
        "memory": "its rows are in SQLite's own memory, which cannot be traced",
        "fork": "has none for this session",
        "tokens": "counts no tokens",
        "codec": "has none: its rows are JSON already",
        "render anthropic": "speaks OpenAI; others through LiteLLM",
        "render gemini": "speaks OpenAI; others through LiteLLM",
    }

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def new(self) -> SQLiteSession:
        return SQLiteSession("bench")

    def add(self, history: SQLiteSession | list[Any], chat: Sequence[Entry]) -> None:
        if isinstance(history, list):
            history.extend(record for entry in chat for record in _records(entry))
            return
        self.loop.run_until_complete(_add(history, chat))

    def length(self, history: SQLiteSession | list[Any]) -> int:
        if isinstance(history, list):
            return len(history)
        return len(self.loop.run_until_complete(history.get_items()))

    def spare(self, history: SQLiteSession) -> SQLiteSession:
        return history

    def truncate(self, history: SQLiteSession, limit: int) -> list[Any]:
        return self.loop.run_until_complete(history.get_items(limit=limit))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {"openai": Converter.items_to_messages}

    def unrendered(self, chat: Sequence[Entry]) -> list[Any]:
        return [record for entry in chat for record in _records(entry)]


async def _add(session: SQLiteSession, chat: Sequence[Entry]) -> None:
    for entry in chat:
        await session.add_items(_records(entry))


def _records(entry: Entry) -> list[Any]:
    role, text, calls, answers, _name = entry
    if role == "tool":
        return [{"type": "function_call_output", "call_id": answers, "output": text}]
    made: list[Any] = [{"role": role, "content": text}] if text else []
    for call, tool, arguments in calls:
        made.append({"type": "function_call", "call_id": call, "name": tool, "arguments": arguments})
    return made


LIBRARY = OpenAIAgents()
