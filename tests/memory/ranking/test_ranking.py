"""What ranking is made of: sentences, questions, weights in grains, lists of words, vectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.memory.expansion import kinds, near_words, same_words
from quire.memory.ranking import Question, Weights
from quire.memory.ranking.sentences import says_time, told_and_asked
from quire.memory.ranking.vectors import fused, likeness, unit
from quire.memory.ranking.weights import GRAIN
from quire.memory.words import terms

NOW = 1_700_000_000.0
DAY = 86_400.0


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
def test_what_tells_and_what_asks(text: str, told: str, asked: str) -> None:
    assert told_and_asked(text) == (told, asked)


@pytest.mark.laws
@given(st.text("ab .?!\n"))
def test_no_word_is_lost_between_telling_and_asking(text: str) -> None:
    told, asked = told_and_asked(text)
    assert sorted(f"{told} {asked}".split()) == sorted(text.split())


def test_times_are_said_by_name_and_by_year() -> None:
    assert says_time(terms("We met yesterday")) and says_time(terms("back in 1999"))
    assert not says_time(terms("We met 12 people"))


def test_a_question_knows_its_words_and_its_time() -> None:
    question = Question.of("When did we go to Rome in May 2023?", NOW)
    assert question.asks_when and question.terms[:2] == tuple(terms("go Rome"))
    assert question.meant() is not None
    assert Question.of("Who is it?", NOW).meant() is None


def test_what_happened_on_a_day_may_be_told_some_days_later() -> None:
    day = Question.of("What happened on 3 May 2023?", NOW).meant()
    month = Question.of("What happened in May 2023?", NOW).meant()
    assert day is not None and month is not None
    assert day[1] - day[0] == 11 * DAY and month[1] - month[0] == 31 * DAY


def test_a_question_as_long_as_a_book_is_read_at_both_ends() -> None:
    question = Question.of("alpha " + "filler text " * 10_000 + " omega", NOW)
    assert set(terms("alpha omega")) <= set(question.terms)


@given(st.floats(0, 1))
def test_shares_are_whole_grains(share: float) -> None:
    weights = Weights(own_question=share, before=(share, share), two_before=share)
    assert all((one * GRAIN).is_integer() for pair in weights.lent() for one in pair)


def test_lists_go_both_ways_and_kinds_only_down() -> None:
    (car,), (vehicle,) = terms("car"), terms("vehicle")
    assert vehicle in near_words(car) and car in near_words(vehicle)
    (sport,), (tennis,) = terms("sport"), terms("tennis")
    assert tennis in kinds(sport) and sport not in kinds(tennis)
    (color,), (colour,) = terms("color"), terms("colour")
    assert colour in same_words(color) and colour not in near_words(color)
    assert near_words("xyzzy") == kinds("xyzzy") == same_words("xyzzy") == ()


vectors = st.lists(st.floats(-10, 10, allow_nan=False), min_size=3, max_size=3)


@given(vectors, vectors)
def test_likeness_is_a_cosine(one: list[float], other: list[float]) -> None:
    alike = likeness(unit(one), unit(other))
    assert -1.001 <= alike <= 1.001 and alike == likeness(unit(other), unit(one))


@pytest.mark.laws
@given(st.lists(st.tuples(st.floats(0, 9), st.floats(-1, 1)), min_size=8, max_size=30), st.floats(0, 0.35))
def test_vectors_move_a_score_by_a_bounded_share_of_the_spread(
    pairs: list[tuple[float, float]], most: float
) -> None:
    best = [(nth, score) for nth, (score, _) in enumerate(pairs)]
    alike = {nth: likeness for nth, (_, likeness) in enumerate(pairs)}
    mean = sum(score for _, score in best) / len(best)
    spread = (sum((score - mean) ** 2 for _, score in best) / len(best)) ** 0.5
    for nth, score in fused(best, alike, most).items():
        assert abs(score - pairs[nth][0]) <= most * spread * len(best) ** 0.5 + 1e-6
