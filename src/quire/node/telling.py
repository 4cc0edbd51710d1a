"""An answer that is told to somebody, and that goes on however slowly that one listens."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from quire.agent import Delta

_End = Callable[[], None]


class Telling:
    """Reads a stream in a task of its own; what was not heard yet is kept, and that is an answer at most.

    Whoever listens to an agent is waited for. On a node others wait for the same conversation, and one that
    sleeps must not keep them: `end` is called once the answer is over, whether or not it was heard.
    """

    def __init__(self, begin: Callable[[], AsyncGenerator[Delta, None]], end: _End) -> None:
        self._told: asyncio.Queue[Delta | None] = asyncio.Queue()
        self._end = end
        self._reading = asyncio.ensure_future(self._read(begin))
        # No `finally` of the task: one that is cancelled before its first step never comes to it.
        self._reading.add_done_callback(self._over)

    async def next(self) -> Delta | None:
        """What is told next; none where all is told, and what went wrong is raised then."""
        delta = await self._told.get()
        if delta is None:
            self._reading.result()
        return delta

    async def stop(self) -> None:
        """Stop the answer if it is still on its way, and wait until what came of it is on the record."""
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read(self, begin: Callable[[], AsyncGenerator[Delta, None]]) -> None:
        async with aclosing(begin()) as deltas:
            async for delta in deltas:
                self._told.put_nowait(delta)

    def _over(self, reading: "asyncio.Future[None]") -> None:
        if not reading.cancelled():
            reading.exception()  # who left is not told
        self._end()
        self._told.put_nowait(None)
