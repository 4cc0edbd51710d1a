"""Answers of the user's own client, recorded as items with what they used; and what tools of theirs gave."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from quire.errors import StoreError, WrongType
from quire.items import Content, Item, ToolResult
from quire.models import AnyModel
from quire.providers import Parsed, Rendered
from quire.session.answers import awaited, check_answer, is_in_pieces, take
from quire.session.events import Added, Adding
from quire.session.ledger import appending
from quire.session.listening import AwaitedListening, Listening
from quire.session.pooling import Pooling
from quire.session.reading import Reading
from quire.session.requests import Requests
from quire.session.responses import read
from quire.session.spending import NO_PRICES, Caps, OwnPrices, check_priced, spent_on
from quire.session.workspace import Workspace, Written
from quire.stores.streams import MAIN, USAGE


class Recording(Pooling):
    """The verbs for what a model answered, and for what came of its calls."""

    _prices: OwnPrices = NO_PRICES
    _caps: Caps | None = None

    @cached_property
    def _requests(self) -> Requests:
        return Requests(self._ledger)

    @cached_property
    def _late(self) -> set[asyncio.Task[Parsed]]:
        return set()

    def record(
        self, response: Any, *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> Parsed:
        """Record a response as a client gave it, as its object or as JSON, or a stream that came to its end.

        Whose it is, is told by its shape; `provider` says it. `sent` is what it answers: what `render` gave,
        or the arguments made of it; without it, the last request that offered what is called is taken. What
        it used is added to what was spent, and teaches the counter. An answer that is nothing but an error is
        `ModelFailed`; of one that broke off, what came is recorded, and `error` says why. Where the stream
        itself breaks, what came is recorded as interrupted, and its error is raised. A `Parsed` of one of our
        models is taken as well.
        """
        response = read(response)
        reading = Reading(self._requests, provider, sent)
        if hasattr(response, "__aiter__"):
            raise WrongType("a stream that is awaited is taken by `await session.add_response(stream)`")
        if is_in_pieces(response):
            return self._hear(reading, response, to)
        take(reading, response)
        return self._finish(reading, to)

    async def add_response(
        self, response: Any, *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> Parsed:
        """`record` without blocking the loop; hooks may be async, and so may a stream."""
        response = read(response)
        reading = Reading(self._requests, provider, sent)
        if is_in_pieces(response):
            return await self._hear_and_wait(reading, response, to)
        take(reading, response)
        return await self._finish_and_wait(reading, to)

    def listen(
        self, events: Iterable[Any], *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> Listening:
        """Hand on the events of a stream, and record the answer once it has come to its end.

        Whoever stops listening before has an answer that is marked as interrupted, and so it is recorded: at
        the end of `with session.listen(stream) as events`, or when nobody holds the events any more.
        """
        reading = Reading(self._requests, provider, sent)
        return Listening(events, reading.take, lambda: self._finish(reading, to))

    def listen_async(
        self, events: AsyncIterator[Any], *, provider: str | None = None, to: str = MAIN, sent: Any = None
    ) -> AwaitedListening:
        """`listen` for a stream that is awaited; the block is `async with`."""
        reading = Reading(self._requests, provider, sent)
        return AwaitedListening(
            events,
            reading.take,
            lambda: self._finish_and_wait(reading, to),
            lambda: self._keep_late(reading, to),
        )

    def tool(
        self, content: Content, *, call_id: str, name: str | None = None, to: str = MAIN, **fields: Any
    ) -> ToolResult:
        """What a tool gave for a call; its name is that of the call, where it waits here.

        Halves of surrogate pairs, as in names of files that are not UTF-8, are mended as in answers.
        """
        return super().tool(content, call_id=call_id, name=name, to=to, **fields)

    def _hear(self, reading: Reading, events: Iterable[Any], to: str) -> Parsed:
        kept: list[Parsed] = []
        for _ in Listening(events, reading.take, lambda: kept.append(self._finish(reading, to))):
            pass
        return kept[0]

    async def _hear_and_wait(self, reading: Reading, events: Any, to: str) -> Parsed:
        kept: list[Parsed] = []

        async def keep() -> None:
            kept.append(await self._finish_and_wait(reading, to))

        coming = events if hasattr(events, "__aiter__") else awaited(events)
        async for _ in AwaitedListening(coming, reading.take, keep, lambda: self._keep_late(reading, to)):
            pass
        return kept[0]

    def _finish(self, reading: Reading, to: str) -> Parsed:
        if reading.is_strange:
            reading.look_up()
        asked, parsed = reading.finished()
        return self._keep(parsed, to, asked)

    async def _finish_and_wait(self, reading: Reading, to: str) -> Parsed:
        if reading.is_strange:
            await self._aside(reading.look_up)
        asked, parsed = reading.finished()
        return await self._keep_and_wait(parsed, to, asked)

    def _keep_late(self, reading: Reading, to: str) -> None:
        """Record an answer at once where nothing can be awaited; hooks that are async hear of it later."""
        if not self.hooks.are_async((Adding, Added)):
            self._finish(reading, to)
            return
        keeping = asyncio.get_running_loop().create_task(self._finish_and_wait(reading, to))
        self._late.add(keeping)  # a loop holds its tasks weakly
        keeping.add_done_callback(self._late.discard)

    def _keep(self, parsed: Parsed, to: str, asked: Rendered | None = None) -> Parsed:
        """Record the items of an answer and what it used, at once; of one that is refused, what it used."""
        try:
            check_answer(parsed)
            items, to = self._ready(parsed.items), self._checked(to)
            if self.hooks:
                self.hooks.fire(Adding(self.place, to, items))
        except BaseException:
            self._ledger.commit(lambda _: self._spent(parsed, asked))
            raise
        items = self._commit_answer(parsed, items, to, asked)
        if self.hooks:
            self.hooks.fire(Added(self.place, to, items))
        return parsed._replace(items=items)

    async def _keep_and_wait(self, parsed: Parsed, to: str, asked: Rendered | None = None) -> Parsed:
        try:
            check_answer(parsed)
            items, to = self._ready(parsed.items), self._checked(to)
            await self.hooks.fire_and_wait(Adding(self.place, to, items))
        except BaseException:
            await self._aside(lambda: self._ledger.commit(lambda _: self._spent(parsed, asked)))
            raise
        kept = await self._aside(
            lambda: self._commit_answer(parsed, items, to, asked),
            lambda kept: self.hooks.fire_and_wait(Added(self.place, to, kept)),
        )
        return parsed._replace(items=kept)

    def _commit_answer(
        self, parsed: Parsed, items: Sequence[Item], to: str, asked: Rendered | None
    ) -> tuple[Item, ...]:
        """Write an answer with what it used; the latter alone, where the answer cannot be written."""
        said, spent, version = appending(to, items), self._spent(parsed, asked), self.version
        try:
            written = self._ledger.commit(lambda workspace: [*said(workspace), *spent])
        except Exception:
            with suppress(StoreError):  # what failed first is what the caller has to hear of
                self._ledger.commit(lambda workspace: self._uncounted(spent, workspace, version))
            raise
        self._requests.settle(asked, parsed)
        return tuple(item for stream, item in written if stream == to)

    def _spent(self, parsed: Parsed, asked: Rendered | None) -> list[Written]:
        """What says what an answer used: of the model that it names, or else that was asked."""
        if parsed.usage is None:
            return []
        model = parsed.model or (None if asked is None else asked.model)
        return [Written(USAGE, spent_on(parsed.usage, model, self._prices))]

    def _check_writer(self, model: AnyModel) -> None:
        """An error where USD are capped, and what a model writes beside the conversation has no price."""
        if self._caps is not None and self._caps.is_for_cost:
            check_priced(model.name, self._prices)

    def _uncounted(self, spent: Sequence[Written], workspace: Workspace, since: int) -> Sequence[Written]:
        """What was used, unless it is kept after all: a store may fail when it has done its work."""
        streams = {entry.stream for entry in spent}
        new = [version for name in streams for version in workspace.versions(name) if version > since]
        known = {item.id for item in self._ledger.read_at(new)}
        return [entry for entry in spent if entry.item.id not in known]
