"""Tools and turns: arguments, timeouts, stop reasons, hooks and saved values."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from quire.bridges.pygents import (
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    SafeExecutionError,
    StopReason,
    Tool,
    ToolHook,
    ToolRegistry,
    Turn,
    TurnHook,
    TurnTimeoutError,
    UnregisteredToolError,
    WrongRunMethodError,
    hook,
    tool,
)
from quire.errors import Unencodable
from tests.bridges.pygents.conftest import ids


@pytest.fixture(autouse=True)
def workshop(empty_registries: None) -> None:  # pyright: ignore[reportUnusedFunction]
    """Some tools of a joiner."""

    @tool()
    async def saw(length: int) -> float:
        return length / 2

    @tool()
    async def plane(strokes: int) -> AsyncIterator[int | None]:
        for n in range(strokes):
            yield n or None

    @tool()
    async def glue(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "dry"

    @tool()
    async def drip(seconds: float) -> AsyncIterator[str]:
        yield "first"
        await asyncio.sleep(seconds)
        yield "second"

    @tool()
    async def split(logs: int) -> None:
        raise TimeoutError("the wood itself")


async def values_of(turn: Turn[Any]) -> list[Any]:
    return [value async for value in turn.yielding()]


# Tools


def test_a_tool_is_declared_with_or_without_brackets_and_known_by_its_name() -> None:
    @tool
    async def sand() -> None:
        """Make it smooth."""

    assert isinstance(sand, Tool) and ToolRegistry.get("sand") is sand
    with pytest.raises(ValueError, match="sand"):
        tool(sand.fn)
    with pytest.raises(TypeError, match="async"):
        tool(lambda: None)
    with pytest.raises(UnregisteredToolError, match="lathe"):
        ToolRegistry.get("lathe")


async def test_hooks_of_a_tool_receive_arguments_values_and_the_last_value() -> None:
    calls: list[Any] = []

    @hook(ToolHook.BEFORE_INVOKE)
    async def before(*args: Any, **kwargs: Any) -> None:
        calls.append((args, kwargs))

    @hook([ToolHook.ON_YIELD, ToolHook.AFTER_INVOKE])
    async def after(value: Any) -> None:
        calls.append(value)

    @tool(hooks=[before, after])
    async def nail(count: int) -> AsyncIterator[int]:
        for n in range(count):
            yield n

    assert [n async for n in nail(count=2)] == [0, 1]
    assert calls == [((), {"count": 2}), 0, 1, 1]


async def test_fixed_arguments_come_with_every_call_and_functions_are_evaluated_late() -> None:
    calls: list[Any] = []
    colours = ["red"]

    @hook(ContextPoolHook.AFTER_ADD, colour=lambda: colours[-1], size=2)
    def note(pool: ContextPool, item: ContextItem[Any], colour: str, size: int) -> None:  # not async
        calls.append((item.id, colour, size))

    pool = ContextPool(hooks=[note])
    await pool.add(ContextItem(1, "one", "a"))
    colours.append("green")
    await pool.add(ContextItem(1, "one", "b"))
    await note(pool, pool.get("a"), size=9)
    assert calls == [("a", "red", 2), ("b", "green", 2), ("a", "green", 9)]


async def test_a_task_that_is_cancelled_in_a_before_hook_changes_nothing() -> None:
    @hook(ContextPoolHook.BEFORE_ADD)
    async def wait(pool: ContextPool, item: ContextItem[Any]) -> None:
        if item.id == "c":
            await asyncio.sleep(60)

    pool = ContextPool(limit=2, hooks=[wait])
    for name in "ab":
        await pool.add(ContextItem(1, "a tile", name))
    task = asyncio.create_task(pool.add(ContextItem(1, "a tile", "c")))
    await asyncio.sleep(0)
    assert ids(pool) == ["b"]  # the hook sees that room was made
    task.cancel()
    await asyncio.wait([task])
    assert ids(pool) == ["a", "b"]


# Turns


async def test_each_kind_of_tool_has_its_own_method() -> None:
    with pytest.raises(WrongRunMethodError, match=r"yielding\(\)"):
        await Turn("plane", args=[1]).returning()
    with pytest.raises(WrongRunMethodError, match=r"returning\(\)"):
        await values_of(Turn("saw", args=[1]))
    turn = Turn[Any]("plane", args=[3])
    assert await values_of(turn) == turn.output == [None, 1, 2]  # None does not end it


@pytest.mark.parametrize(
    ("name", "argument", "error", "reason"),
    [
        ("saw", 4, None, StopReason.COMPLETED),
        ("saw", "long", TypeError, StopReason.ERROR),
        ("split", 2, TimeoutError, StopReason.ERROR),  # the tool's own
        ("glue", 60, TurnTimeoutError, StopReason.TIMEOUT),
        ("drip", 60, TurnTimeoutError, StopReason.TIMEOUT),
    ],
)
async def test_the_metadata_says_when_and_how_a_turn_ended(
    name: str, argument: Any, error: type[Exception] | None, reason: StopReason
) -> None:
    turn = Turn[Any](name, timeout=0.05 if error is TurnTimeoutError else 60, args=[argument])
    try:
        await (values_of(turn) if turn.tool.is_generator else turn.returning())
    except Exception as fault:
        assert error is not None and type(fault) is error
    assert turn.metadata.stop_reason == reason
    assert turn.metadata.start_time and turn.metadata.end_time
    assert turn.metadata.start_time <= turn.metadata.end_time <= datetime.now(UTC)  # noqa: TID251


async def test_the_time_of_the_consumer_does_not_count(later: Callable[[float], None]) -> None:
    turn = Turn[Any]("drip", args=[0])
    async for _ in turn.yielding():
        later(100)
        await asyncio.sleep(0)
    assert turn.metadata.stop_reason == StopReason.COMPLETED


async def test_a_running_turn_cannot_be_changed_or_run_again_and_can_be_cancelled() -> None:
    turn = Turn[Any]("glue", args=[60])
    task = asyncio.create_task(turn.returning())
    await asyncio.sleep(0)
    with pytest.raises(SafeExecutionError, match="running"):
        turn.kwargs = {}
    with pytest.raises(SafeExecutionError, match="running"):
        await turn.returning()
    task.cancel()
    await asyncio.wait([task])
    assert turn.metadata.stop_reason == StopReason.CANCELLED and not turn.is_running
    turn.timeout = 5


# Saved values


async def test_content_that_cannot_be_written_is_kept_and_its_path_is_named() -> None:
    queue = ContextQueue(limit=2)
    await queue.append(ContextItem(1), ContextItem({"door": object()}))
    with pytest.raises(Unencodable) as raised:
        queue.to_dict()
    assert raised.value.path == "$.items[1].content.door"


async def test_a_turn_survives_serialization() -> None:
    @tool()
    async def label(name: str) -> list[Any]:
        return [ContextItem(1, "one", name), {"plain": True}]

    @hook(TurnHook.AFTER_RUN)
    async def note(turn: Turn[Any]) -> None: ...

    turn = Turn[Any]("label", timeout=7, kwargs={"name": lambda: "oak"}, hooks=[note])
    await turn.returning()
    restored = Turn[Any].from_dict(json.loads(json.dumps(turn.to_dict())))
    assert (restored.tool, restored.timeout, restored.kwargs) == (label, 7, {"name": "oak"})
    assert restored.output == [turn.output[0].to_dict(), {"plain": True}]
    assert restored.metadata == turn.metadata
    assert restored.hooks == [note]
