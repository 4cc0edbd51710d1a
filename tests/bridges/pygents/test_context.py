"""Queues, pools and their hooks, beyond what the page on context shows."""

import asyncio
from typing import Any

import pytest

from quire.bridges.pygents import (
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    HookRegistry,
    hook,
)
from quire.errors import Unencodable

Item = ContextItem[Any]


def tile(name: str, content: object = None) -> Item:
    return ContextItem(content, description=f"tile {name}", id=name)


def ids(pool: ContextPool) -> list[str | None]:
    return [item.id for item in pool]


async def pool_of(*names: str, **options: Any) -> ContextPool:
    pool = ContextPool(**options)
    for name in names:
        await pool.add(tile(name))
    return pool


def recording(calls: list[Any], name: str, *types: Any) -> Any:
    """A plain function that carries its types as an attribute."""

    async def record(*args: Any) -> None:
        calls.append(name)

    record.__name__ = name
    record.type = types[0] if len(types) == 1 else types  # type: ignore[attr-defined]
    return record


# Items


async def test_content_that_cannot_be_written_is_kept_and_its_path_is_named() -> None:
    queue = ContextQueue(limit=2)
    await queue.append(ContextItem(1), ContextItem({"door": object()}))
    with pytest.raises(Unencodable) as raised:
        queue.to_dict()
    assert raised.value.path == "$.items[1].content.door"


# Pools


async def test_a_task_that_is_cancelled_in_a_before_hook_changes_nothing() -> None:
    @hook(ContextPoolHook.BEFORE_ADD)
    async def wait(pool: ContextPool, item: Item) -> None:
        if item.id == "c":
            await asyncio.sleep(60)

    pool = await pool_of("a", "b", limit=2, hooks=[wait])
    task = asyncio.create_task(pool.add(tile("c")))
    await asyncio.sleep(0)
    assert ids(pool) == ["b"]  # the hook sees that room was made
    task.cancel()
    await asyncio.wait([task])
    assert ids(pool) == ["a", "b"]


# Hooks


async def test_a_hook_has_a_type_and_a_name_of_its_own() -> None:
    @hook([ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_CLEAR], lock=True)
    async def several(*args: Any) -> None:
        """Note it."""

    assert several.type == (ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_CLEAR)
    assert HookRegistry.get("several") is several and several.metadata.description == "Note it."
    with pytest.raises(ValueError, match="several"):
        hook(ContextPoolHook.AFTER_ADD)(several.fn)
    for wrong in ([], "after_add", ["after_add"], None):
        with pytest.raises((TypeError, ValueError)):
            hook(wrong)(print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        ContextPool(hooks=[print])


async def test_fixed_arguments_come_with_every_call_and_functions_are_evaluated_late() -> None:
    calls: list[Any] = []
    colours = ["red"]

    @hook(ContextPoolHook.AFTER_ADD, colour=lambda: colours[-1], size=2)
    def note(pool: ContextPool, item: Item, colour: str, size: int) -> None:  # not async
        calls.append((item.id, colour, size))

    pool = await pool_of("a", hooks=[note])
    colours.append("green")
    await pool.add(tile("b"))
    await note(pool, tile("c"), size=9)
    assert calls == [("a", "red", 2), ("b", "green", 2), ("c", "green", 9)]
