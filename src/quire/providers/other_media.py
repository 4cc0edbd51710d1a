"""Media as other libraries and protocols write them in a content, in forms that are of no wire.

Those are the AI SDK, LangChain, and the Model Context Protocol, whose blocks many put into results. What
cannot be read as media is none: the block is kept as what it is, and nothing else is lost by it.
"""

import re
from collections.abc import Mapping
from typing import Any

from quire.errors import Damaged
from quire.items import Audio, File, Image, Part
from quire.providers.beginnings import PICTURES, shown
from quire.providers.block_fields import MEDIA_TYPES, holder_in, own_fields
from quire.providers.json_values import fields_in
from quire.providers.media import bare_base64, bytes_of, media_type
from quire.providers.native import file_address
from quire.providers.provider import words_in
from quire.providers.sheet import Json
from quire.providers.unsound import sound_type

ADDRESSES = ("https://", "http://", "data:")
"""How a text begins that says where something is, or has it in it with its type."""

_PLACES = ("url", "file_id", "id")
"""The fields that hold an address or an id; in all others may be bytes as well."""

_FILE_ID = re.compile(r"file([-_])[A-Za-z0-9_-]{1,80}")
_OWNERS = {"-": "openai", "_": "anthropic"}
"""Whose an id of a file is. It has the letters of base64, and is far too short for a file that begins so."""


def other_media(block: Mapping[str, Any], *, in_result: bool = False) -> Part | None:
    """The part that a block of such a form is; none if it is none.

    A result may as well be records that say their type and where they are: there it must be clear.
    """
    kind = words_in(block.get("type"))
    if kind == "resource":
        return _resource(fields_in(block.get("resource")))
    holder = holder_in(block)
    if holder is None:
        return None
    family = "image" if kind.startswith("image") else kind
    told, source = _type_of(block), block[holder]
    name = words_in(block.get("title" if kind == "document" else "filename"))
    if holder in _PLACES:
        part = _placed(family, told, source, name)
    else:
        is_sure = holder == "image" and not in_result  # the AI SDK has no type beside it
        part = _media(family, told, source, name, is_sure=is_sure)
    return None if part is None or (in_result and _is_record(block, part)) else part


def attached(attachment: Any, path: str) -> Json:
    """What a message of the AI SDK has beside its content, as a part of it."""
    held = fields_in(attachment)
    url = words_in(held.get("url"))
    if not url:
        raise Damaged("an attachment has an address", f"{path}.url")
    block = {**held, "type": "file-url", "filename": held.get("name")}
    if other_media(block) is None:
        is_inline = url.startswith("data:")
        fault = "its bytes are not what it says" if is_inline else "nobody else can open this address"
        raise Damaged(f"{fault}: give it by its bytes or at https://", f"{path}.url")
    return block


def _resource(held: Json) -> Part | None:
    """What a server of the protocol put in: a text, or bytes."""
    text, blob = held.get("text"), held.get("blob")
    if isinstance(text, str):
        return text
    if not isinstance(blob, str) or not blob:
        return None
    name = words_in(held.get("uri")).rpartition("/")[2]
    return _media("", _type_of(held), blob, name, is_sure=True)


def _type_of(held: Mapping[str, Any]) -> str:
    return next((found for name in MEDIA_TYPES if (found := words_in(held.get(name)))), "")


def _is_record(block: Mapping[str, Any], part: Image | Audio | File) -> bool:
    """Whether more stands beside media in a result than services and libraries put there.

    Bytes that show what they are make it clear all the same: nobody is helped by them as JSON.
    """
    return (part.data is None or shown(part.data) is None) and bool(own_fields(block))


def _placed(family: str, type_of: str, source: str, name: str) -> Image | Audio | File | None:
    """What is at an address or has an id, or is all in its address; none for a place of one program."""
    found = _FILE_ID.fullmatch(source)
    if found is None and bare_base64(source)[1] != source:
        return _media(family, type_of, source, name, is_sure=True)
    address = file_address(_OWNERS[found[1]], source) if found else source
    if address is None or not (found or source.startswith(ADDRESSES)):
        return None
    kind = _told(type_of) or media_type(File(url=address))
    return _part(_family(type_of, kind, family), {"url": address}, kind, name)


def _media(
    family: str, type_of: str, source: str, name: str, *, is_sure: bool
) -> Image | Audio | File | None:
    """What is given by its bytes, or by its address in place of them.

    Words and ids of all kinds decode as base64: bytes must not begin otherwise than their type has it, and
    those without a type must show one, unless it `is_sure` that they are bytes.
    """
    declared, data = bare_base64(source)
    if data == source and (_FILE_ID.fullmatch(source) or source.startswith(ADDRESSES)):
        return _placed(family, type_of, source, name)
    found = bytes_of(data)
    told = _told(type_of) or declared
    if not found or not _may_be(found, told, is_sure=is_sure):
        return None
    seen = shown(found)
    kind = seen if seen and _plain(told) in PICTURES else told or seen
    return _part(_family(type_of, kind, family), {"data": found}, kind, name)


def _may_be(data: bytes, told: str | None, *, is_sure: bool) -> bool:
    if not told:
        return is_sure or shown(data) is not None
    return sound_type(File(data=data, media_type=told)) is not None


def _told(type_of: str) -> str:
    return "" if "*" in type_of else type_of  # a whole family of types is none


def _plain(kind: str | None) -> str | None:
    return media_type(File(url=kind, media_type=kind)) if kind else None


def _family(type_of: str, kind: str | None, family: str) -> str:
    return (type_of or kind or family).partition("/")[0]


def _part(family: str, given: Json, kind: str | None, name: str) -> Image | Audio | File:
    if family in ("image", "audio"):
        return (Image if family == "image" else Audio)(**given, media_type=kind or None)
    return File(**given, media_type=kind or None, name=name or None)
