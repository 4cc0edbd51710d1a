"""Requests to models and searches in memory, with the hooks that hear of them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from quire.items import Item, Note
from quire.memory import Quote
from quire.models import AnyModel, noting_retries
from quire.providers import Parsed
from quire.session.aio import Writer, run_on_loop
from quire.session.hooks import Hooks, Recalled, Recalling, Requested, Requesting
from quire.session.spending import PricesByName, usage_note
from quire.stores import Place


@asynccontextmanager
async def heard_request(hooks: Hooks, request: Requesting) -> AsyncGenerator[Callable[[Parsed], None], None]:
    """Let hooks hear of the request that the block makes. The block calls what it is given with the answer.

    A hook of `Requesting` may refuse it; then the block does not run.
    """
    answer = Parsed(())
    fault: str | None = None

    def take(parsed: Parsed) -> None:
        nonlocal answer
        answer = parsed

    if not hooks.all:
        yield take
        return
    async with hooks.around(request) as done:
        begun = monotonic()
        with noting_retries() as retries:
            try:
                yield take
            except BaseException as error:
                fault = type(error).__name__
                raise
            finally:
                seconds = monotonic() - begun
                place, provider, model = request[:3]
                await done(Requested(place, provider, model, answer, tuple(retries), seconds, fault))


class Metered:
    """A model that writes beside the conversation. What its answers used is counted, and hooks hear of it."""

    def __init__(self, model: AnyModel, prices: PricesByName, writer: Writer) -> None:
        self.model = model
        self._prices, self._writer = prices, writer
        self._used: list[Note] = []

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    async def ask(self, items: Sequence[Item], **options: Any) -> Parsed:
        """The model's answer."""
        request = Requesting(self._writer.place, self.model.wire, self.name, items)
        async with heard_request(self._writer.hooks, request) as answered:
            parsed = await self.model.ask(items, **options)
            answered(parsed)
        if parsed.usage is not None:
            self._used.append(usage_note(parsed.usage, parsed.model or self.name, self._prices))
        return parsed

    def used(self) -> list[Note]:
        """What was used since this was called last."""
        used, self._used = self._used, []
        return used


def heard_recall(
    hooks: Hooks, place: Place, question: str, find: Callable[[], Sequence[Quote]]
) -> Sequence[Quote]:
    """What is found for a question, for code that cannot await; hooks hear of the search."""

    async def search() -> Sequence[Quote]:
        async with hooks.around(Recalling(place, question)) as done:
            found = find()
            await done(Recalled(place, question, found))
            return found

    return run_on_loop(search()) if hooks.all else find()
