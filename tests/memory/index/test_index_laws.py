"""The laws of finding, for every index: what comes back depends on what is there, and on nothing else."""

from collections.abc import Generator, Sequence

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit
from quire.memory.index import Gone, Index, Only, Question
from quire.memory.leaf import Leaf
from tests.memory.index.every import INDEXES
from tests.memory.index.leaves import DAY, KINDS, NOW, QUESTIONS, leaves, said, texts
from tests.memory.index.steps import Step, done, steps

pytestmark = pytest.mark.parametrize("name", INDEXES)

questions = (st.sampled_from(QUESTIONS) | texts).map(lambda text: Question.of(text, NOW + 1))
onlys = st.builds(
    Only,
    sources=st.none() | st.frozensets(st.sampled_from(["one", "two", "three"])),
    kinds=st.none() | st.frozensets(st.sampled_from(KINDS)),
    span=st.none() | st.just((NOW - 2 * DAY, NOW)),
)


@pytest.fixture
def index(name: str) -> Generator[Index, None, None]:
    with INDEXES[name]() as made:
        yield made


def scored(
    index: Index, question: Question, only: Only | None = None, limit: int = 200
) -> list[tuple[Leaf, float]]:
    return [(hit.leaf, hit.score) for hit in index.search(question, limit=limit, only=only).hits]


@pytest.mark.laws
@given(taken=steps, question=questions, only=st.none() | onlys, order=st.randoms(use_true_random=False))
def test_what_is_found_is_what_a_fresh_index_of_the_same_leaves_finds(
    name: str, taken: list[Step], question: Question, only: Only | None, order: "st.DataObject"
) -> None:
    with INDEXES[name]() as used, INDEXES[name]() as fresh:
        left = done(used, taken)
        order.shuffle(left)  # type: ignore[attr-defined]
        fresh.put(left)
        assert len(used) == len(left)
        assert scored(used, question, only) == scored(fresh, question, only)
        assert used.newest(5, only) == fresh.newest(5, only)
        assert used.weightiest(5, only) == fresh.weightiest(5, only)


@pytest.mark.laws
@given(put=st.lists(leaves, max_size=20), question=questions, only=onlys, limit=st.integers(0, 9))
def test_a_filter_takes_out_what_is_not_allowed_and_nothing_else(
    name: str, put: list[Leaf], question: Question, only: Only, limit: int
) -> None:
    with INDEXES[name]() as index:
        index.put(put)
        whole = [(leaf, score) for leaf, score in scored(index, question) if only.allows(leaf)]
        assert scored(index, question, only, limit) == whole[:limit]


@pytest.mark.laws
@given(put=st.lists(leaves, max_size=20), question=questions)
def test_hits_are_there_once_and_best_first(name: str, put: list[Leaf], question: Question) -> None:
    with INDEXES[name]() as index:
        index.put(put)
        found = index.search(question).hits
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
        keys = [(hit.leaf.source, hit.leaf.transcript, hit.leaf.key) for hit in found]
        assert len(set(keys)) == len(keys) <= len(index)
        assert all(hit.reason for hit in found)


@pytest.mark.laws
@given(put=st.lists(leaves, max_size=20), before=st.integers(0, 3), after=st.integers(0, 3))
def test_neighbours_are_of_one_stretch_and_in_order(
    name: str, put: list[Leaf], before: int, after: int
) -> None:
    with INDEXES[name]() as index:
        index.put(put)
        here = index.newest(len(put) + 1)
        for leaf in here:
            beside = [one for one in here if _is_beside(one, leaf, before, after)]
            assert index.around(leaf, before, after) == sorted(beside, key=lambda one: one.order)


def _is_beside(one: Leaf, leaf: Leaf, before: int, after: int) -> bool:
    is_of_one_stretch = (one.source, one.transcript, one.stretch) == (
        leaf.source,
        leaf.transcript,
        leaf.stretch,
    )
    return is_of_one_stretch and one != leaf and -before <= one.order - leaf.order <= after


def orders(found: Sequence[Leaf]) -> list[int]:
    return [leaf.order for leaf in found]


def test_orders_without_a_question(index: Index) -> None:
    index.put([said("a", order, importance=(0.9, 0.1, 0.9, 0.5)[order]) for order in range(4)])
    assert orders(index.newest(2)) == [2, 3]
    assert orders(index.weightiest(3)) == [2, 0, 3]


def test_where_nothing_fits_nothing_is_found(index: Index) -> None:
    index.put([said(f"word{order}", order) for order in range(5)])
    for nothing in ("", "Yes.", "what was it?", "zebra", "\u6570\u636e\u5e93"):
        assert index.search(Question.of(nothing, NOW), limit=2).hits == ()


def test_a_question_that_only_names_a_time_finds_what_is_of_it(index: Index) -> None:
    index.put([said(f"word{order}", order, at=NOW - 3 * DAY * order) for order in range(9)])
    found = index.search(Question.of("And a week ago?", NOW), limit=9)
    assert found.hits and all(abs(NOW - 7 * DAY - hit.leaf.at) <= 4 * DAY for hit in found.hits)


def test_vectors_find_where_no_word_does_but_not_for_nothing(index: Index) -> None:
    index.put([said("dog", 0), said("ship", 1)], vectors=[(1.0, 0.0), (-1.0, 0.0)])
    assert orders([hit.leaf for hit in index.search(Question.of("zebra", NOW, (1.0, 0.1))).hits]) == [0]
    assert index.search(Question.of("Why?", NOW, (1.0, 0.1))).hits == ()


def test_marks_are_kept_beside_leaves(index: Index) -> None:
    assert index.move_mark("place", None, b"1", leaves=[said("dog")])
    assert index.move_mark("other", None, b"2")
    assert index.mark("place") == b"1" and sorted(index.marked()) == ["other", "place"]
    assert index.move_mark("place", b"1", None)
    assert index.move_mark("nowhere", None, None)
    assert index.mark("place") is None and index.marked() == ["other"] and len(index) == 1


def test_a_mark_moves_with_all_that_goes_and_comes_or_nothing_does(index: Index) -> None:
    assert index.move_mark("one", None, b"1", leaves=[said("dog", order) for order in range(3)])
    key = index.newest(1)[0].key
    more = [said("ship", 3)]
    for since in (None, b"2"):
        assert not index.move_mark("one", since, b"3", gone=[Gone(source="one")], leaves=more)
    assert index.mark("one") == b"1" and orders(index.newest(9)) == [0, 1, 2]
    gone = [Gone(source="one", keys=frozenset((key,))), Gone(source="two")]
    assert index.move_mark("one", b"1", b"2", gone=gone, leaves=more)
    assert index.mark("one") == b"2" and orders(index.newest(9)) == [0, 1, 3]


def test_where_there_was_no_mark_nothing_stays_that_was_there(index: Index) -> None:
    index.put([said("dog", order) for order in range(3)])
    assert index.move_mark("one", None, b"1", leaves=[said("ship", 3)])
    assert orders(index.newest(9)) == [3]


def test_a_negative_limit_is_refused(index: Index) -> None:
    for asked in (index.newest, index.weightiest):
        with pytest.raises(InvalidLimit):
            asked(-1)
    with pytest.raises(InvalidLimit):
        index.search(Question.of("dog", NOW), limit=-1)
