"""Schemas in JSON Schema: keywords hold what its draft 2020-12 says, wherever one stands in another."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quire.providers.checking.reading import Fields, as_list, as_object, short, type_of

TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_DEEPEST = 50  # levels that are looked at: a schema may hold itself


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value % 1 == 0


def _are_names(value: object) -> bool:
    names = as_list(value)
    return names is not None and all(isinstance(name, str) for name in names) and len({*names}) == len(names)


_Kind = tuple[Callable[[Any], bool], str]
_OBJECT: _Kind = (lambda value: as_object(value) is not None, "an object")
_SOME: _Kind = (lambda value: bool(as_list(value)), "a list that is not empty")
_TEXT: _Kind = (lambda value: isinstance(value, str), "a string")
_FLAG: _Kind = (lambda value: isinstance(value, bool), "a boolean")
_NUMBER: _Kind = (_is_number, "a number")
_COUNT: _Kind = (_is_count, "a whole number from zero on")
_HOLDS: Mapping[str, _Kind] = {
    **dict.fromkeys(_BY_NAME, _OBJECT),
    **dict.fromkeys((*_LISTED, "enum"), _SOME),
    **dict.fromkeys(("title", "description", "pattern", "format", "$ref", "$schema", "$id"), _TEXT),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _FLAG),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _COUNT),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _COUNT),
    "required": (_are_names, "a list of different names"),
}


def check_within(tool: Fields, key: str) -> None:
    """Note what in a schema is not as JSON Schema has it, such as a type in capitals, at any depth."""
    for place, value in each_schema(tool, key):
        schema = as_object(value)
        if schema is None:
            if not isinstance(value, bool):
                text = f"a schema is an object or a boolean, this is {type_of(value)}"
                tool.findings.add(place, "tool_schema", text)
            continue
        _check_type(tool, place, schema)
        for name, (holds, wanted) in _HOLDS.items():
            if name in schema and not holds(schema[name]):
                text = f"must be {wanted}, is {type_of(schema[name])}"
                tool.findings.add(f"{place}.{name}", "tool_schema", text)


def check_arrays(tool: Fields, key: str) -> None:
    """Note each array in a schema that does not say what it holds."""
    for place, value in each_schema(tool, key):
        schema = as_object(value) or {}
        named = as_list(schema.get("type")) or (schema.get("type"),)
        kinds = [kind.lower() for kind in named if isinstance(kind, str)]
        if "array" in kinds and schema.get("items") is None:
            tool.findings.add(place, "tool_array", "an array without items")


def each_schema(tool: Fields, key: str) -> Iterator[tuple[str, Any]]:
    """A schema and all that stands for one within it, with their places; nothing where none is given."""
    if tool.get(key) is not None:
        yield from _within(tool.at(key), tool.get(key), _DEEPEST)


def _within(place: str, value: Any, levels: int) -> Iterator[tuple[str, Any]]:
    yield place, value
    for key, inner in _inner(as_object(value) or {}) if levels > 1 else ():
        yield from _within(f"{place}.{key}", inner, levels - 1)


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _BY_NAME:
        for name, inner in (as_object(schema.get(key)) or {}).items():
            yield f"{key}.{name}", inner
    for key in _LISTED:
        for index, inner in enumerate(as_list(schema.get(key)) or ()):
            yield f"{key}[{index}]", inner
    for key in _INNER:
        if key in schema:
            yield key, schema[key]


def _check_type(tool: Fields, place: str, schema: Mapping[str, Any]) -> None:
    if "type" not in schema:
        return
    kind = schema["type"]
    kinds = as_list(kind)
    for name in (kind,) if kinds is None else kinds:
        if not isinstance(name, str) or name not in TYPES:
            tool.findings.add(f"{place}.type", "tool_schema", f"no type is called {short(name)}")
            return
    if kinds is not None and (not kinds or len({*kinds}) < len(kinds)):
        tool.findings.add(f"{place}.type", "tool_schema", "must name types, each once")
