"""An answer that comes in pieces."""

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Self

from quire.errors import InvalidValue
from quire.providers import Parsed, StreamReader


class Answering:
    """An answer on its way: an async iterator over its words, then all of it as `parsed`.

    `async with` breaks it off where it is left before its end. However it ends, by its end, an error or a
    cancellation, `parsed` then has what came, as an interrupted message if that is not all.
    """

    def __init__(self, events: AsyncGenerator[Any, None], reader: StreamReader) -> None:
        self._events = events
        self._reader = reader
        self._parsed: Parsed | None = None

    def __repr__(self) -> str:
        return f"<Answering: {'under way' if self._parsed is None else self._parsed.finish}>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while self._parsed is None:
            try:
                words = self._reader.feed(await anext(self._events))
            except StopAsyncIteration:
                self._parsed = self._reader.close()
            except BaseException:
                await self.close()
                raise
            else:
                if words:
                    return words
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def parsed(self) -> Parsed:
        """The answer, once it ended or was broken off."""
        if self._parsed is None:
            raise InvalidValue("the answer is still coming: read it to its end, or close it")
        return self._parsed

    async def whole(self) -> Parsed:
        """The answer, read to its end."""
        async for _ in self:
            pass
        return self.parsed

    async def close(self) -> Parsed:
        """Break the answer off if it is still coming; what came of it."""
        await self._events.aclose()
        if self._parsed is None:
            self._parsed = self._reader.close()
        return self._parsed
