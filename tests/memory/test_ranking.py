"""Ranking: neighbours, stand-ins, speakers, times, long texts, evidence and vectors."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, strategies as st

from quire.memory.expansion import expansion
from quire.memory.found import Found, Hit
from quire.memory.index import MOST_TERMS, Index, Only
from quire.memory.leaf import HEAD_LETTERS, Leaf
from quire.memory.ranking import Question, fused, likeness, says_time, told_and_asked, unit
from quire.memory.words import terms
from tests.memory.leaves import DAY, NOW, said


def asked(question: str, *texts: str | Leaf) -> Sequence[Hit]:
    index = Index()
    index.put([said(text, order) if isinstance(text, str) else text for order, text in enumerate(texts)])
    return index.search(Question.of(question, NOW)).hits


def keys(hits: Sequence[Hit]) -> list[str]:
    return [hit.leaf.key for hit in hits]


# What is found, and why


def test_answer_is_found_by_the_words_of_the_question_before_it() -> None:
    turns = "Nice weather.", "What instrument do you play?", "The oboe!"
    hits = asked("What instrument does she play?", *turns)
    assert keys(hits)[0] == "i2"
    assert hits[0].reason == 'beside a turn that has "instrument", "play"'


def test_reason_names_a_word_once_whatever_its_parts() -> None:
    (hit,) = asked("PX36", "My printer is a PX36.")
    assert hit.reason == 'has "PX36"'


def test_terms_are_lent_within_a_stretch_only() -> None:
    hits = asked("Which opera?", said("opera?", 0), said("Tosca", 1, stretch=1))
    assert keys(hits) == ["i0"]


def test_word_may_stand_for_another_and_the_reason_says_so() -> None:
    (first, *_) = asked("Which vehicle did she buy?", "We bought a car.", said("A long walk.", 9))
    assert first.leaf.key == "i0" and 'has "car" for "vehicle", "bought"' in first.reason


def test_named_speaker_is_preferred() -> None:
    texts = [said("I love the sea", 0, speaker="Ben"), said("I love the sea", 9, speaker="Ana")]
    hits = asked("What does Ana love?", *texts)
    assert keys(hits) == ["i9", "i0"] and "said by Ana" in hits[0].reason


def test_named_time_is_preferred() -> None:
    texts = [said("We ate pie", order, at=NOW - order * 30 * DAY, stretch=order) for order in range(4)]
    hits = asked("What did we eat in September 2023?", *texts)
    assert keys(hits)[0] == "i2" and "from September 2023" in hits[0].reason
    hits = asked("What did I do last week?", *texts, said("Went home", 9, at=NOW - 7 * DAY, stretch=9))
    assert keys(hits)[0] == "i9"


def test_question_that_only_names_a_time_finds_what_is_of_it() -> None:
    texts = [said(f"word{order}", order, at=NOW - 3 * DAY * order) for order in range(9)]
    hits = asked("And a week ago?", *texts)
    assert hits and all(abs(NOW - 7 * DAY - hit.leaf.at) <= 4 * DAY for hit in hits)


def test_turn_that_asks_does_not_answer_itself() -> None:
    index = Index()
    index.put([said("Where is the heron?", 0), said("By the lake.", 1), said("Where is the heron?", 9)])
    question = Question.of("Where is the heron?", NOW).asked_in([("one", "i9")])
    assert keys(index.search(question).hits) == ["i1", "i0"]


def test_long_text_is_found_by_all_of_it() -> None:
    filler = " ".join(f"w{nth}" for nth in range(3 * MOST_TERMS))
    for word in ("alpha", "middle", "omega"):
        assert keys(asked(word, f"alpha {filler} middle {filler} omega")) == ["i0"]


def test_longest_texts_are_found_by_their_beginning_and_their_end() -> None:
    filler = "so it was " * (HEAD_LETTERS // 10)
    text = f"alpha {filler} middle {filler} omega"
    assert keys(asked("alpha", text)) == keys(asked("omega", text)) == ["i0"]
    assert asked("middle", text) == ()


def test_what_several_searches_found_is_merged() -> None:
    index = Index()
    index.put([said("dog", 0), said("a dog and a cat", 9, source="two")])
    dog = Question.of("dog", NOW)
    found = [index.search(dog, only=Only(sources=one)) for one in (frozenset({"two"}), None)]
    assert keys(Found.merged(found, 5).hits) == ["i0", "i9"]
    assert keys(Found.merged(found, 1).hits) == ["i0"]


# Evidence

CHAT = (
    "My sister keeps bees behind the old mill.",
    "That sounds lovely, how many hives has she?",
    "Twelve hives now, and the honey sells at the Saturday market.",
    "I would like to try the heather honey.",
    "We painted the boat green before the regatta in Kiel.",
    "The regatta was windy, we came in fourth.",
)
EVIDENT = (
    "How many hives are there?",
    "Which colour is the boat?",
    "heather honey",
    "What is it that Ana sells?",
)
UNRELATED = (
    "How do I undo the last git commit without losing the changes?",
    "Explain Kubernetes liveness and readiness probes.",
    "What is the statute of limitations for unpaid invoices in Germany?",
)


@pytest.fixture(scope="module")
def record() -> Index:
    """A record of some length: in a young one hardly anything is withheld."""
    index = Index()
    filler = [said(f"Errand {nth} went as planned on tour {nth % 17}.", 10 + 8 * nth) for nth in range(250)]
    index.put([said(text, order) for order, text in enumerate(CHAT)] + filler)
    return index


@pytest.mark.parametrize("question", EVIDENT)
def test_question_about_the_record_is_evident(record: Index, question: str) -> None:
    found = record.search(Question.of(question, NOW))
    assert found.hits and found.is_evident


@pytest.mark.parametrize("question", UNRELATED)
def test_unrelated_prompt_is_not_evident(record: Index, question: str) -> None:
    assert not record.search(Question.of(question, NOW)).is_evident


def test_long_turn_with_a_question_about_the_record_is_evident(record: Index) -> None:
    rest = " ".join(f"zq{nth}x" for nth in range(40))
    question = f"The regatta in Kiel with the green boat that we painted, how did it end? {rest}"
    assert record.search(Question.of(question, NOW)).is_evident


# Parts


@pytest.mark.parametrize(
    ("text", "told", "asked"),
    [
        ("I went home.", "I went home.", ""),
        ("Why? I went home.", "I went home.", "Why?"),
        ("Home. Why", "Home. Why", ""),
        ("Is 3.5 in config.py? Yes.", "Yes.", "Is 3.5 in config.py?"),
        ("\u4f60\u597d\u3002\u5728\u54ea\uff1f", "\u4f60\u597d\u3002", "\u5728\u54ea\uff1f"),
    ],
)
def test_statements_and_questions(text: str, told: str, asked: str) -> None:
    assert told_and_asked(text) == (told, asked)


@pytest.mark.laws
@given(st.text("ab .?!\n"))
def test_no_word_is_lost_between_statements_and_questions(text: str) -> None:
    told, asked = told_and_asked(text)
    assert sorted(f"{told} {asked}".split()) == sorted(text.split())


def test_times_are_said_by_name_and_by_year() -> None:
    assert says_time({*terms("We met yesterday")}) and says_time({*terms("back in 1999")})
    assert not says_time({*terms("We met 12 people")})


def test_question_knows_its_terms_and_its_time() -> None:
    question = Question.of("When did we go to Rome in May 2023?", NOW)
    assert question.asks_when and question.terms[:2] == tuple(terms("go Rome"))
    assert question.meant() is not None and Question.of("Who is it?", NOW).meant() is None
    long = Question.of("alpha " + "filler text " * 10_000 + " omega", NOW)
    assert set(terms("alpha omega")) <= set(long.terms)


def test_what_happened_on_a_day_may_be_told_some_days_later() -> None:
    day = Question.of("What happened on 3 May 2023?", NOW).meant()
    month = Question.of("What happened in May 2023?", NOW).meant()
    assert day is not None and month is not None
    assert day[1] - day[0] == 11 * DAY and month[1] - month[0] == 31 * DAY


@pytest.mark.laws
@given(st.floats(-20 * DAY, 30 * DAY), st.floats(0, 20 * DAY))
def test_what_is_told_later_is_less_near_to_the_named_day(at: float, later: float) -> None:
    question = Question.of("What happened on 3 May 2023?", NOW)
    meant, span = question.meant(), question.span
    assert meant is not None and span is not None
    near = question.nearness(span.start + at)
    assert (near == 1.0) == (span.start <= span.start + at < span.end)
    assert (near > 0.0) == (meant[0] <= span.start + at < meant[1])
    assert at < 0 or question.nearness(span.start + at + later) <= near


def test_lists_of_words_go_both_ways_and_kinds_only_down() -> None:
    same, near, kinds = expansion()
    (car,), (vehicle,), (sport,), (tennis,) = map(terms, ("car", "vehicle", "sport", "tennis"))
    assert vehicle in near[car] and car in near[vehicle]
    assert tennis in kinds[sport] and sport not in kinds.get(tennis, ())
    (color,), (colour,) = terms("color"), terms("colour")
    assert colour in same[color] and colour not in near.get(color, ())


# Vectors


def with_vectors(vectors: Sequence[Sequence[float]] | None) -> list[str]:
    index = Index()
    texts = [said("dog " * (12 - order) + "cat", 8 * order) for order in range(12)]
    index.put(texts)
    index.set_vectors(texts if vectors else (), vectors or ())
    return keys(index.search(Question.of("dog", NOW, (1.0, 0.0) if vectors else None)).hits)


def test_vectors_that_say_nothing_or_the_contrary_move_nothing() -> None:
    plain = with_vectors(None)
    assert with_vectors([(1.0, 1.0)] * 12) == plain
    assert with_vectors([(float(order), 12.0 - order) for order in range(12)]) == plain
    assert with_vectors([(0.0, 0.0)] * 12) == with_vectors([(1.0, 2.0, 3.0)] * 12) == plain


def test_vectors_that_agree_with_terms_lift_what_is_closest() -> None:
    plain = with_vectors(None)
    lifted = [(12.0 - order, 12.0) for order in range(12)]
    lifted[3] = (50.0, 1.0)
    moved = with_vectors(lifted)
    assert moved.index(plain[3]) < 3 and sorted(moved) == sorted(plain)


def test_vectors_find_where_no_term_does_but_not_for_nothing() -> None:
    index, pets = Index(), [said("chat", 0), said("chien", 1)]
    index.put(pets)
    index.set_vectors(pets, [(1.0, 0.0), (0.0, 1.0)])
    found = index.search(Question.of("cat", NOW, (0.9, 0.1)))
    assert found.how == "vectors" and keys(found.hits) == ["i0", "i1"] and "vector" in found.hits[0].reason
    assert index.search(Question.of("Why?", NOW, (1.0, 0.1))).hits == ()


vectors = st.lists(st.floats(-10, 10, allow_nan=False), min_size=3, max_size=3)


@given(vectors, vectors)
def test_likeness_is_a_cosine(one: list[float], other: list[float]) -> None:
    alike = likeness(unit(one), unit(other))
    assert -1.001 <= alike <= 1.001 and alike == likeness(unit(other), unit(one))


def test_what_stands_out_rises_although_terms_put_it_last() -> None:
    best = [(nth, 200.0 - nth) for nth in range(200)]
    alike = {nth: 0.1 + 0.05 * (nth * 7919 % 13) / 13 for nth in range(200)} | {150: 0.9, 199: 0.9}
    moved = fused(best, alike, 0.35)
    assert {150, 199} <= set(sorted(moved, key=lambda nth: -moved[nth])[:20])


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_hardly_anything(seed: int) -> None:
    chance = Random(seed)
    best = [(nth, 200.0 - nth) for nth in range(200)]
    alike = {nth: chance.gauss(0, 0.06) for nth in range(200)}
    moved = [nth for nth, score in fused(best, alike, 0.35).items() if abs(score - 200 + nth) > 10]
    assert len(moved) <= 4
