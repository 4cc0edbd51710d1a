"""Answers: the deltas of a stream, and the whole answer that they form."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Self

from quire.errors import CodecError, InvalidValue, ModelFailed, WrongType
from quire.items import Item, Message, Reasoning, ToolCall
from quire.models.failures import Failure, failure_in
from quire.providers import Parsed, Provider, Rendered, entries_in, fields_in, plain_json

_Event = Mapping[str, Any]

OnSend = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Called with a request: the arguments of the SDK's method, which form the body."""


class Delta(NamedTuple):
    """A piece of an answer: text, a piece of thinking, or the name of a tool whose call begins."""

    kind: Literal["text", "thinking", "call"]
    text: str


class Sending:
    """Calls a function, if it is set, just before each request is sent."""

    def __init__(self) -> None:
        self.on_send: OnSend | None = None

    async def announce(self, request: Mapping[str, Any]) -> None:
        if self.on_send is not None:
            await self.on_send(request)


class Answering:
    """An answer that arrives: an async iterator over its text, then the whole answer as `parsed`.

    `deltas` iterates over thinking and calls too. `async with` stops the answer if the block is left early.
    After an error or a cancellation, `parsed` has what arrived until then; an incomplete message is marked as
    interrupted.
    """

    def __init__(
        self,
        deltas: AsyncGenerator[Delta, None],
        parsed: Callable[[], Parsed],
        sending: Sending | None = None,
    ) -> None:
        """Make an answer of its deltas; `parsed` returns the whole answer after the last delta.

        `sending` is for models that can report their requests.
        """
        self._sending = sending
        self._deltas = deltas
        self._combine = parsed
        self._parsed: Parsed | None = None

    def __repr__(self) -> str:
        return f"<Answering: {'under way' if self._parsed is None else self._parsed.finish}>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while (delta := await self._next()) is not None:
            if delta.kind == "text":
                return delta.text
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def on_send(self, call: OnSend, terms: Mapping[str, Any]) -> None:
        """Call a function with each request just before it is sent.

        If the model cannot report its requests, the function is called now, with `terms`.
        """
        if self._sending is not None:
            self._sending.on_send = call
        else:
            await call({name: value for name, value in terms.items() if value is not None})

    @property
    def parsed(self) -> Parsed:
        """The whole answer, once it has ended or was closed."""
        if self._parsed is None:
            raise InvalidValue("the answer is incomplete: read it to its end, or close it")
        return self._parsed

    async def deltas(self) -> AsyncIterator[Delta]:
        """The remaining deltas of every kind."""
        while (delta := await self._next()) is not None:
            yield delta

    async def whole(self) -> Parsed:
        """Read the answer to its end, and return it."""
        while await self._next() is not None:
            pass
        return self.parsed

    async def close(self) -> Parsed:
        """Stop the answer if it has not ended; return what has arrived."""
        await self._deltas.aclose()
        if self._parsed is None:
            self._parsed = self._combine()
        return self._parsed

    async def _next(self) -> Delta | None:
        if self._parsed is not None:
            return None
        try:
            return await anext(self._deltas)
        except StopAsyncIteration:
            self._parsed = self._combine()
            return None
        except BaseException:
            await self.close()
            raise


def answer_text(parsed: Parsed) -> str:
    """The text of an answer, without thinking, calls and media."""
    return "".join(item.text for item in parsed.items if isinstance(item, Message))


def deltas_of(item: Item) -> Iterator[Delta]:
    """A whole item as deltas."""
    if isinstance(item, Message) and item.text:
        yield Delta("text", item.text)
    elif isinstance(item, Reasoning) and item.text:
        yield Delta("thinking", item.text)
    elif isinstance(item, ToolCall):
        yield Delta("call", item.name)


# --- reading ---------------------------------------------------------------------------------------------


class AnswerReader:
    """Reads the answer to one request, from the events of a stream or from a whole response."""

    def __init__(self, provider: Provider, sent: Rendered, model: str, *, stream: bool) -> None:
        self.model = model
        self._provider = provider
        self._sent = sent
        self.is_stream = stream
        self._has_deltas = False
        self.start_again()

    def start_again(self) -> None:
        """Forget what was read: the request is sent once more."""
        self._stream = self._provider.stream(sent=self._sent, model=self.model)
        self._whole: Parsed | None = None

    def feed(self, event: Any) -> list[Delta]:
        """Read an event, or a whole response; return its deltas, in the order of an answer."""
        try:
            deltas = self._deltas_in(event if isinstance(event, dict) else plain_json(event))
        except (CodecError, WrongType) as fault:
            raise ModelFailed(f"the answer of {self.model} could not be read") from fault
        self._has_deltas = self._has_deltas or bool(deltas)
        return deltas

    def failure(self) -> Failure | None:
        """Why the answer is not valid as it is now, or None."""
        return failure_in(self.model, self.close())

    def has_begun(self) -> bool:
        """Whether a delta was returned or content has arrived, so that a retry would lose or repeat it."""
        return self._has_deltas or not all(map(_is_empty, self.close().items))

    def close(self) -> Parsed:
        """The answer so far; an answer that cannot be read has only an error."""
        try:
            return self._whole or (self._stream.close() if self.is_stream else self._empty())
        except (CodecError, WrongType):
            return self._empty("unreadable")

    def _deltas_in(self, event: Any) -> list[Delta]:
        if not self.is_stream:
            self._whole = self._provider.parse(event, sent=self._sent, model=self.model)
            return [delta for item in self._whole.items for delta in deltas_of(item)]
        text, names = self._stream.feed(event), self._sent.names
        pieces = [(kind, piece) for kind, piece in _PIECE_FINDERS[self._provider.name](event) if piece]
        thinking = [Delta("thinking", piece) for kind, piece in pieces if kind == "thinking"]
        calls = [Delta("call", names.get(piece, piece)) for kind, piece in pieces if kind == "call"]
        return [*thinking, *([Delta("text", text)] if text else []), *calls]

    def _empty(self, error: str | None = None) -> Parsed:
        return Parsed((), model=self.model, error=error)


def _is_empty(item: Item) -> bool:
    """Whether an item is thinking without text so far."""
    return isinstance(item, Reasoning) and not item.text and item.state is None


# --- thinking and calls in the events of each wire -------------------------------------------------------


def _chat(event: _Event) -> Iterator[tuple[str, Any]]:
    for choice in entries_in(event.get("choices")):
        delta = fields_in(choice.get("delta"))
        yield "thinking", delta.get("reasoning_content") or delta.get("reasoning")
        for chunk in entries_in(delta.get("content")):  # Mistral
            for piece in entries_in(chunk.get("thinking")):
                yield "thinking", piece.get("text")
        for call in entries_in(delta.get("tool_calls")):
            yield "call", fields_in(call.get("function") or call.get("custom")).get("name")


def _responses(event: _Event) -> Iterator[tuple[str, Any]]:
    kind, item = event.get("type"), fields_in(event.get("item"))
    if kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
        yield "thinking", event.get("delta")
    elif kind == "response.output_item.added" and item.get("type") in ("function_call", "custom_tool_call"):
        yield "call", item.get("name")


def _anthropic(event: _Event) -> Iterator[tuple[str, Any]]:
    block = fields_in(event.get("content_block"))
    yield "thinking", fields_in(event.get("delta")).get("thinking") or block.get("thinking")
    yield "call", block.get("name") if block.get("type") == "tool_use" else None


def _gemini(event: _Event) -> Iterator[tuple[str, Any]]:
    for candidate in entries_in(event.get("candidates"))[:1]:
        for part in entries_in(fields_in(candidate.get("content")).get("parts")):
            yield "thinking", part.get("text") if part.get("thought") is True else None
            yield "call", fields_in(part.get("functionCall")).get("name")


_PIECE_FINDERS: dict[str, Callable[[_Event], Iterator[tuple[str, Any]]]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
