"""English words meet in all their forms, contractions and possessives fall away, numbers are kept."""

import pytest
from hypothesis import given, strategies as st

from quire.memory.words import terms
from quire.memory.words.english import stem
from quire.memory.words.irregular import IRREGULAR
from quire.memory.words.stop_words import STOP_WORDS
from tests.memory.words.inflections import APART, MEETING


@pytest.mark.parametrize(("form", "word"), MEETING)
def test_forms_of_one_word_meet(form: str, word: str) -> None:
    assert terms(form) == terms(word) != []


@pytest.mark.parametrize(("one", "other"), APART)
def test_other_words_do_not(one: str, other: str) -> None:
    assert terms(one) != terms(other)


@pytest.mark.laws
@given(st.text("abcdeghilnorstuyvwmpf", max_size=14) | st.sampled_from(sorted(IRREGULAR)))
def test_the_stem_of_a_stem_is_itself(word: str) -> None:
    assert stem(stem(word)) == stem(word)


@pytest.mark.laws
@given(st.text("abcdeghilnorstuyvwmpf", min_size=1, max_size=14))
def test_a_stem_is_a_stop_word_only_where_its_word_is(word: str) -> None:
    assert word in STOP_WORDS or stem(word) not in STOP_WORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Caroline's dog", ["carolin", "dog"]),
        ("the dogs' bowls", ["dog", "bowl"]),
        ("I don't, can't, won't and shouldn't", []),
        ("they've they'll we'd she's I'm", []),
        ("they\u2019ve Anna\u2019s", ["anna"]),
        ("O'Brien", ["obrien", "o", "brien"]),
        ("It was the one that they had.", []),
        ("", []),
        ("... !!! ---", []),
    ],
)
def test_what_is_added_to_words_falls(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023", ["2023"]),
        ("3.5", ["3.5"]),
        ("3.50", ["3.5"]),
        ("$1,200", ["1200"]),
        ("1,234,567.00", ["1234567"]),
        ("50%", ["50"]),
        ("3.11.7", ["3.11.7"]),
        ("the 8th", ["8"]),
        ("2023-05-08", ["2023", "may", "8"]),
        ("2023-99-08", ["20239908", "2023", "99", "08"]),
        ("two dogs", ["2", "dog"]),
    ],
)
def test_numbers_are_kept_in_one_form(text: str, expected: list[str]) -> None:
    assert terms(text) == expected
