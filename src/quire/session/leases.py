"""Leases: which process does some work, and until when the others believe it."""

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

LEASE = 60.0
"""Seconds for which running work is believed after its entry was written or renewed."""

_running: set[str] = set()
"""Claims of this process that are held."""


@contextmanager
def claimed() -> Generator[Callable[[], Lease]]:
    """Claim some work for as long as the block takes; gives what makes a lease of it from now on."""
    claim = new_id()
    _running.add(claim)
    try:
        yield lambda: lease(claim)
    finally:
        _running.discard(claim)


def lease(claim: str) -> Lease:
    """A lease of running work from now on: until when it is believed, and which process does it."""
    return Lease(claim, now() + LEASE, _process(os.getpid()))


def is_held(one: Lease) -> bool:
    """Whether a lease is held, by this process or by another that is alive."""
    if one.process == _process(os.getpid()):
        return one.claim in _running
    return is_live(one)


def is_live(one: Lease) -> bool:
    """Whether the work of a lease goes on: it was renewed in time, and its process is not gone."""
    machine, process, started = one.process or [None, 0, None]
    is_gone = machine == _machine() and _started(process) != started
    return one.until > now() and not is_gone


@asynccontextmanager
async def renewed(log: Log, renewal: Compute) -> AsyncGenerator[None]:
    """Write what renews a lease from time to time, for as long as the block takes.

    Once another has taken over the work, the block is cancelled, and `TurnLost` is raised.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelled_before = task.cancelling()
    lost: TurnLost | None = None

    async def renew() -> None:
        nonlocal lost
        while True:
            await asyncio.sleep(LEASE / 3)
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
        if lost is None or task.cancelling() > cancelled_before + 1:  # by somebody else, too
            raise
        raise lost from None
    finally:
        renewing.cancel()
        if lost is not None:
            task.uncancel()


@cache
def _process(number: int) -> list[str | int | None]:
    """Identifies a process of this machine; process numbers are used again."""
    return [_machine(), number, _started(number)]


@cache
def _machine() -> str:
    """Identifies this machine since it was started, and its process namespace."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{started} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{getnode():x}"


def _started(process: object) -> str | None:
    """When a process was started; `None` if there is none, or the system does not say."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
