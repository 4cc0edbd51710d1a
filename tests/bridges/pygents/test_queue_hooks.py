"""Hooks of the queue: what they get, their order, refusals and failures."""

import asyncio
import logging
from typing import Any

import pytest

from quire.bridges.pygents import ContextItem, ContextPoolHook, ContextQueue, ContextQueueHook, hook
from tests.bridges.pygents.writing import contents, in_a_loop, said

BEFORE, AFTER = ContextQueueHook.BEFORE_APPEND, ContextQueueHook.AFTER_APPEND
Items = list[ContextItem[Any]]


@in_a_loop
async def test_hooks_get_the_items_of_before_and_of_after() -> None:
    heard: list[tuple[str, list[Any]]] = []

    @hook(BEFORE)
    async def earlier(items: Items) -> None:
        heard.append(("before", contents(items)))

    @hook(AFTER)
    async def later(items: Items) -> None:
        heard.append(("after", contents(items)))

    queue = ContextQueue(limit=2, hooks=[later, earlier])
    await queue.append(*said("a"))
    await queue.append(*said("b", "c"))
    assert heard == [("before", []), ("after", ["a"]), ("before", ["a"]), ("after", ["b", "c"])]


@in_a_loop
async def test_all_hooks_of_a_type_are_called_in_the_order_given() -> None:
    heard: list[str] = []

    @hook(BEFORE)
    async def one(items: Items) -> None:
        await asyncio.sleep(0)
        heard.append("one")

    @hook([AFTER, BEFORE])
    def both(items: Items) -> None:  # one that need not be awaited will do
        heard.append("both")

    @hook(BEFORE)
    async def three(items: Items) -> None:
        heard.append("three")

    await ContextQueue(limit=2, hooks=[three, both, one, three]).append(*said(1))
    assert heard == ["three", "both", "one", "both"]


@in_a_loop
async def test_a_hook_that_raises_before_keeps_everything_as_it_was() -> None:
    heard: list[str] = []

    @hook(BEFORE)
    async def refusing(items: Items) -> None:
        if len(items) == 2:
            raise PermissionError("enough")

    @hook([BEFORE, AFTER])
    async def listening(items: Items) -> None:
        heard.append("listening")

    queue = ContextQueue(limit=2, hooks=[refusing, listening])
    await queue.append(*said(1, 2))
    with pytest.raises(PermissionError, match="enough"):
        await queue.append(*said(3))
    assert contents(queue) == [1, 2] and heard == ["listening"] * 2 and queue.failures == []


@in_a_loop
async def test_a_hook_that_raises_after_loses_nothing_and_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[int] = []

    @hook(AFTER)
    async def failing(items: Items) -> None:
        raise RuntimeError("secret")

    @hook(AFTER)
    async def next_one(items: Items) -> None:
        heard.append(len(items))

    queue = ContextQueue(limit=2, hooks=[failing, next_one])
    with caplog.at_level(logging.WARNING, "quire.session"):
        await queue.append(*said(1))
    assert contents(queue) == [1] and heard == [1]
    assert queue.failures == [("failing", "Added", "RuntimeError")]
    assert "failing" in caplog.text and "secret" not in caplog.text


@in_a_loop
async def test_hooks_cannot_change_the_queue_through_the_list_they_get() -> None:
    lengths: list[int] = []

    @hook(BEFORE)
    async def emptying(items: Items) -> None:
        lengths.append(len(items))
        items.clear()

    @hook(BEFORE)
    async def counting(items: Items) -> None:
        lengths.append(len(items))

    queue = ContextQueue(limit=3, hooks=[emptying, counting])
    await queue.append(*said(1))
    await queue.append(*said(2))
    assert contents(queue) == [1, 2] and lengths == [0, 0, 1, 1]


@in_a_loop
async def test_nothing_is_heard_of_what_is_refused_or_empty_or_cleared() -> None:
    heard: list[int] = []

    @hook([BEFORE, AFTER, *ContextPoolHook])
    async def listening(items: Items) -> None:
        heard.append(len(items))

    queue = ContextQueue(limit=3, hooks=[listening])
    with pytest.raises(TypeError):
        await queue.append("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await queue.append()
    queue.clear()
    assert heard == []


def test_what_carries_no_type_is_no_hook() -> None:
    async def plain(items: Items) -> None: ...

    wrong: Any
    for wrong in ([plain], plain, [None], 3):
        with pytest.raises(TypeError):
            ContextQueue(limit=3, hooks=wrong)


def test_a_hook_of_a_pool_is_not_heard_by_a_queue() -> None:
    @hook(ContextPoolHook.BEFORE_ADD)
    async def pooled(pool: object, item: object) -> None:
        raise AssertionError

    queue = ContextQueue(limit=3, hooks=[pooled])
    asyncio.run(queue.append(*said(1)))
    assert len(queue) == 1 and queue.hooks == [pooled]
