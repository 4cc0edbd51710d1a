"""Documents are read into blocks and cut into chunks; what cannot be read is refused with the reason."""

import re
import tomllib
from collections import Counter as Tally
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire.errors import Damaged, InvalidValue, TooLarge, WrongType
from quire.items import Note
from quire.memory.documents import MAX_BYTES, Block, Document, chunks, read_document
from quire.tokens import Counter, Measured, counter_for

pytest.importorskip("selectolax", reason="the extra `documents` is not installed")
pypdf = pytest.importorskip("pypdf", reason="the extra `documents` is not installed")

ROWS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("documents.toml").read_text("utf-8"))
WORDS = ["tide", "Lamp", "e.g.", "x" * 90, "naïve", "灯台は夜に光る。", "🧵🧵", "3.14", "(so)", "end."]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(lambda words: " ".join(words) + ".")
TEXTS = st.lists(SENTENCES, min_size=1, max_size=8).map("\n".join) | st.integers(1, 900).map(
    lambda n: "q" * n
)
BLOCKS = (
    st.builds(Block, st.just("heading"), SENTENCES.map(lambda text: text[:300].strip()), st.integers(1, 6))
    | st.builds(Block, st.sampled_from(["paragraph", "code"]), TEXTS)
    | st.builds(Block, st.just("item"), TEXTS, st.integers(0, 4))
    | st.builds(Block, st.just("row"), SENTENCES, is_header=st.booleans())
)
DOCUMENTS = st.lists(BLOCKS, max_size=12).map(
    lambda blocks: Document("g", "Guide", "text/plain", tuple(blocks))
)
LIMITS = st.sampled_from([56, 100, 256])


def said(text: str) -> str:
    """A text without what may be lost between blocks, and without the marks of items."""
    return "".join(text.split()).replace("-", "")


@pytest.mark.parametrize("kind", ["html", "md"])
def test_pages_are_read_into_blocks(kind: str) -> None:
    for text, blocks in ROWS[kind].items():
        document = read_document(text, name=f"a.{kind}")
        assert [f"{block.kind}: {block.text}" for block in document.blocks] == blocks, text


def test_titles() -> None:
    page = "<title> Array<T>  in Java</title><h1>x</h1>"
    assert read_document(page, name="a.html").title == "Array<T> in Java"
    assert read_document("## Low\n# High", name="a.md").title == "High"
    assert read_document("words", name="there/a.txt").title == "a.txt"


@pytest.mark.laws
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))),
    st.sampled_from(["utf-8", "utf-16"]),
)
def test_nothing_of_a_plain_text_is_lost(text: str, encoding: str) -> None:
    document = read_document(text.encode(encoding), name="a.txt")
    assert said("".join(block.text for block in document.blocks)) == said(text.lstrip("\ufeff"))


MARKS = ["# ", "## ", "---", "```", "- ", "  - ", "    ", "1. ", "> ", "> - ", "| a | b |", "|---|---|", ""]
TAGS = "<p> </p> <table> <tr> <td> </table> <li> </ul> <ul> <pre> </pre> <h2> </h2> <br> <div> <b> </b>"


@pytest.mark.laws
@given(st.lists(st.tuples(st.sampled_from(MARKS), st.text("ab c.|`#>-", max_size=12)), max_size=20))
def test_words_of_markdown_are_kept_in_order(lines: list[tuple[str, str]]) -> None:
    text = "\n".join(mark + words for mark, words in lines)
    document = read_document(text, name="a.md")
    letters = "".join(filter(str.isalpha, "".join(block.text for block in document.blocks)))
    assert letters == "".join(filter(str.isalpha, text)) or "```" in text  # with the language of the code


@pytest.mark.laws
@given(st.lists(st.sampled_from([*TAGS.split(), "words", "&amp;"])))
def test_words_of_html_are_kept_whatever_the_tags(tags: list[str]) -> None:
    found = "".join(block.text for block in read_document("".join(tags), name="a.html").blocks)
    assert (found.count("words"), found.count("&")) == (tags.count("words"), tags.count("&amp;"))


@pytest.mark.laws
@given(st.binary(max_size=400), st.sampled_from(["a.txt", "a.md", "a.html", "a"]))
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    try:
        blocks = read_document(data, name=name).blocks
    except (InvalidValue, Damaged):
        return
    assert all(block.text.strip() and not re.search("[\0-\b\ud800-\udfff]", block.text) for block in blocks)


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        ("Grüße aus Łódź".encode("utf-8-sig"), "Grüße aus Łódź", ""),
        ("Grüße aus Łódź".encode("utf-16"), "Grüße aus Łódź", ""),
        (b"5 \x80 \x96 Gr\xfc\xdfe", "5 € \u2013 Grüße", "cp1252"),
        ("Grüße aus Łódź, ".encode() + b"\xff", "Grüße aus Łódź, \ufffd", "replaced"),
    ],
)
def test_encodings(data: bytes, text: str, note: str) -> None:
    document = read_document(data)
    assert document.blocks[0].text == text
    assert note in "".join(document.notes) and bool(note) == bool(document.notes)


@pytest.mark.parametrize(
    ("content", "options", "error", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\x00", {"name": "a.txt"}, InvalidValue, "a.txt is binary"),
        (7, {}, WrongType, "a path, bytes or a text"),
        ("x", {"name": "x.pdf"}, WrongType, "a PDF must be a file"),
        (b"x" * (MAX_BYTES + 1), {}, TooLarge, "more than 67,108,864 bytes"),
        ("<div>" * 5_000, {"name": "a.html"}, InvalidValue, "more than 4,000 tags"),
        (Path("nowhere"), {}, InvalidValue, "cannot be read: No such file"),
        (Path("/"), {}, InvalidValue, "cannot be read: Is a directory"),
        (Path("a\0b"), {}, InvalidValue, "not a valid path"),
        (b"%PDF-1.4 torn", {}, Damaged, "not a complete PDF"),
    ],
)
def test_what_cannot_be_read_is_refused(
    content: Any, options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_document(content, **options)


def test_pdf() -> None:
    data = Path(__file__).with_name("report.pdf").read_bytes()
    writer = pypdf.PdfWriter(clone_from=BytesIO(data))
    writer.add_blank_page(100, 100)
    document = read_document(_written(writer))
    assert document.media_type == "application/pdf" and document.blocks[0].page == 1
    assert "no text was found" in document.notes[0]
    writer.encrypt(user_password="word", owner_password="owner", algorithm="RC4-128")
    with pytest.raises(InvalidValue, match=r"a\.pdf is encrypted"):
        read_document(_written(writer), name="a.pdf")
    with pytest.raises(Damaged, match="not a complete PDF"):
        read_document(data[:100])


def _written(writer: Any) -> bytes:
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


# Chunks.


@pytest.mark.laws
@given(DOCUMENTS, LIMITS, st.sampled_from([Measured(), counter_for("gpt-5"), Measured(scale=3.0)]))
def test_chunks_are_within_their_limit_and_hold_all_in_order(
    document: Document, limit: int, counter: Counter
) -> None:
    found = chunks(document, tokens=limit, counter=counter)
    assert all(chunk.tokens == counter.count(Note(chunk.shown)) <= limit for chunk in found)
    assert said("".join(chunk.text for chunk in found)) == said("".join(one.text for one in document.blocks))
    assert all(chunk.text.strip() for chunk in found)


@pytest.mark.laws
@given(DOCUMENTS, DOCUMENTS, LIMITS)
def test_ids_are_unique_and_stay_with_what_is_unchanged(
    before: Document, after: Document, limit: int
) -> None:
    kept = (Block("heading", "The part that stays", 1), Block("paragraph", "Word for word. " * 30))
    ids = {chunk.id for chunk in chunks(replace(before, blocks=kept), tokens=limit)}
    framed = replace(before, blocks=(*before.blocks, *kept, Block("heading", "Next", 1), *after.blocks))
    found = Tally(chunk.id for chunk in chunks(framed, tokens=limit))
    assert ids <= found.keys() and set(found.values()) == {1}
    other = chunks(replace(framed, source="another"), tokens=limit)
    assert found.keys().isdisjoint(chunk.id for chunk in other)


def test_a_chunk_keeps_its_headings_and_ends_with_its_section_or_page() -> None:
    text = f"# Guide\n## Install\nBefore all.\n### Linux\n{'One sentence of many. ' * 40}\n## Use\nThen."
    found = chunks(read_document(text, name="g.md"), tokens=100)
    assert [chunk.heading for chunk in found[:2]] == ["Guide > Install", "Guide > Install > Linux"]
    assert found[0].shown == "Guide\nInstall\nBefore all."
    assert found[1].shown.startswith("Guide > Install\nLinux\nOne sentence")
    assert found[2].shown.startswith("Guide > Install > Linux\nOne sentence")
    assert found[-1].shown == "Guide\nUse\nThen."
    pages = tuple(Block("paragraph", "Words.", page=page) for page in (1, 1, 2))
    assert [chunk.page for chunk in chunks(Document("p", "P", "application/pdf", pages))] == [1, 2]


def test_sentences_lines_and_rows_stay_whole() -> None:
    prose = Document("p", "P", "text/plain", (Block("paragraph", "The tide was low, e.g. in May. " * 60),))
    assert all(chunk.text.strip().endswith("May.") for chunk in chunks(prose, tokens=80))
    code = "\n".join(f"    value_{number} = call({number})" for number in range(90))
    listing = chunks(Document("c", "C", "text/plain", (Block("code", code),)), tokens=80)
    assert "\n".join(chunk.text for chunk in listing) == code
    rows = tuple(Block("row", f"{number} | harbour {number} | open") for number in range(60))
    table = Document("t", "T", "text/plain", (Block("row", "no | place | state", is_header=True), *rows))
    first, *others = chunks(table, tokens=80)
    assert first.text.startswith("no | place | state") and not first.lead
    assert others and all(chunk.shown.startswith("no | place | state\n") for chunk in others)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
@pytest.mark.parametrize("text", ["<b", "<!--", "<p>x", "&amp;", "- ", "> ", "[", "| a ", "```\n", "# "])
def test_endless_texts_take_the_time_of_their_length(text: str, name: str) -> None:
    assert chunks(read_document("w" + text * 3_000, name=name)) is not None
