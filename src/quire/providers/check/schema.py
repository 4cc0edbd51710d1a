"""Schemas of tools: the walker, and what is not JSON Schema (draft 2020-12), at every depth."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

from quire.providers.check.core import Fields, as_list, as_object, short, type_of
from quire.providers.values import Json

_TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_NOTES = ("title", "description", "$schema", "$id")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: Any) -> bool:
    names = as_list(value)
    return names is not None and all(isinstance(name, str) for name in names) and len({*names}) == len(names)


_Kind = tuple[Callable[[Any], bool], str]
_OBJECT: _Kind = (lambda value: as_object(value) is not None, "an object")
_SOME: _Kind = (lambda value: bool(as_list(value)), "a list that is not empty")
_TEXT: _Kind = (lambda value: isinstance(value, str), "a string")
_FLAG: _Kind = (lambda value: isinstance(value, bool), "a boolean")
_NUMBER: _Kind = (_is_number, "a number")
_COUNT: _Kind = (
    lambda value: _is_number(value) and value >= 0 and value % 1 == 0,
    "a whole number from zero on",
)
_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(_BY_NAME, _OBJECT),
    **dict.fromkeys((*_LISTED, "enum"), _SOME),
    **dict.fromkeys((*_NOTES, "pattern", "format", "$ref"), _TEXT),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _FLAG),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _COUNT),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _COUNT),
    "required": (_are_names, "a list of different names"),
}

KEYWORDS = frozenset((*_KINDS, *_SINGLE, "type", "const", "dependentRequired")).difference(_NOTES)
"""The keywords that say something about a value; titles, descriptions and examples do not."""


def subschemas(schema: Any, path: str = "") -> Iterator[tuple[str, Json]]:
    """A schema and all schemas within it that are objects, outer ones first, with their paths.

    The caller may change a schema before it asks for the next one.
    """
    if isinstance(schema, Mapping):
        yield path, cast("Json", schema)
        for place, inner in _children(cast("Json", schema), path):
            yield from subschemas(inner, place)


def _children(schema: Json, path: str) -> Iterator[tuple[str, Any]]:
    for key in _BY_NAME:
        for name, inner in (as_object(schema.get(key)) or {}).items():
            yield f"{path}.{key}.{name}", inner
    for key in _LISTED:
        for index, inner in enumerate(as_list(schema.get(key)) or ()):
            yield f"{path}.{key}[{index}]", inner
    for key in _SINGLE:
        if key in schema:
            yield f"{path}.{key}", schema[key]


def schema_errors(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """What in a schema is not as JSON Schema has it, at any depth: a path and a sentence each."""
    for place, inner in subschemas(schema, path):
        if "type" in inner and (error := _type_error(inner["type"])):
            yield f"{place}.type", error
        for name, (holds, wanted) in _KINDS.items():
            if name in inner and not holds(inner[name]):
                yield f"{place}.{name}", f"must be {wanted}, is {type_of(inner[name])}"
        for at, child in _children(inner, place):
            if not isinstance(child, Mapping | bool):
                yield at, f"a schema is an object or a boolean, this is {type_of(child)}"


def _type_error(kind: Any) -> str | None:
    kinds = as_list(kind)
    for name in (kind,) if kinds is None else kinds:
        if not isinstance(name, str) or name not in _TYPES:
            return f"there is no type {short(name)}"
    if kinds is not None and (not kinds or len({*kinds}) < len(kinds)):
        return "must name types, each once"
    return None


def check_schema(tool: Fields, key: str) -> None:
    """Check the schema in a field of a tool, if it has one."""
    schema = as_object(tool.get(key))
    if schema is not None:
        for place, error in schema_errors(schema, tool.at(key)):
            tool.findings.add(place, "tool_schema", error)
    elif tool.has(key) and not isinstance(tool.get(key), bool):
        tool.must_be(key, "an object", "tool_schema")


def check_parameters(
    tool: Fields, key: str, refused: Collection[str] = (), *, is_required: bool = False
) -> bool:
    """Check the top of a schema, which must be that of an object; return whether it is."""
    schema = as_object(tool.get(key))
    if schema is None:
        if is_required or tool.has(key):
            tool.must_be(key, "an object", "tool_schema")
        return False
    union = next((word for word in schema if word in refused), None)
    if (schema or is_required) and str(schema.get("type")).lower() != "object":
        tool.add(f"{key}.type", "tool_schema", "the schema is not of type object")
    elif schema.get("properties") is not None and as_object(schema["properties"]) is None:
        tool.add(f"{key}.properties", "tool_schema", "must be an object")
    elif union is not None:
        tool.add(f"{key}.{union}", "tool_schema", f"{union} at the top of the schema")
    else:
        return True
    return False


def check_arrays(tool: Fields, key: str) -> None:
    """Check that each array in a schema has `items`."""
    for place, schema in subschemas(tool.get(key), tool.at(key)):
        kinds = as_list(schema.get("type")) or (schema.get("type"),)
        if schema.get("items") is None and any(isinstance(k, str) and k.lower() == "array" for k in kinds):
            tool.findings.add(place, "tool_array", "an array without items")
