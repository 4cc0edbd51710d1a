"""Anthropic Messages, both ways."""

from collections.abc import Sequence
from typing import Any

from quire.items import Item
from quire.providers import rendering
from quire.providers.anthropic.abilities import NAME
from quire.providers.anthropic.history import read_history
from quire.providers.anthropic.reading import parse
from quire.providers.anthropic.streaming import MessageStream
from quire.providers.anthropic.writing import begin
from quire.providers.caching import CachePlan
from quire.providers.checking import anthropic as checking
from quire.providers.checking.faults import Fault
from quire.providers.provider import Parsed, StreamReader, answer_to
from quire.providers.rendering import Rendered
from quire.tokens.counter import Definition

__all__ = ["Anthropic"]


class Anthropic:
    """The Messages API. `model` and `max_tokens` are for the caller to add to a payload."""

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
        """Items and tools as the keyword arguments of `messages.create`."""
        return rendering.render(begin, NAME, items, model=model, tools=tools, plan=plan, strict=strict)

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """A whole response, as the client gives it or as JSON, to items and usage."""
        return parse(response, answer_to(sent, model))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """A reader for a streamed response."""
        return MessageStream(answer_to(sent, model))

    def read_history(self, payload: Any) -> list[Item]:
        """An existing list of messages, or a whole payload, as items."""
        return read_history(payload)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        return checking.check(payload, model)
