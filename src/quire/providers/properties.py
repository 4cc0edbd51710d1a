"""Properties under other names, for a wire that takes none but plain ones: Anthropic's refuses the request.

It looks at those at the top of a schema only. Which name stands for which depends on the names alone, so that
a tool is written alike at every turn.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from quire.providers.json_values import Json, entries_in, fields_in
from quire.providers.names import Names, alphabet
from quire.providers.pointers import Moves, set_right, step

_NAMES = alphabet(64, r"[a-zA-Z0-9_.-]")
_LISTS = ("required", "propertyOrdering")

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
    moves, written = Moves(), fields_in(_own_copy(schema))
    written["properties"] = renamed(fields_in(written["properties"]), names)
    for key in _LISTS:
        if key in written:
            written[key] = _listed(written[key], names)
    for key in ("dependentRequired", "dependentSchemas"):
        if key in written:
            written[key] = renamed(fields_in(written[key]), names)
    if "dependentRequired" in written:
        found = fields_in(written["dependentRequired"]).items()
        written["dependentRequired"] = {name: _listed(others, names) for name, others in found}
    for own, name in names.items():
        moves.add(f"#/properties/{step(own)}", f"#/properties/{name}")
    set_right(written, moves)
    return written


def _listed(value: Iterable[Any], names: Renaming) -> list[Any]:
    return [names.get(name, name) for name in entries_in(value)]


def _own_copy(value: Any) -> Any:
    """A copy as deep as it goes: the schema is every wire's."""
    if isinstance(value, Mapping):
        return {key: _own_copy(inner) for key, inner in cast(Json, value).items()}
    return [_own_copy(one) for one in entries_in(value)] if isinstance(value, list) else value
