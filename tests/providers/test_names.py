"""Names given out again and again: the same as if each were counted from the start, and no slower."""

import re

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.providers.names import Alphabet, Counted, Exact, Names, alphabet

ALPHABETS: list[Alphabet] = [
    *(alphabet(40), Exact(re.compile("[a-zA-Z0-9]{9}"), 9)),
    Counted(*alphabet(64, "[!-~]")),
]
TEXTS = ["a", "functions.look:0", "functions.look:1", "functions.look:3", "é", "x" * 80, "D681PevKs"]


class Counting:
    """Gives out names by counting each text from the start."""

    def __init__(self, letters: Alphabet) -> None:
        self._letters = letters
        self._taken: set[str] = set()

    def give(self, text: str) -> str:
        name, count = text if self._letters.takes(text) else self._letters.mended(text), 1
        while name in self._taken:
            count += 1
            name = self._letters.again(text, count)
        self._taken.add(name)
        return name


@pytest.mark.laws
@pytest.mark.parametrize("letters", ALPHABETS)
@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.booleans())))
def test_names_are_those_that_counting_from_the_start_gives(
    letters: Alphabet, steps: list[tuple[str, bool]]
) -> None:
    names, counting = Names(letters, unique=True), Counting(letters)
    for text, branches in steps:
        expected = counting.give(text)
        if branches:
            assert names.branch().give(text) == expected
        assert names.give(text) == expected


def test_names_that_need_not_be_unique_are_the_same_each_time() -> None:
    names = Names(alphabet(9), unique=False)
    first = [names.give(text) for text in TEXTS]
    assert [names.give(text) for text in TEXTS] == first and len({*first}) == len(TEXTS)


class Hashed(Exact):
    """An alphabet that counts what it was asked."""

    asked = 0

    def again(self, text: str, count: int) -> str:
        """Another name, noted."""
        Hashed.asked += 1
        return super().again(text, count)


def test_a_text_that_repeats_is_asked_for_once_each_time() -> None:
    names = Names(Hashed(re.compile("[a-zA-Z0-9]{9}"), 9), unique=True)
    given_out = [names.give("function_call") for _ in range(1000)]
    assert len({*given_out}) == 1000 and Hashed.asked < 1010


@pytest.mark.parametrize("wire", PROVIDERS)
def test_ids_that_were_sent_stay_when_the_same_one_comes_again(wire: str) -> None:
    called, gave = ToolCall("function_call", "f", "{}"), ToolResult("function_call", "f", "x")
    turn: list[Item] = [Message("user", "Go."), called, gave, Message("assistant", "Done.")]
    payloads = (str(PROVIDERS[wire].render([*turn * count, turn[0]]).payload) for count in (3, 4))
    short, long = (re.findall(r"function_call_\d_[0-9a-f]{10}", payload) for payload in payloads)
    assert short and long[: len(short)] == short and len({*long}) == 3
