"""LlamaIndex: a memory buffer of validated messages that counts a token for each four characters."""

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import SimpleChatStore

from libraries.adapter import Adapter
from transcript import Entry

NO_LIMIT = 10**12


def quarters(text: str) -> range:
    """Four characters a token; its default tokenizer needs minutes to truncate a thousand messages."""
    return range(len(text) // 4)


class LlamaIndex(Adapter):
    name = "llama-index"
    package = "llama-index-core"
    validates = True
    parsed = True
    by_tokens = True
    how: ClassVar = {
        "append": "`ChatMemoryBuffer.put`",
        "memory": "`ChatMemoryBuffer`",
        "truncate": "`ChatMemoryBuffer.get` with a token limit, len / 4",
        "codec": "`model_dump` of each message and `json.dumps`; `json.loads` and `model_validate`",
    }
    absent: ClassVar = {
        "turn": "renders nothing here: see above",
        "tokens": "counts inside `get` only",
        "render": "comes with llama-index-llms-openai and the like, which are not installed",
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

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"a buffer over a copy of the list": lambda history: _copy(history, NO_LIMIT)}

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


LIBRARY = LlamaIndex()
