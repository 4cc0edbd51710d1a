"""Gemini: reading the pieces of contents, as JSON or as the client's own names have them."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from quire.errors import Damaged, InvalidValue
from quire.items import Audio, File, Image
from quire.providers.media import bare_base64, bytes_of
from quire.providers.provider import plain_json
from quire.providers.sheet import Json

_CAPITAL = re.compile(r"[A-Z]")
_OF_ITS_TOOLS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
_KINDS = ("text", "inlineData", "fileData", "functionCall", "functionResponse", *_OF_ITS_TOOLS)
_BESIDE = frozenset(
    (
        *("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"),
        *("thought_signature", "video_metadata", "part_metadata", "media_resolution"),
    )
)
_OF_OTHERS = ("type", "role", "content", "source", "image_url", "input_audio")

PLACEHOLDER = "skip_thought_signature_validator"
"""What the documentation has stand for the signature of a part that the model did not make itself."""

# As bytes that a client decoded from it, and as bytes of its letters.
_PLACEHOLDERS = {PLACEHOLDER, PLACEHOLDER.replace("_", "/"), b64encode(PLACEHOLDER.encode()).decode()}


def field(block: Mapping[str, Any], name: str) -> Any:
    """What a block has under a name, which the client spells with underscores."""
    value = block.get(name)
    return block.get(_underscored(name)) if value is None else value


def mapped(value: Any, path: str) -> Mapping[str, Any]:
    """A value that must be an object, also where it is one of the client's."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    if hasattr(value, "model_dump"):
        return plain_json(value)
    raise Damaged(f"expected an object, not {type(value).__name__}", path)


def listed(value: Any, path: str) -> Sequence[Any]:
    """A value that must be a list."""
    if isinstance(value, list | tuple):
        return cast("Sequence[Any]", value)
    raise Damaged(f"expected a list, not {type(value).__name__}", path)


def text_in(block: Mapping[str, Any], name: str, path: str) -> str | None:
    """A text that may be left out."""
    value = field(block, name)
    if value is None or isinstance(value, str):
        return value
    raise Damaged(f"expected text, not {type(value).__name__}", f"{path}.{name}")


def signature_in(block: Mapping[str, Any]) -> str | None:
    """The signature that a model put on a part; clients have it as bytes, the wire in base64."""
    value = field(block, "thoughtSignature")
    if isinstance(value, bytes):
        value = b64encode(value).decode()
    return value if isinstance(value, str) and value and value not in _PLACEHOLDERS else None


def media_in(block: Mapping[str, Any], path: str) -> Image | Audio | File | None:
    """The media that a part holds or points to, or none if it is another part."""
    inline, address = field(block, "inlineData"), field(block, "fileData")
    if inline is not None:
        path = f"{path}.inlineData"
        blob = mapped(inline, path)
        data = field(blob, "data")
        kind, data = bare_base64(data) if isinstance(data, str) else (None, data)
        return _media(blob, path, kind, data=_decoded(data, f"{path}.data"))
    if address is not None:
        path = f"{path}.fileData"
        place = mapped(address, path)
        return _media(place, path, url=text_in(place, "fileUri", path))
    return None


def _media(block: Mapping[str, Any], path: str, kind: str | None = None, **held: Any) -> Image | Audio | File:
    kind = text_in(block, "mimeType", path) or kind
    name = text_in(block, "displayName", path)
    family = (kind or "").partition("/")[0]
    try:
        if family == "image":
            return Image(**held, media_type=kind)
        if family == "audio":
            return Audio(**held, media_type=kind)
        return File(**held, media_type=kind, name=name)
    except InvalidValue as fault:
        raise Damaged(str(fault), path) from None


def _decoded(data: Any, path: str) -> bytes:
    if isinstance(data, bytes):
        return data
    if not isinstance(data, str):
        raise Damaged(f"expected base64, not {type(data).__name__}", path)
    found = bytes_of(data)
    if found is None:
        raise Damaged("not base64", path)
    return found


@cache  # the names are those of this wire, a few dozen
def _underscored(name: str) -> str:
    return _CAPITAL.sub(lambda letter: f"_{letter.group().lower()}", name)


def is_part(block: Mapping[str, Any]) -> bool:
    """Whether an object is a part of a content, by what it holds."""
    return any(field(block, kind) is not None for kind in _KINDS)


def is_bare(block: Mapping[str, Any]) -> bool:
    """Whether a part holds nothing, though it may say something of a part: a signature, or a mark."""
    return all(value is None or key in _BESIDE for key, value in block.items())


def goes_back(block: Mapping[str, Any]) -> bool:
    """Whether a part that no item stands for may be sent as it came: what the provider's own tools left."""
    held = [kind for kind in _KINDS if field(block, kind) is not None]
    if is_bare(block) or any(block.get(key) is not None for key in _OF_OTHERS):
        return False
    return not held or (len(held) == 1 and (held[0] in _OF_ITS_TOOLS or _is_signed_picture(block)))


def _is_signed_picture(block: Mapping[str, Any]) -> bool:
    """Whether a part is a picture, or other media, that the model thought in and signed."""
    if not is_thought(block) or not signature_in(block):
        return False
    try:
        media = media_in(block, "")
    except (Damaged, InvalidValue):
        return False
    return media is not None and bool(media.data and media.media_type)


def is_thought(block: Mapping[str, Any]) -> bool:
    """Whether a part is a thought and nothing that was said."""
    return block.get("thought") is True


def kept(block: Mapping[str, Any]) -> Json:
    """A part that no item stands for, as it is."""
    return {key: value for key, value in block.items() if value is not None}
