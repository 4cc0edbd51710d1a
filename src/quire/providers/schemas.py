"""Schemas of arguments as every wire takes them: at the top, one plain object.

A wire that is given another schema refuses the whole request, whatever is asked. So the top is put right
where a definition is read, for all wires alike, and what it says less than before is told. What stands within
is that of `dialects`, and has been through it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from quire.providers.json_values import Json
from quire.providers.pointers import Moves, free_name, pointers_in

EMPTY: Json = {"type": "object", "properties": {}}

_COMBINED = ("allOf", "anyOf", "oneOf")
_VALUES = ("enum", "const", "not")
_SPECIAL = frozenset(("$ref", *_COMBINED, *_VALUES))
_OF_ANY = frozenset(("title", "description", "$defs", "definitions", "$schema", "$id", "$comment"))
_DEEPEST = 8  # definitions that only point to another


class Plain(NamedTuple):
    """A schema of an object, and what it does not say any more, if anything."""

    schema: Json
    lost: str = ""


def plain_object(given: Any, moves: Moves) -> Plain:
    """A schema whose top is an object with properties, as near to the one given as that can be.

    What has another place in it now is added to the moves.
    """
    if _is_plain(given):
        return Plain(given)
    if given is None or given is True:
        return Plain(dict(EMPTY))
    if not isinstance(given, Mapping):
        return Plain(dict(EMPTY), "is no schema")
    schema, lost = _followed(cast(Json, given))
    if not _takes_objects(schema):
        kept = {key: value for key, value in schema.items() if key in _OF_ANY}
        return Plain({**kept, **EMPTY}, "is not one of an object")
    _keep_pointed(schema := {"properties": {}, **schema, "type": "object"}, moves)
    schema, combined = _flattened(schema)
    values = [key for key in _VALUES if key in schema]
    for key in values:
        del schema[key]
    if combined or values:
        lost = f"has {' and '.join((*combined, *values))} at its top"
    return Plain(schema, lost)


def _is_plain(given: Any) -> bool:
    """Whether a schema is one of an object as it is, which most are."""
    if not isinstance(given, dict):
        return False
    schema = cast(Json, given)
    return schema.get("type") == "object" and "properties" in schema and _SPECIAL.isdisjoint(schema)


def _followed(schema: Json) -> tuple[Json, str]:
    """A schema with what its top points to in place of that."""
    lost = ""
    for _ in range(_DEEPEST):
        if "$ref" not in schema:
            return schema, lost
        found = _resolved(schema, schema)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        lost = lost or ("points to what is not there" if found is schema else "")
        schema = beside if found is schema else {**found, **beside}
    return {key: value for key, value in schema.items() if key != "$ref"}, "points to itself"


def _takes_objects(schema: Json) -> bool:
    kind = schema.get("type")
    return kind is None or kind == "object" or (isinstance(kind, list) and "object" in kind)


def _flattened(schema: Json) -> tuple[Json, list[str]]:
    """The schema with the properties of those combined at its top, and how they were combined."""
    plain = dict(schema)
    combined = [(key, plain.pop(key)) for key in _COMBINED if key in plain]
    if not combined:
        return plain, []
    properties = dict(_mapping(plain.get("properties")))
    required = dict.fromkeys(_names(plain.get("required")))
    for key, branches in combined:
        found = [_resolved(branch, schema) for branch in _list(branches)]
        for branch in found:
            properties = {**_mapping(branch.get("properties")), **properties}
        needed = [_names(branch.get("required")) for branch in found]
        if key == "allOf":
            required.update((name, None) for names in needed for name in names)
        elif needed:
            required.update((name, None) for name in needed[0] if all(name in one for one in needed))
    plain["properties"] = properties
    plain["required"] = [name for name in required if name in properties]
    return plain, [key for key, _ in combined]


def _keep_pointed(schema: Json, moves: Moves) -> None:
    """Keep what is combined at the top among the definitions, where something points to it."""
    pointers = pointers_in(schema) if any(key in schema for key in _COMBINED) else ()
    for key in _COMBINED:
        for index, branch in enumerate(_list(schema.get(key))):
            place = f"#/{key}/{index}"
            if any(pointer == place or pointer.startswith(f"{place}/") for pointer in pointers):
                defined = _mapping(schema.get("$defs"))
                name = free_name(f"{key}_{index}", defined)
                schema["$defs"] = {**defined, name: branch}
                moves.add(place, f"#/$defs/{name}")


def _resolved(branch: Any, schema: Mapping[str, Any]) -> Json:
    """A branch, or the definition beside it that it only points to."""
    found = _mapping(branch)
    kind, _, name = str(found.get("$ref", "")).removeprefix("#/").partition("/")
    return _mapping(_mapping(schema.get(kind)).get(name)) or found


def _mapping(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else []


def _names(value: Any) -> list[str]:
    return [name for name in _list(value) if isinstance(name, str)]
