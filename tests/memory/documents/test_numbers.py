"""No number is lost: those that count items, and those that a line happens to begin with."""

import re
from collections import Counter as Tally
from itertools import count

import pytest
from hypothesis import given, strategies as st

from quire.memory import Memory
from quire.memory.documents import chunks, read_document
from quire.memory.documents.filling import written
from quire.stores import MemoryStore

BEGINNINGS = ["", "- ", "* ", "+ ", "# ", "### ", "> ", "  ", "    ", "\t", "  - ", "      * ", "> - "]
MARKED = st.sampled_from(BEGINNINGS) | st.tuples(
    st.sampled_from(["", "  ", "   ", "    ", "> "]), st.sampled_from(["N. ", "N) ", "N.", "- N. ", "# N. "])
).map("".join)
LINES = st.tuples(MARKED, st.integers(0, 3)) | st.sampled_from(
    ["", "---", "===", "***", "```", "~~~", "| N | N |"]
)


def drawn(lines: list["str | tuple[str, int]"]) -> str:
    """A text in which no two words, and no two numbers, are alike. `1.` and `2.` are among them."""
    numbers = count(1)
    said = [line if isinstance(line, str) else line[0] + " ".join(["wN"] * line[1]) for line in lines]
    return re.sub("N", lambda _: str(next(numbers)), "\n".join(said))


def words(text: str) -> "Tally[str]":
    return Tally(re.findall(r"\w+", text))


@pytest.mark.laws
@given(st.lists(LINES, max_size=25), st.sampled_from([56, 256]))
def test_every_word_of_a_markdown_text_is_in_one_chunk(
    lines: list["str | tuple[str, int]"], limit: int
) -> None:
    text = drawn(lines)
    found = chunks(read_document(text, name="a.md"), tokens=limit)
    assert words("\n".join(chunk.text for chunk in found)) == words(text)


def lines_of(text: str, name: str) -> list[str]:
    return [written(block) for block in read_document(text, name=name).blocks]


def test_a_line_of_a_paragraph_may_begin_with_a_number() -> None:
    text = "It was signed on December 31\n2002. This version is the\n12) of its kind.\n1. A list\n2. of two"
    first, *items = lines_of(text, "a.md")
    assert first.endswith("31\n2002. This version is the\n12) of its kind.")
    assert items == ["1. A list", "2. of two"]


def test_an_item_ends_the_paragraph_of_the_item_before_it() -> None:
    text = "1. one\n2. two\n   more of two\n\n   para in two\n3. three\n\nplain\n1999. was a year"
    assert lines_of(text, "a.md")[-3:] == ["para in two", "3. three", "plain\n1999. was a year"]


def test_items_are_told_with_their_numbers() -> None:
    assert lines_of("7. Liability\n   of both\n8) Term\n  - plain", "a.md") == [
        "7. Liability\nof both",
        "8) Term",
        "  - plain",
    ]


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("<ol><li>a<li>b</ol><ol><li>c</ol>", ["1. a", "2. b", "1. c"]),
        (
            "<ol start=7><li>a</li><li value='30'>b</li><li><p>c</p><p>d</p></li></ol>",
            ["7. a", "30. b", "31. c", "d"],
        ),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", ["1. a", "  - b", "2. c"]),
        (
            "<ol><li>a<ol start='x'><li>b</ol><li hidden>n<li>c</ol></ol><ul><li>d",
            ["1. a", "  1. b", "2. c", "- d"],
        ),
        ("<ol reversed start=3><li>a<li>b</ol><ol reversed><li>c</ol>", ["3. a", "2. b", "- c"]),
        ("<ol><li><h2>A</h2>a<li></li><li><pre>x\n y</pre></ol>", ["1. A", "a", "3.\nx\n y"]),
        ("<table><tr><td><ol><li>a<li>b</ol></td><td>c</td></tr></table>", ["1. a 2. b | c"]),
        (f"<ol start={'9' * 5000}><li>a</ol>", ["1. a"]),
        ("</ol></ul><li>a", ["- a"]),
    ],
)
def test_ordered_lists_of_a_page_count(page: str, told: list[str]) -> None:
    assert lines_of(page, "a.html") == told


def test_a_clause_is_found_by_its_number() -> None:
    clauses = [
        f"{n}. The {n % 7}th party pays {n * 137} euro a year, unless all agree otherwise."
        for n in range(1, 41)
    ]
    memory = Memory(MemoryStore(), "ana")
    memory.knowledge.add_text("# Contract\n\n" + "\n".join(clauses), source="contract.md")
    assert len(memory.knowledge.chunks("contract.md")) > 3
    assert clauses[16] in memory.search("What does clause 17 say?").hits[0].leaf.text
