"""Anthropic Messages: where the bytes of images and documents come from."""

from msgspec.structs import replace

from quire.items import Audio, File, Image
from quire.providers import wording
from quire.providers.beginnings import PDF
from quire.providers.media import inline_bytes, media_type
from quire.providers.sheet import Json
from quire.tokens import size_of

_PLACES = ("https://", "http://")


def inlined(part: Image | Audio | File) -> Image | Audio | File:
    """A part with its bytes, where these were given as a `data:` address."""
    data = inline_bytes(part) if part.data is None else None
    return replace(part, url=None, data=data, media_type=media_type(part)) if data else part


def uploaded(known: str) -> Json:
    """A file that the service knows by an id."""
    return {"type": "file", "file_id": known}


def placed(part: Image | File) -> Json:
    """What stands at an address."""
    return {"type": "url", "url": part.url}


def is_place(part: Image | File) -> bool:
    """Whether a part is at an address that the service can fetch."""
    return (part.url or "").lower().startswith(_PLACES) and wording.mended(part.url or "") == part.url


def seems_pdf(part: File) -> bool:
    """Whether what is at an address is a PDF, as far as can be told."""
    path = (part.url or "").partition("?")[0].partition("#")[0]
    return media_type(part) == PDF or (
        part.media_type is None and (part.name or path).lower().endswith(".pdf")
    )


def side(part: Image, data: bytes) -> int:
    """The longer side in pixels; zero where nothing tells."""
    return max(size_of(data) or (part.width or 0, part.height or 0))
