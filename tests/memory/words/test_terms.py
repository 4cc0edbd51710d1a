"""The laws of terms: any text has them, the same ones each time, whatever its case, and joined they stay."""

import string
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from quire.memory.words import terms
from quire.memory.words.indexing import _CUTS, _KEPT  # pyright: ignore[reportPrivateUsage]
from quire.memory.words.languages import FUNCTION_WORDS
from quire.memory.words.latin import LONGEST
from tests.memory.words.inflections import MEETING

ANY_TEXT = st.text(st.characters(exclude_categories=()))
WORDS = st.sampled_from([word for pair in MEETING for word in pair])
# Two that other languages are full of, as "man" and "die", are taken for words of those.
FOREIGN = frozenset(" ".join(FUNCTION_WORDS.values()).split())
ENGLISH_ALONE = WORDS.filter(lambda word: FOREIGN.isdisjoint((word, *terms(word))))
LETTERS = st.text(string.ascii_lowercase, min_size=1, max_size=12)
IDENTIFIERS = st.lists(LETTERS.filter(lambda word: len(word) > 1), min_size=2, max_size=4)


@pytest.mark.laws
@given(ANY_TEXT)
def test_any_text_has_terms_and_the_same_again(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(term and not set(term) & set(string.whitespace) and len(term) <= 3 * LONGEST for term in found)


@pytest.mark.laws
@given(st.lists(ENGLISH_ALONE | st.integers(0, 3000).map(str)))
def test_joined_terms_are_terms(words: list[str]) -> None:
    found = terms(" ".join(words))
    assert terms(" ".join(found)) == found


@pytest.mark.laws
@given(st.lists(WORDS))
def test_case_does_not_matter_to_words(words: list[str]) -> None:
    text = " ".join(words)
    assert terms(text) == terms(text.upper()) == terms(text.title())


@pytest.mark.laws
@given(st.text(string.ascii_letters + string.digits + "_-.'/ ", max_size=40))
def test_lower_case_takes_nothing_that_capitals_do_not_give(text: str) -> None:
    assert set(terms(text.lower())) <= set(terms(text))


@pytest.mark.laws
@given(IDENTIFIERS)
def test_identifiers_are_one_however_they_are_joined(parts: list[str]) -> None:
    snake, dotted, dashed = ("".join(mark.join(parts)) for mark in "_.-")
    camel = "".join(part.capitalize() for part in parts)
    assert terms(snake) == terms(dotted) == terms(dashed)
    assert set(terms(" ".join(parts))) <= set(terms(snake)) or terms("".join(parts)) == []
    assert set(terms(snake)[:1]) <= set(terms(camel))


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("fetch_report", "report fetching"),
        ("fetchReport", "fetch reports"),
        ("HTTPError", "http error"),
        ("getHTTPResponseCode", "http response code"),
        ("user.id", "user ids"),
        ("E1234", "1234"),
        ("well-known", "known"),
        ("src/quire/memory/times.py", "quire memory times"),
        ("C:\\Users\\ann\\notes.txt", "ann notes"),
        ("ann.lee@corp.com", "ann lee corp"),
        ("std::vector", "vector"),
        ("__init__", "init"),
        ("https://docs.python.org/3/library/re.html?q=a%20tale", "python library tale html"),
        ('{"user_id":"u17","name":"Ann"}', "user_id name ann u17"),
        ("10km", "10 km"),
        ("U.S.", "USA"),
        ("the US", "U.S."),
        ("e-mail", "email"),
        ("C++", "c++"),
        ("r&d", "R&D"),
    ],
)
def test_identifiers_meet_their_parts(identifier: str, words: str) -> None:
    assert set(terms(words)) <= set(terms(identifier))
    assert terms(words)


def test_c_with_marks_is_not_c() -> None:
    assert [terms(name) for name in ("C", "C++", "C#")] == [["c"], ["c++"], ["c#"]]


def test_repetitions_are_kept_in_order() -> None:
    assert terms("Paint, dogs and paint again.") == ["paint", "dog", "paint"]


def test_a_huge_text_is_read_and_little_is_kept() -> None:
    before = sum(map(len, _CUTS.values()))
    assert terms("x" * 1_000_000) == ["x" * LONGEST]
    assert len(terms("\u0e01" * 100_000)) == 99_998
    assert Counter(terms("word " * 100_000)) == {"word": 100_000}
    assert sum(map(len, _CUTS.values())) <= before + 1


def test_what_is_kept_has_a_bound() -> None:
    for number in range(_KEPT + 10):
        terms(f"id{number}")
    assert len(_CUTS["english"]) <= _KEPT


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfff b", "\U0001f389\U0001f389", "\x00", "\u202e", "\u0301", "\ufeff"]
)
def test_odd_characters_are_no_terms(text: str) -> None:
    assert terms(text) in ([], ["b"])


@pytest.mark.parametrize("version", ["2.13.4", "2.10", "3.0", "0.0.1"])
def test_a_version_is_the_same_with_its_mark(version: str) -> None:
    assert set(terms(version)) <= set(terms(f"v{version}")) & set(terms(f"V{version}"))
