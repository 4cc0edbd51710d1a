"""Threads for what waits for a disk, a server or a long computation.

The loop's own are shared with whatever else runs in the process: a few tools that hang in `asyncio.to_thread`
hold them all, and then no conversation could be written, not even that the tools took too long.
"""

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 32


class Threads:
    """Threads for one kind of work. The process ends when all that was begun in them is done."""

    def __init__(self, name: str, most: int = _MOST) -> None:
        self._name, self._most = name, most
        self._guard = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def begin(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Begin some work, with the context variables of who asks. It is no task, so no loop cancels it."""
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._at_hand(), context.run, work)

    async def do(self, function: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """What a function gives that is called in one of them."""
        return await self.begin(lambda: function(*args, **named))

    def _at_hand(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if self._process != process:  # threads are not in a process's children, locks may be held
            self._guard, self._pool, self._process = Lock(), None, process
        with self._guard:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._most, self._name)
            return self._pool


STORE = Threads("quire-store")
"""For work with stores and files."""

COMPUTING = Threads("quire-computing")
"""For what only takes long, such as programs that are looked through."""

RECALLING = Threads("quire-recall")
"""For recalling: an embedding that hangs holds up no writing."""
