"""Processes that run programs, one program each at a time, and the threads that wait for them.

Monty's pool for asyncio aborts the interpreter when the process ends soon after a program (1.4.0), so its
plain pool is used, with threads that are joined.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from quire.agent.turn import wait_ended
from quire.errors import InvalidValue, MissingExtra
from quire.programs.source import ProgramFault

if TYPE_CHECKING:
    from pydantic_monty import MontySession

_MAX_NESTING = 8
_Result = TypeVar("_Result")
_nesting: ContextVar[int] = ContextVar("quire_nesting_of_programs", default=0)


class Workers:
    """The processes of one event loop. A process that dies is replaced; all end with the loop.

    One program per processor computes at a time. At most `programs` run at once, most of which wait for
    functions and use little more than their memory.
    """

    def __init__(self, programs: int) -> None:
        try:
            from pydantic_monty import Monty
        except ImportError as missing:
            raise MissingExtra("pydantic-monty", "programs") from missing
        _check_process()
        computing = max(2, os.cpu_count() or 1)
        self._places = asyncio.Semaphore(programs)
        self._computing = asyncio.Semaphore(computing)
        self._threads = ThreadPoolExecutor(2 * computing, "quire-program")  # twice: ending takes one too
        self._pool = Monty(
            max_processes=_MAX_NESTING * programs,
            max_checkouts_per_worker=50,  # then it is replaced, to free its memory
            feed_duration_limit_grace=0.25,  # seconds after which a process that did not stop is killed
        )
        self._pool.__enter__()

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None, None]:
        """Wait for a place. A nested program takes none, because the outer program waits for it."""
        _check_process()
        nesting = _nesting.get()
        if nesting >= _MAX_NESTING:
            raise ProgramFault("limit", f"programs call programs, more than {_MAX_NESTING} deep")
        async with nullcontext() if nesting else self._places:
            token = _nesting.set(nesting + 1)
            try:
                yield
            finally:
                _nesting.reset(token)

    def worker(self, limits: Any, **checking: Any) -> "Worker":
        """A process for one program, with its limits; the first turn takes it from the pool."""
        session = self._pool.checkout(limits=limits, os_policy={"sleep": "call_host"}, **checking)
        return Worker(session, self._threads, self._computing)

    async def close(self) -> None:
        """End the processes and the threads; in a forked process both belong to the parent."""
        if _first_process() == os.getpid():
            self._threads.shutdown(wait=True)
            self._pool.__exit__(None, None, None)


@cache
def _first_process() -> int:
    """The process that started the first worker, and has Monty's threads."""
    return os.getpid()


def _check_process() -> None:
    if _first_process() != os.getpid():
        raise InvalidValue(
            "this process was forked from one that had run programs, and can run none: "
            "fork before the first of them, or start it by 'spawn' or 'forkserver'"
        )


class Worker:
    """One process while it runs one program. Each turn runs in a thread and can be stopped at once."""

    def __init__(
        self, session: "MontySession", threads: ThreadPoolExecutor, computing: asyncio.Semaphore
    ) -> None:
        self._session = session
        self._threads = threads
        self._computing = computing
        self._process: int | None = None
        self._is_stopped = False

    async def begin(self, work: "Callable[[MontySession], _Result]") -> _Result:
        """Take a process from the pool, and run the first turn in it."""

        def first() -> _Result:
            self._session.__enter__()
            self._process = self._session.worker_pid
            if self._is_stopped:
                self.stop()
            return work(self._session)

        return await self.turn(first)

    async def turn(self, work: Callable[[], _Result]) -> _Result:
        """Run the program until it calls the host or ends."""
        async with self._computing:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                self.stop()
                await wait_ended(running)
                if not running.cancelled():
                    running.exception()  # retrieved, so that asyncio does not log it
                raise

    def stop(self) -> None:
        """Kill the process, from any thread. A running turn fails."""
        self._is_stopped = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)

    async def leave(self) -> None:
        """Return the process to the pool, even if it was killed."""
        if self._process is not None:
            self._process = None
            loop = asyncio.get_running_loop()
            leaving = loop.run_in_executor(self._threads, self._session.__exit__, None, None, None)
            if cancelled := await wait_ended(leaving):
                raise cancelled
