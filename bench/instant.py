"""A model that answers at once, and after a while if it is told to: what is left is the cost of the loop."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from quire.items import Message
from quire.models.answering import Answering
from quire.models.model import Asks
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
        return Answering(self._events(rendered), _Reader())

    async def _events(self, rendered: Rendered) -> AsyncGenerator[Parsed, None]:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        said = self._said(rendered) if callable(self._said) else self._said
        yield Parsed((Message("assistant", said),), Usage(100, 5), "stop", self.name)


class _Reader:
    def __init__(self) -> None:
        self._parsed = Parsed(())

    def feed(self, event: Parsed) -> str:
        self._parsed = event
        return ""

    def close(self) -> Parsed:
        return self._parsed
