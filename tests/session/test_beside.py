"""What goes on beside a session: a merge that is cancelled at any of its steps."""

import asyncio
from collections.abc import Callable, Coroutine
from threading import Event, get_ident
from typing import Any

import pytest

from quire import Session
from quire.items import Note
from quire.session import Added, hook
from quire.stores import MemoryStore
from tests.session.opened import answer, run, said, session, texts, watch


class Slow(MemoryStore):
    """A store that is worked with in threads, and waits at one of its steps."""

    is_quick = False

    def __init__(self) -> None:
        super().__init__()
        self.loop, self.count, self.stop_at = 0, 0, 0
        self.is_waiting, self.may_go_on = Event(), Event()
        watch(self, self._step)

    def _step(self, *_: object) -> None:
        if self.stop_at and get_ident() != self.loop:
            self.count += 1
            if self.count == self.stop_at:
                self.is_waiting.set()
                assert self.may_go_on.wait(60)


async def _merged_draft(one: Session) -> None:
    async with one.draft() as draft:
        await draft.aio.append(*said("a", "b"))
        await draft.aio.record(answer("c"), provider="openai")
        await draft.aio.pool.keep(Note("n", key="k"))


async def _merged_fork(one: Session) -> None:
    child = await one.aio.fork("x")
    await child.aio.append(*said("a", "b", "c"))
    await one.aio.merge(child)


MERGES: dict[str, Callable[[Session], Coroutine[Any, Any, None]]] = {
    "draft": _merged_draft,
    "fork": _merged_fork,
}


heard: list[str] = []


@hook(Added, where=lambda event: event.stream == "main")
async def hear(event: Any) -> None:
    await asyncio.sleep(0)
    heard.extend(texts(event.items))


@pytest.mark.parametrize("merge", MERGES.values(), ids=MERGES)
@pytest.mark.parametrize("step", range(1, 7))
def test_a_merge_that_is_cancelled_at_any_step_is_whole_and_heard_or_nothing(merge: Any, step: int) -> None:
    store = Slow()
    one = session(store, hooks=[hear])
    run(one.aio.user("before"))
    heard.clear()

    async def cancelled() -> None:
        store.loop, store.stop_at = get_ident(), step
        merging = asyncio.create_task(merge(one))
        waiting = asyncio.create_task(asyncio.to_thread(store.is_waiting.wait, 60))
        await asyncio.wait([merging, waiting], return_when=asyncio.FIRST_COMPLETED)
        merging.cancel()
        await asyncio.sleep(0)
        store.may_go_on.set()
        store.is_waiting.set()
        await asyncio.wait([merging, waiting])

    run(cancelled())
    assert "".join(heard) in ("", "abc", "abcabc")  # a fork has the hooks too
    assert bool(heard) == (len(one.view()) > 1) or merge is _merged_fork
    for held in (one, session(store)):
        held.refresh()
        assert texts(held.view()) in (["before"], ["before", "a", "b", "c"])
        assert len(held.pool) == (len(held.view()) > 1 and merge is _merged_draft)
    assert one.spending.requests in ((1,) if merge is _merged_draft else (0,))
