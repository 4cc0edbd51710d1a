"""Gemini's generateContent: the arguments of `client.models.generate_content`, and its answers."""

from collections.abc import Sequence
from typing import Any

from quire.items import Item
from quire.providers.caching import CachePlan
from quire.providers.checking.faults import Fault
from quire.providers.checking.gemini import check
from quire.providers.gemini.history import read_history
from quire.providers.gemini.reading import AnswerReader, parse
from quire.providers.gemini.signing import NAME
from quire.providers.gemini.writing import begin
from quire.providers.provider import Parsed, StreamReader, answer_to
from quire.providers.rendering import Rendered, render
from quire.tokens.counter import Definition

__all__ = ["Gemini"]


class Gemini:
    """The wire of Gemini's models; it holds nothing, so one is as good as another."""

    @property
    def name(self) -> str:
        """The name by which the wire is asked for."""
        return NAME

    def render(
        self,
        items: Sequence[Item],
        *,
        model: str | None = None,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        strict: bool = False,
    ) -> Rendered:
        """Items and tools as the arguments of `generate_content`, but for the model."""
        return render(begin, NAME, items, model=model, tools=tools, plan=plan, strict=strict)

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """A whole response, as the client gives it or as JSON, to items and usage."""
        return parse(response, answer_to(sent, model))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """A reader for a streamed response."""
        return AnswerReader(answer_to(sent, model))

    def read_history(self, payload: Any) -> list[Item]:
        """An existing list of contents, or a whole request, as items."""
        return read_history(payload)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that Gemini would refuse in a payload."""
        return check(payload, model)
