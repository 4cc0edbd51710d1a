"""Counts of words are exact: after any coming and going they are those of what is left, counted anew."""

import pytest
from hypothesis import given, strategies as st

from quire.memory.ranking import Weights
from quire.memory.ranking.postings import Postings, Row
from quire.memory.ranking.weights import OFFSETS

words = st.lists(st.sampled_from("abcdef"), max_size=5)
bags = st.tuples(words, words)
comings = st.lists(st.tuples(st.integers(0, 11), bags | st.none()), max_size=40)

Bags = dict[int, tuple[list[str], list[str]]]


def taken(came: list[tuple[int, tuple[list[str], list[str]] | None]]) -> tuple[Postings, Bags]:
    """Postings to which leaves came and from which they went, one row, each in its order."""
    postings, row = Postings(Weights()), Row()
    left: Bags = {}
    for nth, (order, bag) in enumerate(came):
        if order in left:
            postings.remove(row[order], row, order)
            del left[order]
        if bag is not None:
            postings.add(nth, row, order, *bag)
            left[order] = bag
    return postings, left


@pytest.mark.laws
@given(comings)
def test_carriers_are_those_that_have_or_are_lent_a_word(
    came: list[tuple[int, tuple[list[str], list[str]] | None]],
) -> None:
    postings, left = taken(came)
    expected = {word: 0 for told, asked in left.values() for word in (*told, *asked)}
    for order in left:
        sources = [order, *(order - offset for offset in OFFSETS)]
        carried = {word for one in sources if one in left for part in left[one] for word in part}
        for word in carried:
            expected[word] += 1
    assert dict(postings.carriers) == expected
    assert postings.leaves_with.keys() == expected.keys()


@pytest.mark.laws
@given(comings, st.randoms(use_true_random=False))
def test_lengths_are_exact_whatever_came_and_went(
    came: list[tuple[int, tuple[list[str], list[str]] | None]], order: "st.DataObject"
) -> None:
    postings, left = taken(came)
    again = list(left.items())
    order.shuffle(again)  # type: ignore[attr-defined]
    fresh, _ = taken([(place, bag) for place, bag in again])
    assert postings.total == fresh.total == sum(postings.length.values())
    assert sorted(postings.length.values()) == sorted(fresh.length.values())
    assert len(postings) == len(left)
