"""Room that is made before a note comes, undone when it does not; pools that come back whole."""

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit
from quire.items import Note
from quire.state import Pool


def note(key: str, content: object = None) -> Note:
    return Note(content, key, f"about {key}")


def keys(pool: Pool) -> str:
    return "".join(str(one.key) for one in pool)


def pool_of(names: str, limit: int | None = None) -> Pool:
    return Pool.restored(map(note, names), limit=limit)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())), st.none() | st.integers(1, 4))
def test_adding_in_two_steps_is_adding_or_nothing(adds: list[tuple[str, bool]], limit: int | None) -> None:
    pool, plain = Pool(limit=limit), Pool(limit=limit)
    for name, refused in adds:
        new, before = note(name), keys(pool)
        try:
            with pool.adding(new) as evicted:
                assert evicted == plain.evicted_by(new)
                assert keys(pool) == (before if evicted is None else before[1:])
                if refused:
                    raise PermissionError
            plain.add(new)
        except PermissionError:
            assert keys(pool) == before
        assert list(pool) == list(plain)


def test_room_that_another_took_is_made_again() -> None:
    pool = pool_of("ab", limit=2)
    with pool.adding(note("c")):
        pool.add(note("d"))
        assert keys(pool) == "bd"
    assert keys(pool) == "dc"


def refuse(pool: Pool, name: str, meanwhile: str = "") -> None:
    """Begin to add a note, let others come or all go (`-`), and take it back."""
    with pytest.raises(PermissionError), pool.adding(note(name)):
        for other in meanwhile:
            if other == "-":
                pool.clear()
            else:
                pool.add(note(other))
        raise PermissionError


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [("", "ab"), ("b", "ab"), ("d", "bd"), ("de", "de"), ("a", "ba"), ("-", ""), ("-d", "d")],
)
def test_what_had_to_go_comes_back_unless_others_took_its_place(meanwhile: str, left: str) -> None:
    pool = pool_of("ab", limit=2)
    refuse(pool, "c", meanwhile)
    assert keys(pool) == left


def test_a_restored_pool_may_be_over_its_limit_and_grows_no_further() -> None:
    pool = pool_of("abcd", limit=2)
    assert (keys(pool), pool.limit) == ("abcd", 2)
    refuse(pool, "e")
    assert keys(pool) == "abcd"
    with pool.adding(note("e")) as evicted:
        assert evicted is not None and evicted.key == "a" and keys(pool) == "bcd"
    assert keys(pool) == "bcde"
    pool.add(note("f"))
    assert keys(pool) == "cdef"
    with pytest.raises(InvalidLimit):
        Pool.restored([], limit=0)


def test_a_fork_without_a_limit_of_its_own_has_every_note() -> None:
    pool = pool_of("abcd", limit=2)
    assert (keys(pool.fork()), pool.fork().limit) == ("abcd", 2)
    assert (keys(pool.fork(3)), keys(pool.fork(None)), keys(pool)) == ("bcd", "abcd", "abcd")


def test_what_is_given_back_by_clearing_is_all_there_was() -> None:
    pool = pool_of("ab")
    assert [one.key for one in pool.clear()] == ["a", "b"] and len(pool) == 0
    pool.add(note("c"))
    assert keys(pool) == "c"
