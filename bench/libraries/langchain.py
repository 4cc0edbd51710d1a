"""LangChain: a list of validated messages."""

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
    messages_from_dict,
    messages_to_dict,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately

from libraries.adapter import Adapter
from transcript import Entry

SAID = {"system": SystemMessage, "user": HumanMessage}


class LangChain(Adapter):
    name = "langchain"
    package = "langchain-core"
    validates = True
    parsed = True
    by_tokens = True
    how: ClassVar = {
        "append": "messages in a list",
        "memory": "messages in a list",
        "truncate": '`trim_messages(token_counter="approximate")`',
        "tokens": "`count_tokens_approximately`",
        "codec": "`messages_to_dict` and `json.dumps`; `json.loads` and `messages_from_dict`",
        "render": "`convert_to_openai_messages`",
    }
    absent: ClassVar = {
        "render anthropic": "comes with langchain-anthropic, which is not installed",
        "render gemini": "comes with langchain-google-genai, which is not installed",
    }

    def new(self) -> list[BaseMessage]:
        return []

    def add(self, history: list[BaseMessage], chat: Sequence[Entry]) -> None:
        for role, text, calls, answers, name in chat:
            if role == "tool":
                history.append(ToolMessage(content=text, tool_call_id=answers, name=name))
            elif role == "assistant":
                made = [{"id": call, "name": tool, "args": arguments} for call, tool, arguments in calls]
                history.append(AIMessage(content=text, tool_calls=made))
            else:
                history.append(SAID[role](content=text))

    def length(self, history: list[BaseMessage]) -> int:
        return len(history)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"`list.copy`": list.copy}

    def truncate(self, history: list[BaseMessage], limit: int) -> list[BaseMessage]:
        return trim_messages(
            history,
            max_tokens=limit,
            token_counter="approximate",
            start_on="human",
            include_system=True,
        )

    def total(self, history: list[BaseMessage]) -> int:
        return count_tokens_approximately(history)

    def dump(self, history: list[BaseMessage]) -> bytes:
        return json.dumps(messages_to_dict(history)).encode()

    def load(self, data: bytes) -> list[BaseMessage]:
        return messages_from_dict(json.loads(data))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {"openai": convert_to_openai_messages}


LIBRARY = LangChain()
