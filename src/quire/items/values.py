"""Values of fields: frozen free values, their JSON form, and the checks that run when a struct is made.

A free value (`extras`, the content of a note) may hold anything. Dictionaries, lists and tuples are frozen;
objects of other classes stay as they are and live in memory only. What can be written is JSON and bytes.
JSON has no bytes, so they are spelled `{"$bytes": "<base64>"}`. That dictionary always means bytes: freezing
turns it into them, which is also how a codec reads them.
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import is_not
from types import NoneType
from typing import Any, NoReturn, Self, cast

import msgspec

from quire.errors import InvalidValue, QuireError, TooLarge, Unencodable, WrongType, cut

MAX_TEXT = 32 * 1024 * 1024
"""Characters that one text field may have: several times the largest context window."""

MAX_DEPTH = 100
"""How deep dictionaries and lists of a free value may be nested."""

_BYTES = "$bytes"

# Texts


def replace_surrogates(text: str) -> str:
    """The text with pairs of surrogates joined and lone ones replaced by U+FFFD: no format can write them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# Frozen values


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("this value belongs to an item and cannot change; copy it with thaw() first")


class _Frozen:
    """A value that needs no copy, since nobody can change it."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


class FrozenDict(_Frozen, dict[str, Any]):
    """A dictionary inside an item; it equals a plain one."""

    __slots__ = ()

    def __new__(cls, source: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> "FrozenDict":
        return _frozen_dict(dict(source), MAX_DEPTH)

    def __init__(self, source: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        """Nothing: `__new__` filled it."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type["FrozenDict"], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(_Frozen, list[Any]):
    """A list inside an item; it equals a plain one."""

    __slots__ = ()

    def __new__(cls, source: Iterable[Any] = ()) -> "FrozenList":
        return _frozen_list(list(source), MAX_DEPTH)

    def __init__(self, source: Iterable[Any] = ()) -> None:
        """Nothing: `__new__` filled it."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type["FrozenList"], tuple[list[Any]]]:
        return FrozenList, (list(self),)


class _Nothing(FrozenDict):
    __slots__ = ()

    def __reduce__(self) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return "NOTHING"


NOTHING = dict.__new__(_Nothing)
"""The empty mapping that all items without extras share."""

# How a frozen value gets its content, once: its own methods refuse.
_fill_dict: Callable[[dict[str, Any], dict[str, Any]], None] = dict[str, Any].update
_fill_list: Callable[[list[Any], list[Any]], None] = list[Any].extend

_CONSTANTS = frozenset((int, float, bool, NoneType))


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The value with its dictionaries, lists and tuples frozen, and its texts free of lone surrogates."""
    kind = cast(type[object], type(value))
    if kind is str:
        return value if value.isascii() else replace_surrogates(value)
    frozen = _FREEZERS.get(kind)
    return value if frozen is None else frozen(value, depth)


def thaw(value: Any) -> Any:
    """A plain copy that may be changed."""
    if isinstance(value, dict):
        return {key: thaw(inner) for key, inner in value.items()}  # pyright: ignore
    if isinstance(value, list):
        return [thaw(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    if type(value) is tuple:
        return tuple([thaw(inner) for inner in value])  # pyright: ignore
    return value


def _frozen_dict(value: dict[Any, Any], depth: int) -> FrozenDict:
    inner = _inner_depth(depth)
    frozen = dict.__new__(FrozenDict)
    _fill_dict(
        frozen,
        {freeze(k, inner): v if type(v) in _CONSTANTS else freeze(v, inner) for k, v in value.items()},
    )
    return frozen


def _frozen_list(value: list[Any], depth: int) -> FrozenList:
    inner = _inner_depth(depth)
    frozen = list.__new__(FrozenList)
    _fill_list(frozen, [v if type(v) in _CONSTANTS else freeze(v, inner) for v in value])
    return frozen


def _frozen_tuple(value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    inner = _inner_depth(depth)
    frozen = tuple([freeze(held, inner) for held in value])
    return frozen if any(map(is_not, frozen, value)) else value


def _frozen_dict_or_bytes(value: dict[Any, Any], depth: int) -> FrozenDict | bytes:
    if len(value) == 1 and (data := _spelled_bytes(value)) is not None:
        return data
    return value if isinstance(value, FrozenDict) else _frozen_dict(value, depth)


def _spelled_bytes(value: dict[Any, Any]) -> bytes | None:
    text = value.get(_BYTES)
    if not isinstance(text, str):
        return None
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    return data if b64encode(data).decode() == text else None  # another spelling would come back changed


def _inner_depth(depth: int) -> int:
    if not depth:
        raise InvalidValue(f"nested deeper than {MAX_DEPTH} levels, or contains itself")
    return depth - 1


_FREEZERS: dict[type, Callable[[Any, int], Any]] = {
    dict: _frozen_dict_or_bytes,
    FrozenDict: _frozen_dict_or_bytes,
    list: _frozen_list,
    tuple: _frozen_tuple,
}

# The JSON form of free values

_DICTS = frozenset((dict, FrozenDict, _Nothing))
_LISTS = frozenset((list, FrozenList))
_TEXT = frozenset((str,))


def is_json(value: Any) -> bool:
    """Whether every format writes the value, and reads it back unchanged."""
    kind = cast(type[object], type(value))
    if kind in _DICTS:
        return _TEXT.issuperset(map(type, value)) and _are_json(value.values())
    if kind in _LISTS:
        return _are_json(value)
    if kind is int:
        return bool(-(2**63) <= value < 2**64)
    if kind is float:
        return math.isfinite(cast(float, value))
    return kind is str or kind is bool or value is None


def _are_json(values: Iterable[Any]) -> bool:
    return all(is_json(value) for value in values if type(value) is not str)  # most are texts: spare the call


def to_json(value: Any, path: str = "$", *, spell_bytes: bool = True) -> Any:
    """The value as JSON values, with bytes spelled; any other value is an `Unencodable` error with its path.

    `thaw(freeze(...))` is the inverse. Without `spell_bytes`, bytes stay: some formats have them.
    """
    kind = cast(type[object], type(value))
    if kind in _DICTS:
        for key in value:
            if type(key) is not str:
                raise Unencodable(f"a key of type {type(key).__name__} would come back as text", path)
        return {k: to_json(v, f"{path}.{cut(k)}", spell_bytes=spell_bytes) for k, v in value.items()}
    if kind in _LISTS:
        return [to_json(v, f"{path}[{i}]", spell_bytes=spell_bytes) for i, v in enumerate(value)]
    if kind is bytes:
        return {_BYTES: b64encode(value).decode()} if spell_bytes else value
    if is_json(value):
        return value
    if kind is int:
        raise Unencodable("an integer beyond 64 bits", path)
    if kind is float:
        raise Unencodable("JSON has no infinity and no NaN", path)
    raise Unencodable(f"a value of type {kind.__name__} lives in memory only", path)


# Checks of fields


def check_fields(struct: msgspec.Struct) -> None:
    """Bring every field to its stored form, or raise an error that names the field and never its value.

    msgspec checks what it decodes, but not the arguments of a constructor.
    """
    for name, wanted, default in _fields(type(struct)):
        value = getattr(struct, name)
        if value is not default:
            stored = _stored(value, wanted, f"{type(struct).__name__}.{name}")
            if stored is not value:
                msgspec.structs.force_setattr(struct, name, stored)


@cache  # msgspec takes longer to look up the types of a struct than all the rest takes
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, Any, Any]]:
    return [(field.name, field.type, field.default) for field in msgspec.structs.fields(kind)]


def _stored(value: Any, wanted: Any, where: str) -> Any:
    try:
        if wanted is Any:
            return freeze(value)
        if wanted == Mapping[str, Any]:
            return _frozen_mapping(value, where)
        if isinstance(value, set | frozenset):
            raise WrongType(f"{where} has an order; it cannot be a set")
        # Bytes come as bytes here; by default msgspec takes any text for base64.
        return msgspec.convert(_plain_texts(value), wanted, builtin_types=(bytes,))
    except InvalidValue as fault:
        raise type(fault)(f"{where}: {fault}") from None
    except (msgspec.ValidationError, UnicodeError) as fault:
        text, place = without_content(fault)
        raise _error_for(text, fault)(f"{where}{place}: {text}") from None


def _frozen_mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongType(f"{where} is a mapping, not {type(value).__name__}")
    mapping: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
    if not all(isinstance(key, str) for key in mapping):
        raise WrongType(f"{where} has a key that is not a text")
    if type(mapping) is FrozenDict:
        return mapping
    return _frozen_dict(dict(mapping), MAX_DEPTH) if mapping else NOTHING


def _plain_texts(value: Any) -> Any:
    """Texts of class `str` without lone surrogates, also as parts of a content."""
    if isinstance(value, str):
        return replace_surrogates(value if type(value) is str else str.__str__(value))
    if isinstance(value, list | tuple):
        return tuple([_plain_texts(part) for part in cast("Iterable[Any]", value)])
    return value


def _error_for(text: str, fault: Exception) -> type[QuireError]:
    if ", got " in text or text.startswith("Object"):
        return WrongType
    return TooLarge if "length <=" in text or isinstance(fault.__cause__, TooLarge) else InvalidValue


def without_content(fault: Exception) -> tuple[str, str]:
    """What an error of msgspec says without the values it may quote, and the path below the given value."""
    if isinstance(fault, UnicodeError):
        return "text that is not valid Unicode", ""
    text, _, place = str(fault).partition(" - at `$")
    if text.startswith(("Invalid enum value", "Invalid value")):
        text = "not one of the allowed values"
    elif text.startswith("Object contains unknown field"):
        text = "Object contains an unknown field"
    return text, place.partition("`")[0]
