"""Media as the wires carry them: base64, `data:` addresses, media types, and texts that stand for media.

A service refuses a whole request for one part that is declared a picture or a PDF and is not, and does so
again on every later turn. So the first bytes of a part decide whether it is sent under its declared type.
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
"""A media type, and the bytes in Latin-1 that show it at a place."""

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The pictures that nearly all services take, each of which shows its type by its first bytes."""

PDF = "application/pdf"

ABILITIES: dict[type[Media], str] = {Image: "image_input", Audio: "audio_input", File: "pdf_input"}
"""What a model must take for media to be sent to it."""

_PDF_MARK = b"%PDF-"
_PDF_FRONT = 1024
"""Bytes within which a PDF begins: some programs put a few in front of it, and all readers skip them."""

_FRONT_IN_BASE64 = -(-_PDF_FRONT // 3) * 4
_MARKS = [(kind, at, mark.encode("latin-1")) for kind, at, mark in read_section("media marks", list[Mark])]
_OTHER_NAMES = read_section("media names", dict[str, str])
_URL_SAFE = str.maketrans("-_", "+/")
_LONG = 1000  # characters; a shorter text may be an id or a key
_FILE_ID = "file-id:"


# --- media types -----------------------------------------------------------------------------------------


def media_type(part: Media) -> str | None:
    """The type that a part declares, or that its first bytes show."""
    declared = part.media_type or bare_base64(part.url or "")[0]
    if declared:
        plain = declared.partition(";")[0].strip().lower()
        return _OTHER_NAMES.get(plain, plain)
    return None if part.data is None else begun(part.data)


def begun(data: bytes) -> str | None:
    """The type that the very first bytes show; None for a type not known here."""
    return next((kind for kind, at, mark in _MARKS if data.startswith(mark, at)), None)


def shown(data: bytes) -> str | None:
    """The type that bytes show, also for a PDF with something in front of it."""
    return begun(data) or (PDF if _PDF_MARK in data[:_PDF_FRONT] else None)


def is_sound(kind: str | None, data: bytes) -> bool:
    """Whether bytes may be of a type; only pictures and PDFs can be distinguished from others."""
    if kind in PICTURES:  # services look at the bytes, and take one picture under another's type
        return begun(data) in PICTURES
    return kind != PDF or shown(data) == PDF


def sound_type(part: Media) -> str | None:
    """The type under which a part goes out; None if its bytes are of another type."""
    kind, data = media_type(part), inline_bytes(part)
    if data is None and (part.url or "").startswith("data:"):
        return None if kind in PICTURES or kind == PDF else kind
    if data is None or is_sound(kind, data):
        return kind
    seen = begun(data) or ""
    return seen if kind in PICTURES and seen.startswith("image/") else None


def noun_of(kind: str | None) -> str:
    """What bytes of a picture or PDF type are, in a word."""
    return "PDF" if kind == PDF else "picture"


# --- base64 and addresses --------------------------------------------------------------------------------


def base64_of(data: bytes) -> str:
    """Bytes in base64."""
    return b64encode(data).decode()


def bytes_of(text: str) -> bytes | None:
    """Bytes from base64, also with line breaks, URL-safe or without padding; None if it is not base64."""
    plain = "".join(text.split()).translate(_URL_SAFE).rstrip("=")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (NotBase64, ValueError):
        return None


def start_of(text: str) -> bytes:
    """As many bytes from base64 as their type takes to show; empty if it is not base64."""
    return bytes_of("".join(text[: 2 * _PDF_FRONT].split())[:_FRONT_IN_BASE64]) or b""


def inline_bytes(part: Media) -> bytes | None:
    """The bytes of a part, also from a `data:` address; None for another address, or where it is damaged."""
    if part.data is not None:
        return part.data
    url = part.url or ""
    return (bytes_of(bare_base64(url)[1]) or None) if url.startswith("data:") else None


def inline_data(part: Media) -> str | None:
    """The bytes of a part in base64; None for a part at an address."""
    data = inline_bytes(part)
    return None if data is None else base64_of(data)


def bare_base64(data: str) -> tuple[str | None, str]:
    """The type and the base64 of a text that may have the head of a `data:` address in front."""
    head, found, body = data.partition(";base64,")
    if not found or not head.startswith("data:"):
        return None, data
    return head[5:].partition(";")[0].lower() or None, body


def file_address(owner: str, file_id: Any) -> str | None:
    """The address in an item of a file that a service knows by an id; None if the id is no text, or empty."""
    return f"{_FILE_ID}{owner}/{file_id}" if isinstance(file_id, str) and file_id else None


def file_id(part: Media, owner: str) -> str | None:
    """The id under which a service knows a part; None if it does not."""
    head = f"{_FILE_ID}{owner}/"
    url = part.url or ""
    return url[len(head) :] if url.startswith(head) and len(url) > len(head) else None


# --- texts -----------------------------------------------------------------------------------------------


def as_text(part: Part) -> str | None:
    """The text of a part that is text, a text file with its name included; None for all other media."""
    if isinstance(part, str):
        return part
    if not isinstance(part, File) or part.data is None:
        return None
    return file_frame(part.name, part.data) if is_text(media_type(part), part.name, part.data) else None


def split(parts: tuple[Part, ...]) -> tuple[str, list[Media]]:
    """The texts of parts, joined by lines, and their media."""
    texts: list[str] = []
    media: list[Media] = []
    for part in parts:
        text = as_text(part)
        if text is not None:
            texts.append(text)
        elif not isinstance(part, str):
            media.append(part)
    return "\n".join(filter(None, texts)), media


def replaced(part: Media) -> tuple[str, str]:
    """The text that stands for a part, and the reason for the downgrade."""
    kind, data = media_type(part), inline_bytes(part)
    reason = f"{type(part).__name__} ({kind or 'an unknown type'}) cannot be carried"
    if data is None or sound_type(part) or not kind:
        return described(part), reason
    noun, size = noun_of(kind), len(data)
    text = described(part, f"{size} bytes said to be {kind}, which are no {noun}")
    return text, f"{reason}: its {size} bytes are no {noun}"


def without_bytes(value: Any) -> Any:
    """JSON for a reader: long base64 in it becomes its type and its number of bytes."""
    if isinstance(value, dict):
        return {key: without_bytes(inner) for key, inner in fields_in(value).items()}
    if isinstance(value, list):
        return [without_bytes(inner) for inner in entries_in(value)]
    return _shortened(value) if isinstance(value, str) and len(value) > _LONG else value


def _shortened(text: str) -> str:
    declared, data = bare_base64(text)
    start = bytes_of(data[:_LONG]) if " " not in data[:_LONG] else None
    return f"[{declared or begun(start) or 'data'}, {len(data) * 3 // 4} bytes]" if start else text


def image_url(part: Image) -> str | None:
    """The address of an image, or its bytes as one; None if it is no picture that the wires take."""
    data, kind, url = inline_data(part), sound_type(part), part.url or ""
    if data is not None and kind in PICTURES:
        return f"data:{kind};base64,{data}"
    return url if url.startswith(("http://", "https://")) else None
