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
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""")
_DECLARED_WITHIN = 2048
_WINDOWS = "cp1252"
_GUESSED = f"not UTF-8: read as latin-1 in the manner of Windows ({_WINDOWS}), which may be wrong"
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
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        declared = _declared(data) if is_marked_up else None
        if declared is None:
            return data.decode(_WINDOWS, "replace"), [_GUESSED]
        return _read_or_replaced(data, declared)


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


def _declared(data: bytes) -> str | None:
    """The encoding that a page of HTML says it has, if it is one that is known."""
    found = _DECLARED.search(data[:_DECLARED_WITHIN])
    if not found:
        return None
    try:
        known = codecs.lookup(found[1].decode("ascii"))
        known.decode(b"")  # what is known may also be no encoding of text, such as base64
    except (LookupError, ValueError):
        return None
    if known.name == "iso8859-1":  # pages that say so mean the other, and browsers take them at that
        return _WINDOWS
    return known.name if known.name not in ("utf-8", "ascii") and _gives_text(known) else None


def _gives_text(known: codecs.CodecInfo) -> bool:
    return isinstance(known.decode(b"a" * 8)[0], str)  # pyright: ignore[reportUnnecessaryIsInstance]


def _read_or_replaced(data: bytes, encoding: str) -> tuple[str, list[str]]:
    said = f"read as {encoding.removesuffix('-sig')}"
    notes = [] if encoding == "utf-8-sig" else [said]
    try:
        return data.decode(encoding), notes
    except UnicodeError:
        return data.decode(encoding, "replace"), [f"{said}; bytes that are not were replaced"]
