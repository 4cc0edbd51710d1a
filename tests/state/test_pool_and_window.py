"""Notes by key and windows of the newest: bounds, order, forks, errors."""

from collections import deque
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit, InvalidValue, UnknownKey, WrongType
from quire.items import Message, Note
from quire.state import Pool, Window


def note(key: str, content: object = None) -> Note:
    return Note(content, key, f"about {key}")


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers())), st.none() | st.integers(1, 5))
def test_a_pool_is_a_dictionary_that_forgets_its_oldest(
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


def test_a_fork_of_a_pool_goes_its_own_way() -> None:
    pool = Pool([note("a"), note("b"), note("c")], limit=3)
    child, wide, narrow = pool.fork(), pool.fork(limit=None), pool.fork(limit=2)
    child.add(note("d"))
    assert ("a" in pool, "a" in child, "d" in pool) == (True, False, False)
    assert (child.limit, wide.limit, narrow.limit) == (3, None, 2)
    assert [n.key for n in narrow] == ["b", "c"]


def test_what_a_pool_refuses() -> None:
    pool = Pool([note("a")])
    with pytest.raises(UnknownKey, match="'z'"):
        pool.get("z")
    with pytest.raises(KeyError):
        pool.remove("z")
    with pytest.raises(InvalidValue):
        pool.add(Note("no key"))
    with pytest.raises(WrongType):
        pool.add(Message("user", "x"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert [n.key for n in pool] == ["a"]
    assert pool.remove("a").key == "a"
    assert pool.clear() == []


@pytest.mark.parametrize("limit", [0, -1])
def test_limits_below_one_are_errors(limit: int) -> None:
    for make in (
        lambda: Pool(limit=limit),
        lambda: Window[int](limit=limit),
        lambda: Pool().fork(limit=limit),
    ):
        with pytest.raises(InvalidLimit):
            make()


@pytest.mark.parametrize("limit", ["3", 2.0, True])
def test_limits_are_whole_numbers(limit: object) -> None:
    with pytest.raises(WrongType):
        Pool(limit=limit)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        Window(limit=limit)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@given(st.lists(st.lists(st.integers(), max_size=6)), st.integers(1, 5))
def test_a_window_keeps_the_newest(batches: list[list[int]], limit: int) -> None:
    window, everything, fallen = Window[int](limit=limit), list[int](), list[int]()
    for batch in batches:
        fallen += window.add(*batch)
        everything += batch
    assert list(window) == everything[-limit:]
    assert fallen + list(window) == everything


def test_a_branch_of_a_window_goes_its_own_way() -> None:
    window = Window([1, 2, 3], limit=3)
    child, narrow = window.branch(), window.branch(limit=2)
    child.add(4)
    assert (list(window), list(child), list(narrow)) == ([1, 2, 3], [2, 3, 4], [2, 3])
    with pytest.raises(InvalidLimit):
        window.branch(limit=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert (window.clear(), len(window)) == ([1, 2, 3], 0)


@given(st.lists(st.lists(st.integers(), max_size=7), max_size=7), st.integers(1, 5))
def test_what_falls_out_of_a_window_is_all_that_does_not_stay(batches: list[list[int]], limit: int) -> None:
    window, fallen = Window[int](limit=limit), list[int]()
    for batch in batches:
        fallen += window.add(*batch)
        assert len(window) <= limit
    assert [*fallen, *window] == [thing for batch in batches for thing in batch]


def test_adding_to_a_window_looks_at_what_falls_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(range(1000), limit=1000)

    class Watched(deque[int]):
        looked_at = 0

        def __iter__(self) -> Iterator[int]:
            for thing in super().__iter__():
                Watched.looked_at += 1
                yield thing

    monkeypatch.setattr(window, "_things", Watched(range(1000), maxlen=1000))
    Watched.looked_at = 0
    assert window.add(1, 2) == [0, 1]
    assert Watched.looked_at <= 3
