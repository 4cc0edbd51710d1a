"""Free values that cannot change: dictionaries and lists that equal plain ones and refuse every mutation."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from quire.errors import InvalidValue, TooLarge, WrongType

MAX_DEPTH = 100
"""How deep a free value may be nested: a stated limit, so that it does not hang on the caller's stack."""

MAX_FREE_TEXT = 64 * 1024 * 1024
"""Characters that one text in a free value may have: room for what a tool gave back and nobody will read."""


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

# How a frozen value gets what it holds, once: its own methods refuse.
_fill_dict: Callable[[dict[str, Any], dict[str, Any]], None] = dict[str, Any].update
_fill_list: Callable[[list[Any], list[Any]], None] = list[Any].extend


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The same value, unable to change, as deep as dictionaries and lists go; other objects stay."""
    if type(value) is dict:
        frozen_dict = dict.__new__(FrozenDict)
        _fill_dict(frozen_dict, {key: _inner(inner, depth) for key, inner in value.items()})  # pyright: ignore
        return frozen_dict
    if type(value) is list:
        frozen_list = list.__new__(FrozenList)
        _fill_list(frozen_list, [_inner(inner, depth) for inner in value])  # pyright: ignore
        return frozen_list
    if type(value) is str and len(value) > MAX_FREE_TEXT:
        raise TooLarge(f"a text of {len(value):,} characters; a free value may have {MAX_FREE_TEXT:,}")
    return value


def _inner(value: Any, depth: int) -> Any:
    if depth == 1:
        raise InvalidValue(f"nested deeper than {MAX_DEPTH} levels, or holds itself")
    return freeze(value, depth - 1)


def thaw(value: Any) -> Any:
    """A plain copy that may be changed."""
    if isinstance(value, dict):
        return {key: thaw(inner) for key, inner in value.items()}  # pyright: ignore
    if isinstance(value, list):
        return [thaw(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value
