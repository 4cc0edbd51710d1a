"""The processes that programs run in, and the threads that wait for them."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from quire.errors import MissingExtra
from quire.programs.bounds import Bounds
from quire.programs.sandbox.source import STOP

if TYPE_CHECKING:
    from pydantic_monty import MontySession

_MOST_PROCESSES = 1_024
"""Programs within programs are not counted: one that waits for another must not keep it from starting."""

_RUNS_OF_ONE = 50
"""A worker is replaced after so many programs, with whatever memory it still holds."""

_GRACE = 0.25
"""Seconds beyond its limit after which a worker is killed that did not look at the clock."""

_Result = TypeVar("_Result")
_within: ContextVar[bool] = ContextVar("quire_within_a_program", default=False)


class Workers:
    """Those of one event loop. A worker that dies is replaced; all end when the loop does, or the process."""

    # The sandbox has a pool for asyncio too. Its threads outlive the interpreter where a process ends soon
    # after a program, and take the process down with them; threads of our own are joined.
    def __init__(self, most: int) -> None:
        try:
            from pydantic_monty import Monty
        except ImportError as missing:
            raise MissingExtra("pydantic-monty", "programs") from missing
        self._free = asyncio.Semaphore(most)
        self._threads = ThreadPoolExecutor(most, "quire-program")
        self._pool = Monty(
            max_processes=_MOST_PROCESSES,
            max_checkouts_per_worker=_RUNS_OF_ONE,
            feed_duration_limit_grace=_GRACE,
        )
        self._pool.__enter__()

    @asynccontextmanager
    async def admitted(self) -> AsyncGenerator[None, None]:
        """Wait for one's turn. A program within another has it already: the outer one waits for it."""
        if _within.get():
            yield
            return
        async with self._free:
            token = _within.set(True)
            try:
                yield
            finally:
                _within.reset(token)

    def seat(self, bounds: Bounds, **checking: Any) -> "Seat":
        """A place for one program, with its limits."""
        limits: Any = {
            "max_feed_duration_secs": bounds.seconds,
            "max_memory": bounds.memory,
            "max_recursion_depth": bounds.depth,
            # Sleeping and looking up a name go to the host too.
            "max_suspensions": 10_000 + 4 * bounds.calls,
        }
        policy: Any = {"sleep": "call_host"}
        return Seat(self._pool.checkout(limits=limits, os_policy=policy, **checking), self._threads)

    async def close(self) -> None:
        """End the processes and the threads."""
        self._threads.shutdown(wait=True)
        self._pool.__exit__(None, None, None)


def until_checked(snapshot: Any) -> None:
    """Go on to the call that stands ahead of a program, and no further: all of it has been checked then.

    What the checker asks for before, such as stubs of a module, it does not get.
    """
    while getattr(snapshot, "function_name", STOP) != STOP:
        snapshot = snapshot.resume_not_handled()


class Seat:
    """One worker while it runs one program: each turn of it in a thread, stopped at once where it must be."""

    def __init__(self, session: "MontySession", threads: ThreadPoolExecutor) -> None:
        self._session = session
        self._threads = threads
        self._process: int | None = None
        self._stopped = False

    async def open(self, work: "Callable[[MontySession], _Result]") -> _Result:
        """Take a worker, and do the first turn with it."""

        def opened() -> _Result:
            self._session.__enter__()
            self._process = self._session.worker_pid
            if self._stopped:
                self._kill()
            return work(self._session)

        return await self.turn(opened)

    async def turn(self, work: Callable[[], _Result]) -> _Result:
        """Let the worker go on until it asks for something or is done."""
        begun = self._threads.submit(work)
        waiting = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not begun.cancel():
                self.stop()
                await asyncio.wait([waiting])
                if not waiting.cancelled():
                    waiting.exception()  # looked at, so that nobody is warned of it later
            raise

    def stop(self) -> None:
        """End the worker, whatever it does; from any thread. The turn that is under way fails."""
        self._stopped = True
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)

    async def leave(self) -> None:
        """Give the worker back, or what is left of it."""
        if self._process is not None:
            self._process = None
            await self.turn(lambda: self._session.__exit__(None, None, None))
