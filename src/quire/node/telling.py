"""An answer that is told to somebody, and that goes on however slowly that one listens."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

from quire.agent import Delta

PATIENCE = 5.0
"""For how many seconds who stops waits for a listener that reads nothing."""

_End = Callable[[], None]


class Telling:
    """Reads a stream in a task of its own; what was not heard yet is kept, and that is an answer at most.

    Whoever listens to an agent is waited for. On a node others wait for the same conversation, and one that
    sleeps must not keep them: `end` is called once the answer is over, whether or not it was heard.
    """

    def __init__(self, begin: Callable[[], AsyncGenerator[Delta, None]], end: _End) -> None:
        self._told: asyncio.Queue[Delta | None] = asyncio.Queue()
        self._clock = asyncio.get_running_loop().time
        self._end = end
        self._left = asyncio.Event()
        self._listener = asyncio.current_task()
        self._moved_at = self._clock()
        self._reading = asyncio.ensure_future(self._read(begin))
        # No `finally` of the task: one that is cancelled before its first step never comes to it.
        self._reading.add_done_callback(self._over)

    async def next(self) -> Delta | None:
        """What is told next; none where all is told, and what went wrong is raised then."""
        self._listener = asyncio.current_task()
        delta = await self._told.get()
        self._moved_at = self._clock()
        if delta is None:
            self._reading.result()
        return delta

    async def heard(self, stopping: "asyncio.Task[Any] | None") -> None:
        """Wait until all is heard, or until nothing has been read for a while."""
        await asyncio.wait([self._reading])  # until then it is the listener who waits
        if self._listener is stopping:
            return  # it would wait for itself
        while not self._left.is_set() and (left := self._moved_at + PATIENCE - self._clock()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._left.wait()

    async def stop(self) -> None:
        """Stop the answer if it is still on its way, and wait until what came of it is on the record."""
        self._reading.cancel()
        try:
            await asyncio.wait([self._reading])
        finally:
            self._left.set()

    async def _read(self, begin: Callable[[], AsyncGenerator[Delta, None]]) -> None:
        async with aclosing(begin()) as deltas:
            async for delta in deltas:
                self._told.put_nowait(delta)

    def _over(self, reading: "asyncio.Future[None]") -> None:
        if not reading.cancelled():
            reading.exception()  # who left is not told
        self._moved_at = self._clock()
        self._end()
        self._told.put_nowait(None)
