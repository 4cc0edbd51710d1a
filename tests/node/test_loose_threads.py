"""A node's loop has threads like any other; only that nobody waits for one that hangs."""

import asyncio
import contextvars
import threading
from concurrent.futures import CancelledError, wait

import pytest

from quire.node.loose_threads import LooseThreads

ASKED = contextvars.ContextVar("asked", default="nobody")


def test_they_give_what_functions_give_and_raise_what_they_raise() -> None:
    threads = LooseThreads()
    assert [threads.submit(pow, 2, n).result() for n in range(5)] == [1, 2, 4, 8, 16]
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 1, 0).result()
    assert list(threads.map(abs, [-1, -2])) == [1, 2]


def test_many_run_side_by_side_and_more_wait_for_their_turn() -> None:
    threads, met = LooseThreads(), threading.Barrier(50)
    begun = [threads.submit(met.wait) for _ in range(50)]
    assert {each.result() for each in begun} == set(range(50))
    held = threading.Event()
    begun = [threads.submit(held.wait) for _ in range(200)]
    assert len(threads.unfinished) == 200
    held.set()
    wait(begun)
    assert threads.submit(lambda: "after").result() == "after"


def test_what_was_cancelled_before_it_began_is_not_called() -> None:
    threads, held, called = LooseThreads(), threading.Event(), list[int]()
    busy = [threads.submit(held.wait) for _ in range(64)]
    last = threads.submit(called.append, 1)
    assert last.cancel()
    held.set()
    wait(busy)
    threads.submit(int).result()
    assert not called
    with pytest.raises(CancelledError):
        last.result()


def test_once_they_are_over_nothing_begins() -> None:
    threads = LooseThreads()
    threads.submit(threading.Event().wait)  # who waited for it would wait for good
    threads.shutdown(wait=True)
    with pytest.raises(RuntimeError, match="begin nothing more"):
        threads.submit(int)


def test_a_loop_uses_them_for_what_is_awaited_in_threads() -> None:
    async def asked() -> tuple[str, str]:
        asyncio.get_running_loop().set_default_executor(LooseThreads())
        ASKED.set("ana")
        name = await asyncio.to_thread(lambda: threading.current_thread().name)
        return name, await asyncio.to_thread(ASKED.get)

    name, who = asyncio.run(asked())
    assert name.startswith("quire node") and who == "ana"
