"""Answers of the user's own client, whole or streamed, recorded as items with what they used."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from quire.errors import ModelFailed, WrongType
from quire.items import Item
from quire.providers import Parsed, Rendered, StreamReader, provider_for
from quire.session.building import Sent
from quire.session.events import Added, Adding
from quire.session.ledger import appending
from quire.session.listening import AwaitedListening, Listening
from quire.session.pooling import Pooling
from quire.session.responses import is_same_model, is_stream, read, told_by, wire_of
from quire.session.spending import spent_on
from quire.session.workspace import Written
from quire.stores.streams import MAIN, USAGE

logger = logging.getLogger("quire.session")


class Recording(Pooling):
    """The verbs for what a model answered."""

    _sent: Sent | None = None

    @cached_property
    def _late(self) -> set[asyncio.Task[Parsed]]:
        return set()

    def record(self, response: Any, *, provider: str | None = None, to: str = MAIN) -> Parsed:
        """Record a response as a client gave it, as its object or as JSON, or a stream that came to its end.

        Whose it is, is told by its shape; `provider` says it. What it used is added to what was spent, and
        teaches the counter. An answer that is nothing but an error is `ModelFailed`; of one that broke off,
        what came is recorded, and `error` says why. A `Parsed` of one of our models is taken as well.
        """
        response = read(response)
        if isinstance(response, Parsed):
            return self._keep(response, to)
        if hasattr(response, "__aiter__"):
            raise WrongType("a stream that is awaited is taken by `await session.add_response(stream)`")
        if is_stream(response):
            reading = _Reading(self._reader, provider)
            for event in response:
                reading.take(event)
            return self._keep(reading.finished(), to, reading.provider)
        name = provider or wire_of(response)
        return self._keep(self._parsed(response, name), to, name)

    async def add_response(self, response: Any, *, provider: str | None = None, to: str = MAIN) -> Parsed:
        """`record` without blocking the loop; hooks may be async, and so may a stream."""
        response = read(response)
        if isinstance(response, Parsed):
            return await self._keep_and_wait(response, to)
        reading = _Reading(self._reader, provider)
        if hasattr(response, "__aiter__"):
            async for event in response:
                reading.take(event)
            return await self._keep_and_wait(reading.finished(), to, reading.provider)
        if is_stream(response):
            for event in response:
                reading.take(event)
            return await self._keep_and_wait(reading.finished(), to, reading.provider)
        name = provider or wire_of(response)
        return await self._keep_and_wait(self._parsed(response, name), to, name)

    def listen(self, events: Iterable[Any], *, provider: str | None = None, to: str = MAIN) -> Listening:
        """Hand on the events of a stream, and record the answer once it has come to its end.

        Whoever stops listening before has an answer that is marked as interrupted, and so it is recorded: at
        the end of `with session.listen(stream) as events`, or when nobody holds the events any more.
        """
        reading = _Reading(self._reader, provider)
        return Listening(events, reading.take, lambda: self._keep(reading.finished(), to, reading.provider))

    def listen_async(
        self, events: AsyncIterator[Any], *, provider: str | None = None, to: str = MAIN
    ) -> AwaitedListening:
        """`listen` for a stream that is awaited; the block is `async with`."""
        reading = _Reading(self._reader, provider)
        return AwaitedListening(
            events,
            reading.take,
            lambda: self._keep_and_wait(reading.finished(), to, reading.provider),
            lambda: self._keep_late(reading.finished(), to, reading.provider),
        )

    def _keep_late(self, parsed: Parsed, to: str, wire: str | None) -> None:
        """Record an answer at once where nothing can be awaited; hooks that are async hear of it later."""
        if not self.hooks.are_async((Adding, Added)):
            self._keep(parsed, to, wire)
            return
        keeping = asyncio.get_running_loop().create_task(self._keep_and_wait(parsed, to, wire))
        self._late.add(keeping)  # a loop holds its tasks weakly
        keeping.add_done_callback(self._late.discard)

    def _parsed(self, response: Any, name: str) -> Parsed:
        sent, model = self._asked(name)
        return provider_for(name).parse(response, sent=sent, model=model)

    def _keep(self, parsed: Parsed, to: str, wire: str | None = None) -> Parsed:
        """Record the items of an answer and what it used, at once; of one that is refused, what it used."""
        try:
            _check_answer(parsed)
            items, to = self._ready(parsed.items), self._checked(to)
            if self.hooks:
                self.hooks.fire(Adding(self.place, to, items))
        except BaseException:
            self._ledger.commit(lambda _: _spent(parsed))
            raise
        items = self._commit_answer(parsed, items, to, wire)
        if self.hooks:
            self.hooks.fire(Added(self.place, to, items))
        return parsed._replace(items=items)

    async def _keep_and_wait(self, parsed: Parsed, to: str, wire: str | None = None) -> Parsed:
        try:
            _check_answer(parsed)
            items, to = self._ready(parsed.items), self._checked(to)
            await self.hooks.fire_and_wait(Adding(self.place, to, items))
        except BaseException:
            await self._aside(lambda: self._ledger.commit(lambda _: _spent(parsed)))
            raise
        kept = await self._aside(
            lambda: self._commit_answer(parsed, items, to, wire),
            lambda kept: self.hooks.fire_and_wait(Added(self.place, to, kept)),
        )
        return parsed._replace(items=kept)

    def _commit_answer(
        self, parsed: Parsed, items: Sequence[Item], to: str, wire: str | None
    ) -> tuple[Item, ...]:
        said, spent = appending(to, items, is_new=True), _spent(parsed)
        written = self._ledger.commit(lambda workspace: [*said(workspace), *spent])
        self._learn(parsed, wire)
        return tuple(item for stream, item in written if stream == to)

    def _reader(self, name: str) -> StreamReader:
        sent, model = self._asked(name)
        return provider_for(name).stream(sent=sent, model=model)

    def _asked(self, name: str) -> tuple[Rendered | None, str | None]:
        """What was sent over a wire last, and to which model."""
        if self._sent is None or self._sent.provider != name:
            return None, None
        return self._sent.rendered, self._sent.model

    def _learn(self, parsed: Parsed, wire: str | None) -> None:
        """Teach the counter what a request really took, once, if this can be the answer to it."""
        sent = self._sent
        if sent is None or parsed.usage is None or not parsed.usage.input:
            return
        if wire in (None, sent.provider) and is_same_model(sent.model, parsed.model):
            sent.learn(parsed.usage.input)
            self._sent = sent._replace(counter=None)


def _spent(parsed: Parsed) -> list[Written]:
    return [] if parsed.usage is None else [Written(USAGE, spent_on(parsed.usage, parsed.model))]


def _check_answer(parsed: Parsed) -> None:
    """An answer that is nothing but an error is nobody's words: there is nothing to record."""
    if parsed.error is not None and not parsed.items:
        # What a provider says of a fault may quote what was sent; it is for the caller alone.
        fault = ModelFailed("the provider answered with an error; its words are in the notes of this one")
        fault.add_note(parsed.error)
        raise fault
    if parsed.error is not None:
        logger.warning("an answer of %d items ended in an error", len(parsed.items))


class _Reading:
    """A stream on its way: whose it is, is told by its first event."""

    def __init__(self, reader_for: Callable[[str], StreamReader], provider: str | None) -> None:
        self._reader_for = reader_for
        self._reader: StreamReader | None = None
        self.provider = provider

    def take(self, event: Any) -> None:
        event = told_by(event)
        if event is None:
            return
        if self._reader is None:
            self.provider = self.provider or wire_of(event)
            self._reader = self._reader_for(self.provider)
        self._reader.feed(event)

    def finished(self) -> Parsed:
        return Parsed(()) if self._reader is None else self._reader.close()
