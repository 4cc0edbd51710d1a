"""Threads of Quire's own: tools that hang in those of the loop hold up no conversation."""

import asyncio
import contextvars
import os
import threading

import pytest

from quire.stores.threads import STORE, Threads

ASKED = contextvars.ContextVar("asked", default="nobody")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_they_serve_one_loop_after_the_other_also_in_a_forked_process() -> None:
    async def asked() -> tuple[str, str]:
        ASKED.set("ana")
        return await threads.do(lambda: threading.current_thread().name), await threads.do(ASKED.get)

    threads = Threads("mine")
    name, who = asyncio.run(asked())
    assert name.startswith("mine") and who == "ana"
    with pytest.raises(ZeroDivisionError):
        asyncio.run(threads.do(divmod, 1, 0))
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        os._exit(asyncio.run(threads.do(pow, 7, 2)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 49


def test_work_that_was_begun_ends_though_its_caller_is_cancelled_and_the_loops_threads_hang() -> None:
    held, begun, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        held.wait()
        done.set()

    async def asked() -> None:
        hanging = [asyncio.ensure_future(asyncio.to_thread(held.wait)) for _ in range(40)]
        task = asyncio.ensure_future(STORE.do(work))
        assert await STORE.do(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.set()
        assert await STORE.do(done.wait, 60)
        await asyncio.gather(*hanging)

    asyncio.run(asked())
