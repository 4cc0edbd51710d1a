"""Chunks hold the whole of a document, once, in order, within their limit and within its structure."""

from collections import Counter as Tally

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire.errors import InvalidLimit, WrongType
from quire.items import Note
from quire.memory.documents import Block, Document, chunks
from quire.memory.documents.filling import written
from quire.tokens import Counter, Measured, counter_for
from tests.memory.documents.drawn import documents, said

LIMITS = st.sampled_from([56, 100, 256])
COUNTERS: st.SearchStrategy[Counter] = st.sampled_from(
    [Measured(), counter_for("gpt-5"), Measured(scale=3.0)]
)


@pytest.mark.laws
@given(documents(), LIMITS, COUNTERS)
def test_every_chunk_is_within_its_limit(document: Document, limit: int, counter: Counter) -> None:
    for chunk in chunks(document, tokens=limit, counter=counter):
        assert chunk.tokens == counter.count(Note(chunk.shown)) <= limit


@pytest.mark.laws
@given(documents(), LIMITS)
def test_all_that_is_said_is_in_one_chunk_in_order(document: Document, limit: int) -> None:
    found = chunks(document, tokens=limit)
    assert said("".join(chunk.text for chunk in found)) == said("".join(map(written, document.blocks)))
    assert all(said(chunk.text) for chunk in found)


@pytest.mark.laws
@given(documents(), LIMITS)
def test_ids_are_single_and_come_again(document: Document, limit: int) -> None:
    found = chunks(document, tokens=limit)
    assert max(Tally(chunk.id for chunk in found).values(), default=1) == 1
    assert chunks(document, tokens=limit) == found
    other = chunks(replace(document, source="another"), tokens=limit)
    assert {chunk.id for chunk in other}.isdisjoint(chunk.id for chunk in found)


@pytest.mark.laws
@given(documents(), documents(), LIMITS)
def test_what_is_unchanged_keeps_its_id(before: Document, after: Document, limit: int) -> None:
    kept = (Block("heading", "The part that stays", 1), Block("paragraph", "Word for word. " * 30))
    ids = {chunk.id for chunk in chunks(replace(before, blocks=kept), tokens=limit)}
    framed = replace(before, blocks=(*before.blocks, *kept, Block("heading", "Next", 1), *after.blocks))
    assert ids <= {chunk.id for chunk in chunks(framed, tokens=limit)}


@pytest.mark.laws
@given(documents(), LIMITS)
def test_no_chunk_goes_past_a_heading(document: Document, limit: int) -> None:
    numbered = tuple(
        Block("heading", f"§{number}§", block.level) if block.kind == "heading" else block
        for number, block in enumerate(document.blocks)
    )
    levels = {block.text: block.level for block in numbered if block.kind == "heading"}
    for chunk in chunks(replace(document, blocks=numbered), tokens=limit):
        inside = [levels[line] for line in chunk.text.split("\n") if line in levels]
        assert inside == sorted(set(inside)), "headings in one chunk only go deeper"
        assert [levels[heading] for heading in chunk.path][-len(inside) :] == inside or not inside


def test_the_path_is_kept_with_each_chunk() -> None:
    blocks = (
        Block("heading", "Guide", 1),
        Block("heading", "Install", 2),
        Block("paragraph", "Before all."),
        Block("heading", "Linux", 3),
        Block("paragraph", "One sentence of many. " * 40),
        Block("heading", "Use", 2),
        Block("paragraph", "Then."),
    )
    found = chunks(Document("g", "Guide", "text/markdown", blocks), tokens=100)
    assert [chunk.heading for chunk in found[:2]] == ["Guide > Install", "Guide > Install > Linux"]
    assert found[0].shown == "Guide\nInstall\nBefore all."
    assert found[1].shown.startswith("Guide > Install\nLinux\nOne sentence")
    assert {chunk.heading for chunk in found[1:-1]} == {"Guide > Install > Linux"} and len(found) > 4
    assert found[2].shown.startswith("Guide > Install > Linux\nOne sentence")
    assert found[-1].shown == "Guide\nUse\nThen." and found[-1].heading == "Guide > Use"


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
    assert all(line.endswith("open") for chunk in others for line in chunk.text.split("\n"))


def test_a_paragraph_that_fits_is_never_cut() -> None:
    paragraphs = [f"Paragraph {number}. " + "It goes on. " * (number % 17) for number in range(40)]
    blocks = tuple(Block("paragraph", text.strip()) for text in paragraphs)
    found = chunks(Document("p", "P", "text/plain", blocks), tokens=100)
    assert [text for chunk in found for text in chunk.text.split("\n\n")] == [block.text for block in blocks]


def test_limits_that_are_none() -> None:
    document = Document("d", "D", "text/plain", (Block("paragraph", "Hello."),))
    assert chunks(Document("d", "D", "text/plain")) == []
    with pytest.raises(InvalidLimit, match="at least"):
        chunks(document, tokens=8)
    with pytest.raises(WrongType):
        chunks(document, tokens="many")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        chunks(document, counter=Measured)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
