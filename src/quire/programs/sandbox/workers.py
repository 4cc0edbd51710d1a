"""The processes that programs run in, and the threads that wait for them."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from quire.errors import InvalidValue, MissingExtra
from quire.programs.bounds import Bounds
from quire.programs.faults import ProgramFault
from quire.programs.sandbox.awaited import DEPTH
from quire.programs.sandbox.source import STOP

if TYPE_CHECKING:
    from pydantic_monty import MontySession

_DEEPEST = 8
"""How deep programs may run within programs."""

_RUNS_OF_ONE = 50
"""A worker is replaced after so many programs, with whatever memory it still holds."""

_GRACE = 0.25
"""Seconds beyond its limit after which a worker is killed that did not look at the clock."""

_Result = TypeVar("_Result")
_depth: ContextVar[int] = ContextVar("quire_depth_of_programs", default=0)


class Workers:
    """Those of one event loop. A worker that dies is replaced; all end when the loop does, or the process.

    `computing` programs compute at a time, and `programs` have begun: those that wait for the functions they
    called take little more than their memory.
    """

    # The sandbox has a pool for asyncio too. Its threads outlive the interpreter where a process ends soon
    # after a program, and take the process down with them; threads of our own are joined.
    def __init__(self, computing: int, programs: int) -> None:
        try:
            from pydantic_monty import Monty
        except ImportError as missing:
            raise MissingExtra("pydantic-monty", "programs") from missing
        _check_process()
        self._programs = programs
        # A program within another has a place of its own kind: the outer one, which waits for it, must not
        # keep it from starting.
        self._places = [asyncio.Semaphore(programs) for _ in range(_DEEPEST)]
        self._computing = asyncio.Semaphore(computing)
        # Programs that end must not wait for those that compute.
        self._threads = ThreadPoolExecutor(2 * computing, "quire-program")
        self._pool = Monty(
            max_processes=_DEEPEST * programs,
            max_checkouts_per_worker=_RUNS_OF_ONE,
            feed_duration_limit_grace=_GRACE,
        )
        self._pool.__enter__()

    @asynccontextmanager
    async def admitted(self, wall: float | None) -> AsyncGenerator[float | None, None]:
        """Wait for a place; when the program has to have ended, by the clock of the loop."""
        _check_process()
        depth = _depth.get()
        if depth >= _DEEPEST:
            raise ProgramFault("limit", f"programs run within programs, more than {_DEEPEST} deep")
        until = None if wall is None else asyncio.get_running_loop().time() + wall
        try:
            async with asyncio.timeout_at(until):
                await self._places[depth].acquire()
        except TimeoutError:
            text = f"it waited longer than {wall} s for one of {self._programs} places"
            raise ProgramFault("limit", text) from None
        token = _depth.set(depth + 1)
        try:
            yield until
        finally:
            _depth.reset(token)
            self._places[depth].release()

    def seat(self, bounds: Bounds, **checking: Any) -> "Seat":
        """A place for one program, with its limits."""
        limits: Any = {
            "max_feed_duration_secs": bounds.seconds,
            "max_memory": bounds.memory,
            "max_recursion_depth": bounds.depth + DEPTH,
            # Sleeping and looking up a name go to the host too.
            "max_suspensions": 10_000 + 4 * bounds.calls,
        }
        policy: Any = {"sleep": "call_host"}
        session = self._pool.checkout(limits=limits, os_policy=policy, **checking)
        return Seat(session, self._threads, self._computing)

    async def close(self) -> None:
        """End the processes and the threads; in a process that was forked, both are the other's."""
        if _first_process() == os.getpid():
            self._threads.shutdown(wait=True)
            self._pool.__exit__(None, None, None)


@cache
def _first_process() -> int:
    """The process in which the first workers were started. The sandbox has threads there, for all of them."""
    return os.getpid()


def _check_process() -> None:
    """An error in a process that was forked since: its sandbox would wait for those threads for ever."""
    if _first_process() != os.getpid():
        raise InvalidValue(
            "this process was forked from one that had run programs, and can run none: "
            "fork before the first of them, or start it by 'spawn' or 'forkserver'"
        )


def until_checked(snapshot: Any) -> None:
    """Go on to the call that stands ahead of a program, and no further: all of it has been checked then.

    What the checker asks for before, such as stubs of a module, it does not get.
    """
    while getattr(snapshot, "function_name", STOP) != STOP:
        snapshot = snapshot.resume_not_handled()


class Seat:
    """One worker while it runs one program: each turn of it in a thread, stopped at once where it must be."""

    def __init__(
        self, session: "MontySession", threads: ThreadPoolExecutor, computing: asyncio.Semaphore
    ) -> None:
        self._session = session
        self._threads = threads
        self._computing = computing
        self._process: int | None = None
        self._stopped = False

    async def open(self, work: "Callable[[MontySession], _Result]") -> _Result:
        """Take a worker, and do the first turn with it.

        A worker that is not there yet cannot be stopped. So this has a thread that nobody joins: where it is
        given up before, the thread gives the worker back when it comes, if it ever does.
        """
        begun = Future[_Result]()
        thread = threading.Thread(
            target=self._opened, args=(begun, work), name="quire-program-opens", daemon=True
        )
        async with self._computing:
            thread.start()
            return await self._result(begun)

    def _opened(self, begun: "Future[_Result]", work: "Callable[[MontySession], _Result]") -> None:
        fault = self._entered()
        if not begun.set_running_or_notify_cancel():
            if fault is None:
                self._session.__exit__(None, None, None)
            return
        try:
            if fault is not None:
                raise fault
            self._process = self._session.worker_pid
            if self._stopped:
                self._kill()
            begun.set_result(work(self._session))
        except BaseException as raised:
            begun.set_exception(raised)

    def _entered(self) -> BaseException | None:
        try:
            self._session.__enter__()
        except BaseException as fault:
            return fault
        return None

    async def turn(self, work: Callable[[], _Result]) -> _Result:
        """Let the worker go on until it asks for something or is done."""
        async with self._computing:
            return await self._result(self._threads.submit(work))

    async def _result(self, begun: "Future[_Result]") -> _Result:
        waiting = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not begun.cancel():
                self.stop()
                await _settled(waiting)
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
            leaving = asyncio.wrap_future(self._threads.submit(self._session.__exit__, None, None, None))
            if await _settled(leaving):
                raise asyncio.CancelledError


async def _settled(work: asyncio.Future[Any]) -> bool:
    """Wait for what will soon be over, however often that is cancelled; whether it was.

    What came of it is looked at, so that nobody is warned of it later.
    """
    was_cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            was_cancelled = True
    if not work.cancelled():
        work.exception()
    return was_cancelled
