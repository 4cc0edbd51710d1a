"""VideoSDK Agents: a chat context of validated models."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from videosdk.agents import ChatContext, ChatRole

from libraries.adapter import Adapter
from transcript import Entry

ROLES = {role.value: role for role in ChatRole}


class VideoSDK(Adapter):
    name = "videosdk"
    package = "videosdk-agents"
    validates = True
    by_tokens = True
    how: ClassVar = {
        "append": "`ChatContext.add_message`, `add_function_call`, `add_function_output`",
        "memory": "`ChatContext`",
        "truncate": "`truncate(max_tokens=…)`",
        "tokens": "`estimated_tokens`",
        "codec": "`to_dict` and `json.dumps`; `json.loads` and `from_dict`",
        "render": "`to_openai_messages`, `to_anthropic_messages`, `to_google_contents`",
    }

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def new(self) -> ChatContext:
        return ChatContext.empty()

    def add(self, history: ChatContext, chat: Sequence[Entry]) -> None:
        for role, text, calls, answers, name in chat:
            if role == "tool":
                history.add_function_output(name, text, answers)
                continue
            if text:
                history.add_message(ROLES[role], text)
            for call_id, tool, arguments in calls:
                history.add_function_call(tool, arguments, call_id)

    def length(self, history: ChatContext) -> int:
        return len(history.items)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"`copy()`": ChatContext.copy, "`fork()`": ChatContext.fork}

    def truncate(self, history: ChatContext, limit: int) -> ChatContext:
        return history.truncate(max_tokens=limit)

    def total(self, history: ChatContext) -> int:
        return history.estimated_tokens()

    def dump(self, history: ChatContext) -> bytes:
        return json.dumps(history.to_dict()).encode()

    def load(self, data: bytes) -> ChatContext:
        return ChatContext.from_dict(json.loads(data))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {
            "openai": ChatContext.to_openai_messages,
            "anthropic": ChatContext.to_anthropic_messages,
            "gemini": lambda history: self.loop.run_until_complete(history.to_google_contents()),
        }


LIBRARY = VideoSDK()
