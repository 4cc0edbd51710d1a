"""A call under way in a task of its own: it hands over one value at a time, and goes on only when asked."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from quire.agent.tools.values import Given
from quire.errors import TurnCancelled

logger = logging.getLogger("quire.agent")

_GRACE = 1.0
"""Seconds that a tool has to tidy up once it is told to stop."""


class Late(Exception):
    """The time was over before the next value came."""


class Errand:
    """The values of a call. It is one task to the end: a tool may have timeouts of its own."""

    def __init__(self, values: AsyncGenerator[Given, None]) -> None:
        self._values = values
        self._wanted = asyncio.Semaphore(0)
        self._given: asyncio.Future[Given] | None = None
        self._task: asyncio.Task[None] | None = None

    async def next(self, seconds: float | None) -> Given | None:
        """The next value, or `None` at the end; what the tool raises is raised here."""
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        self._given = asyncio.get_running_loop().create_future()
        self._wanted.release()
        await asyncio.wait((self._task, self._given), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._given.done():
            return self._given.result()
        if not self._task.done():
            raise Late
        if self._task.cancelled():
            raise TurnCancelled("the tool cancelled itself")
        self._task.result()
        return None

    async def aclose(self) -> None:
        """Tell the tool to stop, if it still works, and wait a little; who does not listen is left behind."""
        task = self._task
        if task is None:
            return
        task.cancel()
        await asyncio.wait((task,), timeout=_GRACE)
        if not task.done():
            logger.warning("a tool does not stop when it is cancelled; it is left running")
        elif not task.cancelled() and (fault := task.exception()) is not None:
            logger.debug("a tool that was stopped raised %s", type(fault).__name__)

    async def _work(self) -> None:
        await self._wanted.acquire()
        try:
            async with aclosing(self._values) as values:
                async for given in values:
                    self._hand_over(given)
                    await self._wanted.acquire()
        except SystemExit as fault:  # a tool may not end the program
            raise TurnCancelled("the tool asked for the program to end") from fault

    def _hand_over(self, given: Given) -> None:
        if self._given is not None and not self._given.done():
            self._given.set_result(given)
