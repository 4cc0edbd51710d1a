"""Promises of pygents' page on context: items, the bounded queue, the keyed pool, agents that fill both."""

import dataclasses
import inspect
import json
from collections.abc import Iterable
from typing import Any

import pytest

from quire.bridges.pygents import (
    Agent,
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    ContextQueueHook,
    HookRegistry,
    Tool,
    Turn,
    UnregisteredHookError,
    hook,
    tool,
)
from tests.bridges.pygents.conftest import empty_registries as empty_registries, ids, recording

Item = ContextItem[Any]


def note(name: str, content: object = None) -> Item:
    return ContextItem(id=name, description=f"notes on {name}", content=content)


def contents(items: Iterable[Item]) -> list[Any]:
    return [item.content for item in items]


async def queue_of(*values: object, limit: int = 6) -> ContextQueue:
    queue = ContextQueue(limit=limit)
    await queue.append(*(ContextItem(value) for value in values))
    return queue


async def pool_of(*names: str, limit: int | None = None) -> ContextPool:
    pool = ContextPool(limit=limit)
    for name in names:
        await pool.add(note(name))
    return pool


def recorded_adds() -> tuple[list[str | None], Any]:
    """The ids that a hook hears of, and the hook."""
    added: list[str | None] = []

    @hook(ContextPoolHook.AFTER_ADD)
    async def record(pool: ContextPool, item: Item) -> None:
        added.append(item.id)

    return added, record


def gardener(*tools: Tool, **options: Any) -> Agent:
    return Agent("gardener", "Looks after plants", list(tools), **options)


def observe_tool() -> Tool:
    @tool()
    async def observe(plant: str) -> Item:
        return ContextItem(f"{plant} looks dry")

    return observe


def look_up_tool() -> Tool:
    @tool()
    async def look_up(plant: str) -> Item:
        return note(plant, {"water": "weekly"})

    return look_up


async def run_turns(agent: Agent, *turns: Turn[Any]) -> list[tuple[Turn[Any], Any]]:
    for turn in turns:
        await agent.put(turn)
    return [pair async for pair in agent.run()]


# The item


def test_an_item_requires_only_its_content() -> None:
    item = ContextItem(content=[1, 2])
    assert (item.content, item.description, item.id) == ([1, 2], None, None)
    with pytest.raises(TypeError):
        ContextItem()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_an_item_is_a_frozen_dataclass_with_value_equality() -> None:
    item = note("fern", "likes shade")
    assert dataclasses.is_dataclass(item) and item == note("fern", "likes shade") != note("fern", "likes sun")
    with pytest.raises(dataclasses.FrozenInstanceError):
        item.content = "likes sun"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    "item", [ContextItem(1, "described"), ContextItem(1, id="named")], ids=["no id", "no description"]
)
async def test_a_pool_refuses_an_item_without_id_or_description(item: Item) -> None:
    pool = ContextPool()
    with pytest.raises(ValueError, match=r"id|description"):
        await pool.add(item)
    assert len(pool) == 0


# The queue


async def test_append_takes_one_or_several_items_and_evicts_the_oldest() -> None:
    queue = ContextQueue(limit=4)
    await queue.append(ContextItem("seed"))
    await queue.append(ContextItem("sprout"), ContextItem("leaf"))
    assert contents(queue.items) == ["seed", "sprout", "leaf"]
    await queue.append(ContextItem("bud"), ContextItem("rose"))
    assert contents(queue) == ["sprout", "leaf", "bud", "rose"] and queue.limit == 4


@pytest.mark.parametrize("kind", [ContextQueue, ContextPool])
@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_is_a_value_error(kind: type[ContextQueue | ContextPool], limit: int) -> None:
    with pytest.raises(ValueError, match="limit"):
        kind(limit=limit)


@pytest.mark.parametrize("value", ["text", {"content": "text"}, None], ids=["text", "dict", "none"])
async def test_appending_anything_but_items_is_a_type_error_and_adds_nothing(value: Any) -> None:
    queue = await queue_of("seed")
    with pytest.raises(TypeError):
        await queue.append(ContextItem("sprout"), value)
    assert contents(queue) == ["seed"]


async def test_a_queue_and_a_pool_are_read_like_lists_and_items_are_a_copy() -> None:
    queue, pool = await queue_of("seed"), await pool_of("fern")
    queue.items.clear()
    pool.items.clear()
    assert len(queue) == len(pool) == 1 and contents(list(queue)) == ["seed"] and ids(list(pool)) == ["fern"]
    assert bool(queue) and bool(pool) and pool.limit is None
    queue.clear()
    await queue.clear()  # or with `await`
    await pool.clear()
    assert queue.items == pool.items == [] and not bool(queue) and not bool(pool)


async def test_a_branch_of_a_queue_begins_with_its_items_and_diverges() -> None:
    parent = await queue_of("seed")
    child = parent.branch()
    grandchild = child.branch(limit=2)
    assert contents((await queue_of(1, 2, 3)).branch(limit=2)) == [2, 3]
    await child.append(ContextItem("rose"))
    await grandchild.append(ContextItem("moss"))
    await parent.append(ContextItem("oak"))
    assert contents(parent) == ["seed", "oak"]
    assert contents(child) == ["seed", "rose"] and child.limit == parent.limit
    assert contents(grandchild) == ["seed", "moss"] and grandchild.limit == 2


async def test_a_branch_of_a_queue_inherits_hooks_unless_others_are_given() -> None:
    calls: list[str] = []
    first, second = (recording(calls, ContextQueueHook.BEFORE_APPEND, name) for name in ("first", "second"))
    parent = ContextQueue(limit=3, hooks=[first])
    await parent.branch().append(ContextItem(1))
    await parent.branch(hooks=[]).append(ContextItem(1))
    await parent.branch(hooks=[second]).append(ContextItem(1))
    assert calls == ["first", "second"]


async def test_queue_hooks_receive_the_items_before_and_after_an_append() -> None:
    calls: list[tuple[str, int]] = []

    @hook(ContextQueueHook.BEFORE_APPEND)
    async def before(items: list[Item]) -> None:
        calls.append(("before", len(items)))

    @hook(ContextQueueHook.AFTER_APPEND)
    async def after(items: list[Item]) -> None:
        calls.append(("after", len(items)))

    queue = ContextQueue(limit=5, hooks=[before, after])
    await queue.append(ContextItem("seed"), ContextItem("sprout"))
    await queue.append(ContextItem("leaf"))
    assert calls == [("before", 0), ("after", 2), ("before", 2), ("after", 3)]


async def test_all_matching_hooks_run_in_order_and_a_before_hook_can_veto() -> None:
    calls: list[str] = []
    count = recording(calls, ContextQueueHook.BEFORE_APPEND, "count")

    @hook(ContextQueueHook.BEFORE_APPEND)
    async def refuse(items: object) -> None:
        calls.append("refuse")
        raise PermissionError("the garden is closed")

    queue = ContextQueue(limit=5, hooks=[count, refuse])
    with pytest.raises(PermissionError):
        await queue.append(ContextItem("seed"))
    assert calls == ["count", "refuse"] and len(queue) == 0


@pytest.mark.parametrize("kind", [ContextQueueHook.AFTER_APPEND, ContextPoolHook.AFTER_ADD])
async def test_a_queue_or_a_pool_survives_serialization_with_its_hooks_by_name(kind: Any) -> None:
    heard: list[str] = []
    hear = recording(heard, kind, "hear")
    whole = (ContextQueue if isinstance(kind, ContextQueueHook) else ContextPool)(limit=4, hooks=[hear])
    add: Any = whole.append if isinstance(whole, ContextQueue) else whole.add
    await add(note("fern", {"leaves": 2}))
    data = json.loads(json.dumps(whole.to_dict()))
    restored = type(whole).from_dict(data)
    assert set(data) == {"limit", "items", "hooks"} and data["hooks"] == {kind.value: ["hear"]}
    assert restored.items == whole.items and restored.limit == 4 and len(heard) == 1
    await getattr(restored, add.__name__)(note("ivy"))
    assert len(heard) == 2 and HookRegistry.get("hear") is hear


@pytest.mark.parametrize("kind", [ContextQueue, ContextPool])
def test_an_unknown_hook_name_is_an_unregistered_hook_error(kind: type[ContextQueue | ContextPool]) -> None:
    data = kind(limit=4).to_dict()
    data["hooks"] = {"after_append" if kind is ContextQueue else "after_add": ["missing"]}
    with pytest.raises(UnregisteredHookError):
        kind.from_dict(data)


# The queue and the pool of an agent


async def test_an_agent_stores_returned_items_with_an_id_in_its_pool_and_others_in_its_queue() -> None:
    agent = gardener(look_up_tool(), observe_tool())
    assert agent.context_queue.limit == 10 and agent.context_pool.limit is None
    turns = [Turn[Any](name, kwargs={"plant": "fern"}) for name in ("look_up", "observe")]
    values = [value for _, value in await run_turns(agent, *turns)]
    assert values == [note("fern", {"water": "weekly"}), ContextItem("fern looks dry")]
    assert agent.context_pool.items == values[:1] and agent.context_queue.items == values[1:]


async def test_an_agent_uses_the_queue_that_it_is_given() -> None:
    queue = ContextQueue(limit=2)
    agent = gardener(observe_tool(), context_queue=queue)
    await run_turns(
        agent, *(Turn[Any]("observe", kwargs={"plant": plant}) for plant in ("fern", "ivy", "oak"))
    )
    assert agent.context_queue is queue and contents(queue) == ["ivy looks dry", "oak looks dry"]


async def test_branching_an_agent_branches_its_queue_and_pool() -> None:
    agent = gardener(observe_tool(), look_up_tool())
    await run_turns(agent, Turn("observe", args=["fern"]), Turn("look_up", args=["fern"]))
    child = agent.branch("apprentice")
    await run_turns(child, Turn("observe", args=["ivy"]), Turn("look_up", args=["ivy"]))
    assert contents(child.context_queue) == ["fern looks dry", "ivy looks dry"]
    assert ids(child.context_pool) == ["fern", "ivy"]
    assert contents(agent.context_queue) == ["fern looks dry"] and ids(agent.context_pool) == ["fern"]


async def test_a_pool_with_hooks_is_given_at_construction_or_assigned_later() -> None:
    added, record = recorded_adds()
    agent = gardener(look_up_tool(), context_pool=ContextPool(hooks=[record]))
    await run_turns(agent, Turn("look_up", args=["fern"]))
    agent.context_pool = ContextPool(limit=7, hooks=[record])
    await run_turns(agent, Turn("look_up", args=["ivy"]))
    assert added == ["fern", "ivy"] and ids(agent.context_pool) == ["ivy"] and agent.context_pool.limit == 7


# The pool


async def test_a_pool_finds_and_removes_items_by_id() -> None:
    pool = await pool_of("fern", "ivy", limit=5)
    assert pool.get("fern") == note("fern")
    await pool.remove("fern")
    assert ids(pool) == ["ivy"]
    with pytest.raises(KeyError):
        pool.get("fern")
    with pytest.raises(KeyError):
        await pool.remove("fern")


async def test_a_full_pool_evicts_its_oldest_item_for_a_new_id() -> None:
    pool = await pool_of("fern", "ivy", limit=2)
    await pool.add(note("fern", "newer"))  # a known id replaces its item in place
    assert ids(pool) == ["fern", "ivy"] and pool.get("fern").content == "newer"
    await pool.add(note("oak"))
    assert ids(pool) == ["ivy", "oak"]


def test_writing_to_a_pool_is_async_and_reading_is_not() -> None:
    writing = [ContextPool.add, ContextPool.remove, ContextPool.clear]
    assert all(map(inspect.iscoroutinefunction, writing)) and not inspect.iscoroutinefunction(ContextPool.get)


async def test_the_catalogue_has_one_line_per_item() -> None:
    pool = await pool_of("fern", "ivy")
    assert pool.catalogue() == "- [fern] notes on fern\n- [ivy] notes on ivy"
    assert ContextPool().catalogue() == ""


async def test_a_branch_of_a_pool_is_an_independent_copy_with_the_same_or_another_limit() -> None:
    added, record = recorded_adds()
    parent = await pool_of("fern", "moss", limit=2)
    parent.hooks = [record]
    child = parent.branch()
    assert added == []  # no hooks run for the copy
    await child.add(note("ivy"))
    assert added == ["ivy"]
    await parent.remove("moss")
    assert (ids(parent), ids(child), child.limit) == (["fern"], ["moss", "ivy"], 2)
    assert ids(child.branch(limit=1)) == ["ivy"] and child.branch(limit=None).limit is None


async def test_all_six_pool_hooks_run_with_pool_and_item() -> None:
    calls: list[tuple[str, list[str | None], str | None]] = []

    def recording(kind: ContextPoolHook) -> Any:
        async def record(pool: ContextPool, item: Item | None = None) -> None:
            calls.append((kind.name, ids(pool), item.id if item else None))

        record.__name__ = kind.value
        return hook(kind)(record)

    pool = ContextPool(limit=1, hooks=[recording(kind) for kind in ContextPoolHook])
    await pool.add(note("fern"))
    await pool.add(note("ivy"))
    await pool.remove("ivy")
    await pool.clear()
    assert calls == [
        ("BEFORE_ADD", [], "fern"),
        ("AFTER_ADD", ["fern"], "fern"),
        ("BEFORE_ADD", [], "ivy"),  # the older item is evicted already
        ("AFTER_ADD", ["ivy"], "ivy"),
        ("BEFORE_REMOVE", ["ivy"], "ivy"),
        ("AFTER_REMOVE", [], "ivy"),
        ("BEFORE_CLEAR", [], None),
        ("AFTER_CLEAR", [], None),
    ]


async def test_a_failing_after_hook_loses_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @hook(ContextPoolHook.AFTER_ADD)
    async def fail(pool: ContextPool, item: Item) -> None:
        raise RuntimeError("the label fell off")

    pool = ContextPool(hooks=[fail])
    await pool.add(note("fern"))
    assert ids(pool) == ["fern"] and "hook fail failed at after_add" in caplog.text


async def test_restoring_a_pool_evicts_nothing() -> None:
    data = (await pool_of("fern", "ivy", "oak")).to_dict() | {"limit": 2}
    assert ids(ContextPool.from_dict(data)) == ["fern", "ivy", "oak"]
