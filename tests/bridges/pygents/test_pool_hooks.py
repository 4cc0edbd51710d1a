"""Hooks of the pool: six moments, room made before, refusals that undo, failures that lose nothing."""

import asyncio
from typing import Any

import pytest

from quire.bridges.pygents import ContextItem, ContextPool, ContextPoolHook, ContextQueueHook, hook
from quire.bridges.pygents.hooks import DeclaredHook
from quire.errors import Conflict
from tests.bridges.pygents.writing import contents, ids, in_a_loop, kept

Item = ContextItem[Any]


def diary(heard: list[Any]) -> list[DeclaredHook]:
    """One hook for each of the six, which writes down what it got and what the pool held."""

    def declare(moment: ContextPoolHook) -> DeclaredHook:
        def listening(pool: ContextPool, *item: Item) -> None:
            heard.append((moment.name, ids(item), ids(pool)))

        listening.__name__ = listening.__qualname__ = f"on_{moment.value}"
        return hook(moment)(listening)

    return [declare(moment) for moment in ContextPoolHook]


@in_a_loop
async def test_each_moment_is_heard_with_the_pool_and_the_item() -> None:
    heard: list[Any] = []
    pool = ContextPool(hooks=diary(heard))
    await pool.add(kept("a"))
    await pool.add(kept("b"))
    await pool.remove("a")
    await pool.clear()
    assert heard == [
        ("BEFORE_ADD", ["a"], []),
        ("AFTER_ADD", ["a"], ["a"]),
        ("BEFORE_ADD", ["b"], ["a"]),
        ("AFTER_ADD", ["b"], ["a", "b"]),
        ("BEFORE_REMOVE", ["a"], ["a", "b"]),
        ("AFTER_REMOVE", ["a"], ["b"]),
        ("BEFORE_CLEAR", [], ["b"]),
        ("AFTER_CLEAR", [], []),
    ]


@in_a_loop
async def test_before_adding_the_room_is_made_and_eviction_is_no_removal() -> None:
    heard: list[Any] = []
    pool = ContextPool(limit=2, hooks=diary(heard))
    for name in "abc":
        await pool.add(kept(name))
    assert heard[-2:] == [("BEFORE_ADD", ["c"], ["b"]), ("AFTER_ADD", ["c"], ["b", "c"])]
    await pool.add(kept("b", 2))  # replaced in its place: nothing has to go
    assert heard[-2:] == [("BEFORE_ADD", ["b"], ["b", "c"]), ("AFTER_ADD", ["b"], ["b", "c"])]


@in_a_loop
async def test_a_refused_item_is_not_added_and_the_evicted_one_is_back_in_its_place() -> None:
    @hook(ContextPoolHook.BEFORE_ADD)
    async def refusing(pool: ContextPool, item: Item) -> None:
        await asyncio.sleep(0)
        if item.content == "bad":
            assert ids(pool) in (["b"], ["a", "b"])
            raise PermissionError("no")

    pool = ContextPool(limit=2, hooks=[refusing])
    await pool.add(kept("a"))
    await pool.add(kept("b"))
    for name in ("c", "a"):
        with pytest.raises(PermissionError):
            await pool.add(kept(name, "bad"))
        assert pool.items == [kept("a"), kept("b")]
    await pool.add(kept("c"))
    assert ids(pool) == ["b", "c"]


@in_a_loop
async def test_a_task_that_is_cancelled_in_a_hook_has_changed_nothing() -> None:
    @hook(ContextPoolHook.BEFORE_ADD)
    async def slow(pool: ContextPool, item: Item) -> None:
        await asyncio.sleep(0 if item.id == "a" else 60)

    pool = ContextPool(limit=1, hooks=[slow])
    await pool.add(kept("a"))
    task = asyncio.create_task(pool.add(kept("b")))
    await asyncio.sleep(0.01)
    assert ids(pool) == []
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ids(pool) == ["a"]


@in_a_loop
async def test_adds_side_by_side_stay_within_the_limit() -> None:
    @hook(ContextPoolHook.BEFORE_ADD)
    async def slow(pool: ContextPool, item: Item) -> None:
        await asyncio.sleep(0)
        if item.content == "bad":
            raise PermissionError("no")

    pool = ContextPool(limit=2, hooks=[slow])
    adds = [pool.add(kept(str(n), "bad" if n % 3 == 0 else n)) for n in range(20)]
    results = await asyncio.gather(*adds, return_exceptions=True)
    assert len(pool) == 2 and "bad" not in contents(pool)
    assert sum(isinstance(result, PermissionError) for result in results) == 7


@pytest.mark.parametrize("moment", [ContextPoolHook.BEFORE_REMOVE, ContextPoolHook.BEFORE_CLEAR])
@in_a_loop
async def test_removing_and_clearing_can_be_refused(moment: ContextPoolHook) -> None:
    @hook(moment)
    async def refusing(*_told: object) -> None:
        raise PermissionError("no")

    pool = ContextPool(hooks=[refusing])
    await pool.add(kept("a"))
    with pytest.raises(PermissionError):
        await (pool.clear() if moment is ContextPoolHook.BEFORE_CLEAR else pool.remove("a"))
    assert ids(pool) == ["a"]


@in_a_loop
async def test_what_fails_after_the_fact_is_kept_in_the_failures() -> None:
    @hook([ContextPoolHook.AFTER_ADD, ContextPoolHook.AFTER_REMOVE, ContextPoolHook.AFTER_CLEAR])
    async def failing(*_told: object) -> None:
        raise RuntimeError("oh")

    pool = ContextPool(limit=1, hooks=[failing])
    await pool.add(kept("a"))
    await pool.add(kept("b"))
    assert ids(pool) == ["b"]
    await pool.remove("b")
    await pool.clear()
    assert [failure.event for failure in pool.failures] == ["Added", "Added", "Removed", "Cleared"]
    assert {failure.hook for failure in pool.failures} == {"failing"}


@in_a_loop
async def test_a_hook_may_change_the_pool_it_hears() -> None:
    @hook(ContextPoolHook.AFTER_ADD)
    async def tidying(pool: ContextPool, item: Item) -> None:
        if item.id == "new":
            await pool.remove("old")

    pool = ContextPool(hooks=[tidying])
    await pool.add(kept("old"))
    await pool.add(kept("new"))
    assert ids(pool) == ["new"]


@in_a_loop
async def test_several_hooks_are_called_in_order_and_a_missing_id_calls_none() -> None:
    heard: list[str] = []

    @hook([ContextPoolHook.BEFORE_REMOVE, ContextQueueHook.AFTER_APPEND])
    async def one(pool: ContextPool, item: Item) -> None:
        heard.append("one")

    @hook(ContextPoolHook.BEFORE_REMOVE)
    async def two(pool: ContextPool, item: Item) -> None:
        heard.append("two")

    pool = ContextPool(hooks=[two, one])
    await pool.add(kept("a"))
    with pytest.raises(KeyError):
        await pool.remove("b")
    assert heard == []
    await pool.remove("a")
    assert heard == ["two", "one"]


@in_a_loop
async def test_what_comes_while_hooks_hear_of_a_removal_is_not_taken_out_unheard() -> None:
    heard: list[Any] = []

    async def slow(pool: ContextPool, *item: Item) -> None:
        heard.append([one.content for one in item or pool])
        await asyncio.sleep(0.01)

    pool = ContextPool(hooks=[hook(ContextPoolHook.BEFORE_REMOVE)(slow)])
    await pool.add(kept("a", 1))
    await asyncio.gather(pool.remove("a"), _added_meanwhile(pool, kept("a", 2)))
    assert heard == [[1], [2]] and not len(pool)
    pool, heard[:] = ContextPool(hooks=[hook(ContextPoolHook.BEFORE_CLEAR)(slow)]), []
    await pool.clear()
    assert heard == [[]]
    await pool.add(kept("a", 1))
    await asyncio.gather(pool.clear(), _added_meanwhile(pool, kept("b", 2)))
    assert heard == [[], [1]] and contents(pool) == [2]
    await asyncio.gather(pool.clear(), _added_meanwhile(pool, kept("b", 3)))
    assert heard == [[], [1], [2]] and contents(pool) == [3]


@in_a_loop
async def test_a_hook_that_adds_to_the_pool_it_hears_the_clearing_of_is_heard_once() -> None:
    heard: list[Any] = []

    async def note_it_down(pool: ContextPool) -> None:
        heard.append(ids(pool))
        await pool.add(kept("audit", len(pool)))

    pool = ContextPool(hooks=[hook(ContextPoolHook.BEFORE_CLEAR)(note_it_down)])
    await pool.add(kept("a"))
    for cleared in (["a"], ["audit"]):
        await pool.clear()
        assert heard.pop() == cleared and not heard and contents(pool) == [1]


@in_a_loop
async def test_clearing_ends_while_others_keep_adding() -> None:
    async def slow(pool: ContextPool) -> None:
        await asyncio.sleep(0.01)

    async def adding(pool: ContextPool) -> None:
        for n in range(1_000_000):
            await pool.add(kept(f"{n}", n))
            await asyncio.sleep(0.001)

    pool = ContextPool(limit=50, hooks=[hook(ContextPoolHook.BEFORE_CLEAR)(slow)])
    others = asyncio.create_task(adding(pool))
    await asyncio.sleep(0.02)
    before = ids(pool)
    await asyncio.wait_for(pool.clear(), 10)
    others.cancel()
    assert before and len(pool) and not set(before) & set(ids(pool))


@in_a_loop
async def test_an_item_that_is_replaced_each_time_its_removal_is_heard_of_stays() -> None:
    heard: list[Any] = []

    async def replace(pool: ContextPool, item: Item) -> None:
        heard.append(item.content)
        await pool.add(kept("a", item.content + 1))

    pool = ContextPool(hooks=[hook(ContextPoolHook.BEFORE_REMOVE)(replace)])
    await pool.add(kept("a", 0))
    with pytest.raises(Conflict):
        await pool.remove("a")
    assert heard == list(range(len(heard))) and len(heard) <= 10 and contents(pool) == [len(heard)]


async def _added_meanwhile(pool: ContextPool, item: Item) -> None:
    await asyncio.sleep(0)
    await pool.add(item)
