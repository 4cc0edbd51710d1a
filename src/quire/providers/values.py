"""JSON values from outside: objects of clients, answers of services, schemas of tools.

The functions work for every wire. They refuse values that are not JSON (a set, infinity, an arbitrary object)
and values that nest deeper than items may.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

import msgspec

from quire.errors import Damaged, InvalidValue, WrongType
from quire.items import MAX_DEPTH, replace_surrogates

Json = dict[str, Any]

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels, or holds itself"
_decode = msgspec.json.Decoder().decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def plain_copy(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A deep copy in plain dictionaries and lists; `InvalidValue` for a value that is not JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return replace_surrogates(str.__str__(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if depth == 0:
        raise InvalidValue(_TOO_DEEP)
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, Any]", value)
        if not all(isinstance(key, str) for key in fields):
            raise InvalidValue("a field name must be text")
        return {plain_copy(key): plain_copy(inner, depth - 1) for key, inner in fields.items()}
    if isinstance(value, list | tuple):
        return [plain_copy(inner, depth - 1) for inner in cast("list[Any]", value)]
    plain = dump_model(value)
    if plain is None:
        raise InvalidValue(f"{type(value).__name__} {value!r:.40} is not JSON")
    return plain_copy(plain, depth - 1)


def exact_copy(value: Mapping[str, Any]) -> tuple[Json, bytes]:
    """A deep copy of an object, and its JSON text, in which `0` and `False` differ."""
    try:
        text = _encode(value)
        copied: Json = _decode(text)
        if copied == value:  # otherwise it has a set, a tuple or bytes, which are encoded but not equal
            return copied, text
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    copied = plain_copy(value)
    return copied, _encode(copied)


def json_text(value: Any, path: str, *, ordered: bool = False) -> str:
    """A value as JSON text, with sorted keys if `ordered`; `Damaged` at `path` if it is not JSON."""
    encode = _encode_sorted if ordered else _encode
    try:
        text = encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        try:
            return encode(plain_copy(value)).decode()
        except InvalidValue as fault:
            raise Damaged(f"it cannot be recorded: {fault}", path) from None
    if nests_deeper(text, MAX_DEPTH):
        raise Damaged(f"it cannot be recorded: {_TOO_DEEP}", path)
    return text


def nests_deeper(text: str, levels: int) -> bool:
    """Whether a JSON text nests deeper than `levels`."""
    if len(text) <= levels or text.count("{") + text.count("[") <= levels:
        return False
    depth = deepest = 0
    for token in _BRACKETS.findall(text):
        depth += (token in "[{") - (token in "]}")
        deepest = max(deepest, depth)
    return deepest > levels


def decode_json(text: Any) -> Any:
    """The value of JSON text; None if it is not JSON."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return None


def object_in(text: Any) -> Json | None:
    """The object that JSON text encodes; None for anything else."""
    try:
        return _decode_object(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def dump_model(value: Any) -> Any:
    """A pydantic model of a client as JSON values; None for any other object."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return None
    for mode in ("json", "python"):  # a client may hold a value that is not JSON, such as a function
        try:
            return dump(mode=mode, by_alias=True, exclude_none=True, warnings=False)
        except Exception:  # foreign code, which may raise anything
            continue
    return None


def plain_json(response: Any) -> Json:
    """A response of any client as a JSON object."""
    if isinstance(response, Mapping):
        return dict(cast("Mapping[str, Any]", response))
    plain = dump_model(response)
    if not isinstance(plain, Mapping):
        kind = type(response).__name__
        raise WrongType(
            f"a response must be a dict (JSON) or an object of a client, such as pydantic's; not {kind}"
        )
    return dict(cast("Mapping[str, Any]", plain))


def fields_in(value: Any) -> Json:
    """The value if it is an object, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def entries_in(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []  # type: ignore[redundant-cast]


def text_in(value: Any) -> str:
    """The value if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def object_at(value: Any, path: str) -> Json:
    """A JSON object, or a client's object converted to one; `Damaged` at `path` for anything else."""
    try:
        return plain_json(value)
    except WrongType:
        raise Damaged(f"expected an object, not {type(value).__name__}", path) from None


def list_at(value: Any, path: str) -> list[Any]:
    """A list, empty for None; `Damaged` at `path` for anything else."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise Damaged(f"expected a list, not {type(value).__name__}", path)
    return list(cast("list[Any]", value))


def text_at(fields: Mapping[str, Any], name: str, path: str) -> str:
    """The text in a required field; `Damaged` at its path if it is missing or no text."""
    text = fields.get(name)
    if not isinstance(text, str):
        raise Damaged(f"expected text, not {type(text).__name__}", f"{path}.{name}")
    return text
