"""The fields of a block in what a call gave: those that services and libraries have, and a program's own.

A result may as well be records that say their type. What no part stands for of them is kept as JSON.
"""

from collections.abc import Collection, Mapping
from typing import Any

from quire.items import Part
from quire.providers.json_values import fields_in, json_text
from quire.providers.library_fields import BESIDE_BLOCKS
from quire.providers.media import without_bytes
from quire.providers.provider import words_in
from quire.providers.sheet import Json

TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The field that a block has its words in, by its type."""

MEDIA_TYPES = ("mediaType", "mimeType", "mime_type", "media_type", "contentType")
"""The fields in which a block says what its bytes are."""

SOURCE = "source_type"
"""The field in which LangChain says what kind of source a block has."""

_ANYWHERE = {"type", "cache_control", *BESIDE_BLOCKS}
_IN_TEXTS = {*_ANYWHERE, *TEXTS.values(), "citations", "logprobs", "obfuscation"}
_BESIDE_MEDIA = {*_ANYWHERE, "filename", "detail", *MEDIA_TYPES}
_OF_LANGCHAIN = {SOURCE, "id", "metadata"}
"""What only LangChain has there. Programs have such fields too, but none has the first of them."""

_MADE_IDS = ("lc_", "msg_")
"""How ids begin that LangChain and OpenAI make."""

_BYTES, _ADDRESS = ("data", "base64"), ("url", "file_id")
_HELD = {
    "image": ("image", *_BYTES, *_ADDRESS, "source"),
    "document": ("source",),
    **dict.fromkeys(("file", "media", "audio", "video"), (*_BYTES, *_ADDRESS)),
    **dict.fromkeys(("image-data", "file-data"), _BYTES),
    **dict.fromkeys(("image-url", "file-url"), ("url",)),
}
"""The fields that a part of a library may have its bytes or its address in, by its type."""

_OF_OPENAI = {
    **dict.fromkeys(("image_url", "input_image", "computer_screenshot"), ("image_url", "file_id")),
    "input_file": ("file_data", "file_url", "file_id"),
}
_OF_ANTHROPIC = {"image": ("source",), "document": ("source", "title", "context", "citations")}
_OF_RESOURCES = {*_ANYWHERE, *MEDIA_TYPES, "uri", "text", "blob"}


def holder_in(block: Mapping[str, Any]) -> str | None:
    """The field that a block of a library has its bytes or its address in; none if it has neither."""
    names = ("id",) if block.get(SOURCE) == "id" else _HELD.get(words_in(block.get("type")), ())
    return next((name for name in names if words_in(block.get(name))), None)


def own_fields(block: Mapping[str, Any]) -> Json:
    """What is in a block of a result that neither services nor libraries put there."""
    kind = words_in(block.get("type"))
    if kind in TEXTS:
        return _others(block, _IN_TEXTS)
    known = {*_BESIDE_MEDIA, *_holding(block, kind)}
    if SOURCE in block:
        known |= _OF_LANGCHAIN
    found = _others(block, known)
    inner = _others(fields_in(block.get("resource")), _OF_RESOURCES) if kind == "resource" else {}
    return {**found, "resource": inner} if inner else found


def with_fields(part: Part, block: Mapping[str, Any], path: str) -> list[Part]:
    """A part of a result, and after it what a program put beside it, without any bytes."""
    found = own_fields(block)
    return [part, json_in_short(found, path)] if found else [part]


def json_in_short(value: Any, path: str) -> str:
    """JSON without any bytes; what nests too deeply is refused before it is gone through."""
    json_text(value, path)
    return json_text(without_bytes(value), path)


def _holding(block: Mapping[str, Any], kind: str) -> Collection[str]:
    """The fields that a part is made of."""
    if kind in _OF_OPENAI:
        return _OF_OPENAI[kind]
    if kind in _OF_ANTHROPIC and not isinstance(block.get("source"), str | None):
        return _OF_ANTHROPIC[kind]
    return (holder_in(block) or kind,)  # a file, a recording and a resource are under their own name


def _others(held: Mapping[str, Any], known: Collection[str]) -> Json:
    return {
        name: value
        for name, value in held.items()
        if value is not None and name not in known and not _is_count(name, value)
    }


def _is_count(name: str, value: Any) -> bool:
    """Whether a field is how a library tells blocks apart; programs name records by such fields too."""
    if name == "id":
        return words_in(value).startswith(_MADE_IDS)
    return name == "index" and type(value) is int
