"""A provider made of four functions: a writer, and readers of answers, streams and histories."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from quire.items import Item
from quire.providers.check import check
from quire.providers.render import Begin, render
from quire.providers.types import Answer, CachePlan, Fault, Parsed, Rendered, StreamReader, answer_to
from quire.tokens import Definition


class ReadsHistory(Protocol):
    """Reads a history in the format of a wire."""

    def __call__(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """The items of a payload."""
        ...


class Wire:
    """A wire; it holds no state, so one instance is as good as another."""

    __slots__ = ("_begin", "_parse", "_read", "_stream", "name")

    def __init__(
        self,
        name: str,
        begin: Begin,
        parse: Callable[[Any, Answer], Parsed],
        stream: Callable[[Answer], StreamReader],
        read: ReadsHistory,
    ) -> None:
        self.name = name
        self._begin = begin
        self._parse = parse
        self._stream = stream
        self._read = read

    def render(
        self,
        items: Sequence[Item],
        *,
        model: str | None = None,
        tools: Sequence[Definition] = (),
        plan: CachePlan | None = None,
        strict: bool = False,
    ) -> Rendered:
        """Items and tools as the keyword arguments of the provider's client."""
        return render(self._begin, self.name, items, model=model, tools=tools, plan=plan, strict=strict)

    def parse(self, response: Any, *, sent: Rendered | None = None, model: str | None = None) -> Parsed:
        """A whole response, as JSON or as the client gives it, as items and usage."""
        return self._parse(response, answer_to(sent, model))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """A reader for a streamed response."""
        return self._stream(answer_to(sent, model))

    def read_history(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """A list of messages, or a whole payload, as items. `model` is the model that made its state."""
        return self._read(payload, model=model)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        return check(payload, self.name, model=model)
