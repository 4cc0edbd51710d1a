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
        "render": "`ProviderRuntime.to_provider_messages`, the private `_convert_messages` of its providers",
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

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        from loom.providers import AnthropicProvider, GeminiProvider, OpenAIProvider

        return {
            "openai": _converter(OpenAIProvider),
            "anthropic": _converter(AnthropicProvider),
            "gemini": _converter(GeminiProvider),
        }

    def turns(self, payload: Any) -> list[Any]:
        return payload[1] if isinstance(payload, tuple) else payload


def _converter(provider: Any) -> Callable[[SessionMemory], Any]:
    from loom.runtime.provider_runtime import ProviderRuntime

    unused = ("provider", "config", "context_manager", "emit", "current_iteration", "build_provider_tools")
    listed = ProviderRuntime(**dict.fromkeys(unused)).to_provider_messages
    converted = provider(api_key="none")._convert_messages
    return lambda history: converted(listed(history.messages))


LIBRARY = Loom()
