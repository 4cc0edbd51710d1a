"""Values made ready to be written as JSON: in the forms that schemas say they have, at every depth.

A named tuple is a record there, by its names, and is written as a row otherwise. Of keys that are no texts
only numbers are written otherwise.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, cast

import msgspec

_SINGLE = frozenset((str, int, float, bool, type(None)))
_ROWS = (list, tuple, set, frozenset)


def key_written(key: Any) -> str:
    """A key as JSON has it. It is told by its type: 1 is equal to True, and another key."""
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def ready(value: Any) -> Any:
    """A value of which JSON is written as it is declared; itself where there is nothing to change in it."""
    if type(value) in _SINGLE:
        return value
    if isinstance(value, dict):
        return _table(cast("Mapping[Any, Any]", value))
    if isinstance(value, _ROWS):
        return _row(cast("Iterable[Any]", value))
    return _record(value)


def _table(value: Mapping[Any, Any]) -> Any:
    made = {_key(key): ready(one) for key, one in value.items()}
    is_same = all(key in value and value[key] is one for key, one in made.items())
    return value if is_same and len(made) == len(value) else made


def _key(key: Any) -> Any:
    return key_written(key) if key is None or isinstance(key, bool) else key


def _row(value: Iterable[Any]) -> Any:
    made = [*map(ready, value)]
    names = getattr(value, "_fields", None)
    if isinstance(value, tuple) and names is not None:
        return dict(zip(names, made, strict=False))
    return value if all(one is other for one, other in zip(value, made, strict=True)) else made


def _record(value: Any) -> Any:
    """A record with what is in it made ready: how its fields are written is its own affair."""
    held = {name: getattr(value, name) for name in _fields_of(value) if hasattr(value, name)}
    made = {name: one for name, old in held.items() if (one := ready(old)) is not old}
    if not made:
        return value
    other = copy(value)
    put: Callable[[Any, str, Any], None] = (
        msgspec.structs.force_setattr if isinstance(value, msgspec.Struct) else object.__setattr__
    )
    for name, one in made.items():
        put(other, name, one)
    return other


def _fields_of(value: Any) -> Iterable[str]:
    if isinstance(value, type):
        return ()
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return [one.name for one in dataclasses.fields(value)]
    return [one.name for one in cast("Iterable[Any]", getattr(value, "__attrs_attrs__", ()))]
