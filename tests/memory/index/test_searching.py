"""What an index in this process finds and why: neighbours, stand-ins, names, times, long texts, vectors."""

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue
from quire.memory.index import Found, Hit, InProcess, Only, Question
from quire.memory.index.holding import MOST_TERMS
from quire.memory.leaf import HEAD_LETTERS, Leaf
from quire.memory.ranking import places
from tests.memory.index.every import INDEXES
from tests.memory.index.leaves import DAY, NOW, QUESTIONS, said
from tests.memory.index.steps import Step, done, steps


def asked(question: str, *texts: str | Leaf, now: float = NOW) -> Sequence[Hit]:
    index = InProcess()
    index.put([said(text, order) if isinstance(text, str) else text for order, text in enumerate(texts)])
    return index.search(Question.of(question, now)).hits


def keys(hits: Sequence[Hit]) -> list[str]:
    return [hit.leaf.key for hit in hits]


def test_the_answer_is_found_by_the_words_of_the_question_before_it() -> None:
    hits = asked(
        "What instrument does she play?", "Nice weather.", "What instrument do you play?", "The oboe!"
    )
    assert keys(hits)[0] == "i2"
    assert hits[0].reason == 'beside a turn that has "instrument", "play"'


def test_a_reason_has_a_word_once_whatever_its_parts() -> None:
    (hit,) = asked("PX36", "My printer is a PX36.")
    assert hit.reason == 'has "PX36"'


def test_words_are_lent_within_a_stretch_only() -> None:
    hits = asked("Which opera?", said("opera?", 0), said("Tosca", 1, stretch=1))
    assert keys(hits) == ["i0"]


def test_a_word_may_stand_for_another_and_is_told_so() -> None:
    (first, *_) = asked("Which vehicle did she buy?", "We bought a car.", said("A long walk.", 9))
    assert first.leaf.key == "i0" and 'has "car" for "vehicle", "bought"' in first.reason


def test_who_is_named_is_preferred() -> None:
    texts = [said("I love the sea", 0, speaker="Ben"), said("I love the sea", 9, speaker="Ana")]
    hits = asked("What does Ana love?", *texts)
    assert keys(hits) == ["i9", "i0"] and "said by Ana" in hits[0].reason


def test_when_is_named_is_preferred() -> None:
    texts = [said("We ate pie", order, at=NOW - order * 30 * DAY, stretch=order) for order in range(4)]
    hits = asked("What did we eat in September 2023?", *texts)
    assert keys(hits)[0] == "i2" and "from September 2023" in hits[0].reason
    hits = asked("What did I do last week?", *texts, said("Went home", 9, at=NOW - 7 * DAY, stretch=9))
    assert keys(hits)[0] == "i9"


def test_a_long_text_is_found_by_all_of_it() -> None:
    filler = " ".join(f"w{nth}" for nth in range(3 * MOST_TERMS))
    text = f"alpha {filler} middle {filler} omega"
    for word in ("alpha", "middle", "omega"):
        assert keys(asked(word, text)) == ["i0"]


def test_the_longest_are_found_by_their_beginning_and_their_end() -> None:
    filler = "so it was " * (HEAD_LETTERS // 10)
    text = f"alpha {filler} middle {filler} omega"
    assert keys(asked("alpha", text)) == keys(asked("omega", text)) == ["i0"]
    assert asked("middle", text) == ()


@pytest.mark.laws
@given(taken=steps, question=st.sampled_from(QUESTIONS), order=st.randoms(use_true_random=False))
def test_a_history_too_long_to_read_is_searched_the_same_way_however_it_came(
    taken: list[Step], question: str, order: "st.DataObject"
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"FEW": 2, "READ": 3, "CHOSEN": 2, "_LOOKED_AT": 4}.items():
            patched.setattr(places, name, value)
        used, fresh = InProcess(), InProcess()
        left = done(used, taken)
        order.shuffle(left)  # type: ignore[attr-defined]
        fresh.put(left)
        found = [index.search(Question.of(question, NOW)).hits for index in (used, fresh)]
        assert [(hit.leaf, hit.score) for hit in found[0]] == [(hit.leaf, hit.score) for hit in found[1]]


def test_a_filter_reaches_places_that_others_would_crowd_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FEW": 2, "READ": 3, "CHOSEN": 2, "_LOOKED_AT": 4}.items():
        monkeypatch.setattr(places, name, value)
    index = InProcess()
    index.put([said("dog", 8 * nth) for nth in range(40)] + [said("dog", 0, source="two")])
    found = index.search(Question.of("dog", NOW), only=Only(sources=frozenset(("two",))))
    assert [hit.leaf.source for hit in found.hits] == ["two"]


DEPLOYS = [
    said("Deploy the gateway", 8 * day, key=f"d{day}", at=NOW - day * DAY, stretch=day) for day in range(400)
]


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_a_time_that_is_named_reaches_places_that_others_would_crowd_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound, value in {"FEW": 2, "READ": 40, "CHOSEN": 40, "_LOOKED_AT": 80}.items():
        monkeypatch.setattr(places, bound, value)
    with INDEXES[name]() as index:
        index.put(DEPLOYS)
        question = Question.of("What did we deploy to the gateway in March 2023?", NOW)
        (first, end), hits = question.meant() or (0.0, 0.0), index.search(question).hits
        assert {hit.leaf.key for hit in hits[:31]} == {leaf.key for leaf in DEPLOYS if first <= leaf.at < end}


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_what_is_from_another_time_fills_what_is_left(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, value in {"FEW": 2, "READ": 30, "CHOSEN": 20, "_LOOKED_AT": 40}.items():
        monkeypatch.setattr(places, bound, value)
    with INDEXES[name]() as index:
        index.put(DEPLOYS)
        hits = index.search(Question.of("Which deploy of the gateway was yesterday?", NOW)).hits
        assert hits[0].leaf.key == "d1" and len(hits) == 20
        assert {hit.leaf.key for hit in hits} == {f"d{day}" for day in range(20)}


def test_what_has_no_word_of_the_question_is_found_by_its_time_in_a_long_history_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "FEW", 2)
    index = InProcess()
    index.put([*DEPLOYS, said("Went home", 1, at=NOW - 7 * DAY, stretch=500)])
    hits = index.search(Question.of("What did we deploy last week?", NOW)).hits
    assert "i1" in keys(hits)


def with_vectors(vectors: Sequence[Sequence[float]] | None) -> list[str]:
    index = InProcess()
    texts = [said("dog " * (12 - order) + "cat", 8 * order) for order in range(12)]
    index.put(texts, vectors=vectors)
    vector = None if vectors is None else (1.0, 0.0)
    return keys(index.search(Question.of("dog", NOW, vector)).hits)


def test_vectors_that_say_nothing_or_the_contrary_move_nothing() -> None:
    plain = with_vectors(None)
    assert with_vectors([(1.0, 1.0)] * 12) == plain
    assert with_vectors([(float(order), 12.0 - order) for order in range(12)]) == plain
    assert with_vectors([(0.0, 0.0)] * 12) == with_vectors([(1.0, 2.0, 3.0)] * 12) == plain


def test_vectors_that_agree_with_words_bring_forward_what_they_find_closest() -> None:
    plain = with_vectors(None)
    lifted = [(12.0 - order, 12.0) for order in range(12)]
    lifted[3] = (50.0, 1.0)
    moved = with_vectors(lifted)
    assert moved.index(plain[3]) < 3 and sorted(moved) == sorted(plain)


def test_vectors_find_what_no_word_does() -> None:
    index = InProcess()
    index.put([said("chat", 0), said("chien", 1)], vectors=[(1.0, 0.0), (0.0, 1.0)])
    found = index.search(Question.of("cat", NOW, (0.9, 0.1)))
    assert found.how == "vectors" and keys(found.hits) == ["i0", "i1"] and "vector" in found.hits[0].reason


def test_each_leaf_has_its_vector() -> None:
    with pytest.raises(InvalidValue, match="1 vectors for 2 leaves"):
        InProcess().put([said("a", 0), said("b", 1)], vectors=[(1.0,)])


def test_what_was_found_in_several_places_is_merged() -> None:
    index = InProcess()
    index.put([said("dog", 0), said("a dog and a cat", 9)])
    found = [
        index.search(Question.of("dog", NOW), only=Only(span=span))
        for span in ((NOW, NOW + 5), (0.0, NOW * 2))
    ]
    merged = Found.merged(found, 5)
    assert keys(merged.hits) == ["i0", "i9"] and keys(Found.merged(found, 1).hits) == ["i0"]
