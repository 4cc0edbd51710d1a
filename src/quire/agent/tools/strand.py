"""Threads for calls of tools. Nobody ever waits for one to end: a function that hangs hangs alone.

They are no threads of the loop's pool, which are waited for when a loop or the process ends. A thread that is
done is kept for the next call, because starting one takes longer than most calls.
"""

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

_MOST_IDLE = 16

Job = Callable[[], None]


class Ended(NamedTuple):
    """How a function ended: what it gave, or what it raised. Some errors cannot be raised across a loop."""

    value: Any = None
    fault: BaseException | None = None


class _Worker:
    """A thread that does one job after the other."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.is_surplus = False
        threading.Thread(target=self._work, name="quire tool", daemon=True).start()

    def _work(self) -> None:
        while not self.is_surplus:
            self.jobs.get()()


_idle: deque[_Worker] = deque()


class Strand:
    """Does one thing after the other in one thread, with the context variables of who made it."""

    def __init__(self) -> None:
        self._context: contextvars.Context | None = None
        self._worker: _Worker | None = None

    async def do(self, function: Callable[[], Any]) -> Ended:
        """Call a function there, and wait for what it gives."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Ended] = loop.create_future()

        def job() -> None:
            ended = self._done(function)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_tell, answer, ended)

        self._jobs.put(job)
        return await answer

    def later(self, function: Callable[[], Any]) -> None:
        """Call a function there after all else; what becomes of it concerns nobody."""
        self._jobs.put(lambda: _ignore(self._done(function)))

    def end(self, then: Job) -> None:
        """Do something as soon as all is done, and leave the thread to others; now, if there is none."""
        worker, self._worker = self._worker, None
        if worker is None:
            then()
            return
        worker.jobs.put(then)
        worker.jobs.put(lambda: _left(worker))

    @property
    def _jobs(self) -> "SimpleQueue[Job]":
        if self._worker is None:
            self._context = contextvars.copy_context()
            try:
                self._worker = _idle.pop()
            except IndexError:
                self._worker = _Worker()
        return self._worker.jobs

    def _done(self, function: Callable[[], Any]) -> Ended:
        assert self._context is not None
        try:
            return Ended(self._context.run(function))
        except BaseException as fault:
            return Ended(fault=fault)


def _left(worker: _Worker) -> None:
    """Keep a thread for the next call, or let it end where there are enough."""
    if len(_idle) < _MOST_IDLE:
        _idle.append(worker)
    else:
        worker.is_surplus = True


def _ignore(_ended: Ended) -> None:
    pass


def _tell(answer: "asyncio.Future[Ended]", ended: Ended) -> None:
    if not answer.done():
        answer.set_result(ended)


if hasattr(os, "register_at_fork"):  # the threads of a process are not in its children
    os.register_at_fork(after_in_child=_idle.clear)
