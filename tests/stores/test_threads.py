"""Threads of Quire's own, which tools that hang do not take; and processes that are forked."""

import asyncio
import threading

import pytest

from quire.errors import StoreFailed
from quire.stores.threads import STORE
from tests.stores.keeping import HERE, POSTGRES, entry, in_child, kept


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(("name", "may_open"), [("sqlite", False), ("json lines", True), (POSTGRES, True)])
def test_a_forked_process_is_refused_the_stores_of_its_parent(name: str, may_open: bool) -> None:
    with kept(name) as held:
        store = held.store

        def inherited() -> int:
            for verb in (lambda: store.append(HERE, [entry("two")], expected=1), lambda: store.read(HERE)):
                with pytest.raises(StoreFailed, match="fork"):
                    verb()
            return 7

        def opened() -> int:
            with held.shelf.open() as own:
                return own.append(HERE, [entry("two")], expected=1)

        def refused() -> int:
            with pytest.raises(StoreFailed, match="spawn"):
                opened()
            return 2

        store.append(HERE, [entry("one")], expected=0)
        assert in_child(inherited) == 7
        assert in_child(opened if may_open else refused) == 2
        assert store.version(HERE) == 1 + may_open
        held.close()
        if not may_open:
            assert in_child(opened) == 2


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
