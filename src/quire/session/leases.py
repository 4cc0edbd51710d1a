"""Leases: which process works on something, and until when others must assume that it does."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from uuid import getnode

from quire.errors import Conflict, StoreError, TurnLost
from quire.items import new_id, now
from quire.session.aio import AWAITED
from quire.session.entries import Lease
from quire.session.log import Compute, Log

logger = logging.getLogger("quire.session")

LEASE_SECONDS = 60.0
"""How long a lease is valid after it was written or renewed."""

_running_claims: set[str] = set()
"""The claims that this process holds."""


@contextmanager
def hold_claim() -> Generator[Callable[[], Lease]]:
    """Hold a new claim during the block. Yields a function that makes leases for the claim."""
    claim = new_id()
    _running_claims.add(claim)
    try:
        yield lambda: new_lease(claim)
    finally:
        _running_claims.discard(claim)


def new_lease(claim: str) -> Lease:
    """A lease of this process that begins now."""
    return Lease(claim, now() + LEASE_SECONDS, _identity_of(os.getpid()))


def is_held(lease: Lease) -> bool:
    """Whether a lease is held, by this process or by another that is alive."""
    if lease.process == _identity_of(os.getpid()):
        return lease.claim in _running_claims
    return is_live(lease)


def is_live(lease: Lease) -> bool:
    """Whether a lease was renewed in time, and its process is not known to have ended."""
    machine, process, started = lease.process or [None, 0, None]
    has_ended = machine == _machine() and _start_time(process) != started
    return lease.until > now() and not has_ended


@asynccontextmanager
async def renewed(log: Log, renewal: Compute) -> AsyncGenerator[None]:
    """Renew a lease regularly during the block. `renewal` returns the entries that renew it.

    If another worker claims the work, the block is cancelled, and `TurnLost` is raised.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelled_before = task.cancelling()
    lost: TurnLost | None = None

    async def renew() -> None:
        nonlocal lost
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                await AWAITED.do(log, lambda: log.commit(renewal))
            except TurnLost as fault:
                lost = fault
                task.cancel()
                return
            except (StoreError, Conflict) as fault:
                logger.warning("a lease in %s is not renewed: %s", log.place.digest, type(fault))

    renewing = asyncio.ensure_future(renew())
    try:
        yield
    except asyncio.CancelledError:
        if lost is None or task.cancelling() > cancelled_before + 1:  # others have cancelled it, too
            raise
        raise lost from None
    finally:
        renewing.cancel()
        if lost is not None:
            task.uncancel()


@cache
def _identity_of(process: int) -> list[str | int | None]:
    """`Lease.process` of a process of this machine. The start time is in it, because numbers are reused."""
    return [_machine(), process, _start_time(process)]


@cache
def _machine() -> str:
    """Identifies this machine since its last boot, and the process namespace."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{getnode():x}"


def _start_time(process: object) -> str | None:
    """When a process was started; `None` if there is none, or the system does not say."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
