"""What others append, as it comes."""

import asyncio
from collections.abc import AsyncIterator

from quire.session.ledger import Ledger, read_entries
from quire.session.workspace import Written

_PATIENCE = 0.5
"""Seconds that a thread waits before it looks whether anybody still listens."""


async def followed(ledger: Ledger, after: int) -> AsyncIterator[Written]:
    """Every entry from a version on, in order, those to come included; it ends when nobody listens."""
    store, place, version = ledger.store, ledger.place, after
    while True:
        stored = await asyncio.to_thread(store.read, place, after=version)
        if stored:
            await asyncio.to_thread(ledger.catch_up)
        for entry, written in zip(stored, read_entries(place, stored), strict=True):
            version = entry.version
            yield written
        if await asyncio.to_thread(store.wait, place, version, _PATIENCE) < version:
            version = 0  # it was forgotten, and begins again
