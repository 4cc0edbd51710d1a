"""Waiting for what is async where nothing can be awaited: in scripts, and in notebooks with a loop.

All such work is done on one loop in a thread of its own, so that connections live on from call to call.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

from quire.errors import InvalidValue

T = TypeVar("T")

_starting = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """What some work gives. The calling thread waits; an interruption from the keyboard stops the work."""
    loop = _running_loop()
    if threading.current_thread().name == _NAME:
        work.close()
        raise InvalidValue("this waits for itself: await the verb without `_sync` here")
    context = copy_context()
    done = asyncio.run_coroutine_threadsafe(_within(work, context), loop)
    try:
        return done.result()
    except BaseException:
        done.cancel()
        raise


async def _within(work: Coroutine[Any, Any, T], context: Any) -> T:
    """The work with the context variables of who waits for it, such as the session that is at work."""
    return await asyncio.get_running_loop().create_task(work, context=context)


_NAME = "quire-sync"


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _starting:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name=_NAME, daemon=True).start()
        return _loop


def _begin_anew() -> None:
    """Leave the loop to the process that runs it: its thread is not in a child, nor who held the lock."""
    global _starting, _loop
    _starting, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):  # not everywhere can a process be forked
    os.register_at_fork(after_in_child=_begin_anew)
