"""What appending costs does not grow with what is there, as long as no hook asks to see it."""

from collections.abc import Iterator
from typing import Any

import pytest

from quire.bridges.pygents import ContextItem, ContextPool, ContextQueue
from quire.state import Pool
from tests.bridges.pygents.writing import in_a_loop, kept, said


@in_a_loop
async def test_without_hooks_nothing_that_is_there_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, pool = ContextQueue(limit=50), ContextPool(limit=50)
    for n in range(50):
        await queue.append(*said(n))
        await pool.add(kept(str(n)))

    def read(_self: object) -> Iterator[ContextItem[Any]]:
        raise AssertionError("it was read through")

    monkeypatch.setattr(ContextQueue, "__iter__", read)
    monkeypatch.setattr(Pool, "__iter__", read)
    await queue.append(*said("new"))
    await pool.add(kept("new"))
    assert len(queue) == len(pool) == 50
