"""A task that is carried out in one loop, and that whoever is in another loop may wait for."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_LOOK = 0.2
"""Seconds after which who waits looks whether the other loop is still run."""


class SharedTask(Generic[T]):
    """Some work in the loop that is running."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._loop = asyncio.get_running_loop()
        self._over: Future[None] = Future()
        self.task = self._loop.create_task(work)
        """For whoever is in the same loop, and whose cancellation is meant for it."""
        self.task.add_done_callback(lambda _: self._over.set_result(None))

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return self._over.done()

    @property
    def is_at_work(self) -> bool:
        """Whether it goes on: nothing does in a loop that nobody runs, and it may never be run again."""
        return not self._over.done() and self._loop.is_running()

    def outcome(self) -> T | None:
        """What came of it, or the error that it ended with; none where it was broken off."""
        return self.task.result() if self.task.done() and not self.task.cancelled() else None

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until it is over, or goes on no more; no longer than so many seconds."""
        here = asyncio.get_running_loop()
        over = here.create_future()

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the loop of who waited has ended
                here.call_soon_threadsafe(over.set_result, None)

        self._over.add_done_callback(tell)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.is_at_work:
                    await asyncio.wait([over], timeout=_LOOK)

    def cancel(self) -> None:
        """Break it off, from whatever loop."""
        with suppress(RuntimeError):  # a loop that was closed goes on with nothing
            self._loop.call_soon_threadsafe(self.task.cancel)
