"""Width and height from the head of a PNG, GIF, WebP or JPEG. Nothing is decoded; damage gives None."""

from collections.abc import Callable

from quire.errors import WrongType

_START_OF_FRAME = frozenset((*range(0xC0, 0xD0),)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))
_MOST_SEGMENTS = 10_000


def size_of(data: bytes) -> tuple[int, int] | None:
    """The size in pixels that an image's header tells."""
    if not isinstance(data, bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"an image is read from bytes, not {type(data).__name__}")
    for signature, offset, read in _READERS:
        if data.startswith(signature, offset):
            size = read(data)
            return size if size and all(side > 0 for side in size) else None
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    if len(data) < 24 or data[12:16] != b"IHDR":
        return None
    return _big(data, 16, 4), _big(data, 20, 4)


def _gif(data: bytes) -> tuple[int, int] | None:
    return (_little(data, 6, 2), _little(data, 8, 2)) if len(data) >= 10 else None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
    if kind == b"VP8L" and len(data) >= 25 and data[20] == 0x2F:
        packed = _little(data, 21, 4)
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(data) >= 30 and data[23:26] == b"\x9d\x01\x2a":
        return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(_MOST_SEGMENTS):
        if place + 9 > len(data) or data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker in _START_OF_FRAME:
            return _big(data, place + 7, 2), _big(data, place + 5, 2)
        if marker == 0xFF:
            place += 1
        elif marker in _WITHOUT_LENGTH:
            place += 2
        else:
            place += 2 + max(2, _big(data, place + 2, 2))
    return None


def _big(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "big")


def _little(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")


_READERS: tuple[tuple[bytes, int, Callable[[bytes], tuple[int, int] | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, _png),
    (b"GIF87a", 0, _gif),
    (b"GIF89a", 0, _gif),
    (b"WEBP", 8, _webp),
    (b"\xff\xd8", 0, _jpeg),
)
