"""Payloads with the objects of a client in them: people put back what they were given, whole or in pieces."""

from collections.abc import Mapping
from typing import Any, cast

from quire.items import MAX_DEPTH
from quire.providers.json_values import dumped

_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
_HOLDS = (dict, list, tuple, Mapping)  # the common ones first: a mapping of another kind is slow to tell


def without_objects(payload: Any) -> Any:
    """The payload with every object of a client, wherever it stands, as the JSON that the client sends of it.

    What holds no object is given back as it is; nothing that was given is changed.
    """
    return _read(payload, set())


def _read(value: Any, within: set[int]) -> Any:
    """A value; `within` are the identities of what it stands in, since a payload may hold itself."""
    if isinstance(value, _HOLDS):
        return _held(cast(Any, value), within)
    plain = dumped(value)
    if not isinstance(plain, _HOLDS):
        return value
    return _read(plain, within)  # it may have given what is no JSON either


def _held(values: Any, within: set[int]) -> Any:
    if id(values) in within or len(within) == MAX_DEPTH:
        return values
    place = id(values)
    within.add(place)
    read = _entries(values, within) if isinstance(values, list | tuple) else _fields(values, within)  # pyright: ignore
    within.discard(place)
    return read


def _fields(values: Mapping[Any, Any], within: set[int]) -> Mapping[Any, Any]:
    read = {
        name: found
        for name, value in values.items()
        if type(value) not in _PLAIN and (found := _read(value, within)) is not value
    }
    return {**values, **read} if read else values


def _entries(values: list[Any] | tuple[Any, ...], within: set[int]) -> list[Any] | tuple[Any, ...]:
    read = [value if type(value) in _PLAIN else _read(value, within) for value in values]
    return values if all(map(_is_same, read, values)) else read


def _is_same(one: object, other: object) -> bool:
    return one is other
