"""Pointers within a schema: where they lead to after something moved, and whether anything is there."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from quire.providers.json_values import Json, entries_in, fields_in
from quire.providers.keywords import BY_NAME, INNER, LISTED

_REF = "$ref"
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


def step(name: str) -> str:
    """A name as a step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name that is not taken yet."""
    while wanted in taken:
        wanted += "_"
    return wanted


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
    for _, inner in within(schema):
        yield from schemas_in(inner)


def within(schema: Json) -> Iterator[tuple[str, Any]]:
    """What stands for a schema right within one, true and false included, each with its keyword."""
    for key, inner in [*schema.items()]:
        if key in BY_NAME:
            yield from ((key, one) for one in fields_in(inner).values())
        elif key in LISTED:
            yield from ((key, one) for one in entries_in(inner))
        elif key in INNER:
            yield key, inner


def pointers_in(schema: Json) -> set[str]:
    """Where the pointers within a schema lead to, without escapes."""
    pointers = (inner.get(_REF) for inner in schemas_in(schema))
    return {_unescaped(pointer) for pointer in pointers if isinstance(pointer, str)}


def leads_out(schema: Json) -> bool:
    """Whether a schema points to another document, or to what has no place but a name."""
    pointer = schema.get(_REF, "#")
    return pointer != "#" and not pointer.startswith("#/")


def is_recursive(schema: Json) -> bool:
    """Whether a schema holds itself, or holds one that does, by its pointers."""
    led: dict[int, set[int]] = {}
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if id(one) not in led:
            found = [_found(schema, pointer) for pointer in pointers_in(one)]
            targets = [fields_in(target) for target in found if isinstance(target, dict)]
            led[id(one)] = {*map(id, targets)}
            waiting += targets
    return _goes_round(led)


def _goes_round(led: Mapping[int, set[int]]) -> bool:
    """Whether somewhere a way leads back to where it began: then it comes to no end."""
    before: dict[int, list[int]] = {}
    for one, targets in led.items():
        for target in targets:
            before.setdefault(target, []).append(one)
    left = {one: len(targets) for one, targets in led.items()}
    ended = [one for one, count in left.items() if not count]
    for one in ended:  # it grows on the way
        for other in before.get(one, ()):
            left[other] -= 1
            if not left[other]:
                ended.append(other)
    return len(ended) < len(led)


def _unescaped(pointer: str) -> str:
    """A pointer without the escapes of an address."""
    text = pointer.encode("utf-8", "surrogatepass")
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), text).decode("utf-8", "replace")


def _leads(schema: Json, pointer: str) -> bool:
    return isinstance(_found(schema, pointer), dict | bool)


def _found(schema: Json, pointer: str) -> Any:
    """What a pointer leads to; none where nothing is there."""
    if pointer == "#":
        return schema
    found: Any = schema
    for name in _unescaped(pointer).removeprefix("#/").split("/"):
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            entries = entries_in(found)  # pyright: ignore[reportUnknownArgumentType]
            found = entries[int(key)] if key.isdecimal() and int(key) < len(entries) else None
        else:
            found = fields_in(found).get(key)
    return found
