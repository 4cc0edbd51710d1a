"""Hands exchanges to an observer in another process, without ever keeping a request waiting for it.

What waits is bounded. What cannot be recorded is tried again for some time, then counted; the count is
recorded as soon as something can be.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from itertools import accumulate, islice, takewhile
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, NamedTuple

from quire.errors import Conflict, QuireError, StoreError
from quire.proxy.exchange import Answer, Exchange
from quire.proxy.observer import Begun, Observer, Settings

logger = logging.getLogger("quire.proxy")

_MOST_BYTES = 256 * 2**20
PAUSES = (0.1, 0.5, 2.0, 5.0)
"""Seconds before an exchange that could not be stored is tried again."""
_NICE = 19
"""How far the process that records stands back where others want to compute."""
_DELAY = 0.1
"""Seconds before it is handed on: the first bytes of answers have the processor to themselves."""
_EXTRA = 1_000
"""What an exchange takes beside its bytes."""
_MOST_JOBS, _MOST_SENT = 16, 8 * 2**20
"""How many parts of exchanges, and of how many bytes, are handed on at once."""


# The other process

_observer: Observer


def _start(settings: Settings) -> None:
    """Begin to observe; the process ends with the one that it works for."""
    global _observer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the proxy ends it, with all that waits
    _observer = Observer(settings)
    if not settings.fitting:  # nobody waits for it
        os.nice(_NICE)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=lambda: (wait([parent.sentinel]), os._exit(0)), daemon=True).start()


def _call(calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The results of calls of the observer; what the first one that fails raised is the last of them."""
    found = list[Any]()
    for name, *given in calls:
        try:
            found.append(getattr(_observer, name)(*given))
        except Exception as fault:
            return [*found, fault]
    return found


# This process


class _Job(NamedTuple):
    name: str
    value: Exchange | Answer
    done: "asyncio.Future[Any]"

    @property
    def size(self) -> int:
        return len(self.value.body) + _EXTRA


class Recorder:
    """Records exchanges in their order. Its methods are called on one event loop.

    `said` is called with each warning. Of the exchanges that were `begun`, `recorded` are whole in the store,
    and `lost` are not, by reason.
    """

    def __init__(
        self,
        settings: Settings,
        said: Callable[[str], object] = logger.warning,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """`pauses` are the seconds before what could not be stored is tried again."""
        self.settings = settings
        self._pauses = pauses
        self.begun, self.recorded, self.lost = 0, 0, Counter[str]()
        self._said = said
        self._untold = Counter[str]()
        self._jobs = deque[_Job]()
        self._size = 0
        self._exchanges: dict[int, Exchange] = {}
        self._has_jobs, self._is_idle = asyncio.Event(), asyncio.Event()
        self._is_idle.set()
        self._pool: ProcessPoolExecutor | None = None
        self._working: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to record, as soon as the other process is there."""
        self._working = asyncio.create_task(self._work())

    def workers(self) -> list[int]:
        """The ids of the processes that record: one, if anything was to be recorded."""
        return [] if self._pool is None else [*(self._pool._processes or {})]

    async def close(self, timeout: float = 10.0) -> None:
        """Record what waits, for so many seconds at most."""
        try:
            async with asyncio.timeout(timeout):
                await self._is_idle.wait()
        except TimeoutError:
            self.lost["the proxy ended before"] += self.begun - self.recorded - self.lost.total()
        if self._working is not None:
            self._working.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, exchange: Exchange) -> "asyncio.Future[Begun] | None":
        """Record a request; the future has what became of it. None if there is no room to wait."""
        self.begun += 1
        if self._size + len(exchange.body) > _MOST_BYTES:
            self._lose("there was no room to wait")
            return None
        self._exchanges[exchange.number] = exchange
        return self._add("begin", exchange)

    def end(self, answer: Answer) -> None:
        """Record the answer to a request."""
        if answer.number not in self._exchanges:
            return
        if self._size + len(answer.body) > _MOST_BYTES:
            answer = answer._replace(body=b"", times=(), is_whole=False)
        self._add("end", answer)

    def _add(self, name: str, value: Exchange | Answer) -> "asyncio.Future[Any]":
        job = _Job(name, value, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._size += job.size
        self._has_jobs.set()
        self._is_idle.clear()
        return job.done

    async def _work(self) -> None:
        while True:
            await self._has_jobs.wait()
            if not self.settings.fitting:
                await asyncio.sleep(_DELAY)
            while self._jobs:
                recorded = self.recorded
                await self._record(self._next_jobs())
                if self.recorded > recorded and self._untold:
                    await self._record_losses()
            self._has_jobs.clear()
            self._is_idle.set()

    def _next_jobs(self) -> list[_Job]:
        """The first jobs, as many as are handed on at once."""
        jobs = list(islice(self._jobs, _MOST_JOBS))
        sizes = accumulate(job.size for job in jobs)
        return jobs[: max(1, sum(size <= _MOST_SENT for size in sizes))]

    async def _record(self, jobs: Sequence[_Job]) -> None:
        """Do jobs at once, up to the first that fails: that is tried by itself."""
        found = list[Any]()
        if len(jobs) > 1:
            with suppress(BrokenExecutor):
                found = await self._called(*((job.name, job.value) for job in jobs))
        done = list(takewhile(lambda one: isinstance(one, tuple), found))
        for job, result in zip(jobs, done, strict=False):
            self._finish(job, result)
        if len(done) < len(jobs):
            self._finish(jobs[len(done)], await self._tried(jobs[len(done)]))

    def _finish(self, job: _Job, result: "Begun | tuple[str, ...] | None") -> None:
        """Take a job out of the queue, with what became of it."""
        self._jobs.popleft()
        self._size -= job.size
        if job.name == "end":
            self._exchanges.pop(job.value.number, None)
            self.recorded += result is not None
        if not job.done.done():
            job.done.set_result(result)
        for one in result.warnings if isinstance(result, Begun) else result or ():
            self._said(one)

    async def _record_losses(self) -> None:
        """Record how many exchanges could not be; if that fails, it is tried behind the next one."""
        with suppress(StoreError, Conflict, BrokenExecutor, OSError):
            for reason, count in list(self._untold.items()):
                await self._call("note_loss", count, reason)
                self._untold[reason] -= count
        self._untold = +self._untold

    async def _tried(self, job: _Job) -> Any:
        """The result of a job, which is tried several times; None if none succeeded."""
        reason = ""
        for pause in (*self._pauses, None):
            try:
                return await self._done(job)
            except (StoreError, Conflict, BrokenExecutor, OSError) as fault:
                reason = type(fault).__name__
                if isinstance(fault, BrokenExecutor):
                    self._pool = None
                if pause is not None:
                    await asyncio.sleep(pause)
            except Exception as fault:  # it would fail again; an error may quote content
                reason = str(fault) if isinstance(fault, QuireError) else type(fault).__name__
                logger.debug("an exchange cannot be recorded", exc_info=True)
                break
        if job.value.number in self._exchanges:
            self._lose(reason)
            del self._exchanges[job.value.number]
        return None

    async def _done(self, job: _Job) -> Any:
        exchange = self._exchanges.get(job.value.number)
        if exchange is None:  # its beginning is lost
            return None
        found = await self._call(job.name, job.value)
        if found is None and isinstance(job.value, Answer):  # the other process was started anew since
            await self._call("begin", exchange)
            found = await self._call("end", job.value._replace(is_changed=False))
        return found

    async def _call(self, *call: Any) -> Any:
        (found,) = await self._called(call)
        if isinstance(found, Exception):
            raise found
        return found

    async def _called(self, *calls: tuple[Any, ...]) -> list[Any]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, initializer=_start, initargs=(self.settings,))
        return await asyncio.get_running_loop().run_in_executor(self._pool, _call, calls)

    def _lose(self, reason: str) -> None:
        self.lost[reason] += 1
        self._untold[reason] += 1
        if self.lost[reason] == 1:
            self._said(f"an exchange could not be recorded: {reason}")
