"""What a message holds, in VideoSDK's words and in the engine's: a text, or a list of texts and images."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from quire.errors import InvalidValue, WrongType
from quire.items import Audio, Content, File, Image, Part
from quire.providers import base64_of, media_type
from quire.tokens import described

Detail = Literal["auto", "low", "high"]


class ImageContent:
    """An image in a message: an address, a `data:` address, or the bytes of a file, which become one."""

    __slots__ = ("_part",)

    type = "image"

    def __init__(self, image: str | bytes, inference_detail: Detail = "auto") -> None:
        self._part = Image(url=_address(image), detail=inference_detail)

    @property
    def image(self) -> str:
        """Where the image is, or the image itself as a `data:` address."""
        return self.to_data_url()

    @property
    def inference_detail(self) -> Detail:
        """How closely a model should look."""
        return self._part.detail

    @property
    def part(self) -> Image:
        """The image as the engine knows it."""
        return self._part

    def to_data_url(self) -> str:
        """What a provider is given: addresses as they are, bytes as a `data:` address."""
        return self._part.url or ""

    def model_dump(self) -> dict[str, Any]:
        """The image as plain values."""
        return {"type": self.type, "image": self.image, "inference_detail": self.inference_detail}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageContent) and self._part == other._part

    def __hash__(self) -> int:
        return hash(self._part)

    def __repr__(self) -> str:
        return f"ImageContent({self.image[:60]!r})"


ChatContent = str | ImageContent


def to_engine(content: object) -> tuple[Content, str | None]:
    """A content as the engine keeps it, and a word for its form where that is not a list of parts.

    A list of one text is what nearly all messages hold: it is kept as the text alone, and needs no word.
    """
    if isinstance(content, str):
        return content, "text"
    if not isinstance(content, list | tuple):
        raise WrongType(f"content is a text or a list of texts and images, not {type(content).__name__}")
    parts = [_part(part) for part in cast(Sequence[object], content)]
    if not parts:
        return "", "empty"
    first = parts[0]
    return first if len(parts) == 1 and isinstance(first, str) else tuple(parts), None


def from_engine(content: Content, form: str | None) -> str | list[ChatContent]:
    """A content as it was given."""
    if isinstance(content, str):
        if form == "empty":
            return []
        return content if form == "text" else [content]
    return [_shown(part) for part in content]


def plain(content: str | list[ChatContent]) -> str | list[Any]:
    """A content as plain values."""
    if isinstance(content, str):
        return content
    return [part if isinstance(part, str) else part.model_dump() for part in content]


def _part(part: object) -> Part:
    if isinstance(part, str):
        return part
    if isinstance(part, ImageContent):
        return part.part
    if isinstance(part, Mapping):
        return _read(cast(Mapping[str, Any], part))
    raise WrongType(f"content holds texts and images, not {type(part).__name__}")


def _read(fields: Mapping[str, Any]) -> Part:
    if fields.get("type") != "image" or "image" not in fields:
        raise InvalidValue("a part of a content is a text, or an image with 'type' and 'image'")
    return ImageContent(fields["image"], fields.get("inference_detail", "auto")).part


def _shown(part: Part) -> ChatContent:
    if isinstance(part, Image):
        return _image(part)
    return described(part) if isinstance(part, Audio | File) else part


def _image(part: Image) -> ImageContent:
    content = object.__new__(ImageContent)
    by_address = part if part.data is None else Image(url=_address(part.data, part), detail=part.detail)
    content._part = by_address  # pyright: ignore[reportPrivateUsage]
    return content


def _address(image: object, part: Image | None = None) -> str:
    if isinstance(image, str):
        return image
    if not isinstance(image, bytes):
        raise WrongType(
            f"an image is an address or the bytes of a file, not {type(image).__name__}: encode it first"
        )
    part = part or Image(data=image)
    kind = media_type(part)
    if kind is None:
        raise InvalidValue("what kind of image the bytes are cannot be told")
    return f"data:{kind};base64,{base64_of(part.data or b'')}"
