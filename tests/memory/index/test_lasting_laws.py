"""An index that lasts finds what one in a process finds, to the last digit, also where little is read."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings, strategies as st

from quire.memory.index import Found, Index, InProcess, Only, Question
from quire.memory.leaf import Leaf
from quire.memory.ranking import places
from tests.memory.index.every import INDEXES
from tests.memory.index.leaves import DAY, KINDS, NOW, QUESTIONS, leaves, said, texts
from tests.memory.index.steps import Step, done, steps

LASTING = sorted(INDEXES.keys() - {"in process"})
pytestmark = [pytest.mark.laws, pytest.mark.parametrize("name", LASTING)]

turns = st.sets(st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["k1", "k2", "k3"])), max_size=2)
questions = st.tuples(st.sampled_from(QUESTIONS) | texts, turns).map(
    lambda asked: Question.of(asked[0], NOW + 1).asked_in(asked[1])
)
onlys = st.none() | st.builds(
    Only,
    sources=st.none() | st.frozensets(st.sampled_from(["one", "two", "three"])),
    kinds=st.none() | st.frozensets(st.sampled_from(KINDS)),
    span=st.none() | st.just((NOW - 2 * DAY, NOW)),
)
FEW = settings(max_examples=max(10, settings().max_examples // 20))
vectors = st.tuples(st.floats(-1, 1, width=32), st.floats(-1, 1, width=32))


@contextmanager
def reading_little() -> Generator[None, None, None]:
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"FEW": 2, "READ": 3, "CHOSEN": 2, "_LOOKED_AT": 4}.items():
            patched.setattr(places, name, value)
        yield


def told(found: Found) -> tuple[str, list[tuple[Leaf, float, str]]]:
    return found.how, [(hit.leaf, hit.score, hit.reason) for hit in found.hits]


def assert_alike(one: Index, other: Index, question: Question, only: Only | None) -> None:
    assert len(one) == len(other)
    assert told(one.search(question, only=only)) == told(other.search(question, only=only))
    with reading_little():
        assert told(one.search(question, only=only)) == told(other.search(question, only=only))
    assert one.newest(5, only) == other.newest(5, only)
    assert one.weightiest(5, only) == other.weightiest(5, only)


@given(taken=steps, question=questions, only=onlys)
def test_it_finds_what_an_index_in_this_process_finds(
    name: str, taken: list[Step], question: Question, only: Only | None
) -> None:
    with INDEXES[name]() as lasting:
        in_process = InProcess()
        assert done(lasting, taken) == done(in_process, taken)
        assert_alike(lasting, in_process, question, only)


@given(put=st.lists(st.tuples(leaves, vectors), max_size=24), vector=vectors, text=st.sampled_from(QUESTIONS))
def test_vectors_move_the_same_leaves(
    name: str, put: list[tuple[Leaf, tuple[float, float]]], vector: tuple[float, float], text: str
) -> None:
    with INDEXES[name]() as lasting:
        in_process = InProcess()
        for index in (lasting, in_process):
            index.put([leaf for leaf, _ in put], vectors=[one for _, one in put])
        assert_alike(lasting, in_process, Question.of(text, NOW, vector), None)


@FEW
@given(nths=st.lists(st.integers(0, 700), max_size=12), question=questions)
def test_what_is_put_in_many_batches_is_put_once(name: str, nths: list[int], question: Question) -> None:
    texts = ["Ana bought a dog.", "Which car?", "In Berlin, last week", "a vehicle", "Ben?"]
    everything = [said(texts[nth % 5], nth, at=NOW - nth * 3600, stretch=nth // 40) for nth in range(701)]
    with INDEXES[name]() as lasting:
        in_process = InProcess()
        for index in (lasting, in_process):
            index.put(everything)
            index.put([everything[nth] for nth in nths])
            index.remove("one", [everything[nth].key for nth in nths[::2]])
        assert_alike(lasting, in_process, question, None)


@given(
    taken=st.lists(steps.map(lambda some: some[:3]), max_size=4),
    asked=st.lists(questions, min_size=1, max_size=2),
)
def test_what_was_asked_before_changes_nothing(
    name: str, taken: list[list[Step]], asked: list[Question]
) -> None:
    with INDEXES[name]() as lasting:
        in_process = InProcess()
        for some in taken:
            assert done(lasting, some) == done(in_process, some)
            for question in asked:
                assert_alike(lasting, in_process, question, None)
