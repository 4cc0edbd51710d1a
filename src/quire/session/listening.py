"""Streams that are listened to: their events are handed on, and what they came to is kept, once.

It is kept when the stream ends, when it breaks, and when whoever listens leaves: at the end of a `with`
block, or, without one, as soon as nobody holds the listening any more. That is right after a `break`, unless
it has a name: then the block is the way to say that one has heard enough.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Self

logger = logging.getLogger("quire.session")


class _Once:
    """Something that is to be done when listening ends, and that nobody has done yet."""

    def __init__(self) -> None:
        self._is_due = False  # not before somebody has listened

        self._is_over = False

    def _begins(self) -> bool:
        """Whether there is something to be heard: not once what came was kept."""
        self._is_due = not self._is_over
        return self._is_due

    def _is_taken(self) -> bool:
        """Whether it is for the caller to do it now."""
        is_due, self._is_due = self._is_due, False
        self._is_over |= is_due
        return is_due

    def _refused(self, refusal: Exception, left_by: BaseException | None) -> None:
        """Raise why it was not kept, unless who listened is being stopped: he has to hear of that."""
        if left_by is None or isinstance(left_by, Exception):
            raise refusal
        logger.warning("an answer that was broken off is not kept: %s", type(refusal).__name__)

    def _forsaken(self, keep: Callable[[], object]) -> None:
        """Do it when nobody is left who could be told that it failed."""
        if self._is_taken():
            try:
                keep()
            except Exception as fault:
                logger.warning("an answer that nobody heard to its end is lost: %s", type(fault).__name__)


class Listening(_Once, Iterator[Any]):
    """The events of a stream, one by one."""

    def __init__(
        self, events: Iterable[Any], take: Callable[[Any], None], keep: Callable[[], object]
    ) -> None:
        super().__init__()
        self._events, self._take, self._keep = iter(events), take, keep

    def __next__(self) -> Any:
        if not self._begins():
            raise StopIteration
        try:
            event = next(self._events)
            self._take(event)
        except BaseException as fault:
            self._leave(fault)
            raise
        return event

    def close(self) -> None:
        """Keep what came, now."""
        if self._is_taken():
            self._keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, fault: BaseException | None, _trace: object) -> None:
        self._leave(fault)

    def __del__(self) -> None:
        self._forsaken(self._keep)

    def _leave(self, fault: BaseException | None) -> None:
        try:
            self.close()
        except Exception as refusal:
            self._refused(refusal, fault)


class AwaitedListening(_Once, AsyncIterator[Any]):
    """The events of a stream that is awaited, one by one.

    `keep_late` keeps what came where nothing can be awaited any more.
    """

    def __init__(
        self,
        events: AsyncIterator[Any],
        take: Callable[[Any], None],
        keep: Callable[[], Awaitable[object]],
        keep_late: Callable[[], object],
    ) -> None:
        super().__init__()
        self._events, self._take, self._keep, self._keep_late = aiter(events), take, keep, keep_late

    async def __anext__(self) -> Any:
        if not self._begins():
            raise StopAsyncIteration
        try:
            event = await anext(self._events)
            self._take(event)
        except BaseException as fault:
            await self._leave(fault)
            raise
        return event

    async def aclose(self) -> None:
        """Keep what came, now."""
        if self._is_taken():
            await self._keep()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, fault: BaseException | None, _trace: object) -> None:
        await self._leave(fault)

    def __del__(self) -> None:
        self._forsaken(self._keep_late)

    async def _leave(self, fault: BaseException | None) -> None:
        try:
            await self.aclose()
        except Exception as refusal:
            self._refused(refusal, fault)
