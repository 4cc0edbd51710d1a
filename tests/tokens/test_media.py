"""Media by the providers' formulas, and sizes read from image headers."""

import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit, WrongType
from quire.items import Audio, Detail, File, Image
from quire.tokens import MEDIA, media_tokens, size_of
from quire.tokens.images import USUAL_SIZE, Budgeted, Crops, Grid, Patches, Tiles
from quire.tokens.media import MOST_PAGES, MOST_SECONDS


@pytest.mark.parametrize(
    ("media", "width", "height", "detail", "tokens"),
    [
        ("gpt-4o", 1024, 1024, "high", 765),
        ("gpt-4o", 2048, 4096, "high", 1105),
        ("gpt-4o", 4096, 8192, "low", 85),
        ("gpt-4o", 3001, 6002, "high", 1105),
        ("gpt-4o", 512, 512, "auto", 255),
        ("gpt-4o-mini", 512, 512, "auto", 2833 + 5667),
        ("o1", 512, 512, "high", 225),
        ("gpt-5", 1024, 1024, "high", 70 + 4 * 140),
        ("patches-1.62", 1024, 1024, "auto", 1659),
        ("patches-1.62", 1800, 2400, "auto", 2352),
        ("patches-2.46", 32, 32, "high", 2),
        ("gpt-5.2", 4000, 4000, "auto", 1825),
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
        ("gemini-2", 5546, 5546, "auto", 16 * 258),
        ("gemini-3", 4000, 3000, "auto", 1120),
        ("gemini-3", 4000, 3000, "low", 280),
    ],
)
def test_worked_examples(media: str, width: int, height: int, detail: str, tokens: int) -> None:
    assert MEDIA[media].image.tokens(width, height, detail) == tokens


SIDES = st.integers(1, 12_000)


@given(st.sampled_from(sorted(MEDIA)), SIDES, SIDES, st.sampled_from(["auto", "low", "high"]))
def test_every_image_costs_something_and_turning_it_changes_nothing(
    media: str, width: int, height: int, detail: str
) -> None:
    formula = MEDIA[media].image
    assert formula.tokens(width, height, detail) >= 1
    assert formula.tokens(width, height, detail) == formula.tokens(height, width, detail)


CLAIMED = st.one_of(st.integers(1, 2**32 - 1), st.sampled_from([1, 2**24, 2**31, 2**32 - 1]))
DEAREST = 40_000
"""More than any provider takes for one picture: it shrinks what is larger."""


@given(st.sampled_from(sorted(MEDIA)), CLAIMED, CLAIMED, st.sampled_from(["auto", "low", "high"]))
def test_a_header_that_claims_any_size_costs_what_a_provider_would_take(
    media: str, width: int, height: int, detail: Detail
) -> None:
    claimed = Image(data=a_png(width, height), detail=detail)
    assert 1 <= media_tokens(claimed, MEDIA[media]) <= DEAREST


@given(st.sampled_from(sorted(MEDIA)), st.floats(1e5, 1e9, exclude_max=True))
def test_lengths_beyond_what_any_provider_takes_are_not_believed(media: str, length: float) -> None:
    longest = media_tokens(Audio(url="x", seconds=MOST_SECONDS), MEDIA[media])
    assert media_tokens(Audio(url="x", seconds=length), MEDIA[media]) == longest
    thickest = media_tokens(File(url="x", pages=MOST_PAGES), MEDIA[media])
    assert media_tokens(File(url="x", pages=int(length)), MEDIA[media]) == thickest
    claimed = File(data=b"/Type /Page" * (MOST_PAGES + 1))
    assert media_tokens(claimed, MEDIA[media]) == thickest


@given(SIDES, SIDES)
def test_gemini_keeps_within_its_crops(width: int, height: int) -> None:
    assert MEDIA["gemini-2"].image.tokens(width, height, "auto") <= 24 * 258


@given(SIDES, SIDES)
def test_anthropic_keeps_within_its_tiers(width: int, height: int) -> None:
    standard, high = (MEDIA[name].image.tokens(width, height, "auto") for name in ("claude", "claude-high"))
    assert standard <= 1568
    assert standard <= high <= 4784


@given(SIDES, SIDES)
def test_patches_keep_within_their_budget(width: int, height: int) -> None:
    assert MEDIA["gpt-5.2"].image.tokens(width, height, "auto") <= 1843
    assert MEDIA["gpt-5.4"].image.tokens(width, height, "low") <= 307


def test_an_image_of_unknown_size_has_the_usual_one() -> None:
    for media in MEDIA.values():
        assert media_tokens(Image(url="https://x"), media) == media.image.tokens(*USUAL_SIZE, "auto")


def test_recordings_by_the_second() -> None:
    assert media_tokens(Audio(url="x", seconds=10), MEDIA["gemini-2"]) == 320
    assert media_tokens(Audio(url="x", seconds=10), MEDIA["gpt-4o"]) == 100
    assert media_tokens(Audio(url="x", seconds=10), MEDIA["claude"]) == 0
    assert media_tokens(Audio(data=bytes(160_000)), MEDIA["gemini-2"]) == 320
    assert media_tokens(Audio(url="x"), MEDIA["gemini-2"]) == 30 * 32


def test_documents_by_the_page() -> None:
    gemini = MEDIA["gemini-2"]
    assert media_tokens(File(url="x", pages=4), gemini) == 4 * 258
    assert media_tokens(File(url="x"), gemini) == 10 * 258
    assert media_tokens(File(data=b"/Type /Pages /Type /Page /Type /Page"), gemini) == 2 * 258
    assert media_tokens(File(data=bytes(150_000)), gemini) == 3 * 258


def a_png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


def a_jpeg(width: int, height: int) -> bytes:
    segment = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)
    return b"\xff\xd8" + segment + b"\xff" + frame


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


@pytest.mark.parametrize("name", HEADERS)
def test_the_size_is_read_from_the_header(name: str) -> None:
    assert size_of(HEADERS[name]) == (640, 480)
    by_bytes = media_tokens(Image(data=HEADERS[name]), MEDIA["claude"])
    assert by_bytes == media_tokens(Image(url="x", width=640, height=480), MEDIA["claude"])


@given(st.sampled_from(sorted(HEADERS)), st.integers(0, 60), st.binary(max_size=8))
def test_damaged_headers_do_no_harm(name: str, cut: int, other: bytes) -> None:
    size = size_of(HEADERS[name][:cut] + other + HEADERS[name][cut + len(other) :])
    assert size is None or all(side > 0 for side in size)
    assert media_tokens(Image(data=HEADERS[name][:cut] + other + b"x"), MEDIA["gpt-4o"]) > 0


@given(st.binary(max_size=200))
def test_bytes_that_are_no_image_have_no_size(data: bytes) -> None:
    assert size_of(b"?" + data) is None


def test_a_stated_size_wins_over_the_header() -> None:
    stated = Image(data=HEADERS["png"], width=32, height=32)
    assert media_tokens(stated, MEDIA["claude"]) == 4


@pytest.mark.parametrize("wrong", ["x", None, 5])
def test_sizes_are_read_from_bytes_and_costs_from_media(wrong: Any) -> None:
    with pytest.raises(WrongType):
        size_of(wrong)
    with pytest.raises(WrongType):
        media_tokens(wrong, MEDIA["claude"])
    with pytest.raises(WrongType):
        media_tokens(Image(url="u"), wrong)


@pytest.mark.parametrize("wrong", [0, -1, 2**60, 1.5, "512", None, True])
def test_a_formula_has_figures_that_sizes_can_be_divided_by(wrong: Any) -> None:
    for make in (
        lambda: Tiles(85, 170, tile=wrong),
        lambda: Tiles(85, 170, square=wrong),
        lambda: Patches(1.0, Budgeted(1, 1), Budgeted(1, 1), patch=wrong),
        lambda: Patches(1.0, wrong, Budgeted(1, 1)),
        lambda: Grid(Budgeted(1568, wrong)),
        lambda: Crops(258, least=wrong),
    ):
        with pytest.raises((WrongType, InvalidLimit)):
            make()
