"""Tools: async alone, known by name, with fixed arguments, a lock and hooks."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from quire.bridges.pygents import Tool, ToolHook, ToolRegistry, UnregisteredToolError, hook, tool
from tests.bridges.pygents.writing import in_a_loop


def test_only_async_functions_and_generators_are_tools() -> None:
    def plain() -> None: ...

    wrong: Any
    for wrong in (plain, len, "name"):
        with pytest.raises(TypeError):
            tool(wrong)
        with pytest.raises(TypeError):
            tool()(wrong)


@in_a_loop
async def test_a_tool_is_declared_with_or_without_brackets_and_still_called() -> None:
    @tool
    async def double(number: int) -> int:
        """Twice as much."""
        return 2 * number

    @tool()
    async def upto(number: int) -> AsyncGenerator[int, None]:
        for one in range(number):
            yield one

    assert await double(4) == 8 and [one async for one in upto(3)] == [0, 1, 2]
    assert (double.metadata.name, double.metadata.description) == ("double", "Twice as much.")
    assert isinstance(upto, Tool) and (double.is_generator, upto.is_generator) == (False, True)
    assert ToolRegistry.get("double") is double


def test_a_name_belongs_to_one_tool_until_it_is_given_back() -> None:
    def declare() -> Tool:
        @tool()
        async def work() -> None: ...

        return work

    first = declare()
    with pytest.raises(ValueError, match="'work' already"):
        declare()
    assert ToolRegistry.get("work") is first
    ToolRegistry.register(first)
    ToolRegistry.unregister("work")
    for missing in (ToolRegistry.get, ToolRegistry.unregister):
        with pytest.raises(UnregisteredToolError) as caught:
            missing("work")
        assert isinstance(caught.value, KeyError) and str(caught.value) == "no tool 'work' is known here"
    assert ToolRegistry.get("work") if declare() else False


@in_a_loop
async def test_fixed_arguments_come_with_every_call_and_give_way_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keys = iter("kl")

    @tool(shop="north", key=lambda: next(keys))
    async def order(lamp: str, shop: str, key: str) -> str:
        return f"{lamp} {shop} {key}"

    assert await order("a") == "a north k" and caplog.records == []
    with caplog.at_level(logging.WARNING, "quire.bridges"):
        assert await order("b", shop="south") == "b south l"
    assert len(caplog.records) == 1 and "south" not in caplog.text


def test_a_fixed_argument_that_the_function_does_not_take_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="colour"):

        @tool(colour="red")
        async def paint() -> None: ...

    @tool(colour="red")
    async def spray(**all: Any) -> None: ...


@pytest.mark.parametrize("lock", [True, False])
@pytest.mark.parametrize("streams", [True, False])
def test_with_a_lock_a_tool_runs_once_at_a_time(lock: bool, streams: bool) -> None:
    inside = most = 0

    async def busy() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1

    @tool(lock=lock)
    async def once() -> None:
        await busy()

    @tool(lock=lock)
    async def twice() -> AsyncGenerator[None, None]:
        for _ in range(2):
            await busy()
            yield

    async def call() -> None:
        if not streams:
            await once()
            return
        async for _ in twice():
            pass

    async def several() -> None:
        await asyncio.gather(*(call() for _ in range(3)))

    for _ in range(2):
        asyncio.run(several())
    assert most == (1 if lock else 3)


@in_a_loop
async def test_hooks_hear_the_arguments_each_value_and_the_last() -> None:
    heard: list[Any] = []

    @hook(ToolHook.BEFORE_INVOKE)
    async def before(*args: Any, **kwargs: Any) -> None:
        heard.append(("before", args, kwargs))

    @hook([ToolHook.ON_YIELD, ToolHook.AFTER_INVOKE])
    async def after(value: Any) -> None:
        heard.append(value)

    @tool(hooks=[before, after], size=2)
    async def letters(word: str, size: int) -> AsyncGenerator[str, None]:
        for letter in word[:size]:
            yield letter

    @tool(hooks=[before, after])
    async def shout(word: str) -> str:
        return word.upper()

    assert [one async for one in letters("abc")] == ["a", "b"]
    assert heard == [("before", ("abc",), {"size": 2}), "a", "b", "b"]
    heard.clear()
    assert await shout(word="x") == "X" and heard == [("before", (), {"word": "x"}), "X"]


@in_a_loop
async def test_a_hook_before_may_refuse_and_one_after_loses_nothing() -> None:
    called: list[int] = []

    @hook(ToolHook.BEFORE_INVOKE)
    async def refusing(number: int) -> None:
        if number < 0:
            raise PermissionError

    @hook(ToolHook.AFTER_INVOKE)
    async def failing(value: int) -> None:
        raise RuntimeError

    @tool(hooks=[refusing, failing], lock=True)
    async def note(number: int) -> int:
        called.append(number)
        return number

    with pytest.raises(PermissionError):
        await note(-1)
    assert await note(1) == 1 and called == [1]
    assert [failure.hook for failure in note.failures] == ["failing"]
