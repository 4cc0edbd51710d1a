"""Walks the schemas of tools at every depth, and finds what is not valid JSON Schema (draft 2020-12)."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from quire.errors import cut
from quire.providers.check.core import Fields, short, type_of
from quire.providers.rules import read_section
from quire.providers.values import Json, entries_in, fields_in


class _Words(msgspec.Struct, rename={"by_name": "by name", "listed": "in a list"}):
    """The keywords of JSON Schema with their types, and the keywords that contain schemas."""

    keywords: dict[str, str]
    by_name: tuple[str, ...]
    listed: tuple[str, ...]
    single: tuple[str, ...]
    types: frozenset[str]


_WORDS = read_section("JSON Schema", _Words)
_CONTAINERS = {
    **dict.fromkeys(_WORDS.by_name, "by name"),
    **dict.fromkeys(_WORDS.listed, "listed"),
    **dict.fromkeys(_WORDS.single, "single"),
}
"""By keyword that contains schemas: whether they are named, in a list, or a single one."""

KEYWORDS = frozenset((*_WORDS.keywords, *_WORDS.single, "type", "const", "dependentRequired")).difference(
    ("title", "description", "$schema", "$id")
)
"""The keywords that restrict a value; titles and descriptions do not."""


def subschemas(schema: Any, path: str = "") -> Iterator[tuple[str, Json]]:
    """A schema and all schemas inside it, with their paths, outer ones first; only those that are objects.

    The caller may change a schema before it takes the next one.
    """
    pending = [(path, schema)]
    while pending:
        place, current = pending.pop()
        if isinstance(current, dict):
            fields = fields_in(current)
            yield place, fields
            pending += reversed([*children(fields, place)])


def children(schema: Json, path: str = "") -> Iterator[tuple[str, Any]]:
    """The schemas directly inside a schema, with their paths; invalid values are included."""
    for key, value in schema.items():
        match _CONTAINERS.get(key):
            case "by name":
                for name, inner in fields_in(value).items():
                    yield f"{path}.{key}.{cut(name)}", inner
            case "listed":
                for index, inner in enumerate(entries_in(value)):
                    yield f"{path}.{key}[{index}]", inner
            case "single":
                yield f"{path}.{key}", value
            case _:
                pass


def schema_errors(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Everything in a schema that is not valid JSON Schema, at any depth: its path and a sentence."""
    for place, inner in subschemas(schema, path):
        for name, value in inner.items():
            expected = _WORDS.keywords.get(name)
            if name == "type" and not _are_types(value):
                yield f"{place}.type", f"there is no type {short(value)}"
            elif expected and not _has_type(value, expected):
                yield f"{place}.{name}", f"must be {expected}, is {type_of(value)}"
        for at, child in children(inner, place):
            if not isinstance(child, dict | bool):
                yield at, f"a schema must be an object or a boolean, this is {type_of(child)}"


def _are_types(value: Any) -> bool:
    kinds = [value] if isinstance(value, str) else entries_in(value)
    return bool(kinds) and all(isinstance(kind, str) and kind in _WORDS.types for kind in kinds)


def _has_type(value: Any, expected: str) -> bool:
    entries = entries_in(value)
    if expected == "a filled list":
        return bool(entries)
    if expected == "a list of different names":
        names = [name for name in entries if isinstance(name, str)]
        return value == names and len(set(names)) == len(names)
    return type_of(value) == expected


def check_schema(tool: Fields, key: str) -> None:
    """Check the schema in a field of a tool, if it has one."""
    for place, error in schema_errors(tool.get(key), tool.at(key)):
        tool.findings.add(place, "tool_schema", error)
    if tool.has(key) and not isinstance(tool.get(key), dict | bool):
        tool.must_be(key, "an object", "tool_schema")


def check_parameters(tool: Fields, key: str, refused: Collection[str] = ()) -> bool:
    """Check that the top of a schema is an object without `refused` keywords; return whether it is."""
    schema = fields_in(tool.get(key))
    if not isinstance(tool.get(key), dict):
        tool.must_be(key, "an object", "tool_schema")
    elif str(schema.get("type")).lower() != "object":
        tool.add(f"{key}.type", "tool_schema", "the schema is not of type object")
    elif wrong := [keyword for keyword in schema if keyword in refused]:
        tool.add(f"{key}.{wrong[0]}", "tool_schema", f"{wrong[0]} at the top of the schema")
    else:
        return True
    return False


def check_arrays(tool: Fields, key: str) -> None:
    """Check that each array in a schema has `items`."""
    for place, schema in subschemas(tool.get(key), tool.at(key)):
        kinds = entries_in(schema.get("type")) or [schema.get("type")]
        if schema.get("items") is None and any(str(kind).lower() == "array" for kind in kinds):
            tool.findings.add(place, "tool_array", "an array without items")
