"""Pydantic AI: a list of requests and responses, dataclasses that check nothing."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from libraries.adapter import Adapter
from transcript import Entry

SAID = {"system": SystemPromptPart, "user": UserPromptPart}


class PydanticAI(Adapter):
    name = "pydantic-ai"
    package = "pydantic-ai-slim"
    how: ClassVar = {
        "append": "`ModelRequest`, `ModelResponse` in a list",
        "memory": "`ModelRequest`, `ModelResponse` in a list",
        "codec": "`ModelMessagesTypeAdapter.dump_json`, `validate_json`",
        "render": "the private `_map_messages` of `OpenAIChatModel` and `GoogleModel`; it has no public call",
    }
    absent: ClassVar = {
        "turn": "has no call that cuts a history",
        "truncate": "has no call for it: a history processor of one's own cuts the list",
        "tokens": "has no count of its own: it sums what providers report",
        "render anthropic": "needs the anthropic package, which is not installed",
    }

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def new(self) -> list[ModelMessage]:
        return []

    def add(self, history: list[ModelMessage], chat: Sequence[Entry]) -> None:
        for role, text, calls, answers, name in chat:
            if role == "tool":
                part = ToolReturnPart(tool_name=name, content=text, tool_call_id=answers)
                history.append(ModelRequest(parts=[part]))
            elif role == "assistant":
                said: list[Any] = [TextPart(content=text)] if text else []
                for call, tool, arguments in calls:
                    said.append(ToolCallPart(tool_name=tool, args=arguments, tool_call_id=call))
                history.append(ModelResponse(parts=said))
            else:
                history.append(ModelRequest(parts=[SAID[role](content=text)]))

    def length(self, history: list[ModelMessage]) -> int:
        return len(history)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"`list.copy`": list.copy}

    def dump(self, history: list[ModelMessage]) -> bytes:
        return ModelMessagesTypeAdapter.dump_json(history)

    def load(self, data: bytes) -> list[ModelMessage]:
        return ModelMessagesTypeAdapter.validate_json(data)

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        # Not at the top: their clients are large, and the other workloads need none of them.
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.google import GoogleProvider
        from pydantic_ai.providers.openai import OpenAIProvider

        chat = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none"))
        google = GoogleModel("gemini-2.5-pro", provider=GoogleProvider(api_key="none"))
        return {"openai": self._mapped(chat), "gemini": self._mapped(google)}

    def turns(self, payload: Any) -> list[Any]:
        return payload[1] if isinstance(payload, tuple) else payload

    def _mapped(self, model: Any) -> Callable[[Any], Any]:
        from pydantic_ai.models import ModelRequestParameters

        nothing = ModelRequestParameters()
        return lambda history: self.loop.run_until_complete(model._map_messages(history, nothing))


LIBRARY = PydanticAI()
