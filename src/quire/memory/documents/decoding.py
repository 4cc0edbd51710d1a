"""Bytes to text, whatever the encoding; what is no text is told from what is."""

import codecs
import re

from quire.errors import InvalidValue

# The longer first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_DECLARED_WITHIN = 2048
_WINDOWS = "cp1252"
_GUESSED = f"not UTF-8: read as latin-1 in the manner of Windows ({_WINDOWS}), which may be wrong"
# Pages that say the one mean the other, which has more letters, and browsers take them at that.
_MEANT = {
    "iso8859-1": _WINDOWS,
    "gb2312": "gbk",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# What codecs that are no encoding of pages read as something else stands in it.
_PLAIN = bytes({*range(32, 127)} - {*b"\\"}) + b"\\x41\\u0041+AGE-~{VP~}"
_UTF8 = "utf-8"
_MOST_BAD = 0.25
"""The share of letters beyond ASCII that may be broken in what does not say that it is UTF-8."""
_MOST_BAD_DECLARED = 0.5
_SAMPLE = 64 * 1024
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\x0c\r\x1b"})
_MOST_CONTROLS = 0.01
"""The share of control characters from which on bytes are no text."""


def decoded(data: bytes, name: str, *, is_marked_up: bool = False) -> tuple[str, list[str]]:
    """The text of some bytes, and what there is to say of its encoding. `InvalidValue` if it is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _read_or_replaced(data, encoding)
    wide = _wide(data)
    if wide:
        return _read_or_replaced(data, wide)
    check_text(data, name)
    try:
        return data.decode(_UTF8), []
    except UnicodeDecodeError:
        declared = _declared(data) if is_marked_up else None
    if declared in (None, _UTF8) and not _is_damaged_utf8(data, is_declared=declared is not None):
        return data.decode(_WINDOWS, "replace"), [_GUESSED]
    return _read_or_replaced(data, declared or _UTF8)


def check_text(data: bytes, name: str) -> None:
    """Refuse bytes that are no text."""
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if b"\x00" in sample or controls > _MOST_CONTROLS * len(sample):
        raise InvalidValue(f"{name} is binary, and no text, Markdown, HTML or PDF")


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: of plain letters every second byte is zero."""
    sample = data[: _SAMPLE // 2 * 2]
    pairs = len(sample) // 2
    if len(data) % 2 or pairs < 2:
        return None
    low, high = sample[::2].count(0), sample[1::2].count(0)
    if high > 0.7 * pairs and low == 0:
        return "utf-16-le"
    return "utf-16-be" if low > 0.7 * pairs and high == 0 else None


def _is_damaged_utf8(data: bytes, *, is_declared: bool) -> bool:
    """Whether bytes are UTF-8 but for a few: other encodings hardly ever look like it by chance."""
    text, mark = data.decode(_UTF8, "replace"), "\ufffd"
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    bad = text.count(mark) - data.count(mark.encode())
    return bad <= beyond * (_MOST_BAD_DECLARED if is_declared else _MOST_BAD)


def _declared(data: bytes) -> str | None:
    """The encoding that a page of HTML says it has, if it is one that it can have."""
    found = _DECLARED.search(data[:_DECLARED_WITHIN])
    if not found:
        return None
    try:
        known = codecs.lookup(found[1].decode("ascii")).name
    except (LookupError, ValueError):
        return None
    if known.startswith((_UTF8, "utf-16")):  # UTF-16 in which its own name can be read is none
        return _UTF8
    return _MEANT.get(known, known) if known != "ascii" and _is_of_pages(known) else None


def _is_of_pages(encoding: str) -> bool:
    """Whether plain letters are the same in it: those that named it were read as such."""
    try:
        return _PLAIN.decode(encoding, "replace") == _PLAIN.decode("ascii")
    except (LookupError, ValueError):  # no encoding of text, such as base64, or one that reads only its own
        return False


def _read_or_replaced(data: bytes, encoding: str) -> tuple[str, list[str]]:
    said = f"read as {encoding.removesuffix('-sig')}"
    notes = [] if encoding == "utf-8-sig" else [said]
    try:
        return data.decode(encoding), notes
    except UnicodeError:
        return data.decode(encoding, "replace"), [f"{said}; bytes that are not were replaced"]
