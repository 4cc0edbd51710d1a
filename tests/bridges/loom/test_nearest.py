"""Vectors by id: the nearest come back, nearest first."""

from math import isclose, sqrt

import pytest
from hypothesis import given, strategies as st

from quire.bridges.loom.nearest import Nearest
from quire.errors import InvalidValue, WrongType

numbers = st.integers(-9, 9).map(float)
rows = st.lists(st.tuples(numbers, numbers, numbers), max_size=12)


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    lengths = sqrt(sum(a * a for a in one)) * sqrt(sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


@pytest.mark.laws
@given(rows, st.tuples(numbers, numbers, numbers), st.integers(0, 14))
def test_the_nearest_by_angle_come_first(
    kept: list[tuple[float, ...]], asked: tuple[float, ...], limit: int
) -> None:
    vectors = Nearest()
    for number, row in enumerate(kept):
        vectors.put(str(number), row)
    found = vectors.nearest(asked, limit)
    best = sorted((cosine(row, asked) for row in kept), reverse=True)[:limit]
    assert len(found) == len(best) and len({key for key, _ in found}) == len(found)
    for (key, alike), expected in zip(found, best, strict=True):
        assert isclose(alike, expected, abs_tol=1e-5)
        assert isclose(alike, cosine(kept[int(key)], asked), abs_tol=1e-5)


def test_one_id_has_one_vector() -> None:
    vectors = Nearest()
    vectors.put("a", [1, 0])
    vectors.put("a", [0, 1])
    assert len(vectors) == 1 and vectors.nearest([0, 1], 5) == [("a", 1.0)]
    vectors.remove(["a", "b"])
    assert len(vectors) == 0 and vectors.nearest([1, 2, 3], 5) == []


def test_vectors_of_another_embedding_are_refused() -> None:
    vectors = Nearest()
    vectors.put("a", [1, 0])
    with pytest.raises(InvalidValue, match="3 numbers among vectors of 2"):
        vectors.put("b", [1, 2, 3])
    with pytest.raises(InvalidValue, match="endless"):
        vectors.put("b", [float("nan"), 1])
    with pytest.raises(WrongType):
        vectors.put("b", ["x", "y"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    vectors.clear()
    vectors.put("b", [1, 2, 3])
    assert vectors.nearest([2, 4, 6], 1)[0][0] == "b"
