"""Leaving a session before its time: nobody waits for a summary then, and none is lost."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from quire.models import Scripted
from quire.session import Session
from quire.stores import MemoryStore
from tests.session.opened import Twin, apart, plans, session
from tests.session.test_background import SUMMARIZE, TEMPLATE, Slow, has_summary, talk

LONG = 60
"""Seconds after which a test gives up; nothing here takes a second."""


async def _fail(one: Session) -> None:
    raise RuntimeError("it came to nothing")


async def _cancel(one: Session) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)
    await asyncio.sleep(LONG)


End = Callable[[Session], Awaitable[None]]


async def left(store: MemoryStore, end: End) -> Session:
    """A session that was left while its summary was written, and never would have been."""
    model = Slow()
    one = session(store, compactor=SUMMARIZE, model=model)

    async def turn() -> None:
        async with one:
            talk(one, 6)
            await one.build(TEMPLATE)
            await model.begun.wait()
            await end(one)

    with pytest.raises((RuntimeError, asyncio.CancelledError)):
        await asyncio.wait_for(asyncio.ensure_future(turn()), LONG)
    return one


@pytest.mark.parametrize("end", [_fail, _cancel])
def test_an_error_does_not_wait_for_a_summary(end: End) -> None:
    store = MemoryStore()
    one = asyncio.run(left(store, end))
    assert len(plans(one)) == 1 and not has_summary(one)

    async def going_on() -> None:
        again = apart(Twin(store), compactor=SUMMARIZE, model=Scripted(["They talked."]))
        await again.build(TEMPLATE)
        await again.close()
        assert has_summary(again) and not plans(again)

    asyncio.run(going_on())
