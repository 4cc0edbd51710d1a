"""Loom: a session memory of dataclasses that check nothing."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from loom.memory.session import SessionMemory
from loom.types import Message, ToolCall
from loom.utils import count_messages_tokens

from libraries.adapter import Adapter
from transcript import Entry

NO_LIMIT = 10**9


class Loom(Adapter):
    name = "loom"
    package = "loom-agent"
    parsed = True
    how: ClassVar = {
        "append": "`SessionMemory.add`",
        "memory": "`SessionMemory`",
        "truncate": "`SessionMemory.get_recent`, by count, calls and results may part",
        "tokens": "`count_messages_tokens`, without tool calls",
    }
    absent: ClassVar = {"codec": "has none for its messages: it stores dictionaries that the caller makes"}

    def new(self) -> SessionMemory:
        return SessionMemory(max_size=NO_LIMIT)

    def add(self, history: SessionMemory, chat: Sequence[Entry]) -> None:
        for role, text, calls, answers, name in chat:
            if role == "tool":
                history.add(Message(role="tool", content=text, tool_call_id=answers, name=name))
            elif calls:
                made = [ToolCall(call, tool, arguments) for call, tool, arguments in calls]
                history.add(Message(role=role, content=text, tool_calls=made))
            else:
                history.add(Message(role=role, content=text))

    def length(self, history: SessionMemory) -> int:
        return len(history.messages)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"a copy of its list": lambda history: SessionMemory(history.messages.copy(), NO_LIMIT)}

    def truncate(self, history: SessionMemory, limit: int) -> SessionMemory:
        return SessionMemory(history.get_recent(limit), NO_LIMIT)

    def total(self, history: SessionMemory) -> int:
        return count_messages_tokens(history.messages)


LIBRARY = Loom()
