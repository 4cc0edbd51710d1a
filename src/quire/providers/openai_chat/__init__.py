"""OpenAI Chat Completions, the wire that most other services speak too."""

from collections.abc import Sequence
from typing import Any

from quire.items import Item
from quire.providers.caching import CachePlan
from quire.providers.checking import openai_chat as rules
from quire.providers.checking.faults import Fault
from quire.providers.openai_chat import history, reading
from quire.providers.openai_chat.streaming import ChatStream
from quire.providers.openai_chat.writing import NAME, begin
from quire.providers.provider import Parsed, answer_to
from quire.providers.rendering import Rendered, render
from quire.tokens.counter import Definition

__all__ = ["NAME", "OpenAIChat"]


class OpenAIChat:
    """Items to chat messages and back."""

    name = NAME

    def render(
        self,
        items: Sequence[Item],
        *,
        model: str | None = None,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        strict: bool = False,
    ) -> Rendered:
        """Items and tools as keyword arguments of `client.chat.completions.create`."""
        return render(begin, NAME, items, model=model, tools=tools, plan=plan, strict=strict)

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """A whole response to items and usage."""
        return reading.parse(response, answer_to(sent, model))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> ChatStream:
        """A reader for a streamed response."""
        return ChatStream(answer_to(sent, model))

    def read_history(self, payload: Any) -> list[Item]:
        """A list of messages, or a whole payload, as items."""
        return history.read_history(payload)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that the service would refuse in a payload."""
        return rules.check(payload, model)
