"""The end of a node's process: it comes also where something that runs in it does not end."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger("quire.node")

_LEAST = 5.0
"""Seconds that whatever is told to end has at least, unless the process is told to hurry."""

_HURRIED = 1.0
"""Seconds that it has then, to let go of what it holds."""


def run_to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Run what ends all others before it ends. `asyncio.run` would wait for those that would not."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        try:
            if left:
                _hold(left)
            else:
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())  # what is being written is written
        finally:
            loop.close()


def _hold(left: "set[asyncio.Task[Any]]") -> None:
    """Keep tasks for good: what swallows a cancellation may swallow its own end, and never come out of it."""
    kept = threading.Event()

    def hold(_left: object) -> None:
        kept.wait()

    threading.Thread(target=hold, args=(left,), name="quire left behind", daemon=True).start()


async def end_others(seconds: float, hurry: asyncio.Event) -> None:
    """Tell all other tasks of the loop to end, and wait for them; those that do not are left behind.

    They have so many seconds, and few once `hurry` is set.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if not others:
        return
    for task in others:
        task.cancel()
    ended, hurried = asyncio.ensure_future(asyncio.wait(others)), asyncio.ensure_future(hurry.wait())
    await asyncio.wait((ended, hurried), timeout=max(seconds, _LEAST), return_when=asyncio.FIRST_COMPLETED)
    if hurried.done():
        await asyncio.wait((ended,), timeout=_HURRIED)
    for one in (ended, hurried):
        one.cancel()
    await asyncio.gather(ended, hurried, return_exceptions=True)
    left = [task for task in others if not task.done()]
    if left:
        logger.warning("%d tasks were told to end and did not: they are left behind", len(left))
