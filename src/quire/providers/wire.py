"""What the wires have in common: a writer, readers of answers and of histories, and the check."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from quire.items import Item, Reasoning, ToolCall
from quire.providers.caching import CachePlan
from quire.providers.check import check
from quire.providers.halves import Words, without_halves
from quire.providers.provider import Answer, Parsed, StreamReader, answer_to
from quire.providers.rendering import Begin, Rendered, render
from quire.providers.types import Fault
from quire.providers.wording import mended
from quire.tokens import Definition

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ReadsHistory(Protocol):
    """Reads a history in the format of a wire."""

    def __call__(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """The items of a payload."""
        ...


class Wire:
    """A provider made of four functions; it holds nothing, so one of a kind is as good as another."""

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
        """A whole response, as the client gives it or as JSON, to items and usage."""
        return _settled(self._parse(response, answer_to(sent, model)))

    def stream(self, *, sent: Rendered | None = None, model: str | None = None) -> StreamReader:
        """A reader for a streamed response."""
        return _Stream(self._stream(answer_to(sent, model)))

    def read_history(self, payload: Any, *, model: str | None = None) -> list[Item]:
        """An existing list of messages, or a whole payload, as items; `model` is whose the state in it is."""
        return self._read(payload, model=model)

    def check(self, payload: Any, model: str | None = None) -> list[Fault]:
        """All that this provider would refuse in a payload."""
        return check(payload, self.name, model=model)


class _Stream:
    """A reader whose answer, if it broke off in the middle of thinking, has no state; its words are whole."""

    __slots__ = ("_parsed", "_reader", "_words")

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._words = Words()
        self._parsed: Parsed | None = None

    def feed(self, event: Any) -> str:
        return self._words.heard(self._reader.feed(event))

    def close(self) -> Parsed:
        if self._parsed is None:
            self._parsed = _settled(self._reader.close())
        return self._parsed


def _settled(parsed: Parsed) -> Parsed:
    """An answer as it is kept; one that ended in an error did not come to its end, whatever else it says.

    One that was refused calls nothing: where its calls end nobody knows, and they were not to be made.
    """
    items = parsed.items
    if parsed.finish == "refused":
        items = tuple(item for item in items if not isinstance(item, ToolCall))
    whole = parsed._replace(
        items=tuple(map(without_halves, items)),
        model=None if parsed.model is None else mended(parsed.model),
    )
    return _without_lone_state(whole if whole.error is None else whole._replace(finish="other"))


def _without_lone_state(parsed: Parsed) -> Parsed:
    """Thoughts with nothing said or called after them cannot go back, nor may they join the next answer."""
    if not parsed.items or not all(_is_thought(item) for item in parsed.items):
        return parsed
    bare = (msgspec.structs.replace(item, state=None) for item in parsed.items)
    return parsed._replace(items=tuple(bare))


def _is_thought(item: Item) -> bool:
    """Whether an item is thinking, and not a block of another sort that is kept whole, such as a search."""
    if not isinstance(item, Reasoning):
        return False
    try:
        data = _decode(item.state.data) if item.state else {}
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return True
    return not data.keys() & {"block", "part"} and data.get("type", "reasoning") == "reasoning"
