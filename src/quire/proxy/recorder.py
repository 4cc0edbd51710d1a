"""Sends exchanges to an observer in another process, so that no request waits for it.

The queue is bounded. What cannot be recorded is retried for some seconds, then counted as lost; the count is
recorded after the next exchange that can be.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from itertools import accumulate, islice
from multiprocessing.connection import wait
from threading import Thread
from typing import Any, NamedTuple

from quire.errors import Conflict, QuireError, StoreError
from quire.proxy.exchange import Answer, Exchange
from quire.proxy.observer import Observer, Outcome, Settings

logger = logging.getLogger("quire.proxy")

_MAX_QUEUE_BYTES = 256 * 2**20
PAUSES = (0.1, 0.5, 2.0, 5.0)
"""Seconds before each retry of an exchange that could not be stored."""
_TEMPORARY = (StoreError, Conflict, BrokenExecutor, OSError)
"""Errors after which a retry may succeed."""
_NICE = 5
"""The niceness of the process that records. With more, it would stand still on a busy machine."""
_DELAY_SECONDS = 0.1
"""Seconds before jobs are sent to that process, so that the first bytes of answers do not wait for it."""
_OVERHEAD = 1_000
"""Bytes that an exchange takes in the queue beside its body."""
_MAX_BATCH, _MAX_BATCH_BYTES = 16, 8 * 2**20
"""The largest batch of jobs that is sent at once."""


# The other process

_observer: Observer


def _start(settings: Settings) -> None:
    """Create the observer of this process, which ends with its parent."""
    global _observer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it, after its queue
    _observer = Observer(settings)
    if not settings.allowed:  # no request waits for it
        os.nice(_NICE)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=lambda: (wait([parent.sentinel]), os._exit(0)), daemon=True).start()


def _call(calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The results of calls of the observer, up to the first that is None or an exception."""
    results = list[Any]()
    for name, *arguments in calls:
        try:
            results.append(getattr(_observer, name)(*arguments))
        except Exception as fault:
            return [*results, fault]
        if results[-1] is None:
            break
    return results


# This process


class _Job(NamedTuple):
    name: str
    value: Exchange | Answer
    done: "asyncio.Future[Any]"

    @property
    def size(self) -> int:
        return len(self.value.body) + _OVERHEAD


class Recorder:
    """Records exchanges in order; `pauses` are the seconds before retries. All calls are on one event loop.

    `warn` is called with each warning. `begun` counts the exchanges. `recorded` counts those that are stored
    whole, and `lost` counts the others by reason.
    """

    def __init__(
        self,
        settings: Settings,
        warn: Callable[[str], object] = logger.warning,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self.settings = settings
        self._warn, self._pauses = warn, pauses
        self.begun, self.recorded, self.lost = 0, 0, Counter[str]()
        self._unrecorded_losses = Counter[str]()
        self._jobs = deque[_Job]()
        self._size = 0
        self._exchanges: dict[int, Exchange] = {}
        self._has_jobs, self._is_idle = asyncio.Event(), asyncio.Event()
        self._is_idle.set()
        self._pool: ProcessPoolExecutor | None = None
        self._working: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to record."""
        self._working = asyncio.create_task(self._work())

    def workers(self) -> list[int]:
        """The ids of the processes that record: one, once there was something to record."""
        return [] if self._pool is None else [*(self._pool._processes or {})]

    async def close(self, timeout: float = 60.0) -> None:
        """Record the queue, until the timeout."""
        try:
            async with asyncio.timeout(timeout):
                await self._is_idle.wait()
        except TimeoutError:
            self.lost["the proxy ended before"] += self.begun - self.recorded - self.lost.total()
        if self._working is not None:
            self._working.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, exchange: Exchange) -> "asyncio.Future[Outcome | None] | None":
        """Record a request; the future returns the outcome. None if the queue is full."""
        self.begun += 1
        if self._size + len(exchange.body) > _MAX_QUEUE_BYTES:
            self._lose("the queue was full")
            return None
        self._exchanges[exchange.number] = exchange
        return self._add("begin", exchange)

    def end(self, answer: Answer) -> None:
        """Record the answer to a request."""
        if answer.number not in self._exchanges:
            return
        if self._size + len(answer.body) > _MAX_QUEUE_BYTES:
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
            if not self.settings.allowed:
                await asyncio.sleep(_DELAY_SECONDS)
            failures = 0  # of the first job
            while self._jobs:
                recorded_before, jobs = self.recorded, self._next_jobs(1 if failures else _MAX_BATCH)
                for job, result in zip(jobs, await self._run(jobs), strict=False):
                    if isinstance(result, _TEMPORARY) and failures < len(self._pauses):
                        await asyncio.sleep(self._pauses[failures])
                        failures += 1
                        continue
                    if isinstance(result, Exception):
                        self._give_up(job, result)
                    else:
                        self._finish(job, result)
                    failures = 0
                if self.recorded > recorded_before and self._unrecorded_losses:
                    await self._record_losses()
            self._has_jobs.clear()
            self._is_idle.set()

    def _next_jobs(self, limit: int) -> list[_Job]:
        """The first jobs: at most `limit`, and no more bytes than a batch may have."""
        jobs = list(islice(self._jobs, limit))
        sizes = accumulate(job.size for job in jobs)
        return jobs[: max(1, sum(size <= _MAX_BATCH_BYTES for size in sizes))]

    async def _run(self, jobs: Sequence[_Job]) -> list[Any]:
        """The results of jobs, up to the first exception."""
        results = await self._call(*((job.name, job.value) for job in jobs))
        answer = jobs[len(results) - 1].value
        if results[-1] is None and isinstance(answer, Answer):  # the process was restarted since the request
            begin = ("begin", self._exchanges[answer.number])
            results[-1] = (await self._call(begin, ("end", answer._replace(is_changed=False))))[-1]
        return results

    async def _call(self, *calls: tuple[Any, ...]) -> list[Any]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, initializer=_start, initargs=(self.settings,))
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _call, calls)
        except Exception as fault:
            if isinstance(fault, BrokenExecutor):
                self._pool = None
            return [fault]

    def _finish(self, job: _Job, result: "Outcome | tuple[str, ...] | None") -> None:
        """Remove a job from the queue, and return its result to whoever waits for it."""
        self._jobs.remove(job)
        self._size -= job.size
        if job.name == "end":
            self._exchanges.pop(job.value.number, None)
            self.recorded += result is not None
        if not job.done.done():
            job.done.set_result(result)
        for warning in result.warnings if isinstance(result, Outcome) else result or ():
            self._warn(warning)

    def _give_up(self, failed: _Job, fault: Exception) -> None:
        """Lose the exchange of a job."""
        logger.debug("an exchange cannot be recorded", exc_info=fault)
        # Messages of other errors may quote content.
        is_quotable = isinstance(fault, QuireError) and not isinstance(fault, _TEMPORARY)
        self._lose(str(fault) if is_quotable else type(fault).__name__)
        for job in [job for job in self._jobs if job.value.number == failed.value.number]:
            self._finish(job, None)
        self._exchanges.pop(failed.value.number, None)

    def _lose(self, reason: str) -> None:
        self.lost[reason] += 1
        self._unrecorded_losses[reason] += 1
        if self.lost[reason] == 1:
            self._warn(f"an exchange could not be recorded: {reason}")

    async def _record_losses(self) -> None:
        """Record how many exchanges were lost; after a failure, retry with the next exchange."""
        for reason, count in list(self._unrecorded_losses.items()):
            if isinstance((await self._call(("note_loss", count, reason)))[-1], Exception):
                return
            self._unrecorded_losses[reason] -= count
        self._unrecorded_losses = +self._unrecorded_losses
