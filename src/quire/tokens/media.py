"""Tokens of images, recordings and documents, by each provider's own formula; and which files are text.

The figures are in `models.toml`. These were checked against the providers' guides or public quotations of
them: OpenAI's tiles and patches, Anthropic's patches, Gemini's crops and levels. These are not confirmed:
OpenAI's recordings and low detail, the square to which Gemini shrinks images before it crops them, and the
costs of pages, except Gemini's.
"""

from functools import cache
from math import ceil, floor, sqrt

import msgspec

from quire.errors import InvalidValue
from quire.items import Audio, File, Image, prepared
from quire.tokens.models import table

USUAL_SIZE = (1024, 1024)  # of an image whose size is not known
USUAL_SECONDS, USUAL_PAGES = 30, 10  # of media with a URL and no length
BYTES_PER_SECOND = 16_000  # compressed speech at 128 kbit/s
BYTES_PER_PAGE = 50_000

# Formulas for images


class _Size(msgspec.Struct, frozen=True, array_like=True):
    """The size to which an image is shrunk: its longest side in pixels, and the patches that cover it."""

    side: int
    patches: int


class _Tiles(msgspec.Struct, frozen=True, tag_field="formula", tag="tiles"):
    """Costs `base` tokens, and `each` for every tile of 512 pixels.

    An image is first shrunk to at most 2,048 pixels a side, then to a short side of at most 768.
    """

    base: int
    each: int

    def tokens(self, width: float, height: float, detail: str) -> int:
        if detail == "low":
            return self.base
        width, height = _within(width, height, 2048)
        scale = min(1.0, 768 / min(width, height))
        return self.base + self.each * _pieces(width * scale, height * scale, 512)


class _Patches(msgspec.Struct, frozen=True, tag_field="formula", tag="patches"):
    """Costs `factor` tokens for every square patch. An image above the limits of its detail is shrunk."""

    factor: float
    auto: _Size
    high: _Size
    low: _Size = _Size(512, 256)
    patch: int = 32

    def tokens(self, width: float, height: float, detail: str) -> int:
        limits = {"low": self.low, "high": self.high}.get(detail, self.auto)
        width, height = _within(width, height, limits.side)
        if _pieces(width, height, self.patch) > limits.patches:
            scale = sqrt(self.patch**2 * limits.patches / (width * height))
            across, down = width * scale / self.patch, height * scale / self.patch
            scale *= min(floor(across) / across, floor(down) / down) or 1.0  # whole patches fill a side
            width, height = width * scale, height * scale
        return round(min(_pieces(width, height, self.patch), limits.patches) * self.factor)


class _Crops(msgspec.Struct, frozen=True, tag_field="formula", tag="crops"):
    """Costs `each` tokens for every crop. A crop of a large image is two thirds of its short side wide."""

    each: int

    def tokens(self, width: float, height: float, detail: str) -> int:
        if max(width, height) <= 384:
            return self.each
        width, height = _within(width, height, 3072)
        unit = min(768, max(256, floor(min(width, height) / 1.5)))
        return self.each * _pieces(width, height, unit)


class _Levels(msgspec.Struct, frozen=True, tag_field="formula", tag="levels"):
    """Costs a fixed number of tokens for each level of detail, whatever the size."""

    auto: int
    high: int
    low: int

    def tokens(self, width: float, height: float, detail: str) -> int:
        return {"low": self.low, "high": self.high}.get(detail, self.auto)


def _pieces(width: float, height: float, piece: int) -> int:
    """The number of squares that cover an image; a rounding error does not add a row."""
    columns, rows = (max(1, ceil(side / piece - 1e-6)) for side in (width, height))
    return columns * rows


def _within(width: float, height: float, side: int) -> tuple[float, float]:
    scale = min(1.0, side / max(width, height))
    return width * scale, height * scale


# Costs of a family of models


@prepared
class MediaCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a family of models charges for media.

    `second` is None for models that take no recordings; then only the transcript counts.
    """

    image: _Tiles | _Patches | _Crops | _Levels
    second: float | None = None
    page: int


@cache
def media_costs(name: str) -> MediaCosts:
    """The costs of one name in the table."""
    rows = table()["media"]
    if name not in rows:
        raise InvalidValue(f"no media costs {name!r}; there are {', '.join(rows)}")
    return msgspec.convert(rows[name], MediaCosts)


def media_tokens(part: Image | Audio | File, costs: MediaCosts) -> int:
    """Tokens of one part that is not text; the caller counts a transcript."""
    match part:
        case Image():
            width, height = part.width, part.height
            if not (width and height):
                width, height = size_of(part.data or b"") or USUAL_SIZE
            return costs.image.tokens(width, height, part.detail)
        case Audio():
            return 0 if costs.second is None else round(costs.second * _seconds(part))
        case File():
            return costs.page * _pages(part)


def _seconds(audio: Audio) -> float:
    if audio.seconds is not None:
        return audio.seconds
    return USUAL_SECONDS if audio.data is None else max(1.0, len(audio.data) / BYTES_PER_SECOND)


def _pages(file: File) -> int:
    if file.pages is not None:
        return file.pages
    return USUAL_PAGES if file.data is None else max(1, round(len(file.data) / BYTES_PER_PAGE))


# Sizes of images

_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height from the header of a PNG, GIF, WebP or JPEG; None if the data has no such header."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        size = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    elif data.startswith((b"GIF87a", b"GIF89a")) and len(data) >= 10:
        size = _little(data, 6, 2), _little(data, 8, 2)
    elif data.startswith(b"WEBP", 8) and len(data) >= 30:
        size = _webp_size(data)
    else:
        size = _jpeg_size(data) if data.startswith(b"\xff\xd8") else (0, 0)
    return size if all(side > 0 for side in size) else None


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
        case b"VP8L":
            packed = _little(data, 21, 4)
            return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case _:
            return 0, 0


def _little(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")


def _jpeg_size(data: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        if data[place + 1] in _START_OF_FRAME:
            height, width = data[place + 5 : place + 7], data[place + 7 : place + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return 0, 0


# Files that are text


def is_text(media_type: str | None, name: str | None, data: bytes) -> bool:
    """Whether a file is text, by its media type or, if that is unspecific, by its name and bytes."""
    rows = table()["text_files"]
    media_type = (media_type or "").partition(";")[0].strip().lower()
    if media_type and media_type not in rows["any_types"]:
        return (
            media_type.startswith("text/")
            or media_type.endswith(("+json", "+xml", "+yaml"))
            or (media_type.removeprefix("application/") in rows["application_types"])
        )
    bare = (name or "").replace("\\", "/").rpartition("/")[2].lower()
    _, dot, ending = bare.rpartition(".")
    return (ending in rows["endings"] if dot else bare in rows["names"]) and is_utf8(data)


def is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
