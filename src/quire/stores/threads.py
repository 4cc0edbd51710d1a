"""Threads for what waits for a disk, a server or a long computation; and what a fork does to open stores.

The default threads of an event loop are shared with all other code of the process. A few tools that hang in
`asyncio.to_thread` take them all; no conversation could then be written. So Quire has threads of its own.
"""

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, RLock
from typing import ParamSpec, Protocol, TypeVar
from weakref import WeakSet

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


class Forkable(Protocol):
    """An open store, whose locks no other thread may hold while the process is forked."""

    def before_fork(self) -> None:
        """Wait for running verbs, and let none begin."""

    def after_fork(self, *, is_child: bool) -> None:
        """Let verbs begin again; in the child, leave to the parent what is the parent's."""


_open: WeakSet[Forkable] = WeakSet()
_held: list[Forkable] = []
_turn = RLock()
"""Held during a fork: one at a time, and no store is opened meanwhile."""


def at_forks(store: Forkable) -> None:
    """Call `before_fork` and `after_fork` of a store at every fork, for as long as the store lives."""
    with _turn:
        _open.add(store)


def _before_fork() -> None:
    _turn.acquire()
    for store in list(_open):
        store.before_fork()
        _held.append(store)


def _after_fork(is_child: bool) -> None:
    while _held:
        _held.pop().after_fork(is_child=is_child)
    _turn.release()


if hasattr(os, "register_at_fork"):  # not on every system can a process be forked
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(False),
        after_in_child=lambda: _after_fork(True),
    )
