"""What opens something and never closes it is read in the time its length takes; no reader stumbles over it.

Each text here is so long that a reader who comes back to its parts again and again would need minutes.
"""

import pytest

from quire.memory.documents import Document, chunks, read_document

MANY = 200_000


def read(text: str, name: str) -> Document:
    return read_document(text, name=name)


@pytest.mark.parametrize(
    "text",
    [
        "# a" + " " * MANY + "b",
        "# a" + " #" * MANY + "b",
        "a|b\n-" + " " * MANY + "|x",
        "a|b\n-|-" + " " * MANY + "x",
        "---\ntitle: a" + " " * MANY + "b\n---\n",
        "~" * MANY + "`",
        "`" * MANY + "x`",
        "=" * MANY + "x",
        "* " * MANY + "x",
        "- " + " " * MANY,
        "> " * MANY + "x",
        "1" * MANY + ". x",
        "[" * MANY,
        "\n " * (MANY // 4) + "x",
    ],
)
def test_markdown(text: str) -> None:
    assert len(read(text, "a.md").blocks) <= 2


@pytest.mark.parametrize(
    "text",
    [
        "<!--" * MANY,
        "<!--" + "--" * MANY,
        "<a" * MANY,
        "<a " * (MANY // 2) + ">x",
        "<a b='> c='" * (MANY // 16),
        '<a b="' * (MANY // 2) + ">x",
        "<a" + " " * MANY + "=x",
        "<a " + "/" * MANY + "x",
        "<![CDATA[" * MANY + ">x",
        "</" * MANY,
        "<!" * MANY,
        "<?" * MANY,
        "<" * MANY,
        "<script>" + "</scrip" * MANY,
        "&#" * MANY,
        "&#" + "1" * MANY,
        "<p style='" + "display:" * MANY + "'>x",
    ],
)
def test_html(text: str) -> None:
    assert len(read(f"<p>Words.</p>{text}", "a.html").blocks) <= 2


def test_plain_text() -> None:
    assert len(read("a\n" + " " * MANY + "b\n", "a.txt").blocks) == 1
    assert len(read("a" + "\n" * MANY + "b", "a.txt").blocks) == 2


def test_comments_before_a_page() -> None:
    """Of those that could each be part of the one before there are more readings than anyone can try."""
    page = b"<!--a-->" * 100
    assert read_document(page + b"x", name="a").media_type == "text/plain"
    assert read_document(page + b"<html><p>Words.").media_type == "text/html"


def test_lists_within_lists_are_no_larger_than_their_page() -> None:
    page = "<ul><li>x" * 1000
    found = chunks(read(page, "a.html"))
    assert sum(len(chunk.text) for chunk in found) < 10 * len(page)


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<p>One<![other[x]]> two", ["One two"]),
        ("<p>One<![ x]> two", ["One two"]),
        ("<p>One &#" + "1" * 5000 + "; two", ["One \ufffd two"]),
        ("<p>1 < 2 and 3 <4 <", ["1 < 2 and 3 <4 <"]),
        ("<p>One</> <!>two<!-->three<!--->four<!-- - -- -->five", ["One twothreefourfive"]),
        ("<p>One <b>two</b", ["One two</b"]),
        ("<p>One <a href='x>two</a><p>Three", ["One two", "Three"]),
        ("<p>One <b style='display:none>two</b> three", ["One three"]),
        ("<p>One <b title='>' hidden>two</b> three", ["One three"]),
        ("<p>One <b title=a/>two</b>", ["One two"]),
        ("<p hidden/>One<P CLASS=a CLASS=b>two", ["One", "two"]),
        ("<p>One<script>if (1 < 2) '</p>'</script > two<SCRIPT src=x />three", ["One", "two", "three"]),
        ("<p>One<style>p {", ["One"]),
        ("<p>One<![CDATA[ 2 > 1 ]]> two", ["One two"]),
    ],
)
def test_odd_pages(page: str, seen: list[str]) -> None:
    assert [block.text for block in read(page, "a.html").blocks] == seen


def test_a_comment_that_is_never_closed_is_told() -> None:
    document = read("<p>One</p><!-- two <p>three</p>", "a.html")
    assert [block.text for block in document.blocks] == ["One"]
    assert document.notes == ("a comment is never closed: what follows it is not read",)


def test_marks_that_close_a_heading() -> None:
    text = "# One #\n# Two ##  \n# C#\n## a # b\n# #\n#\n#no\n### Three\t#"
    assert [(block.kind, block.text) for block in read(text, "a.md").blocks] == [
        ("heading", "One"),
        ("heading", "Two"),
        ("heading", "C#"),
        ("heading", "a # b"),
        ("paragraph", "#no"),
        ("heading", "Three"),
    ]


@pytest.mark.parametrize(
    ("said", "title"),
    [("One", "One"), ("  'One' ", "One"), ('"One"', "One"), ("Rock 'n'", "Rock 'n'"), ('"', '"')],
)
def test_titles_before_a_text(said: str, title: str) -> None:
    assert read(f"---\ntitle:{said}\n---\n# Two", "a.md").title == title
