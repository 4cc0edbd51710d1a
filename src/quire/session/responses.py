"""Responses of the caller's own client, recorded as items with what they used."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, Self, cast

import msgspec

from quire.errors import ModelFailed, QuireError, StoreError, WrongType
from quire.items import Item
from quire.providers import Parsed, Rendered, StreamReader, chunk_of, provider_for
from quire.session.aio import AWAITED, INLINE, IO, Writer, run
from quire.session.contexts import Contexts, Sent
from quire.session.hooks import Added, Adding
from quire.session.spending import PricesByName, usage_note
from quire.session.state import Written
from quire.stores.streams import USAGE, checked_name

logger = logging.getLogger("quire.session")

_ANTHROPIC_EVENTS = {
    *("message_start", "message_delta", "message_stop", "ping", "error"),
    *("content_block_start", "content_block_delta", "content_block_stop"),
}
_TELLING = ("object", "type", "choices", "candidates", "usage_metadata", "usageMetadata")


def wire_of(response: object) -> str:
    """The wire of a response, or of one event of a stream, by its shape."""
    read = (
        cast("Mapping[str, Any]", response).get if isinstance(response, Mapping) else _attribute_of(response)
    )
    fields = {name: read(name) for name in _TELLING}
    has = {name for name in _TELLING if fields[name] is not None}
    kind, sort = fields.get("object"), fields.get("type")
    if kind in ("chat.completion", "chat.completion.chunk") or "choices" in has:
        return "openai"
    if kind == "response" or (isinstance(sort, str) and sort.startswith("response.")):
        return "openai-responses"
    if sort == "message" or sort in _ANTHROPIC_EVENTS:
        return "anthropic"
    if has & {"candidates", "usageMetadata", "usage_metadata"}:
        return "gemini"
    raise WrongType("this is no response of a client known here: name its wire with `provider=`")


def _attribute_of(response: object) -> Callable[[str], Any]:
    return lambda name: getattr(response, name, None)


def is_stream(response: Any) -> bool:
    """Whether a response comes in pieces: it can be iterated, and is no mapping or object itself."""
    if isinstance(response, Parsed | Mapping | str | bytes) or hasattr(response, "model_dump"):
        return False
    return hasattr(response, "__iter__") or hasattr(response, "__aiter__")


def decoded(response: Any) -> Any:
    """A response as it is, or decoded if it is JSON text."""
    if not isinstance(response, str | bytes | bytearray):
        return response
    try:
        return msgspec.json.decode(response)
    except (msgspec.DecodeError, UnicodeError):
        pass  # half of a surrogate pair, where an answer was cut, is JSON for most
    try:
        return json.loads(response)
    except (ValueError, RecursionError):
        raise WrongType(f"{len(response):,} characters are no JSON, and so no response of a client") from None


class _Reading:
    """One response, whole or in pieces, and the rendering that it answers."""

    def __init__(self, contexts: Contexts, provider: str | None, to: str, sent: Any) -> None:
        self._contexts, self._given = contexts, sent
        self.wire = provider
        self.to = to
        self.sent: Sent | Rendered | None = None
        self._reader: StreamReader | None = None
        self._parsed: Parsed | None = None

    def take(self, event: Any) -> None:
        """Take an event of a stream."""
        event = chunk_of(event)
        if event is not None:
            if self._reader is None:
                self._reader = provider_for(self._found(event)).stream(sent=self._rendered)
            self._reader.feed(event)

    def take_whole(self, response: Any) -> None:
        """Take a response that came in one piece, or that was parsed before."""
        if isinstance(response, Parsed):
            self._found(None)
            self._parsed = response
        else:
            self._parsed = provider_for(self._found(response)).parse(response, sent=self._rendered)

    def parsed(self) -> Parsed:
        """The response; a stream that did not come to its end is marked as interrupted."""
        if self._parsed is None:
            self._parsed = Parsed(()) if self._reader is None else self._reader.close()
        return self._parsed

    @property
    def _rendered(self) -> Rendered | None:
        return self.sent.rendered if isinstance(self.sent, Sent) else self.sent

    def _found(self, response: Any) -> str:
        self.wire = self.wire or ("" if response is None else wire_of(response))
        self.sent = self._contexts.sent(self._given, self.wire)
        return self.wire


class Responses:
    """Records responses."""

    def __init__(self, writer: Writer, contexts: Contexts, prices: PricesByName) -> None:
        self._writer, self._log = writer, writer.log
        self._contexts, self._prices = contexts, prices

    async def record(self, io: IO, response: Any, provider: str | None, to: str, sent: Any) -> Parsed:
        """The body of `Session.record`."""
        response = decoded(response)
        reading = _Reading(self._contexts, provider, to, sent)
        if not is_stream(response):
            reading.take_whole(response)
            return await self._keep(io, reading)
        is_async = hasattr(response, "__aiter__")
        if is_async and not io.is_offloaded:
            raise WrongType("an async stream is recorded by `await session.aio.record(stream)`")
        try:
            if is_async:
                async for event in response:
                    reading.take(event)
            else:
                for event in response:
                    reading.take(event)
        except BaseException as fault:
            await self._keep_broken(io, reading, fault)
            raise
        return await self._keep(io, reading)

    def passed_on(
        self, events: Iterable[Any], provider: str | None, to: str, sent: Any
    ) -> Generator[Any, None, None]:
        """Pass on the events of a stream; at its end, or when this is closed, the response is recorded."""
        reading = _Reading(self._contexts, provider, to, sent)
        try:
            for event in events:
                reading.take(event)
                yield event
        except BaseException as fault:
            run(self._keep_broken(INLINE, reading, fault))
            raise
        run(self._keep(INLINE, reading))

    async def passed_on_async(
        self, events: AsyncIterator[Any], provider: str | None, to: str, sent: Any
    ) -> AsyncGenerator[Any, None]:
        """The same for an async stream."""
        reading = _Reading(self._contexts, provider, to, sent)
        try:
            async for event in events:
                reading.take(event)
                yield event
        except BaseException as fault:
            await self._keep_broken(AWAITED, reading, fault)
            raise
        await self._keep(AWAITED, reading)

    async def _keep_broken(self, io: IO, reading: _Reading, fault: BaseException) -> None:
        """Keep what came of a stream that broke or was left; the error of the stream matters more."""
        try:
            await self._keep(io, reading)
        except Exception as refusal:
            if isinstance(fault, Exception | GeneratorExit):
                raise
            logger.warning("a response that was broken off is not kept: %s", type(refusal).__name__)

    async def _keep(self, io: IO, reading: _Reading) -> Parsed:
        """Record the items of a response and what it used; if it is refused, what it used."""
        parsed = reading.parsed()
        sent = reading.sent
        model = parsed.model or (None if sent is None else sent.model)
        usage = [] if parsed.usage is None else [usage_note(parsed.usage, model, self._prices)]
        used = [Written(USAGE, note) for note in usage]
        try:
            _check(parsed)
            items, to = self._writer.ready(parsed.items), checked_name(reading.to)
            await io.fire(self._writer.hooks, [Adding(self._log.place, to, items)])
        except BaseException:
            await io.do(self._log, lambda: self._log.commit(lambda _: used))
            raise

        async def tell(kept: tuple[Item, ...]) -> None:
            await io.fire(self._writer.hooks, [Added(self._log.place, to, kept)])

        def commit() -> tuple[Item, ...]:
            try:
                written = self._log.commit(lambda _: [*(Written(to, item) for item in items), *used])
            except StoreError:
                raise  # it may have been written, with what it used
            except QuireError:
                self._log.commit(lambda _: used)
                raise
            return tuple(item for stream, item in written if stream == to)

        kept = await io.do(self._log, commit, tell if self._writer.hooks else None)
        if isinstance(sent, Sent) and parsed.usage is not None:
            self._contexts.learn(sent, parsed.model, parsed.usage.input)
        return parsed._replace(items=kept)


def _check(parsed: Parsed) -> None:
    """Raise `ModelFailed` for a response that is only an error."""
    if parsed.error is not None and not parsed.items:
        # The words of a provider may quote what was sent: they are for the caller alone.
        fault = ModelFailed("the provider answered with an error; its words are in the notes of this one")
        fault.add_note(parsed.error)
        raise fault
    if parsed.error is not None:
        logger.warning("a response of %d items ended in an error", len(parsed.items))


class Listening(Iterator[Any]):
    """The events of a stream, one by one. Its `with` block ends with the response recorded."""

    def __init__(self, events: Generator[Any, None, None]) -> None:
        self._events = events

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        """Record what came, now."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, Exception):
            self.close()
        else:
            self.__del__()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception as refusal:  # there is nobody to tell
            logger.warning("a response that was broken off is not kept: %s", type(refusal).__name__)


class AioListening(AsyncIterator[Any]):
    """The events of an async stream, one by one."""

    def __init__(self, events: AsyncGenerator[Any, None]) -> None:
        self._events = events

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Record what came, now."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
