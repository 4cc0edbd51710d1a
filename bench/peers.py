"""The peers, each a function that imports its library and returns its adapter."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from libraries import Adapter
from transcript import Entry


def loom() -> Adapter:
    """Loom: a session memory of dataclasses that check nothing."""
    from loom.memory.session import SessionMemory
    from loom.types import Message, ToolCall
    from loom.utils import count_messages_tokens

    NO_LIMIT = 10**9

    class Loom(Adapter):
        package, module = "loom-agent", "loom"
        by_tokens = False
        parsed = True
        how: ClassVar = {
            "append": "`SessionMemory.add`",
            "truncate": "`SessionMemory.get_recent`, by count, calls and results may part",
            "tokens": "`count_messages_tokens`, without tool calls",
            "render": "`ProviderRuntime.to_provider_messages`, the private `_convert_messages` of providers",
        }

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

        def fork(self, history: SessionMemory) -> SessionMemory:
            return SessionMemory(history.messages.copy(), NO_LIMIT)

        def truncate(self, history: SessionMemory, limit: int) -> SessionMemory:
            return SessionMemory(history.get_recent(limit), NO_LIMIT)

        def total(self, history: SessionMemory) -> int:
            return count_messages_tokens(history.messages)

        def renders(self) -> dict[str, Callable[[Any], Any]]:
            from loom.providers import OpenAIProvider
            from loom.runtime.provider_runtime import ProviderRuntime

            unused = ("provider", "config", "context_manager", "emit", "current_iteration")
            unused = (*unused, "build_provider_tools")
            listed = ProviderRuntime(**dict.fromkeys(unused)).to_provider_messages
            converted = OpenAIProvider(api_key="none")._convert_messages
            return {"openai": lambda history: converted(listed(history.messages))}

    return Loom()


def pydantic_ai() -> Adapter:
    """Pydantic AI: a list of requests and responses, dataclasses that check nothing."""
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

    SAID = {"system": SystemPromptPart, "user": UserPromptPart}

    class PydanticAI(Adapter):
        package, module = "pydantic-ai-slim", "pydantic_ai.messages"
        how: ClassVar = {
            "append": "`ModelRequest`, `ModelResponse` in a list",
            "codec": "`ModelMessagesTypeAdapter.dump_json`, `validate_json`",
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

        def fork(self, history: list[Any]) -> list[Any]:
            return history.copy()

        def dump(self, history: list[ModelMessage]) -> bytes:
            return ModelMessagesTypeAdapter.dump_json(history)

        def load(self, data: bytes) -> list[ModelMessage]:
            return ModelMessagesTypeAdapter.validate_json(data)

    return PydanticAI()


def harness() -> Adapter:
    """Pydantic AI's Harness: counting and compaction for Pydantic AI's list of messages."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai_harness.compaction import SlidingWindowCompaction, compact_now, estimate_token_count

    wait = asyncio.new_event_loop().run_until_complete
    model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none"))
    pydantic: Any = type(pydantic_ai())

    class Harness(pydantic):
        package, module = "pydantic-ai-harness", "pydantic_ai_harness.compaction"
        how: ClassVar = {
            **pydantic.how,
            "truncate": "`SlidingWindowCompaction`, by len / 4; keeps calls with their results",
            "tokens": "`estimate_token_count`, all counted again",
            "render": "the private `_map_messages` of `OpenAIChatModel`",
            "turn": "`estimate_token_count`, `SlidingWindowCompaction` if due, `_map_messages`",
        }

        def truncate(self, history: list[Any], limit: int) -> list[Any]:
            if self.total(history) <= limit:
                return history
            # It keeps at least so many tokens, and whole messages.
            strategy = SlidingWindowCompaction(
                max_tokens=limit, keep_tokens=limit * 17 // 20, preserve_first_user_message=False
            )
            return wait(compact_now(strategy, history, model=model))

        def total(self, history: list[Any]) -> int:
            return estimate_token_count(history)

        def renders(self) -> dict[str, Callable[[Any], Any]]:
            parameters = ModelRequestParameters()
            return {"openai": lambda history: wait(model._map_messages(history, parameters))}

    return Harness()


def langchain() -> Adapter:
    """LangChain: a list of validated messages."""
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

    SAID = {"system": SystemMessage, "user": HumanMessage}

    class LangChain(Adapter):
        package, module = "langchain-core", "langchain_core.messages"
        parsed = True
        how: ClassVar = {
            "append": "messages in a list",
            "truncate": '`trim_messages(token_counter="approximate")`',
            "tokens": "`count_tokens_approximately`",
            "codec": "`messages_to_dict` and `json.dumps`; `json.loads` and `messages_from_dict`",
            "render": "`convert_to_openai_messages`",
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

        def fork(self, history: list[Any]) -> list[Any]:
            return history.copy()

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

    return LangChain()
