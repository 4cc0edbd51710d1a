"""Values of fields: texts, frozen free values and their JSON form, and the check of a new struct.

A free value (`extras`, the content of a note) may hold anything. Dictionaries, lists and tuples are frozen;
objects of other classes stay as they are. Only JSON values and bytes can be stored; other objects live in
memory only. JSON has no bytes, so they are written as `{"$bytes": "<base64>"}`. Freezing turns such a
dictionary into bytes, which is also how the codec decodes them.
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec
from msgspec.structs import FieldInfo

from quire.errors import InvalidValue, QuireError, Unencodable, WrongType, cut
from quire.guesses import no_option

S = TypeVar("S", bound=msgspec.Struct)

MAX_TEXT = 32 * 1024 * 1024
"""Characters that one text field may have: several times the largest context window."""

MAX_DEPTH = 100
"""How deep dictionaries and lists of a free value may be nested."""

_HARMLESS_BEGINNINGS = ("Expected", "Object missing", "JSON is malformed", "Input data was truncated")
"""Messages of msgspec that begin so quote types and numbers, but no value of the caller."""

_NOT_ALLOWED = "not one of the allowed values"
_CONTENT_REFUSALS = ("Expected `str | array`", "Object missing required field `part`")
"""How msgspec's messages begin if a content is a number, an object, or a list of some provider's parts."""

_BYTES = "$bytes"
_CONSTANTS = frozenset((int, float, bool, type(None)))


def replace_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates, which no format can store, as U+FFFD."""
    try:
        text.encode("utf-32")  # takes half the time of UTF-8
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# Frozen values


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("this value belongs to an item and cannot change; copy it with quire.items.thaw() first")


class FrozenDict(dict[str, Any]):
    """A dictionary inside an item; it equals a plain one."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (dict(self),)


class FrozenList(list[Any]):
    """A list inside an item; it equals a plain one."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (list(self),)


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The value with dictionaries, lists and tuples frozen, and texts plain and without lone surrogates."""
    if isinstance(value, str):
        text = value if type(value) is str else str.__str__(value)
        return text if text.isascii() else replace_surrogates(text)
    kind = cast("type[object]", type(value))
    if kind is dict:
        if not value:
            return NOTHING
        if (data := _bytes_in(value)) is not None:
            return data
        return FrozenDict(zip(map(freeze, value), _frozen_values(value.values(), depth), strict=True))
    if kind is list:
        return FrozenList(_frozen_values(value, depth))
    return tuple(_frozen_values(value, depth)) if kind is tuple else value


def _frozen_values(values: Iterable[Any], depth: int) -> list[Any]:
    if not depth:
        raise InvalidValue(f"nested deeper than {MAX_DEPTH} levels, or contains itself")
    return [value if type(value) in _CONSTANTS else freeze(value, depth - 1) for value in values]


def _bytes_in(value: dict[Any, Any]) -> bytes | None:
    text = value.get(_BYTES) if len(value) == 1 else None
    if not isinstance(text, str):
        return None
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    return data if b64encode(data).decode() == text else None  # another spelling would come back changed


NOTHING = FrozenDict()
"""The empty mapping that all items without extras share."""


def thaw(value: Any) -> Any:
    """A copy of plain types, which may be changed."""
    kind = cast("type[object]", type(value))
    if issubclass(kind, dict):
        return {key: thaw(inner) for key, inner in value.items()}
    if issubclass(kind, list):
        return [thaw(inner) for inner in value]
    return tuple(map(thaw, value)) if kind is tuple else value


_Path = str | tuple["_Path", str | int]
"""The path of a value: a text, or the path of its container and a key or an index."""


def to_json(value: Any, path: _Path = "$") -> Any:
    """The value as JSON values; `freeze` is the inverse. What cannot be stored raises `Unencodable`."""
    kind = cast("type[object]", type(value))
    if kind is str or kind is bool or value is None:
        return value
    if kind is dict or kind is FrozenDict:
        for key in value:
            if type(key) is not str:
                raise Unencodable(
                    f"a key of type {type(key).__name__} would come back as text", _path_text(path)
                )
        return {k: v if type(v) is str else to_json(v, (path, k)) for k, v in value.items()}
    if kind is list or kind is FrozenList:
        return [v if type(v) is str else to_json(v, (path, i)) for i, v in enumerate(value)]
    if kind is bytes:
        return {_BYTES: b64encode(value).decode()}
    if kind is int and not -(2**63) <= value < 2**64:
        raise Unencodable("an integer beyond 64 bits cannot be stored", _path_text(path))
    if kind is float and not math.isfinite(value):
        raise Unencodable("JSON has no infinity and no NaN", _path_text(path))
    if kind is int or kind is float:
        return value
    raise Unencodable(f"a value of type {kind.__name__} cannot be stored", _path_text(path))


def _path_text(path: _Path) -> str:
    if isinstance(path, str):
        return path
    outer, step = path
    return f"{_path_text(outer)}[{step}]" if isinstance(step, int) else f"{_path_text(outer)}.{cut(step)}"


# The check of a struct


class OptionsMeta(msgspec.StructMeta):
    """The metaclass of structs that hold options: errors of the constructor name the class."""

    if not TYPE_CHECKING:  # the constructor has the types of the fields

        def __call__(cls, *args: Any, **named: Any) -> Any:
            try:
                return super().__call__(*args, **named)
            except QuireError:
                raise
            except TypeError as fault:
                raise wrong_arguments(cls, named, fault) from None


def wrong_arguments(kind: type[msgspec.Struct], named: Iterable[str], fault: TypeError) -> WrongType:
    """The error for a struct that was called with wrong arguments; it lists the fields of the struct."""
    fields, constructor = kind.__struct_fields__, f"{kind.__name__}(...)"
    unknown = next((name for name in named if name not in fields), None)
    is_positional = str(fault).startswith("Extra positional")
    error = f"its arguments are given by name: {', '.join(fields)}" if is_positional else fault
    return WrongType(no_option(constructor, unknown, fields) if unknown else f"{constructor}: {error}")


def prepared(kind: type[S]) -> type[S]:
    """Decorate a struct: msgspec reads its annotations now.

    By default it reads them when it first decodes to the struct. If two threads do that at the same time, the
    process dies of a segmentation fault. So every struct that `msgspec.convert` creates has this decorator.
    """
    msgspec.json.Decoder(kind)
    return kind


def check_fields(struct: msgspec.Struct) -> None:
    """Convert every field to its stored form, or raise an error that names the field and never its value.

    msgspec checks what it decodes, but not the arguments of a constructor.
    """
    kind = type(struct)
    shape, fields = _shape(kind)
    values: dict[str, Any] = {}
    try:
        for field in fields:
            if (value := getattr(struct, field.name)) is not field.default:
                values[field.name] = freeze(value)
        # Without `builtin_types` msgspec would decode any text as base64.
        checked = msgspec.convert(values, shape, builtin_types=(bytes,))
    except (msgspec.ValidationError, InvalidValue) as fault:
        text, place = without_content(fault)
        allowed = next((get_args(field.type) for field in fields if place == f".{field.name}"), ())
        if text == _NOT_ALLOWED and allowed and all(isinstance(value, str) for value in allowed):
            text = f"not one of {', '.join(allowed)}"
        elif place.startswith(".content") and text.startswith(_CONTENT_REFUSALS):
            text = "it is a text, or a list of texts and of Image(…), Audio(…) and File(…)"
        error = InvalidValue if _has_type(values, kind) else WrongType
        raise error(f"{kind.__name__}{place}: {text}") from None
    for name in values:
        msgspec.structs.force_setattr(struct, name, getattr(checked, name))


@cache
def _shape(kind: type[msgspec.Struct]) -> tuple[type[msgspec.Struct], tuple[FieldInfo, ...]]:
    """A struct with the same fields that does not check them, and the fields."""
    fields = msgspec.structs.fields(kind)
    types = [FrozenDict if field.type == Mapping[str, Any] else field.type for field in fields]
    shape = msgspec.defstruct(
        kind.__name__, [(field.name, each, None) for field, each in zip(fields, types, strict=True)]
    )
    return prepared(shape), fields


def _has_type(value: Any, kind: Any) -> bool:
    """Whether a value has a type, ignoring limits and choices."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _has_type(value, parts[0])
    if origin is tuple:
        row = cast("tuple[Any, ...]", value)
        return isinstance(value, list | tuple) and all(_has_type(element, parts[0]) for element in row)
    if origin is Union or origin is UnionType:
        return any(_has_type(value, part) for part in parts)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, dict):
        types: dict[Any, Any] = {field.name: field.type for field in _shape(kind)[1]}
        types[kind.__struct_config__.tag_field] = str
        fields = cast("dict[str, Any]", value)
        return all(name in types and _has_type(inner, types[name]) for name, inner in fields.items())
    if kind is Any or type(value) is bool:
        return kind is Any or kind is bool
    if origin is Literal:
        return isinstance(value, str)
    return isinstance(value, int | float if kind is float else origin or kind)


def without_content(fault: Exception) -> tuple[str, str]:
    """The message of a msgspec error without the values that it quotes, and the path of the faulty value."""
    if isinstance(fault, UnicodeError):
        return "text that is not valid Unicode", ""
    text, _, place = str(fault).partition(" - at `$")
    is_own = isinstance(fault, QuireError) or isinstance(fault.__cause__, QuireError)
    if text.startswith("Object contains unknown field"):
        text = "Object contains an unknown field"
    elif not is_own and not text.startswith(_HARMLESS_BEGINNINGS):
        text = _NOT_ALLOWED
    return text, place.partition("`")[0]
