"""The peers, each a function that imports its library and returns its adapter."""

import asyncio
import json
from collections.abc import Callable, Sequence
from operator import methodcaller
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
            from loom.providers import AnthropicProvider, GeminiProvider, OpenAIProvider

            return {
                "openai": _converter(OpenAIProvider),
                "anthropic": _converter(AnthropicProvider),
                "gemini": _converter(GeminiProvider),
            }

        def messages(self, payload: Any) -> list[Any]:
            return payload[1] if isinstance(payload, tuple) else payload

    def _converter(provider: Any) -> Callable[[SessionMemory], Any]:
        from loom.runtime.provider_runtime import ProviderRuntime

        unused = (
            "provider",
            "config",
            "context_manager",
            "emit",
            "current_iteration",
            "build_provider_tools",
        )
        listed = ProviderRuntime(**dict.fromkeys(unused)).to_provider_messages
        converted = provider(api_key="none")._convert_messages
        return lambda history: converted(listed(history.messages))

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
            "render": "the private `_map_messages` of `OpenAIChatModel` and `GoogleModel`; none is public",
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

        def fork(self, history: list[Any]) -> list[Any]:
            return history.copy()

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

        def messages(self, payload: Any) -> list[Any]:
            return payload[1] if isinstance(payload, tuple) else payload

        def _mapped(self, model: Any) -> Callable[[Any], Any]:
            from pydantic_ai.models import ModelRequestParameters

            nothing = ModelRequestParameters()
            return lambda history: self.loop.run_until_complete(model._map_messages(history, nothing))

    return PydanticAI()


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


def livekit() -> Adapter:
    """LiveKit Agents: a chat context of validated models."""
    from livekit.agents.llm import ChatContext, FunctionCall, FunctionCallOutput

    class LiveKit(Adapter):
        package, module = "livekit-agents", "livekit.agents.llm"
        by_tokens = False
        how: ClassVar = {
            "append": "`ChatContext.add_message`, `insert`",
            "truncate": "`truncate(max_items=…)`, by count",
            "codec": "`to_dict` with times and `json.dumps`; `json.loads` and `from_dict`",
            "render": "`ChatContext.to_provider_format`",
        }

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

        def fork(self, history: ChatContext) -> ChatContext:
            return history.copy()

        def truncate(self, history: ChatContext, limit: int) -> ChatContext:
            return history.truncate(max_items=limit)

        def dump(self, history: ChatContext) -> bytes:
            return json.dumps(history.to_dict(exclude_timestamp=False)).encode()

        def load(self, data: bytes) -> ChatContext:
            return ChatContext.from_dict(json.loads(data))

        def renders(self) -> dict[str, Callable[[Any], Any]]:
            names = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
            return {wire: methodcaller("to_provider_format", name) for wire, name in names.items()}

    return LiveKit()


def videosdk() -> Adapter:
    """VideoSDK Agents: a chat context of validated models."""
    from videosdk.agents import ChatContext, ChatRole

    ROLES = {role.value: role for role in ChatRole}

    class VideoSDK(Adapter):
        package, module = "videosdk-agents", "videosdk.agents"
        how: ClassVar = {
            "append": "`ChatContext.add_message`, `add_function_call`, `add_function_output`",
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

        def fork(self, history: ChatContext) -> ChatContext:
            return history.copy()

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

    return VideoSDK()


def llama_index() -> Adapter:
    """LlamaIndex: a memory buffer of validated messages that counts a token for each four characters."""
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.storage.chat_store import SimpleChatStore

    NO_LIMIT = 10**12

    def quarters(text: str) -> range:
        """Four characters a token; its default tokenizer needs minutes to truncate a thousand messages."""
        return range(len(text) // 4)

    class LlamaIndex(Adapter):
        package, module = "llama-index-core", "llama_index.core.memory"
        parsed = True
        how: ClassVar = {
            "append": "`ChatMemoryBuffer.put`",
            "truncate": "`ChatMemoryBuffer.get` with a token limit, len / 4",
            "codec": "`model_dump` of each message and `json.dumps`; `json.loads` and `model_validate`",
        }

        def new(self) -> ChatMemoryBuffer:
            return _buffer(SimpleChatStore(), NO_LIMIT)

        def add(self, history: ChatMemoryBuffer, chat: Sequence[Entry]) -> None:
            for role, text, calls, answers, name in chat:
                if role == "tool":
                    extra = {"tool_call_id": answers, "name": name}
                    history.put(ChatMessage(role="tool", content=text, additional_kwargs=extra))
                elif calls:
                    blocks: list[Any] = [TextBlock(text=text)] if text else []
                    for call, tool, arguments in calls:
                        blocks.append(ToolCallBlock(tool_call_id=call, tool_name=tool, tool_kwargs=arguments))
                    history.put(ChatMessage(role=role, blocks=blocks))
                else:
                    history.put(ChatMessage(role=role, content=text))

        def length(self, history: ChatMemoryBuffer) -> int:
            return len(history.get_all())

        def fork(self, history: ChatMemoryBuffer) -> ChatMemoryBuffer:
            return _copy(history, NO_LIMIT)

        def truncate(self, history: ChatMemoryBuffer, limit: int) -> ChatMemoryBuffer:
            history.token_limit = limit
            history.set(history.get())
            return history

        def total(self, history: ChatMemoryBuffer) -> int:
            return sum(len(message.content or "") // 4 for message in history.get_all())

        def dump(self, history: ChatMemoryBuffer) -> bytes:
            # The chat store's own dump raises with the pydantic that the peers share.
            return json.dumps([message.model_dump() for message in history.get_all()]).encode()

        def load(self, data: bytes) -> ChatMemoryBuffer:
            history = self.new()
            history.set([ChatMessage.model_validate(message) for message in json.loads(data)])
            return history

    def _copy(history: ChatMemoryBuffer, limit: int) -> ChatMemoryBuffer:
        store = SimpleChatStore()
        store.set_messages(history.chat_store_key, history.get_all().copy())
        return _buffer(store, limit)

    def _buffer(store: SimpleChatStore, limit: int) -> ChatMemoryBuffer:
        return ChatMemoryBuffer(token_limit=limit, tokenizer_fn=quarters, chat_store=store)

    return LlamaIndex()


def openai_agents() -> Adapter:
    """OpenAI Agents: a session of unchecked dictionaries in an in-memory SQLite database."""
    from agents import SQLiteSession
    from agents.models.chatcmpl_converter import Converter

    class OpenAIAgents(Adapter):
        package, module = "openai-agents", "agents"
        by_tokens = False
        how: ClassVar = {
            "append": "`SQLiteSession.add_items` on `:memory:`, one message a call",
            "truncate": "`get_items(limit=…)`, by count, calls and results may part",
            "render": "`Converter.items_to_messages` on its items, taken from the session beforehand",
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

    return OpenAIAgents()
