"""Free values that cannot change: dictionaries and lists that equal plain ones and refuse every mutation."""

from collections.abc import Callable, Iterable, Mapping
from operator import is_not
from types import NoneType
from typing import Any, NoReturn, cast

from quire.errors import InvalidValue, TooLarge, WrongType

MAX_DEPTH = 100
"""How deep a free value may be nested: a stated limit, so that it does not hang on the caller's stack."""

MAX_FREE_TEXT = 64 * 1024 * 1024
"""Characters of one text, and bytes in one piece, that a free value may have: room for what nobody reads."""


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise WrongType("this value belongs to an item and cannot change; copy it first")


class FrozenDict(dict[str, Any]):
    """A dictionary inside an item."""

    __slots__ = ()

    def __new__(cls, source: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> "FrozenDict":
        frozen: FrozenDict = freeze(dict(source))
        return frozen

    def __init__(self, source: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        """Nothing is left to do, and a second call does nothing either."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> "FrozenDict":
        return self

    def __deepcopy__(self, _memo: object) -> "FrozenDict":
        return self

    def __reduce__(self) -> tuple[type["FrozenDict"], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list inside an item."""

    __slots__ = ()

    def __new__(cls, source: Iterable[Any] = ()) -> "FrozenList":
        frozen: FrozenList = freeze(list(source))
        return frozen

    def __init__(self, source: Iterable[Any] = ()) -> None:
        """Nothing is left to do, and a second call does nothing either."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __copy__(self) -> "FrozenList":
        return self

    def __deepcopy__(self, _memo: object) -> "FrozenList":
        return self

    def __reduce__(self) -> tuple[type["FrozenList"], tuple[list[Any]]]:
        return FrozenList, (list(self),)


class Nothing(FrozenDict):
    """The empty mapping that every item without extras shares."""

    __slots__ = ()

    def __reduce__(self) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return "NOTHING"


NOTHING = dict.__new__(Nothing)

_NUMBERS = frozenset((int, float, bool, NoneType))

# How a frozen value gets what it holds, once: its own methods refuse.
_fill_dict: Callable[[dict[str, Any], dict[str, Any]], None] = dict[str, Any].update
_fill_list: Callable[[list[Any], list[Any]], None] = list[Any].extend


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The same value, unable to change, as deep as dictionaries, lists and tuples go; other objects stay."""
    kind = cast(type[object], type(value))
    if kind is dict:
        frozen_dict = dict.__new__(FrozenDict)
        _fill_dict(frozen_dict, {_key(key, depth): _inner(inner, depth) for key, inner in value.items()})
        return frozen_dict
    if kind is list:
        frozen_list = list.__new__(FrozenList)
        _fill_list(frozen_list, [_inner(inner, depth) for inner in value])
        return frozen_list
    if kind is tuple:
        return _frozen_tuple(value, depth)
    if kind is str or kind is bytes:
        _check_size(value)
    return value


def _frozen_tuple(value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    frozen = tuple([_inner(inner, depth) for inner in value])
    return frozen if any(map(is_not, frozen, value)) else value  # one that cannot change stays the one it is


def _key(key: Any, depth: int) -> Any:
    return _inner(key, depth) if type(key) is not str or len(key) > MAX_FREE_TEXT else key


def _check_size(value: str | bytes) -> None:
    if len(value) > MAX_FREE_TEXT:
        what = "characters" if isinstance(value, str) else "bytes"
        raise TooLarge(f"{len(value):,} {what} in one piece; a free value may have {MAX_FREE_TEXT:,}")


def _inner(value: Any, depth: int) -> Any:
    if depth == 1:
        raise InvalidValue(f"nested deeper than {MAX_DEPTH} levels, or holds itself")
    return value if type(value) in _NUMBERS else freeze(value, depth - 1)


def thaw(value: Any) -> Any:
    """A plain copy that may be changed."""
    if isinstance(value, dict):
        return {key: thaw(inner) for key, inner in value.items()}  # pyright: ignore
    if isinstance(value, list):
        return [thaw(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    if type(value) is tuple:
        return tuple([thaw(inner) for inner in value])  # pyright: ignore
    return value
