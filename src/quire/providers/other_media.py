"""Media as other libraries and protocols write them in a content, in forms that are of no wire.

Those are the AI SDK, LangChain, and the Model Context Protocol, whose blocks many put into results.
"""

from collections.abc import Mapping
from typing import Any

from quire.errors import Damaged
from quire.items import Audio, File, Image, Part
from quire.providers.json_values import fields_in
from quire.providers.media import bare_base64, bytes_of, media_type
from quire.providers.provider import words_in
from quire.providers.sheet import Json

ADDRESSES = ("https://", "http://", "data:")
"""How a text begins that says where something is, or has it in it with its type; any other is base64."""

_BYTES, _ADDRESS = ("data", "base64"), ("url",)
_HELD = {
    "image": ("image", *_BYTES, *_ADDRESS),
    **dict.fromkeys(("file", "media", "audio", "video"), (*_BYTES, *_ADDRESS)),
    **dict.fromkeys(("image-data", "file-data"), _BYTES),
    **dict.fromkeys(("image-url", "file-url"), _ADDRESS),
}
"""The fields that a part may have its bytes or its address in, by its type."""

_TYPES = ("mediaType", "mimeType", "mime_type", "media_type", "contentType")
_UNTYPED = {("image", "image"), ("image-url", "url"), ("file-url", "url")}
"""Types of parts with fields that need no media type beside them: no record of a program is like that."""


def other_media(block: Mapping[str, Any], path: str) -> Part | None:
    """The part that a block of such a form is; none if it is none."""
    kind = words_in(block.get("type"))
    if kind == "resource":
        return _resource(fields_in(block.get("resource")), path)
    type_of = _type_of(block)
    for name in _HELD.get(kind, ()):
        source = block.get(name)
        if isinstance(source, str) and source and (type_of or (kind, name) in _UNTYPED):
            family = "image" if kind.startswith("image") else kind
            return _media(family, type_of, source, path, words_in(block.get("filename")))
    return None


def attached(attachment: Any, path: str) -> Json:
    """What a message of the AI SDK has beside its content, as a part of it."""
    held = fields_in(attachment)
    if not words_in(held.get("url")):
        raise Damaged("an attachment has an address", f"{path}.url")
    return {**held, "type": "file-url", "filename": held.get("name")}


def _resource(held: Json, path: str) -> Part | None:
    """What a server of the protocol put in: a text, or bytes."""
    text, blob = held.get("text"), held.get("blob")
    if isinstance(text, str):
        return text
    if not isinstance(blob, str) or not blob:
        return None
    name = words_in(held.get("uri")).rpartition("/")[2]
    return _media("", _type_of(held), blob, f"{path}.resource", name)


def _type_of(held: Mapping[str, Any]) -> str:
    return next((found for name in _TYPES if (found := words_in(held.get(name)))), "")


def _media(family: str, type_of: str, source: str, path: str, name: str) -> Part:
    declared, data = bare_base64(source)
    is_place = data == source and source.startswith(ADDRESSES)
    given: Json = {"url": source} if is_place else {"data": _decoded(data, path)}
    told = "" if "*" in type_of else type_of  # a whole family of types is none
    kind = told or declared or media_type(File(**given))
    family = (type_of or kind or family).partition("/")[0]
    if family in ("image", "audio"):
        return (Image if family == "image" else Audio)(**given, media_type=kind)
    return File(**given, media_type=kind, name=name or None)


def _decoded(text: str, path: str) -> bytes:
    data = bytes_of(text)
    if not data:
        raise Damaged("not base64" if data is None else "no bytes", path)
    return data
