"""Whose cancellation it is: hooks and models may wait for what somebody else has cancelled."""

import asyncio


def is_told_to_stop() -> bool:
    """Whether it is the running task itself that was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
