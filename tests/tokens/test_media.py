"""Media count by the providers' formulas, sizes are read from image headers, and text files count as text."""

import struct
import zlib

from hypothesis import given, strategies as st

from quire.items import Audio, File, Image
from quire.tokens import is_text, media_costs, media_tokens, size_of

EXAMPLES = [
    ("gpt-4o", 1024, 1024, "high", 765),
    ("gpt-4o", 2048, 4096, "high", 1105),
    ("gpt-4o", 4096, 8192, "low", 85),
    ("gpt-4o", 512, 512, "auto", 255),
    ("gpt-4o-mini", 512, 512, "auto", 2833 + 5667),
    ("gpt-5", 1024, 1024, "high", 70 + 4 * 140),
    ("patches-1.62", 1024, 1024, "auto", 1659),
    ("patches-1.62", 1800, 2400, "auto", 2352),
    ("gpt-5.4", 512, 512, "low", 307),
    ("gpt-5.5", 3200, 3200, "auto", 12_000),
    ("gpt-5.6", 4000, 2500, "auto", 11_850),
    ("gpt-5.6", 4000, 2500, "high", 2948),
    ("claude", 200, 200, "auto", 64),
    ("claude", 1092, 1092, "auto", 1521),
    ("claude-high", 1092, 1092, "auto", 1521),
    ("gemini-2", 384, 384, "auto", 258),
    ("gemini-2", 960, 540, "auto", 6 * 258),
    ("gemini-2", 6144, 6144, "auto", 16 * 258),
    ("gemini-3", 4000, 3000, "auto", 1120),
    ("gemini-3", 4000, 3000, "low", 280),
]


def test_worked_examples() -> None:
    for media, width, height, detail, tokens in EXAMPLES:
        found = media_costs(media).image.tokens(width, height, detail)
        assert found == tokens, (media, width, height, detail)


SIDES = st.integers(1, 12_000)
DETAILS = st.sampled_from(["auto", "low", "high"])


@given(st.sampled_from([row[0] for row in EXAMPLES]), SIDES, SIDES, DETAILS)
def test_every_image_costs_something_and_turning_it_changes_nothing(
    media: str, width: int, height: int, detail: str
) -> None:
    formula = media_costs(media).image
    assert formula.tokens(width, height, detail) == formula.tokens(height, width, detail) >= 1


def test_recordings_by_the_second_and_documents_by_the_page() -> None:
    gemini, claude = media_costs("gemini-2"), media_costs("claude")
    assert media_tokens(Audio(url="x", seconds=10), gemini) == 320
    assert media_tokens(Audio(url="x"), gemini) == 30 * 32
    assert media_tokens(Audio(data=bytes(160_000)), gemini) == 320
    assert media_tokens(Audio(url="x", seconds=10), claude) == 0
    assert media_tokens(File(url="x", pages=3), claude) == 3 * 3600
    assert media_tokens(File(url="x"), gemini) == 10 * 258
    assert media_tokens(File(data=bytes(150_000)), gemini) == 3 * 258


def a_png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


def a_jpeg(width: int, height: int) -> bytes:
    segment = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)
    return b"\xff\xd8" + segment + frame


def a_webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


HEADERS = {
    "png": a_png(640, 480),
    "gif": b"GIF89a" + struct.pack("<HH", 640, 480) + bytes(8),
    "jpeg": a_jpeg(640, 480),
    "webp lossy": a_webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480) + bytes(8)),
    "webp lossless": a_webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14) + bytes(8)),
    "webp extended": a_webp(b"VP8X", bytes(4) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
}


def test_the_size_is_read_from_the_header_unless_it_is_given() -> None:
    claude = media_costs("claude")
    small = media_tokens(Image(url="x", width=32, height=32), claude)
    for name, data in HEADERS.items():
        assert size_of(data) == (640, 480), name
        by_bytes = media_tokens(Image(data=data), claude)
        assert by_bytes == media_tokens(Image(url="x", width=640, height=480), claude)
        assert media_tokens(Image(data=data, width=32, height=32), claude) == small
    usual = Image(url="x", width=1024, height=1024)
    assert media_tokens(Image(url="x"), claude) == media_tokens(usual, claude)


@given(st.sampled_from(sorted(HEADERS)), st.integers(0, 60), st.binary(max_size=8))
def test_a_damaged_header_gives_a_size_or_none(name: str, cut: int, other: bytes) -> None:
    size = size_of(HEADERS[name][:cut] + other + HEADERS[name][cut + len(other) :])
    assert size is None or all(side > 0 for side in size)
    assert size_of(b"?" + other) is None


TEXT_FILES: list[tuple[str | None, str | None, bytes, bool]] = [
    *(("text/plain", None, b"x", True), ("application/json", None, b"x", True), ("", "a.csv", b"x", True)),
    *(("image/svg+xml", None, b"x", True), ("application/pdf", "a.txt", b"x", False)),
    *(("image/png", "a.txt", b"x", False), (None, "notes.MD", b"x", True)),
    *((None, "C:\\src\\Makefile", b"x", True), ("application/octet-stream", "a.py", b"x", True)),
    *(("application/vnd.ms-excel", "a.csv", b"x", True), (None, "a.txt", b"\xff", False)),
    *((None, "a.bin", b"x", False), (None, None, b"x", False)),
]


def test_text_files_are_known_by_type_or_by_name_and_bytes() -> None:
    assert [(kind, name, data, is_text(kind, name, data)) for kind, name, data, _ in TEXT_FILES] == TEXT_FILES
