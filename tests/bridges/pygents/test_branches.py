"""Branches: a copy that goes its own way, with the parent's limit and hooks unless others are given."""

from typing import Any

import pytest

from quire.bridges.pygents import (
    ContextItem,
    ContextPool,
    ContextPoolHook,
    ContextQueue,
    ContextQueueHook,
    hook,
)
from quire.errors import InvalidLimit
from tests.bridges.pygents.writing import contents, ids, in_a_loop, kept, pool_of, said


@in_a_loop
async def test_a_branch_of_a_queue_has_its_items_and_then_its_own() -> None:
    parent = ContextQueue(limit=4)
    await parent.append(*said(1, 2))
    child = parent.branch()
    grandchild = child.branch(limit=2)
    await child.append(*said(3))
    await parent.append(*said("p"))
    await grandchild.append(*said("g"))
    assert (contents(parent), contents(child), contents(grandchild)) == ([1, 2, "p"], [1, 2, 3], [2, "g"])
    assert (child.limit, grandchild.limit) == (4, 2)
    child.clear()
    assert len(parent) == 3


@in_a_loop
async def test_a_smaller_limit_keeps_the_newest_and_a_larger_one_all() -> None:
    queue = ContextQueue(limit=4)
    await queue.append(*said(1, 2, 3, 4))
    assert contents(queue.branch(limit=2)) == [3, 4]
    assert contents(queue.branch(limit=9)) == [1, 2, 3, 4] and queue.branch(limit=9).limit == 9
    pool = await pool_of("a", "b", "c", limit=3)
    assert ids(pool.branch(limit=2)) == ["b", "c"] and ids(pool) == ["a", "b", "c"]
    assert ids(pool.branch(limit=7)) == ["a", "b", "c"]


@pytest.mark.parametrize("limit", [None, 0, -2])
def test_a_queue_needs_a_limit(limit: Any) -> None:
    with pytest.raises(ValueError, match="limit") as caught:
        ContextQueue(limit=3).branch(limit=limit)
    assert isinstance(caught.value, InvalidLimit)


@in_a_loop
async def test_a_branch_of_a_pool_inherits_its_limit_or_has_none() -> None:
    pool = await pool_of("a", "b", limit=2)
    child, free = pool.branch(), pool.branch(limit=None)
    for branch in (child, free):
        await branch.add(kept("c"))
    assert (pool.limit, child.limit, free.limit) == (2, 2, None)
    assert (ids(pool), ids(child), ids(free)) == (["a", "b"], ["b", "c"], ["a", "b", "c"])
    await child.clear()
    await pool.remove("a")
    assert ids(free) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="at least 1"):
        pool.branch(limit=0)


@in_a_loop
async def test_what_is_put_in_place_of_an_item_stays_on_its_side() -> None:
    pool = await pool_of("a")
    child = pool.branch()
    await child.add(kept("a", "changed"))
    assert pool.get("a").content is None and child.get("a").content == "changed"


@in_a_loop
async def test_hooks_of_a_queue_are_inherited_unless_others_are_given() -> None:
    heard: list[str] = []

    @hook(ContextQueueHook.BEFORE_APPEND)
    async def mine(items: object) -> None:
        heard.append("mine")

    @hook(ContextQueueHook.AFTER_APPEND)
    async def other(items: object) -> None:
        heard.append("other")

    parent = ContextQueue(limit=5, hooks=[mine])
    for child in (parent.branch(), parent.branch(hooks=[other]), parent.branch(hooks=[])):
        await child.append(*said(1))
    await parent.branch(hooks=None).append(*said(1))
    assert heard == ["mine", "other"] and len(parent) == 0


@in_a_loop
async def test_inherited_hooks_of_a_pool_hear_the_branch_and_not_the_copying() -> None:
    heard: list[tuple[object, str | None]] = []

    @hook(list(ContextPoolHook))
    async def listening(pool: ContextPool, item: ContextItem[Any] | None = None) -> None:
        heard.append((pool, item.id if item else None))

    parent = ContextPool(limit=3, hooks=[listening])
    for name in "abc":
        await parent.add(kept(name))
    heard.clear()
    child, narrow, deaf = parent.branch(), parent.branch(limit=1), parent.branch(hooks=[])
    assert heard == [] and ids(narrow) == ["c"]
    await deaf.add(kept("d"))
    await child.add(kept("d"))
    assert heard == [(child, "d"), (child, "d")]


@in_a_loop
async def test_failures_are_those_of_one_branch() -> None:
    @hook(ContextQueueHook.AFTER_APPEND)
    async def failing(items: object) -> None:
        raise RuntimeError

    parent = ContextQueue(limit=2, hooks=[failing])
    child = parent.branch()
    await child.append(*said(1))
    assert (len(parent.failures), len(child.failures)) == (0, 1)


class Shelf(ContextPool):
    """A pool of one's own."""


class Tail(ContextQueue):
    """A queue of one's own."""


@in_a_loop
async def test_a_subclass_branches_into_itself() -> None:
    shelf, tail = Shelf(limit=3), Tail(limit=3)
    await shelf.add(kept("a"))
    await tail.append(*said(1))
    assert type(shelf.branch()) is Shelf and ids(shelf.branch()) == ["a"]
    assert type(tail.branch(limit=1)) is Tail and contents(tail.branch()) == [1]
    assert type(Shelf.from_dict(shelf.to_dict())) is Shelf
    assert type(Tail.from_dict(tail.to_dict())) is Tail
