"""JSON values from anybody's hands: copied as deep as they go, so that nobody changes them later.

What comes out can be written as UTF-8: halves of surrogate pairs are mended. What is no JSON (a set, a number
that is none, an object of a program) is refused, and so is what nests too deeply.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

import msgspec

from quire.errors import Damaged, InvalidValue
from quire.items import MAX_DEPTH
from quire.providers.wording import mended

Json = dict[str, Any]

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels, or holds itself"
_AS_SENT = {"by_alias": True, "exclude_none": True}
_AS_JSON = {"mode": "json", **_AS_SENT}
_DUMPS: tuple[dict[str, Any], ...] = ({"warnings": False, **_AS_JSON}, _AS_JSON, _AS_SENT, {})
"""How objects are asked what they are: by alias, which is what the wire calls a field, also where a client
has another name for it. That a service gives more than a client knows is nothing to warn of. One may hold
what is no JSON, such as a function for a tool, and an old client knows no such ways to ask."""
_decode = msgspec.json.Decoder(Json).decode
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def plain_copy(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The same value in plain dictionaries and lists of its own; what is no JSON is an `InvalidValue`."""
    kind = cast("type[object]", type(value))
    if kind is str:
        return value if value.isascii() else mended(value)
    if depth == 0:
        raise InvalidValue(_TOO_DEEP)
    if kind is dict:
        return {field_name(key): plain_copy(inner, depth - 1) for key, inner in value.items()}
    if kind is list or kind is tuple:
        return [plain_copy(inner, depth - 1) for inner in value]
    if value is None or kind is bool or kind is int or (kind is float and isfinite(value)):
        return value
    return _unusual(value, depth)


def exact_copy(value: Mapping[str, Any]) -> tuple[Json, bytes]:
    """The same object in a copy of its own, and as JSON, which tells `0` from `False`."""
    try:
        text = _encode(value)
        copied: Json = _decode(text)
        if copied == value:  # else it holds what JSON has only something like: a set, a tuple, bytes
            return copied, text
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    copied = plain_copy(value)
    return copied, _encode(copied)


def json_text(value: Any, path: str, *, ordered: bool = False) -> str:
    """A value as JSON text; with `ordered` the same text whatever the order of fields it came in."""
    encode = _encode_sorted if ordered else _encode
    try:
        text = encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        try:
            return encode(plain_copy(value)).decode()
        except InvalidValue as fault:
            raise Damaged(f"it cannot be kept: {fault}", path) from None
    if nests_deeper(text, MAX_DEPTH):
        raise Damaged(f"it cannot be kept: {_TOO_DEEP}", path)
    return text


def nests_deeper(text: str, levels: int) -> bool:
    """Whether JSON has more levels than so many."""
    if len(text) <= levels or text.count("{") + text.count("[") <= levels:
        return False
    depth = deepest = 0
    for token in _BRACKETS.findall(text):
        depth += (token in "[{") - (token in "]}")
        deepest = max(deepest, depth)
    return deepest > levels


def dumped(value: Any) -> Any:
    """What an object of a client is as JSON; none of what is no such object, or cannot say."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return None
    for options in _DUMPS:
        try:
            return dump(**options)
        except Exception:  # it takes no such arguments, or whatever else somebody's object does
            continue
    return None


def is_object(value: Any) -> bool:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_block(value: Any) -> bool:
    """Whether a value may be a block of a content: an object, or a client's, that says its type."""
    held = cast("Any", value) if isinstance(value, Mapping) else dumped(value)
    return isinstance(held, Mapping) and isinstance(cast("Mapping[str, Any]", held).get("type"), str)


def fields_in(value: Any) -> Json:
    """The fields of an object; none of anything else."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def copied_fields(value: Any) -> Json:
    """The fields of an object in a copy of their own; none of what is no JSON."""
    try:
        return cast("Json", plain_copy(fields_in(value)))
    except InvalidValue:
        return {}


def object_in(text: Any) -> Json | None:
    """The object that a text is as JSON; none of anything else."""
    try:
        return _decode(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def entries_in(value: Any) -> list[Any]:
    """What is in a list; nothing of anything else."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def own_copy(value: Any) -> Any:
    """A copy of plain JSON as deep as it goes."""
    if isinstance(value, dict):
        return {key: own_copy(inner) for key, inner in cast("Json", value).items()}
    return [own_copy(one) for one in entries_in(value)] if isinstance(value, list) else value  # pyright: ignore


def field_name(key: Any) -> str:
    """The name of a field, mended; what is no text is an `InvalidValue`."""
    if isinstance(key, str):
        return mended(str.__str__(key))
    raise InvalidValue(f"a name of a field is text, not {type(key).__name__}")


def _unusual(value: Any, depth: int) -> Any:
    """What other programs have where JSON has its own: subclasses, mappings, bytes, objects of a client."""
    if isinstance(value, str):
        return mended(str.__str__(value))
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, Mapping):
        return plain_copy(dict(value), depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return plain_copy(list(value), depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    plain = dumped(value)
    if plain is not None:
        return plain_copy(plain, depth - 1)
    if isinstance(value, float):
        raise InvalidValue("a number that is none, or not finite, is no JSON")
    raise InvalidValue(f"a value of type {type(value).__name__} is no JSON")
