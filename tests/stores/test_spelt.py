"""A text is the same however it is written: plain, as JSON, twice over, in HTML, in a table, or printed."""

import json
from html import escape

import pytest
from hypothesis import given, strategies as st

from quire.stores.spelt import as_read

TEXTS = [
    "My card is 4000 1234.\nPlease charge it.",
    'She said "no" and left; C:\\temp\\new',
    "Jürgen Müller, Straße 5 😀",
    "  tab\tand\r\nblank  ",
    "Müller\t> 90,000 since May",
    "'single' and \"double\"",
]


@pytest.mark.parametrize("text", TEXTS)
def test_spellings_of_a_text_are_read_alike(text: str) -> None:
    spellings = [
        json.dumps(text),
        json.dumps(text, ensure_ascii=False),
        json.dumps(json.dumps(text)),
        repr(text),
        ascii(text),
        escape(text),
        '"' + text.replace('"', '""') + '"',
        "mine:\n" + "\n".join(f"> {line}" for line in text.splitlines()),
        json.dumps("\n".join(f"| {line}" for line in text.splitlines())),
    ]
    for spelling in spellings:
        assert as_read(text) in as_read(f"It was {spelling}, they said.")


@pytest.mark.laws
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\\"), min_size=1))
def test_what_is_written_as_json_is_found_in_it(text: str) -> None:
    for spelling in (json.dumps({"a": text}), json.dumps([json.dumps(text)])):
        assert as_read(text) in as_read(spelling)


def test_much_is_read_at_once() -> None:
    for much in ("\\" * 1_000_000, "\\u" * 500_000, "\\\\n " * 250_000, " " * 1_000_000):
        assert len(as_read(much)) <= len(much)
