"""Turns: a tool with its arguments and its time, run alone, heard by hooks, written and read."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest

from quire.bridges.pygents import (
    ContextItem,
    SafeExecutionError,
    StopReason,
    Turn,
    TurnHook,
    TurnTimeoutError,
    UnregisteredHookError,
    UnregisteredToolError,
    WrongRunMethodError,
    hook,
    tool,
)
from quire.errors import Damaged, Unencodable
from tests.bridges.pygents.shop import shop
from tests.bridges.pygents.writing import in_a_loop


@in_a_loop
async def test_a_tool_is_named_or_given_and_has_to_be_known() -> None:
    @tool()
    async def lit(lamp: str, level: int = 1) -> str:
        return f"{lamp} {level}"

    assert await Turn("lit", args=["a"], kwargs={"level": 2}).returning() == "a 2"
    assert await Turn(lit, args=["b"]).returning() == "b 1"
    assert Turn("lit").timeout == 60 and Turn("lit").tool is lit
    with pytest.raises(UnregisteredToolError):
        Turn("dark")
    wrong: Any = 3
    with pytest.raises(TypeError):
        Turn(wrong)


@in_a_loop
async def test_returning_and_yielding_are_for_one_kind_of_tool_each() -> None:
    shop()
    assert [item.id async for item in Turn("each_price", args=[["a", "b"]]).yielding()] == ["a", "b"]
    with pytest.raises(WrongRunMethodError):
        await Turn("each_price", args=[["a"]]).returning()
    with pytest.raises(WrongRunMethodError):
        async for _ in Turn("add", args=[1, 2]).yielding():
            pass


@in_a_loop
async def test_arguments_that_are_functions_are_called_when_the_turn_runs() -> None:
    shop()
    level = 1
    turn = Turn("add", args=[lambda: level], kwargs={"b": lambda: level * 10})
    level = 2
    assert await turn.returning() == 22


@in_a_loop
async def test_times_and_the_reason_are_on_the_turn() -> None:
    shop()
    done, broken, slow = Turn("add", args=[1, 2]), Turn("drop"), Turn("sleep", timeout=0.01)
    assert done.metadata.start_time is None and done.metadata.stop_reason is None
    await done.returning()
    with pytest.raises(ArithmeticError):
        await broken.returning()
    with pytest.raises(TurnTimeoutError) as caught:
        await slow.returning()
    assert isinstance(caught.value, TimeoutError)
    reasons = [turn.metadata.stop_reason for turn in (done, broken, slow)]
    assert reasons == [StopReason.COMPLETED, StopReason.ERROR, StopReason.TIMEOUT] and done.output == 3
    began, ended = done.metadata.start_time, done.metadata.end_time
    assert began is not None and ended is not None and began <= ended
    assert began.utcoffset() == timedelta(0)


@in_a_loop
async def test_a_generator_that_yields_none_goes_on_and_its_time_is_for_all_of_it() -> None:
    @tool()
    async def blanks() -> AsyncGenerator[None, None]:
        yield None
        yield None

    @tool()
    async def dripping() -> AsyncGenerator[int, None]:
        for drop in range(1000):
            await asyncio.sleep(0.005)
            yield drop

    turn = Turn("blanks")
    assert [value async for value in turn.yielding()] == [None, None] == turn.output
    slow = Turn("dripping", timeout=0.03)
    with pytest.raises(TurnTimeoutError):
        async for _ in slow.yielding():
            pass
    assert slow.metadata.stop_reason == "timeout" and len(slow.output or []) < 20


@in_a_loop
async def test_a_turn_under_way_cannot_be_changed_or_run_again() -> None:
    shop()
    turn = Turn("sleep")
    turn.timeout = 50
    task = asyncio.create_task(turn.returning())
    while not turn.is_running:
        await asyncio.sleep(0)
    changed: dict[str, Any] = {"timeout": 1, "args": [], "kwargs": {}, "tool": turn.tool, "hooks": []}
    for name, value in changed.items():
        with pytest.raises(SafeExecutionError):
            setattr(turn, name, value)
    with pytest.raises(SafeExecutionError):
        await turn.returning()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert turn.metadata.stop_reason == StopReason.CANCELLED
    turn.timeout = 1


@in_a_loop
async def test_hooks_hear_each_moment_of_a_turn() -> None:
    shop()
    heard: list[Any] = []

    @hook([TurnHook.BEFORE_RUN, TurnHook.AFTER_RUN, TurnHook.ON_TIMEOUT])
    async def plain(turn: Turn) -> None:
        heard.append(turn.stop_reason)

    @hook([TurnHook.ON_VALUE, TurnHook.ON_ERROR])
    async def told(turn: Turn, what: Any) -> None:
        heard.append(type(what).__name__)

    hooks = [plain, told]
    await Turn("add", args=[1, 2], hooks=hooks).returning()
    assert heard == [None, "completed"]
    heard.clear()
    turn = Turn("each_price", args=[["a"]])
    turn.hooks += hooks
    assert len([value async for value in turn.yielding()]) == 1
    assert heard == [None, "ContextItem", "completed"]
    heard.clear()
    with pytest.raises(ArithmeticError):
        await Turn("drop", hooks=hooks).returning()
    with pytest.raises(TurnTimeoutError):
        await Turn("sleep", timeout=0.01, hooks=hooks).returning()
    assert heard == [None, "ArithmeticError", None, "timeout"]


@in_a_loop
async def test_a_turn_is_refused_before_and_what_fails_after_is_kept() -> None:
    shop()

    @hook(TurnHook.BEFORE_RUN)
    async def refusing(turn: Turn) -> None:
        raise PermissionError

    @hook(TurnHook.AFTER_RUN)
    async def failing(turn: Turn) -> None:
        raise RuntimeError

    refused, done = Turn("add", args=[1, 2], hooks=[refusing]), Turn("add", args=[1, 2], hooks=[failing])
    with pytest.raises(PermissionError):
        await refused.returning()
    assert refused.stop_reason is None and await done.returning() == 3
    assert [failure.hook for failure in done.failures] == ["failing"]


@in_a_loop
async def test_a_turn_is_written_and_read_back() -> None:
    shop()

    @hook(TurnHook.AFTER_RUN)
    async def after(turn: Turn) -> None: ...

    turn = Turn("price", timeout=5, args=["lamp"], hooks=[after])
    read = Turn.from_dict(json.loads(json.dumps(turn.to_dict())))
    assert (read.args, read.kwargs, read.timeout, read.hooks) == (["lamp"], {}, 5, [after])
    await turn.returning()
    read = Turn.from_dict(json.loads(json.dumps(turn.to_dict())))
    assert read.output == turn.output == ContextItem(4, "price of lamp", "lamp")
    assert read.metadata == turn.metadata
    late = Turn("add", args=[1], kwargs={"b": lambda: 5})
    assert late.to_dict()["kwargs"] == {"b": 5}


def test_what_cannot_be_written_or_read_is_named_by_its_place() -> None:
    shop()
    with pytest.raises(Unencodable) as caught:
        Turn("add", kwargs={"a": object()}).to_dict()
    assert caught.value.path == "$.kwargs.a"
    good = Turn("add").to_dict()
    with pytest.raises(UnregisteredToolError):
        Turn.from_dict(good | {"tool_name": "nothing"})
    with pytest.raises(UnregisteredHookError):
        Turn.from_dict(good | {"hooks": {"after_run": ["nobody"]}})
    changes: list[tuple[dict[str, Any], str]] = [
        ({"tool_name": 3}, "$.tool_name"),
        ({"timeout": "x"}, "$.timeout"),
        ({"args": 3}, "$.args"),
        ({"kwargs": [1]}, "$.kwargs"),
        ({"metadata": {"stop_reason": "bored"}}, "$.metadata.stop_reason"),
        ({"metadata": {"start_time": "yesterday"}}, "$.metadata.start_time"),
        ({"output": {"$item": {}}}, "$.output.content"),
    ]
    for change, path in changes:
        with pytest.raises(Damaged) as damaged:
            Turn.from_dict(good | change)
        assert damaged.value.path == path
