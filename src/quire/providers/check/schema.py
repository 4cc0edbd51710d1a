"""Schemas of tools: the walker, and what is not JSON Schema (draft 2020-12), at every depth."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from quire.errors import cut
from quire.providers.check.core import Fields, short, type_of
from quire.providers.rules import read_section
from quire.providers.values import Json, entries_in, fields_in


class _Words(msgspec.Struct, rename={"by_name": "by name", "listed": "in a list"}):
    """The keywords of JSON Schema, with the type of each, and those that hold schemas."""

    keywords: dict[str, str]
    by_name: tuple[str, ...]
    listed: tuple[str, ...]
    single: tuple[str, ...]
    types: frozenset[str]


_WORDS = read_section("JSON Schema", _Words)
_HOLDERS = {
    **dict.fromkeys(_WORDS.by_name, "by name"),
    **dict.fromkeys(_WORDS.listed, "listed"),
    **dict.fromkeys(_WORDS.single, "single"),
}
"""The keywords that hold schemas, and how."""

KEYWORDS = frozenset((*_WORDS.keywords, *_WORDS.single, "type", "const", "dependentRequired")).difference(
    ("title", "description", "$schema", "$id")
)
"""The keywords that say something about a value; titles, descriptions and examples do not."""


def subschemas(schema: Any, path: str = "") -> Iterator[tuple[str, Json]]:
    """A schema and all schemas within it that are objects, outer ones first, with their paths.

    The caller may change a schema before it asks for the next one.
    """
    left = [(path, schema)]
    while left:
        place, one = left.pop()
        if isinstance(one, dict):
            fields = fields_in(one)
            yield place, fields
            left += reversed([*children(fields, place)])


def children(schema: Json, path: str = "") -> Iterator[tuple[str, Any]]:
    """What a schema has right within it where schemas stand, with the paths."""
    for key, held in schema.items():
        match _HOLDERS.get(key):
            case "by name":
                for name, inner in fields_in(held).items():
                    yield f"{path}.{key}.{cut(name)}", inner
            case "listed":
                for index, inner in enumerate(entries_in(held)):
                    yield f"{path}.{key}[{index}]", inner
            case "single":
                yield f"{path}.{key}", held
            case _:
                pass


def schema_errors(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """What in a schema is not as JSON Schema has it, at any depth: a path and a sentence each."""
    for place, inner in subschemas(schema, path):
        for name, value in inner.items():
            wanted = _WORDS.keywords.get(name)
            if name == "type" and not _are_types(value):
                yield f"{place}.type", f"there is no type {short(value)}"
            elif wanted and not _fits(value, wanted):
                yield f"{place}.{name}", f"must be {wanted}, is {type_of(value)}"
        for at, child in children(inner, place):
            if not isinstance(child, dict | bool):
                yield at, f"a schema is an object or a boolean, this is {type_of(child)}"


def _are_types(value: Any) -> bool:
    kinds = [value] if isinstance(value, str) else entries_in(value)
    return bool(kinds) and all(isinstance(kind, str) and kind in _WORDS.types for kind in kinds)


def _fits(value: Any, wanted: str) -> bool:
    entries = entries_in(value)
    if wanted == "a filled list":
        return bool(entries)
    if wanted == "a list of different names":
        names = [name for name in entries if isinstance(name, str)]
        return value == names and len(set(names)) == len(names)
    return type_of(value) == wanted


def check_schema(tool: Fields, key: str) -> None:
    """Check the schema in a field of a tool, if it has one."""
    for place, error in schema_errors(tool.get(key), tool.at(key)):
        tool.findings.add(place, "tool_schema", error)
    if tool.has(key) and not isinstance(tool.get(key), dict | bool):
        tool.must_be(key, "an object", "tool_schema")


def check_parameters(tool: Fields, key: str, refused: Collection[str] = ()) -> bool:
    """Check the top of a schema, which must be that of an object; return whether it is."""
    schema = fields_in(tool.get(key))
    if not isinstance(tool.get(key), dict):
        tool.must_be(key, "an object", "tool_schema")
    elif str(schema.get("type")).lower() != "object":
        tool.add(f"{key}.type", "tool_schema", "the schema is not of type object")
    elif found := [word for word in schema if word in refused]:
        tool.add(f"{key}.{found[0]}", "tool_schema", f"{found[0]} at the top of the schema")
    else:
        return True
    return False


def check_arrays(tool: Fields, key: str) -> None:
    """Check that each array in a schema has `items`."""
    for place, schema in subschemas(tool.get(key), tool.at(key)):
        kinds = entries_in(schema.get("type")) or [schema.get("type")]
        if schema.get("items") is None and any(str(kind).lower() == "array" for kind in kinds):
            tool.findings.add(place, "tool_array", "an array without items")
