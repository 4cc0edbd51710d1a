"""LiveKit Agents: a chat context of validated models."""

import json
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any, ClassVar

from livekit.agents.llm import ChatContext, FunctionCall, FunctionCallOutput

from libraries.adapter import Adapter
from transcript import Entry


class LiveKit(Adapter):
    name = "livekit"
    package = "livekit-agents"
    validates = True
    how: ClassVar = {
        "append": "`ChatContext.add_message`, `insert`",
        "memory": "`ChatContext`",
        "truncate": "`truncate(max_items=…)`, by count",
        "codec": "`to_dict` with times and `json.dumps`; `json.loads` and `from_dict`",
        "render": "`ChatContext.to_provider_format`",
    }
    absent: ClassVar = {"tokens": "counts no tokens"}

    def new(self) -> ChatContext:
        return ChatContext.empty()

    def add(self, history: ChatContext, chat: Sequence[Entry]) -> None:
        for role, text, calls, answers, name in chat:
            if role == "tool":
                output = FunctionCallOutput(call_id=answers, name=name, output=text, is_error=False)
                history.insert(output)
                continue
            if text:
                history.add_message(role=role, content=text)
            for call_id, tool, arguments in calls:
                history.insert(FunctionCall(call_id=call_id, name=tool, arguments=arguments))

    def length(self, history: ChatContext) -> int:
        return len(history.items)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"`copy()`": ChatContext.copy}

    def truncate(self, history: ChatContext, limit: int) -> ChatContext:
        return history.truncate(max_items=limit)

    def dump(self, history: ChatContext) -> bytes:
        return json.dumps(history.to_dict(exclude_timestamp=False)).encode()

    def load(self, data: bytes) -> ChatContext:
        return ChatContext.from_dict(json.loads(data))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        names = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
        return {wire: methodcaller("to_provider_format", name) for wire, name in names.items()}


LIBRARY = LiveKit()
