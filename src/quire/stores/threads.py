"""Threads for what waits for a disk, a server or a long computation.

The default threads of an event loop are shared with all other code of the process. A few tools that hang in
`asyncio.to_thread` take them all; no conversation could then be written. So Quire has threads of its own.
"""

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock, Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 32
_MOST_IDLE = 16


class DaemonThreads(Executor):
    """As many threads as there is work. The process does not wait for them at its end.

    A thread that is done waits for more work, because starting one takes longer than most calls.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._guard = Lock()
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Call a function in a thread. It cannot be cancelled."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def job() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as fault:
                future.set_exception(fault)

        self._jobs.put(job)
        with self._guard:
            is_short = self._idle == 0
            self._idle -= not is_short
        if is_short:
            Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            with self._guard:
                if self._idle >= _MOST_IDLE:
                    return
                self._idle += 1


class Threads:
    """Threads for one kind of work. The process ends when all work that was begun is done.

    With `most=None` there are as many threads as there is work, and the process does not wait for them.
    """

    def __init__(self, name: str, most: int | None = _MOST) -> None:
        self._name, self._most = name, most
        self._guard = Lock()
        self._pool: Executor | None = None
        self._process = 0

    def begin(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Begin some work, with the caller's context variables. It is no task, so no loop cancels it."""
        context = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._executor(), context.run, work)

    async def do(self, function: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Call a function in one of the threads, and await what it returns."""
        return await self.begin(lambda: function(*args, **named))

    def _executor(self) -> Executor:
        process = os.getpid()
        if self._process != process:  # a forked process has no threads, and its locks may be held
            self._guard, self._pool, self._process = Lock(), None, process
        with self._guard:
            if self._pool is None:
                bounded = self._most is not None
                self._pool = (
                    ThreadPoolExecutor(self._most, self._name) if bounded else DaemonThreads(self._name)
                )
            return self._pool


STORE = Threads("quire-store")
"""For work with stores and files."""

COMPUTING = Threads("quire-computing")
"""For long computations, such as checking programs."""

RECALLING = Threads("quire-recall")
"""For recalling: an embedding that hangs delays no writing."""

FOLLOWING = Threads("quire-follower", None)
"""For waiting until others write: as many threads as there are waiters, so that no verb is held up."""

TOOLS = Threads("quire-tool", None)
"""For functions of others, such as tools: one that hangs delays nothing, not even the end of the process."""
