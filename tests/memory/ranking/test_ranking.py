"""What ranking is made of: sentences, questions, weights in grains, lists of words, vectors."""

from random import Random

import pytest
from hypothesis import given, strategies as st

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


@pytest.mark.laws
@given(st.floats(-20 * DAY, 30 * DAY), st.floats(0, 20 * DAY))
def test_what_is_told_later_is_less_near_to_the_day_that_was_named(at: float, later: float) -> None:
    question = Question.of("What happened on 3 May 2023?", NOW)
    meant, span = question.meant(), question.span
    assert meant is not None and span is not None
    near = question.nearness(span.start + at)
    assert (near == 1.0) == (span.start <= span.start + at < span.end)
    assert (near > 0.0) == (meant[0] <= span.start + at < meant[1])
    assert at < 0 or question.nearness(span.start + at + later) <= near


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
    (live,), (moved,) = terms("live"), terms("moved")
    assert moved in near_words(live) and live in near_words(moved)
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
        assert abs(score - pairs[nth][0]) <= 3 * most * spread * len(best) ** 0.5 + 1e-6


def ranked(scores: dict[int, float]) -> list[int]:
    return sorted(scores, key=lambda nth: -scores[nth])


def test_what_stands_out_rises_although_words_put_it_last() -> None:
    best = [(nth, 200.0 - nth) for nth in range(200)]
    alike = {nth: 0.1 + 0.05 * (nth * 7919 % 13) / 13 for nth in range(200)} | {150: 0.9, 199: 0.9}
    assert {150, 199} <= set(ranked(fused(best, alike, 0.35))[:20])


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_hardly_anything(seed: int) -> None:
    chance = Random(seed)
    best = [(nth, 200.0 - nth) for nth in range(200)]
    alike = {nth: chance.gauss(0, 0.06) for nth in range(200)}
    moved = [nth for nth, score in fused(best, alike, 0.35).items() if abs(score - 200 + nth) > 10]
    assert len(moved) <= 4
