"""What stands between two rules before a text is front matter where it is written so, or else a section."""

import pytest

from quire.memory.documents import Document, chunks, read_document


def read(text: str) -> Document:
    return read_document(text, name="a.md")


MINUTES = "# Minutes: 3 May\n\nIt was refused.\n\n---\n\n# Minutes: 10 May\n\nIt was granted.\n"


@pytest.mark.parametrize(
    "begins", ["---\n\n", "---\nOpened at 9.\nThe board: all.\n\n", "---\n* * *\n", "---\n- one\n- two\n\n"]
)
def test_a_section_between_two_rules_is_under_its_own_heading(begins: str) -> None:
    found = chunks(read(begins + MINUTES))
    assert [one.heading for one in found][-2:] == ["Minutes: 3 May", "Minutes: 10 May"]
    assert found[-2].text.endswith("It was refused.") and found[-1].text.endswith("It was granted.")


def test_slides_begin_with_the_first() -> None:
    slides = "---\n\n# One: hello\n\nPoint\n\n---\n\n# Two\n\nOther"
    assert [(block.kind, block.text) for block in read(slides).blocks] == [
        ("heading", "One: hello"),
        ("paragraph", "Point"),
        ("heading", "Two"),
        ("paragraph", "Other"),
    ]


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("title: >\n  Leave policy\n  of 2026", "Leave policy of 2026"),
        ("title: |-\n  Leave policy", "Leave policy"),
        ("title: > # draft\n\n  Leave policy", "Leave policy"),
        ("title: Leave policy\n  of 2026", "Leave policy of 2026"),
        ("title:\n  # for all\n  'Leave policy'", "Leave policy"),
        ('title: "Leave: policy" # draft', "Leave: policy"),
        ("title: Leave policy # draft", "Leave policy"),
        ("title: C# for #1", "C# for"),
        ('title: "C # \\"sharp\\""', 'C # "sharp"'),
        ("title: 'Ana''s policy'", "Ana's policy"),
        ('title: "One" and "two"', '"One" and "two"'),
        ("Title: Leave policy", "Leave policy"),
        ('"title": Leave policy', "Leave policy"),
        ("title:\n  - a\n  - b", "a.md"),
        ("title:\n  en: a", "a.md"),
        ("title: # none", "a.md"),
        ("title:\n" + "  # no\n" * 5_000 + "x: y", "a.md"),
    ],
)
def test_a_title_is_read_however_it_is_written(said: str, title: str) -> None:
    document = read(
        f"---\n# by hand\n{said}\ntags: [\n  hr,\n]\nlist:\n- x\n\nurl: http://a.b\n---\nThirty days."
    )
    assert document.title == title
    assert [block.kind for block in document.blocks] == ["paragraph"]
    rest = document.blocks[0].text
    assert "tags: [\n  hr,\n]\nlist:\n- x\n\nurl: http://a.b" in rest and rest.endswith("Thirty days.")
    assert ("Leave" in rest) is False
