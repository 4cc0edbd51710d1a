"""Bytes that begin otherwise than what they are said to be, on all wires alike."""

from typing import Any

from quire.providers.beginnings import is_sound, noun_of, start_of
from quire.providers.checking.reading import Fields, is_base64, short

_OTHER_NAMES = {"image/jpg": "image/jpeg"}


def check_beginning(fields: Fields, rule: str, told: Any, data: Any, key: str = "data") -> None:
    """Note data that is said to be a picture or a PDF and is none; what is no base64 is another fault."""
    if not isinstance(told, str) or not isinstance(data, str | bytes) or not data:
        return
    kind = _OTHER_NAMES.get(told.lower(), told.lower())
    start = start_of(data) if isinstance(data, str) else data
    if not is_sound(kind, start) and (isinstance(data, bytes) or is_base64(data)):
        fields.add(key, rule, f"type {short(told)}, but its bytes are no {noun_of(kind)}")
