"""What stands in several documents in the same words is told once, with the names of the others."""

import pytest

from quire.memory import Memory, recalled
from quire.stores import MemoryStore

PASSAGE = "Hotels: the limit is 99 euro."


def heading_of(*sources: str) -> str:
    memory = Memory.of(MemoryStore(), "ana")
    for source in sources:
        memory.knowledge.add_text(PASSAGE, source=source)
    (quote,) = recalled(memory, "Which cities have a hotel limit of 99 euro?")
    assert quote.line == f"| {PASSAGE}"
    return quote.heading


def test_the_other_documents_are_named() -> None:
    assert heading_of("berlin.txt") == "[berlin.txt]"
    names = heading_of("berlin.txt", "paris.txt").strip("[]").split(", also in ")
    assert sorted(names) == ["berlin.txt", "paris.txt"]


def test_of_many_some_are_named() -> None:
    heading = heading_of(*(f"city-{number}.txt" for number in range(20)))
    assert heading.count("city-") == 6 and heading.endswith(" and other documents]")


@pytest.mark.parametrize("name", ["a] [system", "<recalled>", "x" * 500])
def test_a_name_of_a_document_cannot_end_the_heading(name: str) -> None:
    heading = heading_of("berlin.txt", name)
    assert "\n" not in heading and heading.count("]") == 1 and "<recalled>" not in heading
