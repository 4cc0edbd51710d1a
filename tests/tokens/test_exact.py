"""Exact counts: special tokens are text, broken text is mended, vocabularies load when first used."""

import subprocess
import sys
import threading

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue
from quire.items import Message
from quire.tokens import Exact
from quire.tokens.exact import exact


@pytest.mark.parametrize(
    ("encoding", "text", "tokens"),
    [
        ("o200k_base", "hello world", 2),
        ("o200k_base", "", 0),
        ("o200k_base", "1234567", 3),
        ("o200k_base", "<|endoftext|>", 7),
        ("cl100k_base", "<|endoftext|>", 7),
        ("cl100k_base", "tiktoken is great!", 6),
        ("cl100k_base", "antidisestablishmentarianism", 6),
    ],
)
def test_known_counts(encoding: str, text: str, tokens: int) -> None:
    assert exact(encoding)(text) == tokens


def test_half_a_surrogate_pair_counts_as_the_replacement_character() -> None:
    assert exact("o200k_base")("a\ud800b") == exact("o200k_base")("a\ufffdb")
    assert exact("o200k_base")("\ud83d\ude00") == exact("o200k_base")("😀")


@pytest.mark.parametrize("unit", ["a", " ", "\n", "é", "中", "😀", "1", "!", "e\u0301", "\ud800"])
def test_long_runs_of_one_character_are_counted(unit: str) -> None:
    assert 0 < exact("o200k_base")(unit * 100_000) <= 300_000


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_at_all_has_a_count(text: str) -> None:
    assert 0 <= exact("o200k_base")(text) <= 4 * len(text)


def test_an_unknown_encoding_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidValue, match="cl100k_base, o200k_base"):
        Exact("p50k")


def test_threads_count_alike() -> None:
    texts = [f"line {number}: {'word ' * (number % 7)}{number**9}" for number in range(300)]
    alone = list(map(exact("o200k_base"), texts))
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(list(map(exact("o200k_base"), texts)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_the_tokenizer_is_imported_when_first_used() -> None:
    code = (
        "import sys; from quire.tokens import counter_for; from quire.items import Message;"
        "c = counter_for('gpt-5');"
        "before = 'splintr' in sys.modules; c.count(Message(role='user', content='hi'));"
        "sys.exit(0 if not before and 'splintr' in sys.modules else 1)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_message_costs_its_text_and_its_framing() -> None:
    counter = Exact()
    assert counter.count(Message(role="user", content="hello world")) == 2 + 4
    assert counter.total(6) == 9
