"""Blocks of a content as parts: Anthropic's, which others keep in histories of other wires too, and theirs.

Media of Anthropic's stand in a `source` that is an object; all others are as `other_media` knows them.
"""

from typing import Any

from quire.errors import Damaged, QuireError, WrongType
from quire.items import File, Image, Part
from quire.providers.beginnings import PDF
from quire.providers.block_fields import own_fields
from quire.providers.media import bare_base64, bytes_of
from quire.providers.native import file_address
from quire.providers.other_media import other_media
from quire.providers.provider import plain_json
from quire.providers.sheet import Json

OWNER = "anthropic"
"""Whose files are named by id."""


def part_of(block: Json, path: str, *, in_result: bool = False) -> Part | None:
    """The part that a block stands for; none if it is of no known kind, or in a result a program's record."""
    kind, held = block.get("type"), block.get("source")
    if kind == "text":
        text = _text(block.get("text"), f"{path}.text")
        return None if in_result and own_fields(block) else text
    if kind not in ("image", "document") or isinstance(held, str | None):
        return other_media(block, in_result=in_result)
    source = _source(held, f"{path}.source")
    try:
        return _image(source, path) if kind == "image" else _document(source, block.get("title"), path)
    except Damaged:
        raise
    except QuireError as error:
        raise Damaged(f"no part can be made of this block: {error}", path) from error


def _source(held: Any, path: str) -> Json:
    try:
        return plain_json(held)
    except WrongType:
        raise Damaged(f"a source is an object or an address, not {type(held).__name__}", path) from None


def _image(source: Json, path: str) -> Image | None:
    match source:
        case {"type": "base64"}:
            data, kind = _bytes(source, path)
            return Image(data=data, media_type=kind)
        case {"type": "url", "url": str(url)}:
            return Image(url=url)
        case {"type": "file", "file_id": str(known)} if known:
            return Image(url=file_address(OWNER, known))
        case _:
            return None


def _document(source: Json, title: Any, path: str) -> File | None:
    name = title if isinstance(title, str) else None
    match source:
        case {"type": "base64"}:
            data, kind = _bytes(source, path)
            return File(data=data, media_type=kind or PDF, name=name)
        case {"type": "url", "url": str(url)}:
            return File(url=url, media_type=PDF, name=name)
        case {"type": "file", "file_id": str(known)} if known:
            return File(url=file_address(OWNER, known), name=name)
        case {"type": "text"}:
            text = _text(source.get("data"), f"{path}.source.data")
            return File(data=text.encode("utf-8", "replace"), media_type="text/plain", name=name)
        case _:
            return None


def _bytes(source: Json, path: str) -> tuple[bytes, str | None]:
    """The bytes of a source, and what they are said to be."""
    kind, data = bare_base64(_text(source.get("data"), f"{path}.source.data"))
    told, found = source.get("media_type"), bytes_of(data)
    if found is None:
        raise Damaged("the data is not base64", f"{path}.source.data")
    return found, told if isinstance(told, str) else kind


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise Damaged(f"expected text, not {type(value).__name__}", path)
    return value
