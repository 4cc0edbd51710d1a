"""Runs of one character: the estimate against the exact count."""

import pytest

from quire.tokens import Exact, estimate
from quire.tokens.repeats import _PER_TOKEN, LONG  # pyright: ignore[reportPrivateUsage]

EXACT = Exact()

PRINTABLE = [chr(code) for code in range(32, 127)]


@pytest.mark.parametrize("length", [LONG, 100, 1_000, 40_000])
def test_a_run_of_any_character_of_ascii_is_within_a_tenth(length: int) -> None:
    for character in (*PRINTABLE, "\t", "\n"):
        run = character * length
        assert abs(estimate(run) - EXACT.text(run)) <= max(1, 0.1 * EXACT.text(run)), repr(character)


@pytest.mark.parametrize("character", sorted(_PER_TOKEN), ids=lambda character: f"U+{ord(character):04X}")
def test_the_table_is_what_the_tokenizer_does(character: str) -> None:
    run = character * 4_000
    assert abs(estimate(run) / EXACT.text(run) - 1) < 0.1


@pytest.mark.parametrize("character", "éбжאαहกあ字的한가")
def test_a_letter_that_is_not_in_the_table_is_a_token(character: str) -> None:
    run = character * 500
    assert abs(estimate(run) / EXACT.text(run) - 1) < 0.1


def test_blanks_never_come_to_nothing_and_what_is_around_them_counts() -> None:
    for blanks in (" " * 5_000, "\t" * 5_000, "\xa0" * 5_000):
        around = estimate("some words before" + blanks + "and some after")
        exact = EXACT.text("some words before" + blanks + "and some after")
        assert abs(around - exact) <= max(3, 0.1 * exact)


def test_a_run_is_found_beside_emoji_and_in_any_block() -> None:
    for text in ("😀" + "я" * 900, "word " * 5_000 + "-" * 9_000, "字" * 40_000):
        assert abs(estimate(text) / EXACT.text(text) - 1) < 0.1, text[:1]
