"""Threads of tools: used again, never too many of them, and none of them left behind in a child process."""

import asyncio
import os
import threading

import pytest

from quire.agent.tools import run, tool
from quire.agent.tools.strand import Strand
from tests.agent.tools.running import ran


def which() -> int:
    return threading.get_ident()


def test_a_thread_is_used_again() -> None:
    async def main() -> set[str]:
        found: set[str] = set()
        for _ in range(20):
            found.add(str((await run(tool(which))).content))
            await asyncio.sleep(0.001)  # it has a moment to be given back
        return found

    assert len(asyncio.run(main())) < 20


def test_threads_that_are_not_needed_end() -> None:
    barrier = threading.Barrier(40)

    def meet() -> None:
        barrier.wait(30)

    async def main() -> None:
        await asyncio.gather(*(run(tool(meet)) for _ in range(40)))

    asyncio.run(main())
    ours = [thread for thread in threading.enumerate() if thread.name == "quire tool"]
    for thread in ours[16:]:
        thread.join(0.5)
    assert sum(thread.is_alive() for thread in ours) <= 24  # those of calls that were left behind may live on


def test_context_and_thread_stay_the_same_within_one_strand() -> None:
    async def main() -> tuple[object, object]:
        strand = Strand()
        first, second = await strand.do(threading.get_ident), await strand.do(threading.get_ident)
        strand.end(lambda: None)
        return first.value, second.value

    first, second = asyncio.run(main())
    assert first == second


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    ran(which)
    child = os.fork()
    if child == 0:
        outcome = ran(which, timeout=20)
        os._exit(3 if outcome.is_error else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
