"""Notes by key and windows of the newest: bounds, order, forks, errors."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue, UnknownKey
from quire.items import Note
from quire.state import Pool


def note(key: str, content: object = None) -> Note:
    return Note(content, key, f"about {key}")


def keys(pool: Pool) -> str:
    return "".join(str(one.key) for one in pool)


def pool_of(names: str, limit: int | None = None) -> Pool:
    return Pool.restored(map(note, names), limit=limit)


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers())), st.none() | st.integers(1, 5))
def test_a_pool_is_a_dictionary_that_evicts_its_oldest(
    adds: list[tuple[str, int]], limit: int | None
) -> None:
    pool, plain = Pool(limit=limit), dict[str, int]()
    for key, content in adds:
        evicted = pool.add(note(key, content))
        if key not in plain and limit is not None and len(plain) == limit:
            oldest = next(iter(plain))
            assert evicted is not None and evicted.key == oldest
            del plain[oldest]
        else:
            assert evicted is None
        plain[key] = content
    assert [(n.key, n.content) for n in pool] == list(plain.items())
    assert pool.catalogue() == "\n".join(f"- [{key}] about {key}" for key in plain)


def test_a_restored_pool_may_be_over_its_limit_and_does_not_grow() -> None:
    pool = pool_of("abcd", limit=2)
    assert (keys(pool), pool.limit) == ("abcd", 2)
    pool.add(note("e"))
    assert keys(pool) == "bcde"


def test_a_fork_of_a_pool_is_independent() -> None:
    pool = pool_of("abc", limit=3)
    child, wide, narrow = pool.fork(), pool.fork(limit=None), pool.fork(limit=2)
    child.add(note("d"))
    assert (keys(pool), keys(child), keys(narrow)) == ("abc", "bcd", "bc")
    assert (child.limit, wide.limit, narrow.limit) == (3, None, 2)


def test_what_a_pool_refuses() -> None:
    pool = pool_of("a")
    with pytest.raises(UnknownKey, match="'z'"):
        pool.get("z")
    with pytest.raises(KeyError):
        pool.remove("z")
    with pytest.raises(InvalidValue):
        pool.add(Note("no key"))
    assert pool.remove("a").key == "a" and pool.clear() == []
