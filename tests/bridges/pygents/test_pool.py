"""The pool: by id, bounded, catalogued."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.bridges.pygents import ContextItem, ContextPool
from quire.bridges.pygents.context import ContextPool as SamePool
from quire.errors import InvalidLimit, QuireError, UnknownKey
from tests.bridges.pygents.writing import contents, ids, in_a_loop, kept, pool_of


@in_a_loop
async def test_items_are_kept_looked_up_and_taken_out_by_id() -> None:
    pool = ContextPool(limit=9)
    item = ContextItem({"rows": [1]}, "a table", "t")
    await pool.add(item)
    await pool.add(kept("u"))
    assert pool.get("t") is item
    await pool.remove("t")
    assert ids(pool) == ["u"]
    await pool.clear()
    assert len(pool) == 0 and pool.limit == 9


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers())), st.none() | st.integers(1, 5))
@in_a_loop
async def test_a_new_id_at_the_limit_puts_the_oldest_out_and_a_known_one_stays_in_place(
    adds: list[tuple[str, int]], limit: int | None
) -> None:
    pool, plain = ContextPool(limit=limit), dict[str, int]()
    for name, content in adds:
        if name not in plain and limit is not None and len(plain) == limit:
            del plain[next(iter(plain))]
        plain[name] = content
        await pool.add(kept(name, content))
    assert list(zip(ids(pool), contents(pool), strict=True)) == list(plain.items())


@pytest.mark.parametrize("item", [ContextItem(1), ContextItem(1, id="a"), ContextItem(1, "about")])
@in_a_loop
async def test_an_item_without_id_or_description_is_a_value_error(item: ContextItem[int]) -> None:
    pool = await pool_of("x", limit=1)
    with pytest.raises(ValueError, match="needs") as caught:
        await pool.add(item)
    assert isinstance(caught.value, QuireError) and ids(pool) == ["x"]


@pytest.mark.parametrize("wrong", ["text", None, {"id": "a"}, ContextItem(1, "d", 3)])  # type: ignore[arg-type]  # pyright: ignore
@in_a_loop
async def test_anything_but_an_item_is_a_type_error(wrong: Any) -> None:
    pool = await pool_of("x", limit=1)
    with pytest.raises(TypeError):
        await pool.add(wrong)
    assert ids(pool) == ["x"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_value_error(limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1") as caught:
        ContextPool(limit=limit)
    assert isinstance(caught.value, InvalidLimit)


@in_a_loop
async def test_without_a_limit_a_pool_holds_any_number() -> None:
    pool = await pool_of(*map(str, range(300)))
    assert len(pool) == 300 and pool.limit is None


@pytest.mark.parametrize("name", ["gone", "", 3, None])
@in_a_loop
async def test_an_id_that_is_not_there_is_a_key_error(name: Any) -> None:
    pool = await pool_of("a")
    with pytest.raises(KeyError) as got:
        pool.get(name)
    with pytest.raises(KeyError) as removed:
        await pool.remove(name)
    assert isinstance(got.value, UnknownKey) and isinstance(removed.value, UnknownKey)
    assert str(got.value) == f"no item {str(name)!r} in the pool" and ids(pool) == ["a"]


@in_a_loop
async def test_reading() -> None:
    pool = ContextPool()
    assert not pool and pool.items == [] and pool.catalogue() == ""
    pool = await pool_of("a", "b", limit=4)
    assert pool and len(pool) == 2 and list(pool) == pool.items == [kept("a"), kept("b")]
    pool.items.clear()
    assert len(pool) == 2 and "2 items, limit 4" in repr(pool)


@in_a_loop
async def test_a_catalogue_has_one_line_for_each_item() -> None:
    pool = await pool_of("a")
    await pool.add(ContextItem("long content", "two\nlines - [x] told as one", "b"))
    assert pool.catalogue() == "- [a] about a\n- [b] two lines - [x] told as one"


@in_a_loop
async def test_the_engine_can_read_the_notes() -> None:
    pool = await pool_of("a", limit=3)
    await pool.add(ContextItem({"n": 1}, "a number", "b"))
    notes = pool.notes()
    assert notes.limit == 3 and notes.get("b").content == {"n": 1} and notes.catalogue() == pool.catalogue()
    notes.clear()
    assert len(pool) == 2


def test_both_modules_have_the_same() -> None:
    assert SamePool is ContextPool
