"""The end of a node's process: it comes also where something that runs in it does not end."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from quire.node.loose_threads import LooseThreads

logger = logging.getLogger("quire.node")

_LEAST = 5.0
"""Seconds that whatever is told to end has at least, unless the process is told to hurry."""

_HURRIED = 1.0
"""Seconds that it has then, to let go of what it holds."""


def run_to_its_end(work: Callable[[LooseThreads], Coroutine[Any, Any, None]]) -> None:
    """Run what ends all others before it ends. `asyncio.run` would wait for those that would not."""
    loop, threads = asyncio.new_event_loop(), LooseThreads()
    loop.set_default_executor(threads)
    try:
        loop.run_until_complete(work(threads))
    finally:
        left = asyncio.all_tasks(loop)
        try:
            if left:
                _hold(left)
            else:
                loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()  # nobody waits for its threads: what is being written is written in others


def _hold(left: "set[asyncio.Task[Any]]") -> None:
    """Keep tasks for good: what swallows a cancellation may swallow its own end, and never come out of it."""
    kept = threading.Event()

    def hold(_left: object) -> None:
        kept.wait()

    threading.Thread(target=hold, args=(left,), name="quire left behind", daemon=True).start()


async def end_others(seconds: float, hurry: asyncio.Event, threads: LooseThreads) -> None:
    """Tell all other tasks of the loop to end, and wait for them and its threads; who goes on is left behind.

    They have so many seconds, and few once `hurry` is set.
    """
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    others: list[asyncio.Future[Any]] = [*tasks, *map(_outcome, threads.unfinished)]
    if not others:
        return
    ended, hurried = asyncio.ensure_future(asyncio.wait(others)), asyncio.ensure_future(hurry.wait())
    await asyncio.wait((ended, hurried), timeout=max(seconds, _LEAST), return_when=asyncio.FIRST_COMPLETED)
    if hurried.done():
        await asyncio.wait((ended,), timeout=_HURRIED)
    for one in (ended, hurried):
        one.cancel()
    await asyncio.gather(ended, hurried, return_exceptions=True)
    left = [other for other in others if not other.done()]
    for other in left:
        if not isinstance(other, asyncio.Task):
            other.cancel()  # its thread finds the loop closed, and nobody who waits
    if left:
        logger.warning("%d tasks or threads were told to end and did not: they are left behind", len(left))


def _outcome(begun: "Future[Any]") -> "asyncio.Future[Any]":
    """What was begun in a thread, to be waited for; how it ends is for who began it."""
    outcome = asyncio.wrap_future(begun)
    outcome.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return outcome
