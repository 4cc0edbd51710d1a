"""An answer that comes in pieces."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from quire.errors import InvalidValue
from quire.providers import Parsed, StreamReader


class Delta(NamedTuple):
    """A piece of an answer: words that are said or thought, or the name of a tool whose call begins."""

    kind: Literal["text", "thinking", "call"]
    text: str


def _nothing(_event: Any) -> Iterable[Delta]:
    return ()


class Answering:
    """An answer on its way: an async iterator over its words, then all of it as `parsed`.

    `deltas` iterates over its thoughts and the calls it begins as well. `async with` breaks it off where it
    is left before its end. However it ends, by its end, an error or a cancellation, `parsed` then has what
    came, as an interrupted message if that is not all.
    """

    def __init__(
        self,
        events: AsyncGenerator[Any, None],
        reader: StreamReader,
        beside: Callable[[Any], Iterable[Delta]] = _nothing,
    ) -> None:
        """Read events; `beside` finds in one what its reader takes but does not hand on as words."""
        self._events = events
        self._reader = reader
        self._beside = beside
        self._waiting: deque[Delta] = deque()
        self._parsed: Parsed | None = None

    def __repr__(self) -> str:
        return f"<Answering: {'under way' if self._parsed is None else self._parsed.finish}>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async for delta in self.deltas():
            if delta.kind == "text":
                return delta.text
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

    def deltas(self) -> AsyncIterator[Delta]:
        """The pieces from here on, of every kind."""
        return _Deltas(self._next)

    async def whole(self) -> Parsed:
        """The answer, read to its end."""
        async for _ in self.deltas():
            pass
        return self.parsed

    async def close(self) -> Parsed:
        """Break the answer off if it is still coming; what came of it."""
        await self._events.aclose()
        if self._parsed is None:
            self._parsed = self._reader.close()
        return self._parsed

    async def _next(self) -> Delta | None:
        while self._parsed is None:
            if self._waiting:
                return self._waiting.popleft()
            try:
                event = await anext(self._events)
                words = self._reader.feed(event)
            except StopAsyncIteration:
                self._parsed = self._reader.close()
            except BaseException:
                await self.close()
                raise
            else:
                self._take(event, words)
        return None

    def _take(self, event: Any, words: str) -> None:
        """In the order in which they are meant: a model thinks, speaks and calls."""
        found = list(self._beside(event))
        self._waiting.extend(delta for delta in found if delta.kind == "thinking")
        if words:
            self._waiting.append(Delta("text", words))
        self._waiting.extend(delta for delta in found if delta.kind != "thinking")


class _Deltas:
    # No generator: one that is left would have to be closed by somebody.
    def __init__(self, take: Callable[[], Any]) -> None:
        self._take = take

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        delta: Delta | None = await self._take()
        if delta is None:
            raise StopAsyncIteration
        return delta
