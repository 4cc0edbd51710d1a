"""Queues, pools and their hooks, beyond what the page on context shows."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.pygents import (
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    ContextQueueHook,
    HookRegistry,
    hook,
)
from quire.errors import Damaged, Unencodable
from quire.state import Pool

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


async def test_an_item_is_generic_and_survives_serialization() -> None:
    item = ContextItem[int](content=3, description="three", id="n")
    assert ContextItem.from_dict(json.loads(json.dumps(item.to_dict()))) == item
    assert ContextItem.from_dict({"content": b"raw"}).content == b"raw"


async def test_content_that_cannot_be_written_is_kept_and_its_path_is_named() -> None:
    queue = ContextQueue(limit=2)
    await queue.append(ContextItem(1), ContextItem({"door": object()}))
    with pytest.raises(Unencodable) as raised:
        queue.to_dict()
    assert raised.value.path == "$.items[1].content.door"


# Queues


@given(st.lists(st.lists(st.integers(), max_size=6), max_size=6), st.integers(1, 8))
def test_a_queue_keeps_the_newest_items(batches: list[list[int]], limit: int) -> None:
    async def fill() -> ContextQueue:
        queue = ContextQueue(limit=limit)
        for batch in batches:
            await queue.append(*map(ContextItem, batch))
        return queue

    everything = [value for batch in batches for value in batch]
    assert [item.content for item in asyncio.run(fill())] == everything[-limit:]


async def test_clearing_a_queue_may_be_awaited() -> None:
    queue = ContextQueue(limit=2)
    await queue.append(ContextItem(1))
    await queue.clear()
    assert not queue and repr(queue) == "ContextQueue(limit=2, len=0)"
    await queue.append(ContextItem(2))
    queue.clear()
    assert len(queue) == 0


# Pools


async def test_a_subclass_branches_into_itself_and_a_catalogue_line_stays_one_line() -> None:
    class Drawer(ContextPool):
        pass

    drawer = Drawer(limit=3)
    await drawer.add(ContextItem(1, description="red\n- [fake] blue", id="a"))
    assert isinstance(drawer.branch(), Drawer) and len(drawer.branch().catalogue().splitlines()) == 1


async def test_the_notes_of_a_pool_are_a_pool_of_the_engine() -> None:
    pool = await pool_of("blue", limit=4)
    notes = pool.notes()
    assert isinstance(notes, Pool) and notes.limit == 4 and notes.get("blue").description == "tile blue"


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


@pytest.mark.parametrize("event", [ContextPoolHook.BEFORE_REMOVE, ContextPoolHook.BEFORE_CLEAR])
async def test_removing_and_clearing_can_be_refused(event: ContextPoolHook) -> None:
    @hook(event)
    async def refuse(*args: Any) -> None:
        raise PermissionError

    pool = await pool_of("a", hooks=[refuse])
    with pytest.raises(PermissionError):
        await (pool.clear() if event is ContextPoolHook.BEFORE_CLEAR else pool.remove("a"))
    assert ids(pool) == ["a"]


# Hooks


async def test_a_function_with_a_type_attribute_is_a_hook() -> None:
    calls: list[Any] = []
    first = recording(calls, "first", ContextPoolHook.BEFORE_ADD)
    second = recording(calls, "second", ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_REMOVE)
    pool = await pool_of("a", hooks=[first, second])
    await pool.branch().remove("a")
    assert calls == ["first", "second", "second"] and pool.hooks == [first, second]
    queue = ContextQueue(limit=1, hooks=[recording(calls, "third", ContextQueueHook.BEFORE_APPEND)])
    await queue.append(ContextItem(1))
    assert calls[-1] == "third"


def test_a_declared_hook_has_its_type_or_the_tuple_of_its_types() -> None:
    @hook(ContextPoolHook.AFTER_ADD)
    async def one(pool: ContextPool, item: Item) -> None:
        """Note an item."""

    @hook([ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_CLEAR])
    async def several(*args: Any) -> None: ...

    assert one.type == ContextPoolHook.AFTER_ADD and one.metadata.description == "Note an item."
    assert several.type == (ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_CLEAR)
    assert HookRegistry.get("one") is one and one.fn.__name__ == "one"


@pytest.mark.parametrize("types", [[], None, "after_add", ["after_add"]])
def test_a_hook_needs_at_least_one_type(types: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        hook(types)


@pytest.mark.parametrize("wrong", [print, "print", 3])
def test_a_function_without_a_type_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError):
        ContextPool(hooks=[wrong])


def test_a_name_belongs_to_one_hook_until_it_is_freed() -> None:
    def declare() -> Any:
        @hook(ContextPoolHook.AFTER_ADD)
        async def count(*args: Any) -> None: ...

        return count

    first = declare()
    HookRegistry.register(first)
    with pytest.raises(ValueError, match="count"):
        declare()
    HookRegistry.unregister("count")
    assert HookRegistry.get(declare().name) is not first


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
    with pytest.raises(TypeError, match="fixed"):
        hook(ContextPoolHook.AFTER_ADD, shade=1)(note.fn)


@pytest.mark.parametrize("lock", [True, False])
def test_a_lock_runs_calls_one_at_a_time_in_every_loop(lock: bool) -> None:
    calls: list[str] = []

    @hook(ContextPoolHook.AFTER_ADD, lock=lock)
    async def slow(*args: Any) -> None:
        calls.append("in")
        await asyncio.sleep(0)
        calls.append("out")

    async def twice() -> None:
        await asyncio.gather(slow(), slow())

    for _ in range(2):
        asyncio.run(twice())
    assert (calls == ["in", "out"] * 4) is lock


async def test_a_failure_after_the_event_names_hook_event_and_error() -> None:
    calls: list[Any] = []

    @hook(ContextPoolHook.AFTER_ADD)
    async def fail(pool: ContextPool, item: Item) -> None:
        raise RuntimeError

    pool = await pool_of("a", hooks=[fail, recording(calls, "next", ContextPoolHook.AFTER_ADD)])
    assert pool.failures == [("fail", "after_add", "RuntimeError")] and calls == ["next"]
    assert pool.branch().failures == []


# Saved values


def test_optional_keys_may_be_absent() -> None:
    assert ContextQueue.from_dict({"limit": 4}).items == []
    assert ContextPool.from_dict({}).limit is None
    pool = ContextPool.from_dict({"items": [{"id": "a", "description": "first", "content": 1}]})
    assert pool.get("a").content == 1 and pool.hooks == []


async def test_hooks_of_several_types_are_saved_by_name_and_restored_once() -> None:
    @hook([ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_REMOVE])
    async def both(*args: Any) -> None: ...

    data = ContextPool(hooks=[both]).to_dict()
    assert data["hooks"] == {"after_add": ["both"], "after_remove": ["both"]}
    assert ContextPool.from_dict(data).hooks == [both]


@pytest.mark.parametrize(
    ("kind", "data", "path"),
    [
        (ContextItem, {"id": "a"}, "$.content"),
        (ContextItem, {"content": 1, "id": 5}, "$.id"),
        (ContextItem, ["a"], "$"),
        (ContextQueue, {}, "$.limit"),
        (ContextQueue, {"limit": 2, "items": {"a": 1}}, "$.items"),
        (ContextQueue, {"limit": 2, "items": [{"content": 1}, 7]}, "$.items[1]"),
        (ContextQueue, {"limit": 2, "hooks": {"after_append": [1]}}, "$.hooks"),
        (ContextPool, {"items": [{"content": 1}]}, "$.items"),
        (ContextPool, {"items": [{"content": 1, "id": "a", "description": 3}]}, "$.items[0].description"),
    ],
)
def test_damaged_values_are_named_by_their_path(kind: Any, data: object, path: str) -> None:
    with pytest.raises(Damaged) as raised:
        kind.from_dict(data)
    assert raised.value.path == path
