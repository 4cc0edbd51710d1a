"""Schemas in JSON Schema: types that it has, wherever a schema stands within another."""

from collections.abc import Iterator
from typing import Any

from quire.providers.checking.reading import Fields, as_list, as_object, short

TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER = ("items", "additionalProperties", "not")
_DEEPEST = 50  # levels that are looked at: a schema may hold itself


def check_types(tool: Fields, key: str) -> None:
    """Note the first type in a schema that JSON Schema does not have, such as one in capitals."""
    for place, schema in _schemas(tool.at(key), tool.get(key), _DEEPEST):
        kind = schema.get("type")
        for name in as_list(kind) or (kind,):
            if isinstance(name, str) and name not in TYPES:
                tool.findings.add(f"{place}.type", "tool_schema", f"no type is called {short(name)}")
                return


def _schemas(place: str, value: Any, levels: int) -> Iterator[tuple[str, Any]]:
    schema = as_object(value)
    if schema is None or not levels:
        return
    yield place, schema
    for key in _BY_NAME:
        for name, inner in (as_object(schema.get(key)) or {}).items():
            yield from _schemas(f"{place}.{key}.{name}", inner, levels - 1)
    for key in _LISTED:
        for index, inner in enumerate(as_list(schema.get(key)) or ()):
            yield from _schemas(f"{place}.{key}[{index}]", inner, levels - 1)
    for key in _INNER:
        yield from _schemas(f"{place}.{key}", schema.get(key), levels - 1)
