"""OpenAI Responses."""

from collections.abc import Sequence
from typing import Any

from quire.items import Item
from quire.providers.caching import CachePlan
from quire.providers.checking import openai_responses as rules
from quire.providers.checking.faults import Fault
from quire.providers.openai_responses import history, reading
from quire.providers.openai_responses.states import NAME
from quire.providers.openai_responses.streaming import ResponsesStream
from quire.providers.openai_responses.writing import begin
from quire.providers.provider import Parsed, answer_to
from quire.providers.rendering import Rendered, render
from quire.tokens.counter import Definition

__all__ = ["NAME", "OpenAIResponses"]


class OpenAIResponses:
    """Items to items of input, and items of output to items."""

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
        """Items and tools as keyword arguments of `client.responses.create`."""
        return render(begin, NAME, items, model=model, tools=tools, plan=plan, strict=strict)

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """A whole response to items and usage."""
        return reading.parse(response, answer_to(sent, model))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> ResponsesStream:
        """A reader for a streamed response."""
        return ResponsesStream(answer_to(sent, model))

    def read_history(self, payload: Any) -> list[Item]:
        """An input, or a whole payload, as items."""
        return history.read_history(payload)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that the service would refuse in a payload."""
        return rules.check(payload, model)
