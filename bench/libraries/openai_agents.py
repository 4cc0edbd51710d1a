"""OpenAI Agents: a session of unchecked dictionaries in an in-memory SQLite database."""

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from agents import SQLiteSession

from libraries.adapter import Adapter
from transcript import Entry


class OpenAIAgents(Adapter):
    name = "openai-agents"
    package = "openai-agents"
    how: ClassVar = {
        "append": "`SQLiteSession.add_items` on `:memory:`, one message a call",
        "truncate": "`get_items(limit=…)`, by count, calls and results may part",
    }
    absent: ClassVar = {
        "memory": "its rows are in SQLite's own memory, which cannot be traced",
        "fork": "has none for this session",
        "tokens": "counts no tokens",
        "codec": "has none: its rows are JSON already",
    }

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def new(self) -> SQLiteSession:
        return SQLiteSession("bench")

    def add(self, history: SQLiteSession, chat: Sequence[Entry]) -> None:
        self.loop.run_until_complete(_add(history, chat))

    def length(self, history: SQLiteSession | list[Any]) -> int:
        if isinstance(history, list):
            return len(history)
        return len(self.loop.run_until_complete(history.get_items()))

    def spare(self, history: SQLiteSession) -> SQLiteSession:
        return history

    def truncate(self, history: SQLiteSession, limit: int) -> list[Any]:
        return self.loop.run_until_complete(history.get_items(limit=limit))


async def _add(session: SQLiteSession, chat: Sequence[Entry]) -> None:
    for role, text, calls, answers, _name in chat:
        if role == "tool":
            await session.add_items([{"type": "function_call_output", "call_id": answers, "output": text}])
            continue
        made: list[Any] = [{"role": role, "content": text}] if text else []
        for call, tool, arguments in calls:
            made.append({"type": "function_call", "call_id": call, "name": tool, "arguments": arguments})
        await session.add_items(made)


LIBRARY = OpenAIAgents()
