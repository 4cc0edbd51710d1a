"""Schemas as Google's clients spell them, in the spelling of JSON Schema.

Google's own schemas are a dialect: types in capitals, names with underscores, `nullable`, numbers as text.
Every wire is written in JSON Schema, Gemini's too, so they are put right where they are read. Only keywords
are looked at, where a schema has them: a property that is called `type` is left alone.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from quire.providers.json_values import Json, entries_in, fields_in, is_object
from quire.providers.keywords import BY_NAME, COUNTS, INNER, LISTED, TYPES

_TYPES = {name.upper(): name for name in TYPES}
_UNTYPED = "TYPE_UNSPECIFIED"
_NAMES = {
    **{"any_of": "anyOf", "one_of": "oneOf", "all_of": "allOf", "prefix_items": "prefixItems"},
    **{"min_items": "minItems", "max_items": "maxItems", "min_length": "minLength"},
    **{"max_length": "maxLength", "min_properties": "minProperties", "max_properties": "maxProperties"},
    **{"additional_properties": "additionalProperties", "property_ordering": "propertyOrdering"},
    **{"defs": "$defs", "ref": "$ref"},
}
_NULL = {"type": "null"}
_BOUND = frozenset(("$ref", "allOf", "oneOf", "const"))
_WORDS = frozenset(("title", "description", "default", "examples", "example", "deprecated"))
_DEEPEST = 60  # levels that are looked at
_SIGNS = re.compile(rb'"(?:type":"[A-Z]|type":\["[A-Z]|nullable":|(?:' + "|".join(_NAMES).encode() + rb')":)')


def may_be_googles(schema: bytes) -> bool:
    """Whether there is anything to put right in a schema, by its JSON: most have nothing."""
    return _SIGNS.search(schema) is not None


def respelled(schema: Mapping[str, Any], levels: int = _DEEPEST) -> Json:
    """A schema, and all within it, in the spelling of JSON Schema."""
    found: Json = {}
    for key, value in schema.items():
        name = _NAMES.get(key, key)
        if name not in schema or name == key:
            found[name] = _value(name, value, levels - 1)
    if found.get("type") == _UNTYPED:
        del found["type"]
    if levels == _DEEPEST:
        found.pop("nullable", None)  # the whole is never null
    return _nullable(found)


def _value(name: str, value: Any, levels: int) -> Any:
    if name == "type":
        several = isinstance(value, list)
        return [_type(one) for one in entries_in(value)] if several else _type(value)
    if name in COUNTS and isinstance(value, str) and value.isdecimal():
        return int(value)
    if name in BY_NAME and isinstance(value, Mapping):
        return {key: _inner(inner, levels) for key, inner in cast(Json, value).items()}
    if name in LISTED or (name == "items" and isinstance(value, list)):
        return [_inner(inner, levels) for inner in entries_in(value)] if isinstance(value, list) else value
    return _inner(value, levels) if name in INNER else value


def _inner(value: Any, levels: int) -> Any:
    return respelled(fields_in(value), levels) if is_object(value) and levels else value


def _type(name: Any) -> Any:
    return _TYPES.get(name, name) if isinstance(name, str) else name


def _nullable(schema: Json) -> Json:
    """A schema that says in JSON Schema's way that a value may be null."""
    if not isinstance(schema.get("nullable"), bool):
        return schema
    may_be_null, kind = schema.pop("nullable"), schema.get("type")
    if not may_be_null or kind == "null":
        return schema
    if isinstance(schema.get("anyOf"), list) and not isinstance(kind, str):
        schema["anyOf"] = [*schema["anyOf"], _NULL]
    elif not _BOUND.isdisjoint(schema):
        return _or_null(schema)
    elif kind is not None:
        kinds = entries_in(kind) or [kind]
        schema["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _or_null(schema: Json) -> Json:
    """A schema or null; what is said to people of the one is said of both."""
    words = {key: value for key, value in schema.items() if key in _WORDS}
    rest = {key: value for key, value in schema.items() if key not in _WORDS}
    return {"anyOf": [rest, _NULL], **words}
