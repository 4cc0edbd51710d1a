"""Pydantic AI: a list of requests and responses, dataclasses that check nothing."""

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
    }
    absent: ClassVar = {
        "truncate": "has no call for it: a history processor of one's own cuts the list",
        "tokens": "has no count of its own: it sums what providers report",
    }

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


LIBRARY = PydanticAI()
