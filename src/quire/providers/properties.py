"""Properties under other names, for a wire that takes none but plain ones: Anthropic's refuses the request.

It looks at those at the top of a schema only. Which name stands for which depends on the names alone, so that
a tool is written alike at every turn.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from quire.providers.json_values import Json, entries_in, fields_in, own_copy
from quire.providers.names import Names, alphabet
from quire.providers.pointers import Moves, free_name, schemas_in, set_right, step, within

_NAMES = alphabet(64, r"[a-zA-Z0-9_.-]")
_LISTS = ("required", "propertyOrdering")
_BY_PROPERTY = ("properties", "dependentRequired", "dependentSchemas")
_OF_THE_SAME = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"))
_OF_THE_DOCUMENT = frozenset(("$defs", "definitions", "$schema", "$id"))

Renaming = Mapping[str, str]
"""The wire's names of properties, by their own."""


class Narrow(NamedTuple):
    """A schema with plain names alone, and which of them stand for others."""

    schema: Json
    names: Renaming


def narrowed(schema: Mapping[str, Any]) -> Narrow | None:
    """The schema with plain names; none where it has no others, as most have not."""
    names = fields_in(schema.get("properties"))
    given = Names(_NAMES, unique=False)
    for name in sorted(names, key=lambda name: not _NAMES.takes(name)):  # who may keep a name, keeps it
        given.give(name)
    found = {own: name for name, own in given.originals().items()}
    return Narrow(_renamed_schema(schema, found), found) if found else None


def renamed(fields: Mapping[str, Any], names: Renaming) -> Json:
    """An object with other names for some of its fields, in the order they had."""
    return {names.get(name, name): value for name, value in fields.items()}


def _renamed_schema(schema: Mapping[str, Any], names: Renaming) -> Json:
    """A schema with other names for properties, wherever it speaks of them."""
    moves, written = Moves(), fields_in(own_copy(schema))
    _keep_whole(written)
    _rename(written, names)
    for own, name in names.items():
        for key in ("properties", "dependentSchemas"):
            moves.add(f"#/{key}/{step(own)}", f"#/{key}/{name}")
    set_right(written, moves)
    return written


def _keep_whole(schema: Json) -> None:
    """Let what points to the whole point to a copy of it: below the top all names stay as they are."""
    pointing = [inner for inner in schemas_in(schema) if inner.get("$ref") == "#"]
    if not pointing:
        return
    defined = fields_in(schema.get("$defs"))
    name = free_name("whole", defined)
    for inner in pointing:
        inner["$ref"] = f"#/$defs/{name}"
    whole = {key: own_copy(value) for key, value in schema.items() if key not in _OF_THE_DOCUMENT}
    schema["$defs"] = {**defined, name: whole}


def _rename(schema: Json, names: Renaming) -> None:
    """Rename the properties of an object, also where it is looked at under a condition."""
    for key in _BY_PROPERTY:
        if key in schema:
            schema[key] = renamed(fields_in(schema[key]), names)
    for key in _LISTS:
        if key in schema:
            schema[key] = _listed(schema[key], names)
    if "dependentRequired" in schema:
        found = fields_in(schema["dependentRequired"]).items()
        schema["dependentRequired"] = {name: _listed(others, names) for name, others in found}
    for key, inner in within(schema):
        if key in _OF_THE_SAME:
            _rename(fields_in(inner), names)


def _listed(value: Iterable[Any], names: Renaming) -> list[Any]:
    return [names.get(name, name) for name in entries_in(value)]
