"""One for each loop: made once, closed with its loop, and not kept after it."""

import asyncio
import gc
from weakref import ref

from quire.models.per_loop import PerLoop


class Held:
    def __init__(self, closed: list["Held"]) -> None:
        self._closed = closed
        self.loop = asyncio.get_running_loop()

    async def close(self) -> None:
        assert asyncio.get_running_loop() is self.loop
        self._closed.append(self)


def test_one_for_each_loop_closed_at_its_end() -> None:
    closed: list[Held] = []
    made: PerLoop[Held] = PerLoop(lambda: Held(closed))

    async def use() -> Held:
        first, *others = await asyncio.gather(*(made.get() for _ in range(5)))
        assert all(other is first for other in others) and first not in closed
        return first

    held = [asyncio.run(use()) for _ in range(20)]
    assert closed == held and len(set(held)) == 20
    assert len(made) == 1, "those of loops that ended are not kept"


def test_closing_lets_go_of_the_one_of_this_loop() -> None:
    closed: list[Held] = []
    made: PerLoop[Held] = PerLoop(lambda: Held(closed))

    async def use() -> None:
        await made.close()
        first = await made.get()
        await made.close()
        assert closed == [first] and len(made) == 0
        assert await made.get() is not first

    asyncio.run(use())
    assert len(closed) == 2


def test_who_is_forgotten_is_closed() -> None:
    closed: list[Held] = []

    async def use() -> None:
        made: PerLoop[Held] = PerLoop(lambda: Held(closed))
        held = ref(await made.get())
        del made
        gc.collect()
        while not closed:
            await asyncio.sleep(0)
        assert held() is closed[0]

    asyncio.run(use())
