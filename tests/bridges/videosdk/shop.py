"""A conversation and models for the tests of the bridge."""

from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

from quire.bridges.videosdk import (
    ChatContext,
    ChatItem,
    ChatMessage,
    ChatRole,
    FunctionCall,
    FunctionCallOutput,
)


def talk(turns: int = 6) -> ChatContext:
    """Instructions, then turns of a question, a call, its output and an answer."""
    context = ChatContext.empty()
    context.add_message(ChatRole.SYSTEM, "Sell lamps.")
    for n in range(turns):
        context.add_message(ChatRole.USER, f"lamp {n}?", agent_id="a")
        context.add_function_call("stock", f'{{"lamp": {n}}}', call_id=f"c{n}", agent_id="a")
        context.add_function_output("stock", f"{n} left", call_id=f"c{n}", agent_id="b")
        context.add_message(ChatRole.ASSISTANT, f"yes, {n}", agent_id="b")
    return context


def at(time: float, text: str = "late") -> ChatMessage:
    return ChatMessage(role=ChatRole.USER, content=[text], created_at=time)


def words(item: ChatItem) -> str:
    assert isinstance(item, ChatMessage)
    parts = [item.content] if isinstance(item.content, str) else item.content
    return " ".join(part for part in parts if isinstance(part, str))


def told(context: ChatContext) -> list[str]:
    return [words(message) for message in context.messages()]


def calls(context: ChatContext) -> list[str]:
    return [item.call_id for item in context.items if isinstance(item, FunctionCall)]


def outputs(context: ChatContext) -> list[str]:
    return [item.call_id for item in context.items if isinstance(item, FunctionCallOutput)]


class Streaming:
    """A model that answers in pieces, and keeps what it was asked."""

    def __init__(self, *pieces: str, meanwhile: Callable[[], Any] = lambda: None) -> None:
        self.pieces, self.meanwhile = pieces or ("THE ", "GIST"), meanwhile
        self.asked: list[str] = []

    async def chat(self, messages: ChatContext, **_options: object) -> AsyncIterator[SimpleNamespace]:
        self.asked.append(str(messages.to_dict()))
        self.meanwhile()
        for piece in self.pieces:
            yield SimpleNamespace(content=piece)


class Answering:
    """A model that returns one value, whatever that is."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def chat(self, messages: ChatContext) -> Any:
        return self.answer() if callable(self.answer) else self.answer
