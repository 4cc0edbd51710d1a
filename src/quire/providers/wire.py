"""What the wires have in common: a writer, readers of answers and of histories, and a check."""

from collections.abc import Callable, Sequence
from typing import Any

from quire.items import Item
from quire.providers.caching import CachePlan
from quire.providers.checking.faults import Fault
from quire.providers.provider import Answer, Parsed, StreamReader, answer_to
from quire.providers.rendering import Begin, Rendered, render
from quire.tokens.counter import Definition


class Wire:
    """A provider made of five functions; it holds nothing, so one of a kind is as good as another."""

    __slots__ = ("_begin", "_check", "_parse", "_read", "_stream", "name")

    def __init__(
        self,
        name: str,
        begin: Begin,
        parse: Callable[[Any, Answer], Parsed],
        stream: Callable[[Answer], StreamReader],
        read: Callable[[Any], list[Item]],
        check: Callable[[Any, str | None], list[Fault]],
    ) -> None:
        self.name = name
        self._begin = begin
        self._parse = parse
        self._stream = stream
        self._read = read
        self._check = check

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
        """A whole response, as the client gives it or as JSON, to items and usage."""
        return self._parse(response, answer_to(sent, model))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """A reader for a streamed response."""
        return self._stream(answer_to(sent, model))

    def read_history(self, payload: Any) -> list[Item]:
        """An existing list of messages, or a whole payload, as items."""
        return self._read(payload)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        return self._check(payload, model)
