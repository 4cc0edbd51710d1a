"""What others append, as it comes."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from quire.session.ledger import Ledger, read_entries
from quire.session.workspace import Written

_PATIENCE = 0.5
"""Seconds that a thread waits before it looks whether anybody still listens."""


async def followed(ledger: Ledger, after: int) -> AsyncIterator[Written]:
    """Every entry from a version on, in order, those to come included; it ends when nobody listens."""
    store, place, version = ledger.store, ledger.place, after
    # A thread of its own: those of the loop are few, and who waits in one keeps every other verb waiting.
    waiter, run = ThreadPoolExecutor(1, "quire-follower"), asyncio.get_running_loop().run_in_executor
    try:
        while True:
            stored = await run(waiter, partial(store.read, place, after=version))
            if stored:
                await run(waiter, ledger.catch_up)
            for entry, written in zip(stored, read_entries(place, stored), strict=True):
                version = entry.version
                yield written
            if await run(waiter, store.wait, place, version, _PATIENCE) < version:
                version = 0  # it was forgotten, and begins again
    finally:
        waiter.shutdown(wait=False)
