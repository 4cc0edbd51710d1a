"""JSON values that come from outside: objects of clients, answers of services, schemas of tools.

Nothing here knows a wire. A value that JSON cannot hold (a set, an infinite number, an object of a program)
is refused, and so is one that nests deeper than items may.
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
        held = cast("Mapping[object, Any]", value)
        if not all(isinstance(key, str) for key in held):
            raise InvalidValue("a field name is text")
        return {plain_copy(key): plain_copy(inner, depth - 1) for key, inner in held.items()}
    if isinstance(value, list | tuple):
        return [plain_copy(inner, depth - 1) for inner in cast("list[Any]", value)]
    plain = dumped(value)
    if plain is None:
        raise InvalidValue(f"{type(value).__name__} {value!r:.40} is not JSON")
    return plain_copy(plain, depth - 1)


def exact_copy(value: Mapping[str, Any]) -> tuple[Json, bytes]:
    """A deep copy of an object, and its JSON, which tells `0` from `False`."""
    try:
        text = _encode(value)
        copied: Json = _decode(text)
        if copied == value:  # otherwise it holds a value that only resembles JSON: a set, a tuple, bytes
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
            raise Damaged(f"it cannot be kept: {fault}", path) from None
    if nests_deeper(text, MAX_DEPTH):
        raise Damaged(f"it cannot be kept: {_TOO_DEEP}", path)
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


def decoded(text: Any) -> Any:
    """The value of a JSON text; None if it is not JSON."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return None


def object_in(text: Any) -> Json | None:
    """The object that a JSON text holds; None for anything else."""
    try:
        return _decode_object(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def dumped(value: Any) -> Any:
    """A client's object as JSON values; None if it is not such an object."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return None
    for mode in ("json", "python"):  # a client may hold a value that is not JSON, such as a function
        try:
            return dump(mode=mode, by_alias=True, exclude_none=True, warnings=False)
        except Exception:  # an object of somebody else, which may raise anything
            continue
    return None


def plain_json(response: Any) -> Json:
    """A response as a JSON object, whichever client it came from."""
    if isinstance(response, Mapping):
        return dict(cast("Mapping[str, Any]", response))
    plain = dumped(response)
    if not isinstance(plain, Mapping):
        raise WrongType(f"expected a response as JSON or a client's object, not {type(response).__name__}")
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
    """An object inside a reply or a history, also one of a client; `Damaged` at `path` for anything else."""
    try:
        return plain_json(value)
    except WrongType:
        raise Damaged(f"expected an object, not {type(value).__name__}", path) from None


def list_at(value: Any, path: str) -> list[Any]:
    """A list inside a reply or a history, empty for None; `Damaged` at `path` for anything else."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise Damaged(f"expected a list, not {type(value).__name__}", path)
    return list(cast("list[Any]", value))


def text_at(fields: Mapping[str, Any], name: str, path: str) -> str:
    """A text that an object must have; `Damaged` at its path if it is missing or something else."""
    text = fields.get(name)
    if not isinstance(text, str):
        raise Damaged(f"expected text, not {type(text).__name__}", f"{path}.{name}")
    return text
