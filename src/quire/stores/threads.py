"""Threads for what waits for a disk, a server or a long computation.

The default threads of an event loop are shared with all other code of the process. A few tools that hang in
`asyncio.to_thread` take them all; no conversation could then be written. So Quire has threads of its own.
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
    """Threads for one kind of work. The process ends when all work that was begun is done."""

    def __init__(self, name: str, most: int = _MOST) -> None:
        self._name, self._most = name, most
        self._guard = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def begin(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Begin some work, with the caller's context variables. It is no task, so no loop cancels it."""
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._executor(), context.run, work)

    async def do(self, function: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Call a function in one of the threads, and await what it returns."""
        return await self.begin(lambda: function(*args, **named))

    def _executor(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if self._process != process:  # a forked process has no threads, and its locks may be held
            self._guard, self._pool, self._process = Lock(), None, process
        with self._guard:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._most, self._name)
            return self._pool


STORE = Threads("quire-store")
"""For work with stores and files."""

COMPUTING = Threads("quire-computing")
"""For long computations, such as checking programs."""

RECALLING = Threads("quire-recall")
"""For recalling: an embedding that hangs delays no writing."""
