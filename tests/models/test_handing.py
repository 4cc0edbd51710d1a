"""From a thread to a loop: everything in order, errors too, and an end when nobody listens any more."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from quire.models.handing import Take, handed


def gone(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(30)
            assert not thread.is_alive()


def counting(stopped: threading.Event) -> Callable[[Take], None]:
    """Work that goes on until it is stopped."""

    def work(take: Take) -> None:
        number = 0
        while not take(number):
            number += 1
            stopped.wait(0.001)
        stopped.set()

    return work


def test_pieces_come_in_order_and_then_the_error() -> None:
    def work(take: Take) -> None:
        for number in range(100):
            assert take(number) is False
        raise LookupError("no more")

    async def run() -> None:
        got: list[int] = []
        with pytest.raises(LookupError, match="no more"):
            async for piece in handed(work, "in-order"):
                got.append(piece)
        assert got == list(range(100))

    asyncio.run(run())
    gone("in-order")


def test_who_stops_reading_stops_the_work() -> None:
    stopped = threading.Event()

    async def run() -> None:
        pieces = handed(counting(stopped), "left")
        assert [await anext(pieces), await anext(pieces)] == [0, 1]
        await pieces.aclose()

    asyncio.run(run())
    assert stopped.wait(30)
    gone("left")


def test_a_cancelled_reader_stops_the_work() -> None:
    stopped = threading.Event()

    async def read() -> None:
        async for _ in handed(counting(stopped), "cancelled"):
            pass

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read(), 0.05)

    asyncio.run(run())
    assert stopped.wait(30)
    gone("cancelled")


def test_work_that_outlives_its_loop_ends_in_peace() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def work(take: Take) -> None:
        go_on.wait(30)
        ended.set()
        take("nobody hears it")

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(handed(work, "late")), 0.01)

    asyncio.run(run())
    go_on.set()
    gone("late")
    assert ended.is_set()
