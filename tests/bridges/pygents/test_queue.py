"""The queue: a bounded window, items alone, read by copies."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.pygents import ContextItem, ContextQueue
from quire.bridges.pygents.context import ContextQueue as SameQueue
from quire.errors import InvalidLimit, QuireError, WrongType
from tests.bridges.pygents.writing import contents, in_a_loop, kept, said


@in_a_loop
async def test_items_come_in_order_one_or_several_at_a_time() -> None:
    queue = ContextQueue(limit=5)
    await queue.append(*said("a"))
    await queue.append(*said("b", "c"))
    await queue.append()
    assert contents(queue.items) == ["a", "b", "c"]


@given(st.lists(st.lists(st.integers(), max_size=6)), st.integers(1, 5))
@in_a_loop
async def test_a_full_queue_drops_its_oldest(batches: list[list[int]], limit: int) -> None:
    queue = ContextQueue(limit)
    for batch in batches:
        await queue.append(*said(*batch))
        assert len(queue) <= queue.limit == limit
    assert contents(queue) == [one for batch in batches for one in batch][-limit:]


@pytest.mark.parametrize("limit", [0, -1, -100])
def test_a_limit_below_one_is_an_error(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1") as caught:
        ContextQueue(limit=limit)
    assert isinstance(caught.value, InvalidLimit)


@pytest.mark.parametrize("limit", ["3", 1.5, True])
def test_a_limit_is_a_whole_number(limit: Any) -> None:
    with pytest.raises(WrongType):
        ContextQueue(limit=limit)


@pytest.mark.parametrize("wrong", ["text", {"content": 1}, None, 3, ContextItem])
@in_a_loop
async def test_anything_but_an_item_is_refused_before_anything_is_added(wrong: Any) -> None:
    queue = ContextQueue(limit=3)
    await queue.append(*said("first"))
    with pytest.raises(TypeError) as caught:
        await queue.append(ContextItem("good"), wrong)
    assert isinstance(caught.value, QuireError)
    assert contents(queue) == ["first"]


@in_a_loop
async def test_items_with_ids_and_descriptions_are_taken_too_even_twice() -> None:
    queue = ContextQueue(limit=3)
    await queue.append(kept("a"), kept("a"))
    assert queue.items == [kept("a"), kept("a")]


@in_a_loop
async def test_clearing_needs_no_await_and_takes_everything_out() -> None:
    queue = ContextQueue(limit=3)
    await queue.append(*said(1, 2))
    assert queue.clear() is None  # type: ignore[func-returns-value]
    assert queue.items == [] and queue.limit == 3
    await queue.append(*said(3))
    assert contents(queue) == [3]


@in_a_loop
async def test_reading() -> None:
    queue = ContextQueue(limit=3)
    assert not queue and len(queue) == 0 and list(queue) == []
    item = ContextItem([1])
    await queue.append(item)
    assert queue and len(queue) == 1 and list(queue) == [item] and queue.items[0] is item
    assert "1 items, limit 3" in repr(queue)


@in_a_loop
async def test_what_is_read_is_a_copy() -> None:
    queue = ContextQueue(limit=3)
    await queue.append(*said(1, 2))
    queue.items.clear()
    queue.items.append(ContextItem(3))
    assert contents(queue) == [1, 2]
    for _ in queue:  # a loop over it does not mind changes
        await queue.append(*said(3))
    assert contents(queue) == [2, 3, 3]


def test_both_modules_have_the_same() -> None:
    assert SameQueue is ContextQueue
