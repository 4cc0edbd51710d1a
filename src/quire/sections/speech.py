"""The content of a dictionary with a role, in the shapes people write it in."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from quire.errors import InvalidValue, WrongType, cut
from quire.items import Audio, Content, File, Image, Part


def content_of(content: object) -> Content:
    """A text, a dictionary with a text, or a list of these and of media."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        parts = [_part(part) for part in cast("Sequence[object]", content)]
        if not parts:
            raise InvalidValue("the content is an empty list")
        return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else tuple(parts)
    part = _part(content)
    return part if isinstance(part, str) else (part,)


def _part(part: object) -> Part:
    if isinstance(part, str | Image | Audio | File):
        return part
    if not isinstance(part, Mapping):
        raise WrongType(f"content is a text, a dictionary with a text, or a list of these, not {_kind(part)}")
    entry = cast("Mapping[str, Any]", part)
    kind, text = entry.get("type", "text"), entry.get("text")
    if kind not in ("text", "input_text", "output_text"):
        raise InvalidValue(f"content of type {cut(str(kind))!r} is given as an Image, an Audio or a File")
    if not isinstance(text, str):
        raise WrongType(f"the text of a part is a text, not {_kind(text)}")
    return text


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
