"""Tokens of images, recordings and documents, by each provider's own formula; and which files are text.

Checked against the providers' guides or public quotations of them: the tiles and patches of OpenAI, the grid
and both tiers of Anthropic, the crops and levels of Gemini. Not confirmed: OpenAI's rate for recordings, its
patches of low detail, the square to which Gemini shrinks images before it crops them, and the figures for a
page, except Gemini's.
"""

from math import ceil, floor, sqrt

import msgspec

from quire.items import Audio, File, Image

USUAL_SIZE = (1024, 1024)  # of an image whose size is not known
USUAL_SECONDS, USUAL_PAGES = 30, 10  # of media that are given by address and do not say how long they are
BYTES_PER_SECOND = 16_000  # compressed speech at 128 kbit/s
BYTES_PER_PAGE = 50_000
MOST_SECONDS, MOST_PAGES = 34_200, 1000  # the longest that any provider takes; longer claims are not believed


# Formulas for images


class Budgeted(msgspec.Struct, frozen=True):
    """Limits to which an image is shrunk: the longest side in pixels, and how many patches may cover it."""

    side: int
    patches: int


class Tiles(msgspec.Struct, frozen=True):
    """A base, and `each` for every tile of the image, which is first shrunk to a square and a short side."""

    base: int
    each: int
    tile: int = 512
    square: int = 2048
    short_side: int = 768

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        if detail == "low":
            return self.base
        width, height = _within(width, height, self.square)
        scale = min(1.0, self.short_side / min(width, height))
        return self.base + self.each * _pieces(width * scale, height * scale, self.tile)


class Patches(msgspec.Struct, frozen=True):
    """A factor for every patch of 32 pixels; an image over the budget of its detail is shrunk to fit."""

    factor: float
    auto: Budgeted
    high: Budgeted
    low: Budgeted = Budgeted(512, 256)
    patch: int = 32

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        budget = {"low": self.low, "high": self.high}.get(detail, self.auto)
        width, height = _within(width, height, budget.side)
        if _pieces(width, height, self.patch) > budget.patches:
            scale = sqrt(self.patch**2 * budget.patches / (width * height))
            across, down = width * scale / self.patch, height * scale / self.patch
            whole = min(floor(across) / across, floor(down) / down) or 1.0
            width, height = width * scale * whole, height * scale * whole
        return round(min(_pieces(width, height, self.patch), budget.patches) * self.factor)


class Grid(msgspec.Struct, frozen=True):
    """One token for every cell of 28 pixels, after the image was shrunk until it is within both limits."""

    limits: Budgeted
    cell: int = 28

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        long, short = max(width, height), min(width, height)
        if not self._fits(long, short):
            long, short = self._largest(long, short)
        return self._cells(long) * self._cells(short)

    def _largest(self, long: float, short: float) -> tuple[float, float]:
        ratio, fits, too_long = short / long, 1, ceil(long)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            fits, too_long = (middle, too_long) if self._fits(middle, middle * ratio) else (fits, middle)
        return fits, max(1.0, round(fits * ratio))

    def _fits(self, long: float, short: float) -> bool:
        cells = self._cells(long)
        return cells * self.cell <= self.limits.side and cells * self._cells(short) <= self.limits.patches

    def _cells(self, side: float) -> int:
        return max(1, ceil(round(side) / self.cell))


class Crops(msgspec.Struct, frozen=True):
    """The same for every crop: a small image is one, a larger one is cut by two thirds of its short side."""

    each: int
    small: int = 384
    least: int = 256
    most: int = 768
    square: int = 3072

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        if max(width, height) <= self.small:
            return self.each
        width, height = _within(width, height, self.square)
        unit = min(self.most, max(self.least, floor(min(width, height) / 1.5)))
        return self.each * _pieces(width, height, unit)


class Levels(msgspec.Struct, frozen=True):
    """A figure for each level of detail, whatever the size."""

    auto: int
    high: int
    low: int

    def tokens(self, width: float, height: float, detail: str) -> int:
        """Tokens of an image of this size."""
        return {"low": self.low, "high": self.high}.get(detail, self.auto)


def _pieces(width: float, height: float, piece: int) -> int:
    """How many squares cover an image; rounding errors do not add a row."""
    columns, rows = (max(1, ceil(side / piece - 1e-6)) for side in (width, height))
    return columns * rows


def _within(width: float, height: float, side: int) -> tuple[float, float]:
    scale = min(1.0, side / max(width, height))
    return width * scale, height * scale


# Costs of a family of models


class Media(msgspec.Struct, frozen=True, kw_only=True):
    """What a family of models charges for media.

    `second` is None where recordings are not taken; then only the transcript counts.
    """

    name: str
    image: Tiles | Patches | Grid | Crops | Levels
    second: float | None
    page: int


_FITTED = Budgeted(2048, 1536)
_LARGER = Budgeted(2048, 2500)


def _openai(name: str, image: Tiles | Patches) -> Media:
    return Media(name=name, image=image, second=10.0, page=1300)


MEDIA: dict[str, Media] = {
    media.name: media
    for media in (
        _openai("gpt-4o", Tiles(85, 170)),
        _openai("gpt-4o-mini", Tiles(2833, 5667)),
        _openai("o1", Tiles(75, 150)),
        _openai("gpt-5", Tiles(70, 140)),
        _openai("patches-1.62", Patches(1.62, _FITTED, _FITTED)),
        _openai("patches-2.46", Patches(2.46, _FITTED, _FITTED)),
        _openai("patches-1.72", Patches(1.72, _FITTED, _FITTED)),
        _openai("gpt-5.2", Patches(1.2, _FITTED, _FITTED)),
        _openai("gpt-5.4", Patches(1.2, _LARGER, _LARGER)),
        _openai("gpt-5.5", Patches(1.2, Budgeted(6000, 10_000), _LARGER)),
        _openai("gpt-5.6", Patches(1.2, Budgeted(65_535, 30_000), _LARGER)),
        Media(name="claude", image=Grid(Budgeted(1568, 1568)), second=None, page=3600),
        Media(name="claude-high", image=Grid(Budgeted(2576, 4784)), second=None, page=6800),
        Media(name="gemini-2", image=Crops(258), second=32.0, page=258),
        Media(name="gemini-3", image=Levels(auto=1120, high=1120, low=280), second=32.0, page=560),
    )
}


def media_tokens(part: Image | Audio | File, media: Media) -> int:
    """Tokens of one part that is not text; a transcript is text and is counted by the caller."""
    match part:
        case Image():
            width, height = part.width, part.height
            if not (width and height):
                width, height = size_of(part.data or b"") or USUAL_SIZE
            return media.image.tokens(width, height, part.detail)
        case Audio():
            return 0 if media.second is None else round(media.second * _seconds(part))
        case File():
            return media.page * min(_pages(part), MOST_PAGES)


def _seconds(audio: Audio) -> float:
    if audio.seconds is not None:
        return min(audio.seconds, MOST_SECONDS)
    return USUAL_SECONDS if audio.data is None else max(1.0, len(audio.data) / BYTES_PER_SECOND)


def _pages(file: File) -> int:
    if file.pages is not None:
        return file.pages
    if file.data is None:
        return USUAL_PAGES
    stated = file.data.count(b"/Type /Page") - file.data.count(b"/Type /Pages")
    return stated if stated > 0 else max(1, round(len(file.data) / BYTES_PER_PAGE))


# Sizes of images

_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))
_MOST_SEGMENTS = 10_000


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height from the header of a PNG, GIF, WebP or JPEG; None where the bytes do not tell."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        size = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    elif data.startswith((b"GIF87a", b"GIF89a")) and len(data) >= 10:
        size = _little(data, 6, 2), _little(data, 8, 2)
    elif data.startswith(b"WEBP", 8):
        size = _webp_size(data)
    else:
        size = _jpeg_size(data) if data.startswith(b"\xff\xd8") else (0, 0)
    return size if all(side > 0 for side in size) else None


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
    if kind == b"VP8L" and len(data) >= 25 and data[20] == 0x2F:
        packed = _little(data, 21, 4)
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(data) >= 30 and data[23:26] == b"\x9d\x01\x2a":
        return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
    return 0, 0


def _jpeg_size(data: bytes) -> tuple[int, int]:
    place = 2
    for _ in range(_MOST_SEGMENTS):
        if place + 9 > len(data) or data[place] != 0xFF:
            break
        marker = data[place + 1]
        if marker in _START_OF_FRAME:
            height, width = data[place + 5 : place + 7], data[place + 7 : place + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        if marker == 0xFF:
            place += 1
        elif marker in _WITHOUT_LENGTH:
            place += 2
        else:
            place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return 0, 0


def _little(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")


# Files that are text. The lists are our own: what a machine knows of file names differs from one to the next,
# and a rendered request must not.

_TEXT_TYPES = frozenset(
    f"application/{kind}"
    for kind in (
        *("json", "jsonl", "x-ndjson", "ndjson", "json5", "xml", "yaml", "x-yaml", "toml", "x-toml"),
        *("javascript", "x-javascript", "ecmascript", "typescript", "x-typescript", "sql", "x-sql"),
        *("graphql", "x-sh", "x-shellscript", "x-python", "x-httpd-php", "x-tex", "x-latex", "x-subrip"),
    )
)
_TEXT_ENDINGS = frozenset(
    (
        *("txt", "text", "md", "markdown", "rst", "adoc", "tex", "log", "srt", "vtt", "diff", "patch"),
        *("json", "jsonl", "ndjson", "json5", "geojson", "xml", "xsd", "xsl", "svg", "html", "htm", "css"),
        *("yaml", "yml", "toml", "ini", "cfg", "conf", "env", "properties", "csv", "tsv", "sql", "graphql"),
        *("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "java", "kt", "scala", "go", "rs", "rb"),
        *("c", "h", "cc", "cpp", "hpp", "cs", "swift", "m", "php", "pl", "lua", "r", "jl", "ex", "erl", "hs"),
        *("sh", "bash", "zsh", "ps1", "bat", "tf", "proto", "gradle", "cmake", "ipynb", "vue"),
    )
)
_TEXT_NAMES = frozenset(("readme", "license", "changelog", "makefile", "dockerfile", "gemfile", "rakefile"))

# Types that tell nothing: the second is what a browser calls a CSV where Excel is installed.
_ANY_TYPES = frozenset(("application/octet-stream", "application/vnd.ms-excel"))


def is_text(media_type: str | None, name: str | None, data: bytes) -> bool:
    """Whether a file is text, by its media type or, where that tells nothing, by its name and its bytes."""
    if media_type and media_type not in _ANY_TYPES:
        endings = ("+json", "+xml", "+yaml")
        return media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith(endings)
    bare = (name or "").replace("\\", "/").rpartition("/")[2].lower()
    _, dot, ending = bare.rpartition(".")
    return (ending in _TEXT_ENDINGS if dot else bare in _TEXT_NAMES) and is_utf8(data)


def is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
