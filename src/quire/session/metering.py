"""A model whose use is counted: what it was asked for beside the conversation has its price too."""

import asyncio
from collections.abc import Sequence
from typing import Any

from quire.errors import ModelFailed
from quire.items import Item
from quire.models import Answering, AnyModel
from quire.providers import Parsed, Rendered
from quire.session.spending import NO_PRICES, OwnPrices, spent_on
from quire.session.stopping import is_told_to_stop
from quire.session.workspace import Written
from quire.stores.streams import USAGE


class Metered:
    """Hands everything on to a model, and keeps what its answers used."""

    def __init__(self, model: AnyModel, prices: OwnPrices = NO_PRICES) -> None:
        self._model = model
        self._prices = prices
        self._taken: list[Parsed] = []

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def wire(self) -> str:
        """The model's own."""
        return self._model.wire

    async def ask(self, items: Sequence[Item], **options: Any) -> Parsed:
        """The model's answer; one that cancels its own request has failed."""
        try:
            parsed = await self._model.ask(items, **options)
        except asyncio.CancelledError as fault:
            if is_told_to_stop():
                raise
            raise ModelFailed(f"{self.name} broke its request off: CancelledError") from fault
        self._taken.append(parsed)
        return parsed

    def stream(self, items: Sequence[Item], **options: Any) -> Answering:
        """The model's answer in pieces; these are not counted."""
        return self._model.stream(items, **options)

    def send(self, rendered: Rendered, **options: Any) -> Answering:
        """The model's answer to a payload; it is not counted."""
        return self._model.send(rendered, **options)

    def written(self) -> list[Written]:
        """The entries that say what was used since somebody asked last."""
        taken, self._taken = self._taken, []
        return [
            Written(USAGE, spent_on(parsed.usage, parsed.model or self.name, self._prices))
            for parsed in taken
            if parsed.usage is not None
        ]
