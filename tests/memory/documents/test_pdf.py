"""PDF: pages, headings by the outline, and files that are locked, damaged or without text."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pypdf", reason="the extra `documents` is not installed")

from quire.errors import Damaged, InvalidValue, MissingExtra
from quire.memory.documents import read_document
from tests.memory.documents.pdfs import locked, made

FIRST = "Lamps\nEvery lamp is lit at dusk, and the keeper notes the hour in the long-\nstanding book.\nShort."
SECOND = "Tides\nThe tide is read twice a day by whoever is awake."


def test_pages_paragraphs_and_headings() -> None:
    document = read_document(made(FIRST, SECOND, outline={"Lamps": 0, "Tides": 1}, title="The Harbour"))
    assert document.title == "The Harbour" and document.media_type == "application/pdf"
    assert [(block.kind, block.page) for block in document.blocks] == [
        *(("heading", 1), ("paragraph", 1), ("paragraph", 1)),
        *(("heading", 2), ("paragraph", 2)),
    ]
    assert "the longstanding book." in document.blocks[1].text
    assert document.blocks[2].text == "Short." and document.notes == ()


def test_without_an_outline_all_is_paragraphs() -> None:
    document = read_document(made(SECOND), name="tides.pdf")
    assert {block.kind for block in document.blocks} == {"paragraph"} and document.title == "tides.pdf"


def test_pages_without_text_are_told() -> None:
    assert read_document(made("", "")).notes == ("no page has text: it is scanned, or made of pictures",)
    assert read_document(made("Words.", "")).notes == ("page 2 without text: empty, scanned, or pictures",)


def test_locked_files() -> None:
    with pytest.raises(InvalidValue, match=r"secret\.pdf is encrypted"):
        read_document(locked(made("Words."), "owner", "word"), name="secret.pdf")
    assert read_document(locked(made("Words."), "owner")).blocks[0].text == "Words."


@pytest.mark.parametrize("left", [9, 40, 200])
def test_damaged_files(left: int) -> None:
    with pytest.raises(Damaged, match="no whole PDF"):
        read_document(made("Words.")[:left], name="torn.pdf")


READ = """
import sys
from pathlib import Path
from quire.errors import Damaged
from quire.memory.documents import read_document
try:
    read_document(Path(sys.argv[1]))
except Damaged as fault:
    print(fault)
"""


def test_nothing_is_printed_of_a_damaged_file(tmp_path: Path) -> None:
    """In a process of its own: where tests run, somebody listens to what is logged."""
    torn = tmp_path / "torn.pdf"
    torn.write_bytes(made("Words.")[:200])
    done = subprocess.run([sys.executable, "-c", READ, str(torn)], capture_output=True, text=True, check=True)
    assert "no whole PDF" in done.stdout and done.stderr == ""


def test_a_file_that_is_no_pdf_is_told_by_its_content() -> None:
    with pytest.raises(Damaged):
        read_document(b"just words", name="words.pdf")
    assert read_document(made("Words."), name="words.txt").media_type == "application/pdf"


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = made("Words.")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtra, match=r"quire\[documents\]"):
        read_document(data)
