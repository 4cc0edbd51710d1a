"""Turns that are broken off while results are written: each result that was there is on the record, once."""

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from quire import Message, Session, ToolResult
from quire.agent import Agent, Limits, Reply, tool
from quire.models import Scripted
from quire.session import Adding, Called, Hook
from quire.stores import Entry, MemoryStore, Place, SQLiteStore, Store
from tests.agent.answering import Gate, assert_whole, call, results, run

How = Literal["message", "seconds", "cancel", "stream"]
HOW: tuple[How, ...] = ("message", "seconds", "cancel", "stream")
STORES = ("memory", "sqlite")
_SOON = 0.3


class Park:
    """Holds up the n-th of those who come by, until it lets them go."""

    def __init__(self, which: int) -> None:
        self.come = -1
        self._which = which
        self.reached = asyncio.Event()
        self._go = asyncio.Event()

    async def pass_by(self) -> None:
        self.come += 1
        if self.come == self._which:
            self.reached.set()
            await self._go.wait()

    def let_go(self) -> None:
        self._go.set()


class Paying:
    """A tool that counts who was paid, and calls of it; the first may hang."""

    def __init__(self, calls: int = 3, *, hangs: bool = False) -> None:
        self.paid: set[str] = set()
        self._gate = Gate() if hangs else None
        self.tool = tool(name="pay")(self._pay)
        self.calls = [call("pay", f'{{"n": {n}}}', f"c{n}") for n in range(calls)]

    async def _pay(self, n: int) -> str:
        """Pay."""
        if n == 0 and self._gate is not None:
            await self._gate.go.wait()
        self.paid.add(f"c{n}")
        return "PAID"


@asynccontextmanager
async def nothing_astray() -> AsyncGenerator[None, None]:
    """No task fails without somebody hearing of it."""
    astray: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: astray.append(context))
    yield
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect(1)  # what a test made is young; all there is would take longer than the test
    assert astray == []


async def broken_off(agent: Agent, how: How, reached: asyncio.Event, let_go: Callable[[], None]) -> None:
    """Break a turn off once a point is reached, and then let go of what is held up there."""
    asking = asyncio.ensure_future(_asked(agent, how))
    await _first(reached.wait(), asking)
    again = asyncio.ensure_future(agent.ask("second")) if how == "message" else None
    if how not in ("message", "seconds"):
        asking.cancel()
    while not asking.done() and not any(task.cancelling() for task in asyncio.all_tasks()):
        await asyncio.sleep(0.001)  # the time is up, or another has told it to stop
    let_go()
    if again is not None:
        assert (await again).text == "Later." and _said(agent) == ["first", "second", "Later."]
        reply = await asking
        assert reply is not None and reply.stop == "interrupted"
    elif how == "seconds":
        reply = await asking
        assert reply is not None and reply.stop == "seconds"
    else:
        with pytest.raises(asyncio.CancelledError):
            await asking
        reply = None
    if reply is not None:
        told = {item.id for item in reply.items}
        assert {result.id for result in results(agent)} <= told


async def _asked(agent: Agent, how: How) -> Reply | None:
    if how == "stream":
        async for _ in agent.stream("first"):
            pass
        return None
    return await agent.ask("first", limits=Limits(seconds=_SOON if how == "seconds" else None))


async def _first(*awaited: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> None:
    tasks = [asyncio.ensure_future(one) for one in awaited]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


def _said(agent: Agent) -> list[str]:
    return [item.text for item in agent.session.view() if isinstance(item, Message)]


def _store(kind: str, path: Path) -> Store:
    return MemoryStore() if kind == "memory" else SQLiteStore(path / "a.db")


def _agent(store: Store, paying: Paying, hooks: Sequence[Hook] = ()) -> Agent:
    session = Session.open("ana/one", store=store, hooks=hooks)
    return Agent(session, model=Scripted([paying.calls, "Later.", "Later."]), tools=[paying.tool])


def assert_paid(agent: Agent, paying: Paying) -> None:
    """All that was paid is on the record, once; what was not is told as uncertain."""
    assert [result.call_id for result in results(agent)] == [one.call_id for one in paying.calls]
    for result in results(agent):
        assert (result.content == "PAID") is (result.call_id in paying.paid), result.content
        assert bool(result.extras.get("uncertain")) is (result.call_id not in paying.paid)
    assert_whole(agent)


def _is_of_a_result(event: Adding) -> bool:
    return any(isinstance(item, ToolResult) for item in event.items)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("calls", "which"), [(1, 0), (3, 0), (3, 1), (3, 2)])
def test_a_hook_may_hear_of_a_result_while_the_turn_is_broken_off(
    store: str, how: How, calls: int, which: int, tmp_path: Path
) -> None:
    async def talk() -> None:
        park, paying = Park(which), Paying(calls)

        async def audit(_: Adding) -> None:
            await park.pass_by()

        agent = _agent(_store(store, tmp_path), paying, [Hook(audit, (Adding,), _is_of_a_result)])
        async with nothing_astray():
            await broken_off(agent, how, park.reached, park.let_go)
        assert paying.paid == {one.call_id for one in paying.calls}
        assert_paid(agent, paying)

    run(talk)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("which", [0, 1])
def test_a_tool_that_has_ended_is_heard_of_though_the_turn_is_broken_off(
    store: str, how: How, which: int, tmp_path: Path
) -> None:
    async def talk() -> None:
        park, paying = Park(which), Paying(3, hangs=True)

        async def audit(_: Called) -> None:
            await park.pass_by()

        agent = _agent(_store(store, tmp_path), paying, [Hook(audit, (Called,))])
        async with nothing_astray():
            await broken_off(agent, how, park.reached, park.let_go)
        assert paying.paid == {"c1", "c2"} and park.come == 1
        assert_paid(agent, paying)

    run(talk)


class SlowStore(SQLiteStore):
    """Holds up the n-th append of a thread beside the loop."""

    def __init__(self, path: Path, which: int) -> None:
        super().__init__(path)
        self.go = threading.Event()
        self.reached = asyncio.Event()
        self._left, self._loop = which, asyncio.get_running_loop()

    def append(self, place: Place, entries: Sequence[Entry], *, expected: int) -> int:
        self._left -= threading.current_thread() is not threading.main_thread()
        if self._left == -1 and not self.reached.is_set():
            self._loop.call_soon_threadsafe(self.reached.set)
            assert self.go.wait(60)
        return super().append(place, entries, expected=expected)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("which", range(1, 6))
def test_a_slow_store_may_be_at_work_while_the_turn_is_broken_off(
    how: How, which: int, tmp_path: Path
) -> None:
    async def talk() -> None:
        store, paying = SlowStore(tmp_path / "a.db", which), Paying(3)
        agent = _agent(store, paying)
        async with nothing_astray():
            await broken_off(agent, how, store.reached, store.go.set)
        for result in results(agent):
            assert result.call_id not in paying.paid or result.content == "PAID"
        assert_whole(agent)

    run(talk)


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("how", ["message", "cancel"])
def test_a_turn_may_be_broken_off_at_any_step(how: How, hangs: bool) -> None:
    async def talk(steps: int) -> bool:
        paying = Paying(3, hangs=hangs)
        agent = _agent(MemoryStore(), paying)
        asking = asyncio.ensure_future(agent.ask("first"))
        for _ in range(steps):
            await asyncio.sleep(0)
        if asking.done() or (hangs and steps > 100):
            asking.cancel()
            return False
        ended = set(paying.paid)
        if how == "message":
            stops = {reply.stop for reply in await asyncio.gather(agent.ask("second"), asking)}
            assert stops <= {"interrupted", "done"} and {"first", "second"} <= set(_said(agent))
        else:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        told = {result.call_id: result.content for result in results(agent)}
        assert {told[one] for one in ended} <= {"PAID"}
        assert_whole(agent)
        return True

    steps = 0
    while asyncio.run(talk(steps)):
        steps += 1
    assert steps > 5
