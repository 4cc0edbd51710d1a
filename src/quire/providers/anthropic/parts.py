"""Anthropic Messages: content blocks as parts."""

from typing import Any

from quire.errors import Damaged, QuireError
from quire.items import File, Image, Part
from quire.providers.anthropic.abilities import NAME
from quire.providers.media import bare_base64, bytes_of
from quire.providers.native import file_address
from quire.providers.other_media import other_media
from quire.providers.provider import plain_json
from quire.providers.sheet import Json

_PDF = "application/pdf"


def part_of(block: Json, path: str, *, in_result: bool = False) -> Part | None:
    """The part that a block stands for; none for a block that is of no known kind."""
    kind = block.get("type")
    if kind == "text":
        return _text(block.get("text"), f"{path}.text")
    if kind not in ("image", "document") or block.get("source") is None:
        return other_media(block, in_result=in_result)
    try:
        source = plain_json(block["source"])
        return _image(source, path) if kind == "image" else _document(source, block.get("title"), path)
    except Damaged:
        raise
    except QuireError as error:
        raise Damaged(f"no part can be made of this block: {error}", path) from error


def _image(source: Json, path: str) -> Image | None:
    match source:
        case {"type": "base64"}:
            data, kind = _bytes(source, path)
            return Image(data=data, media_type=kind)
        case {"type": "url", "url": str(url)}:
            return Image(url=url)
        case {"type": "file", "file_id": str(known)} if known:
            return Image(url=file_address(NAME, known))
        case _:
            return None


def _document(source: Json, title: Any, path: str) -> File | None:
    name = title if isinstance(title, str) else None
    match source:
        case {"type": "base64"}:
            data, kind = _bytes(source, path)
            return File(data=data, media_type=kind or _PDF, name=name)
        case {"type": "url", "url": str(url)}:
            return File(url=url, media_type=_PDF, name=name)
        case {"type": "file", "file_id": str(known)} if known:
            return File(url=file_address(NAME, known), name=name)
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
