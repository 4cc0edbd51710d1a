"""A chat model of LangChain that follows a script, and what it was sent."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from quire.providers import check

Script = Callable[[list[BaseMessage]], AIMessage]


class ScriptedChat(BaseChatModel):
    """Answers each request by a function of its messages."""

    script: Script
    requests: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedChat":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.requests.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.script(messages))])


def call(call_id: str, name: str = "look", **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id}])


def faults(messages: Sequence[BaseMessage]) -> list[Any]:
    """What OpenAI would refuse of these messages."""
    return list(check({"model": "gpt-5.6", "messages": convert_to_openai_messages(list(messages))}, "openai"))
