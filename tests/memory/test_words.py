"""Terms: forms of a word meet, identifiers are found by their parts, other languages and scripts are read."""

import string
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.memory.index import Index
from quire.memory.ranking import Question
from quire.memory.words import asks_for_nothing, language_of, terms
from tests.memory.leaves import NOW, said

ROWS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
MANY = 100_000
ACCENTED = ["Häuser", "mangé", "jardín", "criança", "köpt", "città", "naïve", "Łódź", "Δόνος"]
LETTERS = st.text(string.ascii_lowercase, min_size=2, max_size=12)


def pairs(lines: str) -> list[list[str]]:
    return [pair.split() for line in lines.strip().splitlines() for pair in line.split("|")]


def test_forms_of_an_english_word_have_one_stem() -> None:
    assert [pair for pair in pairs(ROWS["same_stem"]) if terms(pair[0]) != terms(pair[1])] == []
    assert [pair for pair in pairs(ROWS["other_stem"]) if terms(pair[0]) == terms(pair[1])] == []


def test_terms_of_a_text() -> None:
    assert {text: " ".join(terms(text)) for text in ROWS["terms"]} == ROWS["terms"]
    assert terms("\ud800 a\udfff \U0001f389 \x00 \u202e \u0301 \ufeff b") == ["b"]


def test_identifiers_are_found_by_their_parts() -> None:
    for identifier, words in ROWS["identifiers"].items():
        assert set() < set(terms(words)) <= set(terms(identifier)), identifier


@pytest.mark.laws
@given(st.lists(LETTERS, min_size=2, max_size=4))
def test_identifiers_are_the_same_however_they_are_joined(parts: list[str]) -> None:
    snake, dotted, dashed = (mark.join(parts) for mark in "_.-")
    assert terms(snake) == terms(dotted) == terms(dashed)
    assert set(terms(snake)[:1]) <= set(terms("".join(part.capitalize() for part in parts)))


@pytest.mark.laws
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_terms_and_the_same_again(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(term and not set(term) & set(string.whitespace) for term in found)


@pytest.mark.laws
@given(st.text(string.ascii_letters + string.digits + "_-.'/ ", max_size=40))
def test_lower_case_has_no_term_that_capitals_lack(text: str) -> None:
    assert set(terms(text.lower())) <= set(terms(text))


def test_languages_are_told_by_their_function_words() -> None:
    for language, sentences in ROWS["sentences"].items():
        assert [text for text in sentences if language_of(text) != language] == []
        assert [text for text in sentences if language_of(text.upper()) != language] == []


@pytest.mark.parametrize("word", ACCENTED)
def test_neither_accents_nor_the_detected_language_hide_a_word(word: str) -> None:
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    assert terms(word) == terms(bare) == terms(unicodedata.normalize("NFD", word)) == terms(word.upper())
    for sentences in ROWS["sentences"].values():
        assert set(terms(word)) <= set(terms(f"{sentences[0]} {word}"))


@pytest.mark.parametrize("text", ["Wo ist das?", "qui est-ce ?", "que es esto", "wie is dat", "vem är du"])
def test_function_words_of_a_language_are_no_terms(text: str) -> None:
    assert terms(text) == []


def test_questions_meet_texts_of_other_scripts() -> None:
    rows: dict[str, str] = ROWS["meets"]
    assert [text for text, question in rows.items() if not set(terms(question)) & set(terms(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        "1" + ",111" * (MANY // 3) + "x",
        "1." * (MANY // 2) + "x",
        "x://" + "a" * MANY,
        "x" + "\u0301\u0323" * MANY,
        "وال" * MANY,
        "x_" * MANY,
    ],
)
def test_an_endless_word_takes_the_time_of_its_length(text: str) -> None:
    assert terms(text)


def test_courtesies_bring_nothing_back() -> None:
    turns = ROWS["courtesies"]["nothing_asked"]
    index = Index()
    index.put([said(text, 9 * nth) for nth, text in enumerate(turns)])
    for turn in turns:
        assert index.search(Question.of(turn, NOW)).hits == ()
    for turn in ROWS["courtesies"]["asked"]:
        assert set(Question.of(turn, NOW).terms) == set(terms(turn)) != set()


@pytest.mark.laws
@given(st.text(max_size=250))
def test_a_courtesy_with_a_question_asks_for_something(text: str) -> None:
    assert not asks_for_nothing(text + " heliotrope")
