"""One session in several loops: what is under way in one can be waited for in another."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, TypeVar

import pytest

from quire import Budget, Template
from quire.compactors import Summarize
from quire.errors import OverBudget
from quire.items import Summary
from quire.models import Scripted
from quire.sections import History, Instructions
from quire.session import Session
from tests.session.opened import plans, session

T = TypeVar("T")

SUMMARIZE = Summarize(floor=4, ceiling=8)
TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=2_000, reserve=100))
LONG = 60
"""Seconds after which a test gives up; nothing here takes a second."""


class Loop:
    """A loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def stand_still(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def end(self) -> None:
        if self._thread.is_alive():
            self.stand_still()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
            with suppress(asyncio.CancelledError):
                self.loop.run_until_complete(task)
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


@contextmanager
def two_loops() -> Generator[tuple[Loop, Loop], None, None]:
    loops = Loop(), Loop()
    yield loops
    for each in loops:
        each.end()


class Writer:
    """A summary that is written when it is told to, from whatever thread."""

    def __init__(self) -> None:
        self.begun, self.go = Event(), Event()

    async def __call__(self, _: object) -> str:
        self.begun.set()
        await asyncio.to_thread(self.go.wait, LONG)
        return "They talked."


def under_way(loop: Loop, writer: Writer) -> Session:
    """A session whose summary is being written in a loop."""
    one = session(compactor=SUMMARIZE, model=Scripted(writer))
    for n in range(10):
        one.user(f"question {n}")
        one.assistant(f"answer {n}")
    loop.begin(one.build(TEMPLATE)).result(LONG)
    assert writer.begun.wait(LONG)
    return one


async def _too_much(one: Session) -> None:
    """A turn that does not fit, and waits for what may help before it says so."""
    one.tool("many words " * 3_000, call_id=one.call("read").call_id)
    with pytest.raises(OverBudget):
        await one.build(TEMPLATE)


WAITING: dict[str, Callable[[Session], Coroutine[Any, Any, Any]]] = {
    "close": lambda one: one.close(),
    "compact": lambda one: one.compact(TEMPLATE),
    "build": _too_much,
}


@pytest.mark.parametrize("wait", WAITING.values(), ids=WAITING)
def test_what_is_under_way_in_another_loop_is_waited_for(
    wait: Callable[[Session], Coroutine[Any, Any, Any]],
) -> None:
    with two_loops() as (first, second):
        writer = Writer()
        one = under_way(first, writer)
        waiting = second.begin(wait(one))
        assert not waiting.done()
        writer.go.set()
        waiting.result(LONG)
        assert isinstance(one.view()[0], Summary) and not plans(one)


@pytest.mark.parametrize("options", [{"how": "hand over"}, {"timeout": 0.01}], ids=str)
def test_what_is_under_way_in_another_loop_is_handed_over(options: dict[str, Any]) -> None:
    with two_loops() as (first, second):
        writer = Writer()
        one = under_way(first, writer)
        second.begin(one.close(**options)).result(LONG)
        assert len(plans(one)) == 1 and not isinstance(one.view()[0], Summary)
        writer.go.set()


@pytest.mark.parametrize("wait", [WAITING["close"], WAITING["compact"]], ids=["close", "compact"])
def test_a_loop_that_stands_still_is_not_waited_for(
    wait: Callable[[Session], Coroutine[Any, Any, Any]],
) -> None:
    with two_loops() as (first, second):
        writer = Writer()
        one = under_way(first, writer)
        first.stand_still()
        waiting = second.begin(wait(one))
        writer.go.set()
        waiting.result(LONG)
        second.begin(one.compact(TEMPLATE)).result(LONG)
        assert isinstance(one.view()[0], Summary) and not plans(one)


def test_two_loops_ask_for_one_summary() -> None:
    with two_loops() as loops:
        asked: list[int] = []

        async def write(_: object) -> str:
            asked.append(1)
            return "They talked."

        one = session(compactor=SUMMARIZE, model=Scripted(write))
        for n in range(10):
            one.user(f"question {n}")
            one.assistant(f"answer {n}")
        for each in [loop.begin(one.compact(TEMPLATE)) for loop in loops]:
            each.result(LONG)
        assert len(asked) == 1 and isinstance(one.view()[0], Summary)
