"""Pointers within a schema: where they lead to after something moved, and whether anything is there."""

import re
from collections.abc import Iterator
from typing import Any

from quire.providers.json_values import Json, entries_in, fields_in
from quire.providers.keywords import BY_NAME, INNER, LISTED

_REF = "$ref"
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def step(name: str) -> str:
    """A name as a step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


class Moves:
    """What was moved within a schema, from one place to another."""

    def __init__(self) -> None:
        self._moved: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._moved)

    def add(self, place: str, other: str) -> None:
        """Note that what was at a place is at another now."""
        self._moved.append((place, other))

    def followed(self, pointer: str) -> str:
        """Where a pointer leads to now; what moved first holds what moved later, by its new place."""
        plain = _unescaped(pointer)
        for place, other in self._moved:
            if plain == place or plain.startswith(f"{place}/"):
                plain = pointer = other + plain[len(place) :]
        return pointer


def set_right(schema: Json, moves: Moves) -> bool:
    """Let each pointer lead to where things are now; whether one led nowhere, and was left out."""
    lost, seen = False, set[int]()
    for inner in schemas_in(schema):
        pointer = inner.get(_REF)
        # One object may stand in two places, and is set right once.
        if not isinstance(pointer, str) or not pointer.startswith("#/") or id(inner) in seen:
            continue
        seen.add(id(inner))
        inner[_REF] = moves.followed(pointer) if moves else pointer
        if not _leads(schema, inner[_REF]):
            del inner[_REF]
            lost = True
    return lost


def schemas_in(value: Any) -> Iterator[Json]:
    """A schema and all within it; true and false are none to look at."""
    if not isinstance(value, dict):
        return
    schema = fields_in(value)
    yield schema
    for key, inner in [*schema.items()]:
        if key in BY_NAME:
            for one in fields_in(inner).values():
                yield from schemas_in(one)
        elif key in LISTED:
            for one in entries_in(inner):
                yield from schemas_in(one)
        elif key in INNER:
            yield from schemas_in(inner)


def _unescaped(pointer: str) -> str:
    """A pointer without the escapes of an address."""
    text = pointer.encode("utf-8", "surrogatepass")
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), text).decode("utf-8", "replace")


def _leads(schema: Json, pointer: str) -> bool:
    found: Any = schema
    for name in _unescaped(pointer).removeprefix("#/").split("/"):
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = (
                entries_in(found)[int(key)] if key.isdecimal() and int(key) < len(entries_in(found)) else None
            )
        else:
            found = fields_in(found).get(key)
        if not isinstance(found, dict | list | bool):
            return False
    return isinstance(found, dict | bool)
