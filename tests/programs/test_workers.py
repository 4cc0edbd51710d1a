"""Workers: taking one can be given up, and a process that was forked is told that it has none."""

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from quire.programs.sandbox.workers import Seat


class Slow:
    """A session whose worker does not come before it is let."""

    worker_pid = None

    def __init__(self, fault: Exception | None = None) -> None:
        self.let, self.entering, self.left = threading.Event(), threading.Event(), threading.Event()
        self._fault = fault

    def __enter__(self) -> None:
        self.entering.set()
        self.let.wait()
        if self._fault is not None:
            raise self._fault

    def __exit__(self, *_: object) -> None:
        self.left.set()


async def given_up(session: Any, work: Any) -> None:
    """Open a seat, and cancel that while the worker does not come."""
    with ThreadPoolExecutor(1) as threads:
        seat = Seat(session, threads, asyncio.Semaphore(1))
        opening = asyncio.ensure_future(seat.open(work))
        await asyncio.to_thread(session.entering.wait)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await seat.leave()


def test_who_waits_for_a_worker_that_does_not_come_can_be_cancelled() -> None:
    session, worked = Slow(), list[Any]()
    asyncio.run(given_up(session, worked.append))
    assert not session.left.is_set()
    session.let.set()
    assert session.left.wait(60)  # it came after all, and is given back
    assert worked == []


def test_a_worker_that_comes_to_nothing_is_not_given_back() -> None:
    session = Slow(OSError("no more processes"))
    session.let.set()

    async def opened() -> None:
        with ThreadPoolExecutor(1) as threads:
            await Seat(session, threads, asyncio.Semaphore(1)).open(lambda _: None)  # type: ignore[arg-type]

    with pytest.raises(OSError, match="no more processes"):
        asyncio.run(opened())
    assert not session.left.is_set()


FORKED = """
import asyncio, os, sys
from quire.programs.sandbox import Sandbox

async def one(sandbox):
    return (await sandbox.run("1 + 1")).value

def tried(sandbox):
    try:
        return str(asyncio.run(one(sandbox)))
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"

def child(sandbox):
    number = os.fork()
    if not number:
        print(tried(sandbox), flush=True)
        os._exit(0)
    os.waitpid(number, 0)

shared = Sandbox()
child(shared)
print(tried(shared), flush=True)
child(shared)
child(Sandbox())
print(tried(shared), flush=True)
"""


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="there is no fork here")
def test_a_process_that_was_forked_after_programs_is_told_so() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False)
    before, own, shared, other, after = done.stdout.splitlines()
    assert (before, own, after) == ("2", "2", "2")
    assert shared == other and shared.startswith("InvalidValue: this process was forked")
