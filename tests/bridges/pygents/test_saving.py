"""To plain values and back: items, limits, and hooks by type and name."""

import json
from typing import Any

import pytest

from quire.bridges.pygents import (
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    ContextQueueHook,
    HookRegistry,
    UnregisteredHookError,
    hook,
)
from quire.errors import Damaged, Unencodable, UnknownHook
from tests.bridges.pygents.writing import contents, ids, in_a_loop, kept, pool_of, said

GOOD: dict[str, Any] = {"limit": 3, "items": [], "hooks": {}}


@in_a_loop
async def test_a_queue_comes_back_as_it_was() -> None:
    queue = ContextQueue(limit=3)
    await queue.append(*said("a", {"b": [1, None, 2.5]}, b"\xff"), kept("c"))
    data = json.loads(json.dumps(queue.to_dict()))
    assert set(data) == {"limit", "items", "hooks"} and data["hooks"] == {}
    restored = ContextQueue.from_dict(data)
    assert restored.items == queue.items and restored.limit == 3
    await restored.append(*said("d"))
    assert len(restored) == 3 and contents(queue)[-1] is None


@in_a_loop
async def test_a_pool_comes_back_as_it_was() -> None:
    for limit in (None, 3):
        pool = await pool_of("a", "b", limit=limit)
        await pool.add(ContextItem({"deep": {"$dict": 1}}, "odd", "c"))
        data = json.loads(json.dumps(pool.to_dict()))
        restored = ContextPool.from_dict(data)
        assert restored.items == pool.items and restored.limit == limit
        assert restored.catalogue() == pool.catalogue()


@in_a_loop
async def test_what_was_written_does_not_change_with_what_it_was_written_from() -> None:
    content = {"list": [1]}
    pool = ContextPool()
    await pool.add(ContextItem(content, "d", "a"))
    data = pool.to_dict()
    content["list"].append(2)
    assert ContextPool.from_dict(data).get("a").content == {"list": [1]}


@in_a_loop
async def test_a_pool_is_restored_without_eviction_and_does_not_grow_then() -> None:
    data = (await pool_of("a", "b", "c")).to_dict() | {"limit": 2}
    pool = ContextPool.from_dict(data)
    assert ids(pool) == ["a", "b", "c"] and pool.limit == 2 and ids(pool.branch()) == ["a", "b", "c"]
    await pool.add(kept("d"))
    assert ids(pool) == ["b", "c", "d"]


@in_a_loop
async def test_hooks_are_saved_by_type_and_name_and_hear_again() -> None:
    heard: list[str] = []

    @hook([ContextPoolHook.BEFORE_ADD, ContextPoolHook.AFTER_ADD])
    async def both(pool: object, item: object) -> None:
        heard.append("both")

    @hook(ContextPoolHook.AFTER_ADD)
    async def after(pool: object, item: object) -> None:
        heard.append("after")

    pool = ContextPool(hooks=[after, both])
    await pool.add(kept("a"))
    data = json.loads(json.dumps(pool.to_dict()))
    assert data["hooks"] == {"after_add": ["after", "both"], "before_add": ["both"]}
    heard.clear()
    restored = ContextPool.from_dict(data)
    assert heard == [] and set(restored.hooks) == {both, after}
    await restored.add(kept("b"))
    assert heard == ["both", "after", "both"]


@in_a_loop
async def test_nothing_is_heard_while_a_queue_is_restored() -> None:
    heard: list[int] = []

    @hook(list(ContextQueueHook))
    async def counting(items: list[object]) -> None:
        heard.append(len(items))

    queue = ContextQueue(limit=4, hooks=[counting])
    await queue.append(*said(1, 2))
    data = queue.to_dict()
    heard.clear()
    restored = ContextQueue.from_dict(data)
    assert heard == [] and data["hooks"] == {"before_append": ["counting"], "after_append": ["counting"]}
    await restored.append(*said(3))
    assert heard == [2, 3]


def test_the_order_within_every_type_is_restored() -> None:
    @hook(ContextPoolHook.AFTER_ADD)
    def one(pool: object, item: object) -> None: ...

    @hook(ContextPoolHook.BEFORE_ADD)
    def two(pool: object, item: object) -> None: ...

    @hook([ContextPoolHook.AFTER_ADD, ContextPoolHook.BEFORE_ADD])
    def three(pool: object, item: object) -> None: ...

    restored = ContextPool.from_dict(ContextPool(hooks=[one, two, three]).to_dict())
    assert restored.hooks.index(three) == 2 and len(restored.hooks) == 3


@pytest.mark.parametrize("kind", [ContextQueue, ContextPool])
def test_a_hook_that_nobody_declared_is_an_error(kind: type[ContextQueue] | type[ContextPool]) -> None:
    data = GOOD | {"hooks": {"after_add": ["nobody"]}}
    with pytest.raises(UnregisteredHookError, match="no hook 'nobody'") as caught:
        kind.from_dict(data)
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, UnknownHook)


def test_a_hook_is_found_by_its_name_in_the_registry() -> None:
    @hook(ContextQueueHook.AFTER_APPEND)
    async def telling(items: object) -> None: ...

    data = ContextQueue(limit=1, hooks=[telling]).to_dict()
    assert HookRegistry.get("telling") is telling
    HookRegistry.clear()
    with pytest.raises(UnregisteredHookError):
        ContextQueue.from_dict(data)
    HookRegistry.register(telling)
    assert ContextQueue.from_dict(data).hooks == [telling]


@in_a_loop
async def test_a_content_that_cannot_be_written_is_named_by_its_place() -> None:
    queue, pool = ContextQueue(limit=3), await pool_of("a")
    await queue.append(*said("fine", {"x": [..., 1]}))
    await pool.add(kept("b", (1, 2)))
    with pytest.raises(Unencodable) as caught:
        queue.to_dict()
    assert caught.value.path == "$.items[1].content.x[0]"
    with pytest.raises(Unencodable) as caught:
        pool.to_dict()
    assert caught.value.path == "$.items[1].content" and pool.get("b").content == (1, 2)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ([], "$"),
        ({"items": []}, "$.limit"),
        ({"limit": 3}, "$.items"),
        (GOOD | {"items": "text"}, "$.items"),
        (GOOD | {"items": [{"id": "a", "description": "d"}]}, "$.items[0].content"),
        (GOOD | {"hooks": ["name"]}, "$.hooks"),
        (GOOD | {"hooks": {"after_add": [3]}}, "$.hooks"),
        (GOOD | {"hooks": {"after_add": "name"}}, "$.hooks"),
        (GOOD | {"hooks": {"after_add": ["a", "b"], "before_add": ["b", "a"]}}, "$.hooks"),
    ],
)
@pytest.mark.parametrize("kind", [ContextQueue, ContextPool])
def test_what_cannot_be_read_is_named_by_its_place(
    kind: type[ContextQueue] | type[ContextPool], data: object, path: str
) -> None:
    with pytest.raises(Damaged) as caught:
        kind.from_dict(data)
    assert caught.value.path == path


def test_an_item_of_a_pool_needs_its_id_when_it_is_read_too() -> None:
    with pytest.raises(Damaged) as caught:
        ContextPool.from_dict(GOOD | {"items": [{"content": 1, "description": "d", "id": None}]})
    assert caught.value.path == "$.items[0]"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_checked_when_it_is_read_too(limit: int) -> None:
    for kind in (ContextQueue, ContextPool):
        with pytest.raises(ValueError, match="at least 1"):
            kind.from_dict(GOOD | {"limit": limit})
