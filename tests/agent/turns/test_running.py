"""Running turns: in order, until none is left; errors, time, pauses, leaving early."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from quire.agent import tool
from quire.agent.turns import (
    Beginning,
    Cancelled,
    Completed,
    Failed,
    Gave,
    Paused,
    Queued,
    Queueing,
    Resumed,
    TimedOut,
    Turn,
    TurnEvent,
    Turns,
)
from quire.errors import InvalidValue, TurnBusy, TurnCancelled, TurnTimeout, WrongType
from quire.session import Hook
from tests.agent.turns.playing import TOOLS, diary, in_a_loop, run_all, weigh


@in_a_loop
async def test_turns_run_in_the_order_they_were_put() -> None:
    turns = Turns(TOOLS)
    first, second = Turn("remark", {"words": "a"}), Turn("count", {"upto": 2})
    await turns.put(first)
    await turns.put(second)
    assert turns.waiting == (first, second) and not turns.is_running
    seen = [(turn, value.content) async for turn, value in turns.run()]
    assert seen == [(first, "a"), (second, 0), (second, 1)] and len(list(turns.waiting)) == 0
    assert await run_all(turns) == []


@in_a_loop
async def test_only_turns_of_the_tools_are_taken() -> None:
    turns = Turns([weigh])
    wrong: Any = "weigh"
    with pytest.raises(WrongType):
        await turns.put(wrong)
    with pytest.raises(InvalidValue, match="there is weigh"):
        await turns.put(Turn("remark"))

    @tool(name="weigh")
    async def impostor() -> None: ...

    with pytest.raises(InvalidValue):
        await turns.put(Turn(impostor))
    assert turns.waiting == ()


@in_a_loop
async def test_a_turn_that_a_tool_gives_is_put_at_the_end() -> None:
    @tool
    async def plan(names: list[str]) -> list[Turn]:
        return [Turn("weigh", {"parcel": name}) for name in names]

    @tool
    async def step(left: int) -> Turn | str:
        return Turn("step", {"left": left - 1}) if left else "there"

    turns = Turns([plan, step, weigh])
    values = await run_all(turns, Turn("plan", {"names": ["a", "bb"]}), Turn("step", {"left": 2}))
    assert [type(value).__name__ for value in values] == ["list", "Turn", "Note", "Note", "Turn", "str"]
    assert [note.key for note in turns.kept_in.pool or ()] == ["a", "bb"]


@in_a_loop
async def test_an_error_ends_the_run_and_the_next_goes_on_after_it() -> None:
    turns, failing = Turns(TOOLS), Turn("fail")
    await turns.put(failing)
    with pytest.raises(LookupError, match="no such parcel"):
        await run_all(turns, Turn("remark", {"words": "still here"}))
    assert (failing.stop_reason, failing.fault, turns.is_running) == ("error", "LookupError", False)
    assert [value.content for value in await run_all(turns)] == ["still here"]


@in_a_loop
async def test_a_turn_that_takes_too_long_is_stopped() -> None:
    slow, slower = Turn("dawdle"), Turn("dawdle", timeout=0.001)
    for turn in (slow, slower):
        with pytest.raises(TimeoutError) as caught:
            await run_all(Turns(TOOLS), turn)
        assert isinstance(caught.value, TurnTimeout) and turn.stop_reason == "timeout"
    assert "0.02" not in str(caught.value)


@in_a_loop
async def test_the_time_of_who_listens_does_not_count() -> None:
    turns = Turns(TOOLS)
    await turns.put(Turn("count", {"upto": 3}, timeout=0.5))
    async for _ in turns.run():
        await asyncio.sleep(0.3)
    assert turns.waiting == ()


@in_a_loop
async def test_a_timeout_of_the_tools_own_is_its_own_error_also_across_yields() -> None:
    @tool
    async def impatient() -> AsyncGenerator[str, None]:
        async with asyncio.timeout(0.01):
            yield "begun"
            await asyncio.sleep(60)

    turn = Turn(impatient, timeout=50)
    with pytest.raises(TimeoutError) as caught:
        await run_all(Turns([impatient]), turn)
    assert not isinstance(caught.value, TurnTimeout) and turn.stop_reason == "error"
    assert turn.output == ["begun"]


@in_a_loop
async def test_a_tool_that_cancels_itself_or_ends_the_program_does_neither() -> None:
    @tool
    async def giving_up() -> None:
        raise asyncio.CancelledError

    @tool
    async def leaving() -> None:
        raise SystemExit(3)

    for one in (giving_up, leaving):
        with pytest.raises(TurnCancelled):
            await run_all(Turns([one]), Turn(one))


@in_a_loop
async def test_plain_functions_and_generators_work_in_a_thread() -> None:
    here = threading.get_ident()

    @tool
    def plain() -> bool:
        return threading.get_ident() != here

    @tool
    def several() -> Iterator[bool]:
        yield threading.get_ident() != here
        yield True

    assert await run_all(Turns([plain, several]), Turn(plain), Turn(several)) == [True, True, True]


@in_a_loop
async def test_a_tool_with_a_lock_runs_once_at_a_time_whoever_calls() -> None:
    inside = most = 0

    @tool(lock=True)
    async def alone() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1

    await asyncio.gather(*(run_all(Turns([alone]), Turn(alone)) for _ in range(4)))
    assert most == 1


@in_a_loop
async def test_leaving_the_loop_stops_the_turn_and_the_next_run_goes_on() -> None:
    closed: list[str] = []

    @tool
    async def endless() -> AsyncGenerator[int, None]:
        try:
            for number in range(1_000_000):
                yield number
        finally:
            closed.append("endless")

    turns, turn = Turns([endless, *TOOLS]), Turn(endless)
    await turns.put(turn)
    await turns.put(Turn("remark", {"words": "after"}))
    async for _ in turns.run():
        break
    assert not turns.is_running
    assert [value.content for value in await run_all(turns)] == ["after"]
    assert closed == ["endless"] and turn.stop_reason == "cancelled" and turn.output == [0]


@in_a_loop
async def test_leaving_after_a_whole_value_leaves_nothing_undone() -> None:
    turns, turn = Turns(TOOLS), Turn("remark", {"words": "a"})
    await turns.put(turn)
    running = turns.run()
    await anext(running)
    assert turns.is_running and turn.stop_reason == "completed"
    with pytest.raises(TurnBusy):
        await run_all(turns)
    await running.aclose()
    assert not turns.is_running


@in_a_loop
async def test_who_is_cancelled_while_waiting_stops_the_turn() -> None:
    turns, turn = Turns(TOOLS), Turn("dawdle", timeout=50)
    await turns.put(turn)
    task = asyncio.create_task(run_all(turns))
    while not turn.is_running:
        await asyncio.sleep(0)
    assert turns.current is turn
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stopped: Any = turns.current
    assert turn.stop_reason == "cancelled" and stopped is None and not turns.is_running


@in_a_loop
async def test_a_pause_holds_the_next_turn_and_not_the_one_under_way() -> None:
    heard: list[TurnEvent] = []
    turns = Turns(TOOLS, hooks=[diary(heard, Paused, Resumed)])
    for words in ("a", "b"):
        await turns.put(Turn("remark", {"words": words}))
    values: list[str] = []

    async def listen() -> None:
        async for _, value in turns.run():
            values.append(value.content)
            turns.pause()

    task = asyncio.create_task(listen())
    while not heard:
        await asyncio.sleep(0)
    assert values == ["a"] and turns.is_paused and len(turns.waiting) == 1
    turns.resume()
    await task
    assert values == ["a", "b"] and heard == [Paused(), Resumed()]


@in_a_loop
async def test_each_way_to_end_is_heard_after_its_values() -> None:
    heard: list[TurnEvent] = []
    events = (Queueing, Queued, Beginning, Gave, Completed, Failed, TimedOut, Cancelled)
    turns = Turns(TOOLS, hooks=[diary(heard, *events)])
    await run_all(turns, Turn("count", {"upto": 1}))
    for name in ("fail", "dawdle"):
        with pytest.raises((LookupError, TimeoutError)):
            await run_all(turns, Turn(name))
    names = [type(event).__name__ for event in heard]
    begun = ["Queueing", "Queued", "Beginning"]
    assert names == [*begun, "Gave", "Completed", *begun, "Failed", *begun, "TimedOut"]
    assert isinstance(failed := heard[8], Failed) and isinstance(failed.fault, LookupError)


@in_a_loop
async def test_what_is_about_to_happen_can_be_refused_and_then_nothing_has_changed() -> None:
    def refuse(event: TurnEvent) -> None:
        raise PermissionError

    turns = Turns(TOOLS, hooks=[Hook(refuse, (Queueing,))])
    with pytest.raises(PermissionError):
        await turns.put(Turn("remark", {"words": "a"}))
    assert turns.waiting == ()
    turns = Turns(TOOLS, hooks=[Hook(refuse, (Beginning,))])
    await turns.put(turn := Turn("remark", {"words": "a"}))
    with pytest.raises(PermissionError):
        await run_all(turns)
    assert turns.waiting == (turn,) and turn.stop_reason is None


@in_a_loop
async def test_a_hook_that_fails_after_the_fact_loses_nothing() -> None:
    def fail(event: TurnEvent) -> None:
        raise RuntimeError

    turns = Turns(TOOLS, hooks=[Hook(fail, (Queued, Gave, Completed), name="failing")])
    assert len(await run_all(turns, Turn("remark", {"words": "a"}))) == 1
    assert [failure.event for failure in turns.hooks.failures] == ["Queued", "Gave", "Completed"]
