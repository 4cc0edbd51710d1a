"""Threads of a node's loop for what is called with `asyncio.to_thread`: nobody waits for one that hangs.

Python's own are waited for when the loop ends, and again when the process does, however long they take.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 64
"""Twice what Python has at most: some of them may hang for good."""


class LooseThreads(ThreadPoolExecutor):
    """A loop takes no other kind of pool; of Python's own nothing is used but its name."""

    def __init__(self) -> None:
        super().__init__(_MOST)
        self._guard = threading.Lock()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._unfinished: set[Future[Any]] = set()
        self._made = 0
        self._is_over = False

    @property
    def unfinished(self) -> "tuple[Future[Any], ...]":
        """What was begun and is not done."""
        with self._guard:
            return tuple(self._unfinished)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have a function called in a thread."""
        future: Future[T] = Future()
        with self._guard:
            if self._is_over:
                raise RuntimeError("the node has ended, and its threads begin nothing more")
            self._unfinished.add(future)
            is_short = self._made < min(len(self._unfinished), _MOST)
            self._made += is_short
        self._jobs.put(lambda: self._do(future, lambda: fn(*args, **kwargs)))
        if is_short:
            threading.Thread(target=self._work, name=f"quire node {self._made}", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin nothing more. It does not wait, though it is asked to."""
        with self._guard:
            self._is_over = True
        for _ in range(self._made):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # a thread that waits holds on to nothing of what it did

    def _do(self, future: "Future[T]", work: Callable[[], T]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                _settle(future, work)
        finally:
            with self._guard:
                self._unfinished.discard(future)


def _settle(future: "Future[T]", work: Callable[[], T]) -> None:
    try:
        given = work()
    except BaseException as fault:
        future.set_exception(fault)
    else:
        future.set_result(given)
