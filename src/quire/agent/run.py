"""One question on its way: the task that sees to it, who listens, and how it is stopped."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any

from quire.agent.reply import Delta, Done, Reply
from quire.errors import InvalidValue

Tell = Callable[[Delta], Awaitable[None]]
"""Takes what is told on the way; who listens slowly is waited for."""

_AHEAD = 32
"""Deltas that may wait for a listener before the model has to wait for it."""


async def nobody(_: Delta) -> None:
    """Tell nobody."""


class Run:
    """A task that can be interrupted from outside, and that is never left half done."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Reply] | None = None
        self.is_interrupted = False
        self.has_begun = asyncio.Event()
        """Set once what was asked is on the record: from then on it may be interrupted."""

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end, or was never begun."""
        return self._task is None or self._task.done()

    async def finish(self, work: Coroutine[Any, Any, Reply]) -> Reply:
        """Do the work to its end. Who cancels this cancels the work, and waits until it is tidied up."""
        task = self._begin(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise

    async def interrupt(self) -> None:
        """Stop the work, and wait until what it did is on the record."""
        task = self._task
        if task is None or task.done():
            return
        if task is asyncio.current_task():
            raise InvalidValue("an agent is at work on a question: it cannot be asked another from within it")
        await self.has_begun.wait()
        self.is_interrupted = True
        task.cancel()
        await asyncio.wait([task])

    def _begin(self, work: Coroutine[Any, Any, Reply]) -> asyncio.Task[Reply]:
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(lambda _: self.has_begun.set())  # it may be cancelled before it begins
        return self._task

    async def tell(self, work: Callable[[Tell], Coroutine[Any, Any, Reply]]) -> AsyncGenerator[Delta, None]:
        """What the work tells, as it comes, and its reply last. Who stops listening stops the work."""
        channel = _Channel()

        async def whole() -> Reply:
            try:
                reply = await work(channel.put)
                channel.end(Done(reply))  # a listener that has stopped is not waited for
                return reply
            finally:
                channel.end()

        task = self._begin(whole())
        try:
            while (delta := await channel.get()) is not None:
                yield delta
            await task
        finally:
            task.cancel()
            await asyncio.wait([task])


class _Channel:
    """From one who tells to one who listens, so many ahead; the end can always be told."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Delta | None] = asyncio.Queue()
        self._free = asyncio.Semaphore(_AHEAD)

    async def put(self, delta: Delta) -> None:
        await self._free.acquire()
        self._told.put_nowait(delta)

    async def get(self) -> Delta | None:
        delta = await self._told.get()
        self._free.release()
        return delta

    def end(self, last: Delta | None = None) -> None:
        self._told.put_nowait(last)
