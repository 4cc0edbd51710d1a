"""What is read of text, Markdown and HTML, in any encoding; and what is refused."""

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged, InvalidValue, MissingExtra, TooLarge, WrongType
from quire.memory.documents import Block, Document, read_document, reading
from tests.memory.documents.drawn import said


def kinds(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in document.blocks]


@pytest.mark.laws
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))),
    st.sampled_from(["utf-8", "utf-16"]),
)
def test_nothing_of_a_plain_text_is_lost(text: str, encoding: str) -> None:
    document = read_document(text.encode(encoding), media_type="text/plain")
    assert said("".join(block.text for block in document.blocks)) == said(text.lstrip("\ufeff"))


@pytest.mark.laws
@given(st.binary(max_size=400), st.sampled_from(["a.txt", "a.md", "a.html", "a"]))
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    try:
        document = read_document(data, name=name)
    except (InvalidValue, Damaged, MissingExtra):  # chance finds the beginning of a PDF, too
        return
    for block in document.blocks:
        assert block.text.strip() and block.text.encode()
        assert not set(block.text) & {chr(code) for code in range(32) if chr(code) not in "\t\n"}


MARKS = st.sampled_from(
    [
        "# A",
        "## B",
        "---",
        "===",
        "```",
        "~~~",
        "- one",
        "  - two",
        "    code",
        "| a | b |",
        "|---|---|",
        "> q",
        "",
    ]
)


@pytest.mark.laws
@given(st.lists(MARKS | st.text("ab c.|`#>-", max_size=12)).map("\n".join))
def test_words_of_markdown_are_kept_in_order(text: str) -> None:
    letters = "".join(
        filter(str.isalpha, "".join(block.text for block in read_document(text, name="x.md").blocks))
    )
    wanted = "".join(filter(str.isalpha, text))
    # What stands behind the marks that open a block of code names its language, and is no text.
    assert letters == wanted or "```" in text or "~~~" in text


ANY = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"))
RUNNING = st.tuples(
    st.sampled_from(["", ">", "> ", "> > ", ">>> ", "  > >"]), st.text("a >-#<|`*", max_size=9) | st.text(ANY)
)


@pytest.mark.laws
@given(st.lists(RUNNING, min_size=1))
def test_of_running_text_only_leading_quote_marks_are_lost(lines: list[tuple[str, str]]) -> None:
    """A line that begins with a letter is running text, whatever comes after it."""
    text = "\n".join(f"{marks}w{words}" for marks, words in lines)
    document = read_document(text, name="x.md")
    assert {block.kind for block in document.blocks} == {"paragraph"}
    assert said("".join(block.text for block in document.blocks)) == said(
        "".join(f"w{words}" for _, words in lines)
    )


def test_what_is_greater_stays_so() -> None:
    lines = [
        "latency > 500 ms, v1 -> v2",
        "Settings > Users > Add",
        "Olga <olga@example.com> at once",
        "- `a > b`",
    ]
    text = "\n\n".join(lines)
    assert [block.text for block in read_document(text, name="x.md").blocks] == [*lines[:3], "`a > b`"]


@pytest.mark.laws
@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<table>",
                "<tr>",
                "<td>",
                "<th>",
                "</table>",
                "<li>",
                "</ul>",
                "<ul>",
                "<pre>",
                "</pre>",
                "<h2>",
                "</h2>",
                "<br>",
                "<div>",
                "</td>",
                "</tr>",
                "words",
                "&amp;",
            ]
        )
    )
)
def test_words_of_html_are_kept_whatever_the_tags(tags: list[str]) -> None:
    document = read_document("".join(tags), media_type="text/html")
    found = "".join(block.text for block in document.blocks)
    assert (found.count("words"), found.count("&")) == (tags.count("words"), tags.count("&amp;"))


def test_markdown() -> None:
    text = """---
title: "The Harbour"
---
# Guide

Two lines
of one paragraph.

Lamps
-----
- first
  goes on
  * inner
1. counted

```python
x = 1

y = 2
```

| no | place |
|----|:-----:|
| 1  | a \\| b |

> quoted

    indented

The end.
"""
    document = read_document(text, name="guide.md")
    assert document.title == "The Harbour" and document.media_type == "text/markdown"
    assert kinds(document) == [
        ("heading", "Guide"),
        ("paragraph", "Two lines\nof one paragraph."),
        ("heading", "Lamps"),
        ("item", "first\ngoes on"),
        ("item", "inner"),
        ("item", "1. counted"),
        ("code", "x = 1\n\ny = 2"),
        ("row", "no | place"),
        ("row", "1 | a | b"),
        ("paragraph", "quoted"),
        ("code", "indented"),
        ("paragraph", "The end."),
    ]
    levels = [block.level for block in document.blocks if block.kind in ("heading", "item")]
    assert levels == [1, 2, 0, 1, 0]
    assert [block.is_header for block in document.blocks if block.kind == "row"] == [True, False]


def test_html() -> None:
    page = """<!DOCTYPE html><html><head><title> The  Harbour </title><style>p {}</style></head><body>
    <nav><a href="/">Home</a><ul><li>Elsewhere</li></ul></nav>
    <h1>Guide</h1><p>One &amp; <b>two</b><br>three</p>
    <ul><li>first<ul><li><p>inner</p></li></ul></li></ul>
    <pre>x = 1
  y = 2</pre><script>var hidden = "<p>no</p>"</script>
    <table><tr><th>no</th><th>place</th></tr><tr><td>1</td><td><p>quay</p></td></tr></table>
    <div hidden>not seen</div>loose words<footer>© nobody</footer></body></html>"""
    document = read_document(page.encode())
    assert document.title == "The Harbour" and document.media_type == "text/html"
    assert kinds(document) == [
        ("heading", "Guide"),
        ("paragraph", "One & two\nthree"),
        ("item", "first"),
        ("item", "inner"),
        ("code", "x = 1\n  y = 2"),
        ("row", "no | place"),
        ("row", "1 | quay"),
        ("paragraph", "loose words"),
    ]
    assert [block.level for block in document.blocks if block.kind == "item"] == [0, 1]
    assert [block.is_header for block in document.blocks if block.kind == "row"] == [True, False]


HIDING = [
    "hidden",
    'hidden=""',
    'style="display:none"',
    "style='color: red; DISPLAY : NONE !important'",
    'style="visibility: hidden"',
    'style="display:/**/none"',
]


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("tag", ["p", "div", "span", "b", "li", "td", "h2", "form", "a", "details"])
def test_what_a_page_hides_is_not_read(tag: str, hiding: str) -> None:
    page = f"<body><p>Before.</p><{tag} {hiding}>secret <i>words</i><br></{tag}> <p>After.</p></body>"
    assert [block.text for block in read_document(page, name="x.html").blocks] == ["Before.", "After."]


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<p hidden>secret<p>Words.", ["Words."]),
        ("<p hidden>secret <b>more<div>Words.</div>", ["Words."]),
        ("<div><p hidden>secret</span> more</div>Words.", ["Words."]),
        ("<div><span hidden>secret</div><p>Words.", ["Words."]),
        ("<div hidden><div>secret</div> more</div>Words.", ["Words."]),
        ("<div hidden>secret</p> more</section> still</div>Words.", ["Words."]),
        ("<ul><li hidden>secret<ul><li>more</ul><li>Words.</ul>", ["Words."]),
        ("<dl><dt hidden>secret<dd>Words.</dl>", ["Words."]),
        ("<table><tr><td hidden>secret<td>one<tr hidden><td>more<tr><td>two</table>", ["one", "two"]),
        ("<input hidden><img hidden alt=secret><br hidden>Words.", ["Words."]),
        ("One <span hidden>secret </span>line.", ["One line."]),
        ("<body style='display:none'><p>Words.", ["Words."]),  # a script shows it, or nobody reads the page
        ("<p style='display: nonesuch; --display:none'>Words.", ["Words."]),
    ],
)
def test_what_is_hidden_ends_where_it_ends_for_a_reader(page: str, seen: list[str]) -> None:
    assert [block.text for block in read_document(page, name="x.html").blocks] == seen


def test_what_a_picture_shows_is_read() -> None:
    page = (
        '<p>See<img src="x" alt="A chart of&#10;sales">here<img alt=""><img></p><nav><img alt="Home"></nav>'
    )
    assert kinds(read_document(page, name="x.html")) == [("paragraph", "See A chart of sales here")]


def test_what_nobody_closed_does_not_swallow_the_page() -> None:
    assert kinds(read_document("<nav>home<main><p>Words.", media_type="text/html")) == [
        ("paragraph", "Words.")
    ]
    assert kinds(read_document("<title>T</title><p>Words.", name="t.html")) == [("paragraph", "Words.")]


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("Grüße aus Łódź".encode(), ""),
        ("Grüße aus Łódź".encode("utf-8-sig"), ""),
        ("Grüße aus Łódź".encode("utf-16"), "read as utf-16"),
        ("Grüße aus Łódź".encode("utf-16-be"), "read as utf-16-be"),
        ("Grüße aus Łódź".encode("utf-32"), "read as utf-32"),
    ],
)
def test_encodings(data: bytes, note: str) -> None:
    document = read_document(data)
    assert document.blocks == (Block("paragraph", "Grüße aus Łódź"),)
    assert document.notes == ((note,) if note else ())


def test_what_is_not_utf_8_is_guessed_and_told() -> None:
    document = read_document("Grüße".encode("latin-1"))
    assert document.blocks[0].text == "Grüße" and "cp1252" in document.notes[0]
    page = '<html><meta charset="windows-1251"><p>Маяк</p>'.encode("windows-1251")
    assert read_document(page).blocks[0].text == "Маяк"
    broken = read_document("Grüße".encode("utf-16") + b"\x00")
    assert "replaced" in broken.notes[0]
    assert read_document(b'<html><meta charset="base64"><p>Gr\xfc\xdfe</p>').blocks[0].text == "Grüße"


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\x00\x00", bytes(range(256)) * 4, b"a\x00b", b"\x7fELF\x02"]
)
def test_binary_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(InvalidValue, match=r"picture\.txt is binary"):
        read_document(data, name="picture.txt")


def test_empty_documents_are_told() -> None:
    assert read_document("").notes == read_document(b" \n").notes == ("empty",)
    assert read_document("<script>1</script>", name="a.html").notes == (
        "nothing in it is text that a reader would see",
    )


def test_texts_that_no_format_could_write_are_mended() -> None:
    assert (
        read_document("half \ud800 of a pair\x00\x07.\r\nnext").blocks[0].text
        == "half \ufffd of a pair.\nnext"
    )
    assert read_document("a pair \ud83e\uddf5").blocks[0].text == "a pair 🧵"


def test_what_is_too_large_is_refused_with_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_bytes(b"0123456789")
    monkeypatch.setattr(reading, "MAX_BYTES", 9)
    with pytest.raises(TooLarge, match="10 bytes; 9 are the most"):
        read_document(file)
    with pytest.raises(TooLarge, match="more than 9 bytes"):
        read_document(b"0123456789")
    monkeypatch.setattr(reading, "MAX_TEXT", 3)
    with pytest.raises(TooLarge, match="4 characters; 3 are the most"):
        read_document("1234")


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_text("# Guide\n\nWords.")
    document = read_document(file)
    assert (document.source, document.title) == (str(file), "Guide")
    assert read_document(file, name="here").source == "here"
    with pytest.raises(InvalidValue, match="cannot be read: No such file"):
        read_document(tmp_path / "nowhere")
    with pytest.raises(InvalidValue, match="is no file"):
        read_document(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidValue, match="is no file"):
        read_document(tmp_path / "pipe")


def test_wrong_arguments() -> None:
    with pytest.raises(WrongType, match="a path, bytes or a text"):
        read_document(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="not 'image/png'"):
        read_document(b"x", media_type="image/png")
    with pytest.raises(WrongType, match="a PDF is read from"):
        read_document("x", name="x.pdf")
    assert read_document("x", media_type="text/csv; charset=utf-8").media_type == "text/plain"


def test_a_long_heading_is_a_paragraph() -> None:
    assert kinds(read_document(f"# {'long ' * 100}", name="a.md"))[0][0] == "paragraph"
