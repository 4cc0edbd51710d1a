"""Hooks around requests to models and searches of `Memory`, and a model that notes its usage."""

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
async def hooked_request(hooks: Hooks, request: Requesting) -> AsyncGenerator[Callable[[Parsed], None], None]:
    """Fire `Requesting` before the block and `Requested` after it.

    Yields a function: the block makes the request, and passes the answer to this function. A hook of
    `Requesting` may refuse the request; then the block does not run.
    """
    answer = Parsed(())
    fault: str | None = None

    def set_answer(parsed: Parsed) -> None:
        nonlocal answer
        answer = parsed

    if not hooks.all:
        yield set_answer
        return
    async with hooks.around(request) as fire_after:
        began_at = monotonic()
        with noting_retries() as retries:
            try:
                yield set_answer
            except BaseException as error:
                fault = type(error).__name__
                raise
            finally:
                seconds = monotonic() - began_at
                place, provider, model = request[:3]
                await fire_after(Requested(place, provider, model, answer, tuple(retries), seconds, fault))


class Metered:
    """A model for work beside the conversation, such as summaries: it fires hooks and notes its usage."""

    def __init__(self, model: AnyModel, prices: PricesByName, writer: Writer) -> None:
        self.model = model
        self._prices, self._writer = prices, writer
        self._usage_notes: list[Note] = []

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    async def ask(self, items: Sequence[Item], **options: Any) -> Parsed:
        """Ask the model, fire the hooks, and note the usage."""
        request = Requesting(self._writer.place, self.model.wire, self.name, items)
        async with hooked_request(self._writer.hooks, request) as set_answer:
            parsed = await self.model.ask(items, **options)
            set_answer(parsed)
        if parsed.usage is not None:
            self._usage_notes.append(usage_note(parsed.usage, parsed.model or self.name, self._prices))
        return parsed

    def take_usage(self) -> list[Note]:
        """Return the usage notes since the last call of this method."""
        notes, self._usage_notes = self._usage_notes, []
        return notes


def hooked_recall(
    hooks: Hooks, place: Place, question: str, find: Callable[[], Sequence[Quote]]
) -> Sequence[Quote]:
    """Run a search, and fire `Recalling` and `Recalled` around it; for code that cannot await."""

    async def search() -> Sequence[Quote]:
        async with hooks.around(Recalling(place, question)) as fire_after:
            quotes = find()
            await fire_after(Recalled(place, question, quotes))
            return quotes

    return run_on_loop(search()) if hooks.all else find()
