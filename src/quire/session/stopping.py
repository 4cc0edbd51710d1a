"""Whose cancellation it is: hooks and models may wait for what somebody else has cancelled."""

import asyncio

from quire.errors import QuireError


class CancelledWithin(QuireError, RuntimeError):
    """Something was waited for that somebody else cancelled: no reason to stop for who waits."""


def is_told_to_stop() -> bool:
    """Whether it is the running task itself that was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
