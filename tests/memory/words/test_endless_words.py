"""A text without an end to its words has terms as any other, in the time its length takes."""

import pytest

from quire.memory.words import terms

MANY = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "1" + ",111" * (MANY // 3) + "x",
        "1." * (MANY // 2) + "x",
        "x://" + "a" * MANY,
        "x" + "\u0301" * MANY + "\u0323" * MANY,
        "x" + "\u0301\u0323" * MANY,
        "وال" * MANY,
        "ون" * MANY,
        "привет" * MANY,
        "של" * MANY,
        "_" * MANY + "x",
        "x_" * MANY,
    ],
)
def test_terms(text: str) -> None:
    assert terms(text)
