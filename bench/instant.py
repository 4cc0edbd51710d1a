"""A model that answers at once, and after a while if it is told to: what is left is the cost of the loop."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from quire.items import Message
from quire.models import Answering, Asks, Delta
from quire.providers import Parsed, Rendered
from quire.tokens import Usage


class Instant(Asks):
    """Says the same to every request, or what a function of the request gives."""

    wire = "openai"

    def __init__(
        self, said: Any = "Fine, thank you.", *, seconds: float = 0.0, name: str = "gpt-5.6"
    ) -> None:
        self.name = name
        self._said = said
        self._seconds = seconds

    def send(self, rendered: Rendered, *, stream: bool = True, **terms: Any) -> Answering:
        """The answer."""
        said: Any = self._said(rendered) if callable(self._said) else self._said
        parsed = Parsed((Message("assistant", said),), Usage(100, 5), "stop", self.name)
        return Answering(self._deltas(), lambda: parsed)

    async def _deltas(self) -> AsyncGenerator[Delta, None]:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return
        yield
