"""Bytes are read as what they are: damage stays small, and what a page says of itself stops nothing."""

from pathlib import Path

import pytest

from quire.memory import Memory
from quire.memory.documents import read_document
from quire.stores import Store

GUESSED = "not UTF-8: read as latin-1 in the manner of Windows (cp1252), which may be wrong"
REPLACED = "read as utf-8; bytes that are not were replaced"


def page(label: str, text: bytes) -> bytes:
    return f'<!DOCTYPE html><META Charset="{label}"><p>'.encode() + text


@pytest.mark.parametrize("label", ["utf-8", "UTF8", "utf-16", "utf-16le"])
def test_a_bad_byte_in_a_page_that_says_utf_8_is_replaced(label: str) -> None:
    document = read_document(page(label, "Возврат".encode() + b"\xd0</p>"))
    assert document.blocks[0].text == "Возврат\ufffd" and document.notes == (REPLACED,)


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xe2\x80"])
def test_a_bad_byte_among_letters_of_utf_8_is_replaced(bad: bytes) -> None:
    document = read_document("Rückgabe größerer Geräte".encode() + bad, name="a.txt")
    assert document.blocks[0].text == "Rückgabe größerer Geräte\ufffd" and document.notes == (REPLACED,)


def test_what_was_replaced_before_is_no_bad_byte() -> None:
    document = read_document("\ufffd\ufffd\ufffd\ufffd f".encode() + b"\xfc", name="a.txt")
    assert document.blocks[0].text == "\ufffd\ufffd\ufffd\ufffd f\ufffd" and document.notes == (REPLACED,)


@pytest.mark.parametrize(
    "data",
    [
        "Rückgabe größerer Geräte".encode("cp1252"),
        "Rückgabe größerer Geräte".encode("cp1252") + "ü".encode(),
        page("utf-8", "Rückgabe größerer Geräte".encode("cp1252")),
    ],
)
def test_what_is_of_windows_is_not_taken_for_utf_8(data: bytes) -> None:
    document = read_document(data)
    assert document.blocks[0].text.startswith("Rückgabe größerer Geräte") and document.notes == (GUESSED,)


@pytest.mark.parametrize(
    "label",
    [
        *("idna", "rot13", "punycode", "base64", "hex", "undefined", "unicode_escape", "raw_unicode_escape"),
        *("utf-7", "utf-16", "utf-16-be", "utf-32", "cp037", "hz", "mbcs", "no-such"),
    ],
)
def test_an_odd_name_of_an_encoding_stops_nothing(label: str) -> None:
    document = read_document(page(label, b"hi \xe9 \\x41 \\u0041 +AGE-"))
    assert document.blocks[0].text == "hi é \\x41 \\u0041 +AGE-" and document.notes == (GUESSED,)


def test_a_folder_with_such_a_page_is_added(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for label in ("idna", "rot13", "utf-16"):
        (folder / f"{label}.html").write_bytes(page(label, b"hi \xe9"))
    with Store.open(tmp_path / "k.db") as store:
        report = Memory.of(store, "ana").knowledge.add(folder, name="pages")
    assert len(report.added) == len(report.notes) == 3 and not report.failed


@pytest.mark.parametrize(
    ("label", "meant", "text"),
    [("gb2312", "gbk", "世界镕"), ("shift_jis", "cp932", "髙島①"), ("euc-kr", "cp949", "똠방각하")],
)
def test_a_page_of_the_far_east_has_the_letters_that_browsers_show(label: str, meant: str, text: str) -> None:
    document = read_document(page(label, text.encode(meant)))
    assert document.blocks[0].text == text and document.notes == (f"read as {meant}",)
