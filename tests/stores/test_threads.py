"""Threads of Quire's own, which tools that hang do not take; and processes that are forked."""

import asyncio
import threading
from pathlib import Path

import pytest

from quire.errors import StoreFailed
from quire.stores import Entry, Store
from quire.stores.threads import STORE
from tests.stores.keeping import HERE, in_child

forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@forks
@pytest.mark.parametrize(("url", "may_open"), [("kept.db", False), ("kept.jsonl", True)])
def test_a_forked_process_is_refused_the_stores_of_its_parent(
    tmp_path: Path, url: str, may_open: bool
) -> None:
    path, entry = tmp_path / url, Entry("main", b'{"kind":"note"}')

    def inherited() -> int:
        for verb in (lambda: store.append(HERE, [entry], expected=1), lambda: store.read(HERE)):
            with pytest.raises(StoreFailed, match="fork"):
                verb()
        return 7

    def opened() -> int:
        with Store.open(path) as own:
            return own.append(HERE, [entry], expected=1)

    def refused() -> int:
        with pytest.raises(StoreFailed, match="spawn"):
            opened()
        return 2

    with Store.open(path) as store:
        store.append(HERE, [entry], expected=0)
        assert in_child(inherited) == 7
        assert in_child(opened if may_open else refused) == 2
        assert store.version(HERE) == 1 + may_open
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
