"""Pieces of content. Text is plain `str`; everything else is a small frozen struct.

A part holds its bytes or says where they are, never both. Sizes (`width`, `seconds`, `pages`) are what a
token count needs; where they are left out the count falls back to the provider's usual figure.
"""

from typing import Literal

import msgspec

from quire.errors import InvalidValue, TooLarge, WrongType
from quire.items.settle import settle

MAX_DATA = 64 * 1024 * 1024
"""Bytes that one part may carry by value."""

Detail = Literal["auto", "low", "high"]


class Blob(msgspec.Struct, frozen=True, kw_only=True, tag_field="part", gc=False):
    """What all media have: their bytes, or where they are."""

    url: str | None = None
    data: bytes | None = None
    media_type: str | None = None

    def __post_init__(self) -> None:
        settle(self)
        name = type(self).__name__
        if (self.url is None) == (self.data is None):
            raise InvalidValue(f"{name} takes either url or data")
        if self.url == "" or self.data == b"":
            raise InvalidValue(f"{name} is empty")
        if self.data is not None and len(self.data) > MAX_DATA:
            raise TooLarge(f"{name}.data has {len(self.data):,} bytes; a part may carry {MAX_DATA:,}")
        for field in ("width", "height", "seconds", "pages"):
            size = getattr(self, field, None)
            if size is not None and not 0 < size < 1e9:
                raise InvalidValue(f"{name}.{field} must be above zero, and finite")


class Image(Blob, frozen=True, kw_only=True, tag="image", omit_defaults=True, forbid_unknown_fields=True):
    """A picture, by address or by its bytes."""

    detail: Detail = "auto"
    width: int | None = None
    height: int | None = None


class Audio(Blob, frozen=True, kw_only=True, tag="audio", omit_defaults=True, forbid_unknown_fields=True):
    """A recording; `transcript` is what was said, for readers that cannot hear."""

    seconds: float | None = None
    transcript: str | None = None


class File(Blob, frozen=True, kw_only=True, tag="file", omit_defaults=True, forbid_unknown_fields=True):
    """A document such as a PDF."""

    name: str | None = None
    pages: int | None = None


Part = str | Image | Audio | File
Content = str | tuple[Part, ...]


def text_of(content: Content) -> str:
    """The words of a content, without its media."""
    if isinstance(content, str):
        return content
    return "\n".join(part for part in parts_of(content) if isinstance(part, str))


def parts_of(content: Content) -> tuple[Part, ...]:
    """A content as its parts; an empty text has none."""
    if isinstance(content, str):
        return (content,) if content else ()
    if not isinstance(content, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a content is a text or several parts, not {type(content).__name__}")
    return tuple(content)
