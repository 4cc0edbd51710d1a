"""What bytes show they are by how they begin, and whether that is what they are said to be.

A service refuses a whole request for one picture that is none, and does so on every later turn too.
"""

from base64 import b64decode
from binascii import Error as NotBase64

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The pictures that nearly all services take, each of which shows by its first bytes what it is."""

PDF = "application/pdf"
_PDF_STARTS = b"%PDF-"
_FRONT = 1024
"""Bytes within which a PDF begins: some programs put a few in front of it, and all readers skip them."""

_IN_BASE64 = -(-_FRONT // 3) * 4
_BROKEN_LINES = _IN_BASE64 // 4  # room for the breaks between them
_PLAIN = str.maketrans("-_", "+/")
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (_PDF_STARTS, PDF),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif", b"msf1": "image/heif"}


def begun(data: bytes) -> str | None:
    """The type that the very first bytes tell; none where they are of no type that is known here."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12])
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12])
    return next((kind for start, kind in _STARTS if data.startswith(start)), None)


def shown(data: bytes) -> str | None:
    """What bytes show they are, a PDF with something in front of it included."""
    return begun(data) or (PDF if _PDF_STARTS in data[:_FRONT] else None)


def is_sound(kind: str | None, data: bytes) -> bool:
    """Whether bytes may be what they are said to be; of most types nothing is known, and all may be those."""
    if kind in PICTURES:
        return begun(data) in PICTURES  # pictures under the type of others are about
    return kind != PDF or shown(data) == PDF


def noun_of(kind: str | None) -> str:
    """What bytes of a type that is known here are, in a word."""
    return "PDF" if kind == PDF else "picture"


def start_of(text: str) -> bytes:
    """As many bytes from base64 as it takes to see what they are; none where it is not that."""
    plain = "".join(text[: _IN_BASE64 + _BROKEN_LINES].split()).translate(_PLAIN).rstrip("=")[:_IN_BASE64]
    whole = plain[:-1] if len(plain) % 4 == 1 else plain  # one that was cut off shows its beginning too
    try:
        return b64decode(whole + "=" * (-len(whole) % 4), validate=True)
    except (NotBase64, ValueError):
        return b""
