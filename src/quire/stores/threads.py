"""Threads for calls that wait for a disk, a server or a long computation.

All code of a process shares the default threads of its event loop. A few tools that hang in
`asyncio.to_thread` would occupy them all, and no conversation could be written. So Quire has its own threads.
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

_MAX_THREADS = 32
_MAX_IDLE = 16


class DaemonThreads(Executor):
    """As many threads as there are calls. The process does not wait for them when it ends.

    A thread that is done waits for another call, because starting one takes longer than most calls.
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
            needs_thread = self._idle == 0
            self._idle -= not needs_thread
        if needs_thread:
            Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            with self._guard:
                if self._idle >= _MAX_IDLE:
                    return
                self._idle += 1


class Threads:
    """Threads for one kind of work. The process waits for running calls when it ends.

    With `max_threads=None` there are as many threads as calls, and the process does not wait for them.
    """

    def __init__(self, name: str, max_threads: int | None = _MAX_THREADS) -> None:
        self._name, self._max_threads = name, max_threads
        self._guard = Lock()
        self._pool: Executor | None = None
        self._process = 0

    def begin(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Start a call with the caller's context variables. An event loop that ends does not cancel it."""
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
                if self._max_threads is None:
                    self._pool = DaemonThreads(self._name)
                else:
                    self._pool = ThreadPoolExecutor(self._max_threads, self._name)
            return self._pool


STORE = Threads("quire-store")
"""For stores and files."""

COMPUTING = Threads("quire-computing")
"""For long computations, such as checking programs."""

RECALLING = Threads("quire-recall")
"""For recall: an embedding that hangs delays no write."""

FOLLOWING = Threads("quire-follower", None)
"""For waiting until another process writes: one thread for each waiter, so that no other call is delayed."""

TOOLS = Threads("quire-tool", None)
"""For functions of the user, such as tools: one that hangs delays nothing, not even the process's end."""
