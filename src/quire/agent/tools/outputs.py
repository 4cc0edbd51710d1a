"""What a tool gives, in pieces that a model can read or that are kept for it."""

import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, cast

import msgspec

from quire.items import Audio, File, Image, Note, Part, replace_surrogates

Piece = Part | Note | bytes

_MEDIA = (Image, Audio, File)
_SEPARATE = (*_MEDIA, Note)


def pieces_of(value: Any) -> Iterator[Piece]:
    """The pieces of one value: texts, media, notes, and bytes that are no text. `None` has none."""
    if value is None:
        return
    if isinstance(value, _SEPARATE):
        yield value
    elif isinstance(value, bytes | bytearray | memoryview):
        yield _text_of_bytes(bytes(cast(bytes, value)))
    elif isinstance(value, list | tuple) and any(
        isinstance(one, _SEPARATE) for one in cast("list[Any]", value)
    ):
        for one in cast("list[Any]", value):
            yield from pieces_of(one)
    else:
        yield text_of(value)


def text_of(value: Any) -> str:
    """A value as text: itself, JSON, or what it says of itself."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return _readable(str.__str__(value))
    try:
        return _readable(_json(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        return _readable(str(value))


def _json(value: Any) -> str:
    """A value as JSON. What is in it and is none says of itself what it is; numbers that are none stay."""
    if not _is_value(value):
        return str(value)
    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)
    return json.dumps(plain, ensure_ascii=False)


def _is_value(value: Any) -> bool:
    """Whether a value is one that has a form in JSON, and no object of a program."""
    if isinstance(value, type):
        return False
    is_record = is_dataclass(value) or hasattr(value, "model_dump") or hasattr(value, "__attrs_attrs__")
    plain = (bool, int, float, dict, list, tuple, set, frozenset, Enum, msgspec.Struct)
    return is_record or isinstance(value, plain)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def _text_of_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _readable(text: str) -> str:
    return text if text.isascii() else replace_surrogates(text)
