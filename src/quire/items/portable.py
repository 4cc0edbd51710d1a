"""Free values on their way to bytes and back.

JSON has no bytes and quietly changes what it cannot say (a tuple, an integer key, a number that is none).
Here bytes are tagged, a dictionary that looks like a tag is wrapped, and everything else that would come back
different is an error with its path.
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from typing import Any, cast

from quire.errors import Damaged, Unencodable, cut
from quire.items.frozen import FrozenDict, FrozenList, Nothing

BYTES = "$bytes"
DICT = "$dict"
_TEXT = frozenset((str,))
_PLAIN = frozenset((str, bool, type(None)))


def is_plain(value: Any) -> bool:
    """Whether a free value is the same in every format, with nothing to tag, wrap or refuse.

    Texts are not looked at: the writers refuse those they cannot write.
    """
    kind = cast(type[object], type(value))
    if kind is dict or kind is FrozenDict or kind is Nothing:
        keys_are_plain = _TEXT.issuperset(map(type, value)) and not _looks_like_a_tag(value)
        return keys_are_plain and _all_plain(value.values())
    if kind is list or kind is FrozenList:
        return _all_plain(value)
    if kind is int:
        return _fits(value)
    return kind in _PLAIN or (kind is float and math.isfinite(value))


def _all_plain(values: Iterable[Any]) -> bool:
    # Most are texts, which every format has: only the others are worth a call.
    return all(is_plain(value) for value in values if type(value) is not str)


def portable(value: Any, path: str, tag_bytes: bool) -> Any:
    """The value as plain JSON values; bytes are tagged, or left to a format that has them."""
    try:
        return _portable(value, path, tag_bytes)
    except RecursionError:
        raise Unencodable("the value is nested too deep, or holds itself", path) from None


def verbatim(value: Any, path: str, tag_bytes: bool) -> Any:
    """The value as it was read, with nothing changed but bytes for a format that has none.

    What `reread` would take for such bytes is wrapped, and nothing else: it turns all of it back, whichever
    format it came from.
    """
    return _verbatim(value, path, _tagged if tag_bytes else None)


def verbatim_struct(value: Any, path: str, tag_bytes: bool) -> Any:
    """The same for a struct, or a list of such: its fields are values, and it is none, so never a tag."""
    return _verbatim(value, path, _with_tagged_fields if tag_bytes else None)


def _verbatim(value: Any, path: str, tagged: Callable[[Any], Any] | None) -> Any:
    try:
        checked = _portable(value, path, False)
        return checked if tagged is None else tagged(checked)
    except RecursionError:
        raise Unencodable("the value is nested too deep, or holds itself", path) from None


def _portable(value: Any, path: str, tag_bytes: bool) -> Any:
    write = _WRITERS.get(cast(type[object], type(value)))
    if write is None:
        raise Unencodable(f"a value of type {type(value).__name__} lives in memory only", path)
    return write(value, path, tag_bytes)


def restored(value: Any, path: str) -> Any:
    """What `portable` made, turned back: tags become bytes, wrapped dictionaries come out."""
    if isinstance(value, list):
        return [restored(inner, f"{path}[{index}]") for index, inner in enumerate(value)]  # pyright: ignore
    if not isinstance(value, dict):
        return value
    if len(value) == 1:  # pyright: ignore[reportUnknownArgumentType]
        if BYTES in value:
            return _bytes_of(value[BYTES], path)
        if isinstance(value.get(DICT), dict):  # pyright: ignore
            value = cast(dict[str, Any], value[DICT])
    return {key: restored(inner, f"{path}.{cut(key)}") for key, inner in value.items()}  # pyright: ignore


def reread(value: Any) -> Any:
    """What `verbatim` wrote with tags, with its bytes as bytes again; all else, also other tags, as it is."""
    if isinstance(value, list):
        return [reread(inner) for inner in value]  # pyright: ignore
    if not isinstance(value, dict):
        return value
    if _stands_for_bytes(value):
        if BYTES in value:
            return b64decode(cast(str, value[BYTES]))
        value = cast(dict[str, Any], value[DICT])
    return {key: reread(inner) for key, inner in value.items()}  # pyright: ignore


def reread_struct(value: Any) -> Any:
    """What `verbatim_struct` wrote with tags."""
    return _each_field(value, reread)


def _with_tagged_fields(value: Any) -> Any:
    return _each_field(value, _tagged)


def _each_field(value: Any, turned: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_each_field(inner, turned) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {name: turned(inner) for name, inner in value.items()}  # pyright: ignore
    return value


def _tagged(value: Any) -> Any:
    if isinstance(value, bytes):
        return {BYTES: b64encode(value).decode()}
    if isinstance(value, list):
        return [_tagged(inner) for inner in value]  # pyright: ignore
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    written = {key: _tagged(inner) for key, inner in fields.items()}
    return {DICT: written} if _stands_for_bytes(written) else written


def _stands_for_bytes(value: Any) -> bool:
    """Whether `_tagged` may have written a dictionary: a tag of bytes, wrapped any number of times."""
    while isinstance(value, dict) and len(value) == 1:  # pyright: ignore[reportUnknownArgumentType]
        if BYTES in value:
            return _is_spelled_by_us(value[BYTES])
        value = value.get(DICT)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return False


def _is_spelled_by_us(text: Any) -> bool:
    try:
        return isinstance(text, str) and b64encode(b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def _bytes_of(text: Any, path: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Damaged("tagged bytes are not base64", path) from None


def _write_dict(value: dict[Any, Any], path: str, tag_bytes: bool) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for key, inner in value.items():
        if type(key) is not str:
            raise Unencodable(f"a key of type {type(key).__name__} would come back as text", path)
        written[_write_text(key, f"{path} (a key)", tag_bytes)] = _portable(
            inner, f"{path}.{cut(key)}", tag_bytes
        )
    return {DICT: written} if tag_bytes and _looks_like_a_tag(written) else written


def _looks_like_a_tag(value: dict[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)) in (BYTES, DICT)


def _write_list(value: list[Any], path: str, tag_bytes: bool) -> list[Any]:
    return [_portable(inner, f"{path}[{index}]", tag_bytes) for index, inner in enumerate(value)]


def _write_text(value: str, path: str, _tag_bytes: bool) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unencodable("the text holds half of a surrogate pair", path) from None
    return value


def _write_float(value: float, path: str, _tag_bytes: bool) -> float:
    if not math.isfinite(value):
        raise Unencodable("JSON has no infinity and no NaN", path)
    return value


def _write_int(value: int, path: str, _tag_bytes: bool) -> int:
    if not _fits(value):
        raise Unencodable("an integer beyond 64 bits", path)
    return value


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**64


def _write_bytes(value: bytes, _path: str, tag_bytes: bool) -> Any:
    return {BYTES: b64encode(value).decode()} if tag_bytes else value


def _as_it_is(value: Any, _path: str, _tag_bytes: bool) -> Any:
    return value


_WRITERS: dict[type, Callable[[Any, str, bool], Any]] = {
    dict: _write_dict,
    list: _write_list,
    str: _write_text,
    float: _write_float,
    int: _write_int,
    bytes: _write_bytes,
    bool: _as_it_is,
    type(None): _as_it_is,
    # Frozen dictionaries and lists are ours; other subclasses would come back as their parent: refused.
    FrozenDict: _write_dict,
    Nothing: _write_dict,
    FrozenList: _write_list,
}
