"""Conversations and models for the tests of the bridge."""

from collections.abc import AsyncIterator, Callable
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
    context.add_message(ChatRole.SYSTEM, "Be brief.")
    for n in range(turns):
        context.add_message(ChatRole.USER, f"question {n}", agent_id="a")
        context.add_function_call("search", f'{{"q": {n}}}', call_id=f"c{n}", agent_id="a")
        context.add_function_output("search", f"found {n}", call_id=f"c{n}", agent_id="b")
        context.add_message(ChatRole.ASSISTANT, f"answer {n}", agent_id="b")
    return context


def words(item: ChatItem) -> str:
    assert isinstance(item, ChatMessage)
    content = item.content
    return (
        content if isinstance(content, str) else " ".join(part for part in content if isinstance(part, str))
    )


def told(context: ChatContext) -> list[str]:
    """The words of all messages."""
    return [words(message) for message in context.messages()]


def calls(context: ChatContext) -> list[str]:
    return [item.call_id for item in context.items if isinstance(item, FunctionCall)]


def outputs(context: ChatContext) -> list[str]:
    return [item.call_id for item in context.items if isinstance(item, FunctionCallOutput)]


class Chunk:
    def __init__(self, content: str) -> None:
        self.content = content


class Streaming:
    """A model that answers in pieces and remembers what it was asked."""

    def __init__(self, *pieces: str, meanwhile: Callable[[], Any] = lambda: None) -> None:
        self.pieces = pieces or ("THE ", "GIST")
        self.meanwhile = meanwhile
        self.asked: list[ChatContext] = []

    async def chat(self, messages: ChatContext, **_options: object) -> AsyncIterator[Chunk]:
        self.asked.append(messages)
        self.meanwhile()
        for piece in self.pieces:
            yield Chunk(piece)


class Answering:
    """A model that gives back one thing, whatever that is."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def chat(self, messages: ChatContext) -> Any:
        return self.answer() if callable(self.answer) else self.answer
