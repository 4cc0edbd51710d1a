"""Media in requests: base64, `data:` URLs, media types, and the texts that replace media.

A service refuses a whole request if one part is declared a picture or a PDF but holds something else, and it
refuses every later turn too. So the first bytes of a part decide whether it is sent under its declared type.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Any

from quire.items import Audio, File, Image, Part
from quire.providers.rules import read_section
from quire.providers.values import entries_in, fields_in
from quire.tokens import described, file_frame, is_text

Media = Image | Audio | File
Mark = tuple[str, int, str]
"""A media type, an offset, and the bytes at that offset (in Latin-1) by which the type is recognised."""

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The picture types that nearly all services take. The first bytes of a picture show which one it is."""

PDF = "application/pdf"

ABILITIES: dict[type[Media], str] = {Image: "image_input", Audio: "audio_input", File: "pdf_input"}
"""The feature of a model that a part of this class needs."""

_PDF_MARK = b"%PDF-"
_PDF_START_LIMIT = 1024
"""A PDF begins within this many bytes: some programs put a few bytes before it, which all readers skip."""

_PDF_START_IN_BASE64 = -(-_PDF_START_LIMIT // 3) * 4  # characters for these bytes, rounded up
_MARKS = [(kind, at, mark.encode("latin-1")) for kind, at, mark in read_section("media marks", list[Mark])]
_TYPE_BY_OTHER_NAME = read_section("media names", dict[str, str])
_URL_SAFE = str.maketrans("-_", "+/")
_MIN_BASE64_LENGTH = 1000  # characters; a shorter text may be an id or a key
_FILE_ID = "file-id:"


# --- media types -----------------------------------------------------------------------------------------


def media_type(part: Media) -> str | None:
    """The media type that a part declares; if it declares none, the one that its first bytes show."""
    declared = part.media_type or read_data_url(part.url or "")[0]
    if declared:
        plain = declared.partition(";")[0].strip().lower()
        return _TYPE_BY_OTHER_NAME.get(plain, plain)
    return None if part.data is None else type_at_start(part.data)


def type_at_start(data: bytes) -> str | None:
    """The media type that the very first bytes show; None if they match no known type."""
    return next((kind for kind, at, mark in _MARKS if data.startswith(mark, at)), None)


def find_type(data: bytes) -> str | None:
    """The media type that bytes show; a PDF is also found when other bytes come before it."""
    return type_at_start(data) or (PDF if _PDF_MARK in data[:_PDF_START_LIMIT] else None)


def matches_type(kind: str | None, data: bytes) -> bool:
    """Whether bytes may have a media type. Only pictures and PDFs are checked."""
    if kind in PICTURES:  # services look at the bytes, and accept a PNG that is declared as JPEG
        return type_at_start(data) in PICTURES
    return kind != PDF or find_type(data) == PDF


def sent_type(part: Media) -> str | None:
    """The media type under which a part is sent; None if its bytes are not of that type."""
    kind, data = media_type(part), bytes_in(part)
    if data is None and (part.url or "").startswith("data:"):
        return None if kind in PICTURES or kind == PDF else kind
    if data is None or matches_type(kind, data):
        return kind
    actual = type_at_start(data) or ""
    return actual if kind in PICTURES and actual.startswith("image/") else None


def type_noun(kind: str | None) -> str:
    """The word for a picture or PDF type in error texts."""
    return "PDF" if kind == PDF else "picture"


# --- base64 and addresses --------------------------------------------------------------------------------


def base64_of(data: bytes) -> str:
    """Bytes in base64."""
    return b64encode(data).decode()


def decode_base64(text: str) -> bytes | None:
    """The bytes of base64, also with line breaks, URL-safe or unpadded; None if it is not base64."""
    plain = "".join(text.split()).translate(_URL_SAFE).rstrip("=")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (NotBase64, ValueError):
        return None


def decode_start(text: str) -> bytes:
    """The first bytes of base64 text, enough to find their media type; empty if it is not base64."""
    return decode_base64("".join(text[: 2 * _PDF_START_LIMIT].split())[:_PDF_START_IN_BASE64]) or b""


def bytes_in(part: Media) -> bytes | None:
    """The bytes of a part or of its `data:` URL; None for another URL or damaged base64."""
    if part.data is not None:
        return part.data
    url = part.url or ""
    return (decode_base64(read_data_url(url)[1]) or None) if url.startswith("data:") else None


def base64_in(part: Media) -> str | None:
    """The bytes of a part as base64; None if it has only a URL."""
    data = bytes_in(part)
    return None if data is None else base64_of(data)


def read_data_url(data: str) -> tuple[str | None, str]:
    """The media type and the base64 of a `data:` URL; any other text is returned whole, without a type."""
    head, separator, body = data.partition(";base64,")
    if not separator or not head.startswith("data:"):
        return None, data
    return head[5:].partition(";")[0].lower() or None, body


def file_url(owner: str, file_id: Any) -> str | None:
    """The URL that items use for an uploaded file of a service; None if the id is empty or no text."""
    return f"{_FILE_ID}{owner}/{file_id}" if isinstance(file_id, str) and file_id else None


def file_id(part: Media, owner: str) -> str | None:
    """The id of an uploaded file at the service `owner`; None if the part is no such file."""
    head = f"{_FILE_ID}{owner}/"
    url = part.url or ""
    return url[len(head) :] if url.startswith(head) and len(url) > len(head) else None


# --- texts -----------------------------------------------------------------------------------------------


def as_text(part: Part) -> str | None:
    """The text of a text part, or of a text file together with its name; None for all other media."""
    if isinstance(part, str):
        return part
    if not isinstance(part, File) or part.data is None:
        return None
    return file_frame(part.name, part.data) if is_text(media_type(part), part.name, part.data) else None


def split_media(parts: tuple[Part, ...]) -> tuple[str, list[Media]]:
    """The texts of parts, joined by line breaks, and the media among the parts."""
    texts: list[str] = []
    media: list[Media] = []
    for part in parts:
        text = as_text(part)
        if text is not None:
            texts.append(text)
        elif not isinstance(part, str):
            media.append(part)
    return "\n".join(filter(None, texts)), media


def replacement_for(part: Media) -> tuple[str, str]:
    """The text that is sent in place of a part, and the reason for the downgrade."""
    kind, data = media_type(part), bytes_in(part)
    reason = f"{type(part).__name__} ({kind or 'an unknown type'}) cannot be carried"
    if data is None or sent_type(part) or not kind:
        return described(part), reason
    noun, size = type_noun(kind), len(data)
    text = described(part, f"{size} bytes said to be {kind}, which are no {noun}")
    return text, f"{reason}: its {size} bytes are no {noun}"


def without_bytes(value: Any) -> Any:
    """A copy of a JSON value in which each long base64 text is replaced by its media type and size."""
    if isinstance(value, dict):
        return {key: without_bytes(inner) for key, inner in fields_in(value).items()}
    if isinstance(value, list):
        return [without_bytes(inner) for inner in entries_in(value)]
    return _shortened(value) if isinstance(value, str) and len(value) > _MIN_BASE64_LENGTH else value


def _shortened(text: str) -> str:
    declared, data = read_data_url(text)
    head = data[:_MIN_BASE64_LENGTH]
    start = decode_base64(head) if " " not in head else None
    return f"[{declared or type_at_start(start) or 'data'}, {len(data) * 3 // 4} bytes]" if start else text


def image_url(part: Image) -> str | None:
    """The web URL of an image, or a `data:` URL of its bytes; None if no such URL can be sent."""
    data, kind, url = base64_in(part), sent_type(part), part.url or ""
    if data is not None and kind in PICTURES:
        return f"data:{kind};base64,{data}"
    return url if url.startswith(("http://", "https://")) else None
