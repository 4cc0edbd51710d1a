"""What can be said of a JSON schema before it is sent."""

from collections.abc import Mapping
from typing import Any, cast


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether every object in a schema is closed and wants all of its properties, as OpenAI's strict ones do.

    Such a schema is kept to letter by letter; any other one is only aimed at.
    """
    if schema.get("type") == "object" or "properties" in schema:
        properties = cast("Mapping[str, Any]", schema.get("properties") or {})
        required = cast("list[str]", schema.get("required") or [])
        if schema.get("additionalProperties") is not False or set(properties) != set(required):
            return False
    return all(is_strict(inner) for inner in _inner(schema))


def _inner(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    named = [schema.get(key) for key in ("properties", "$defs", "definitions")]
    values = [value for held in named if isinstance(held, Mapping) for value in _values(held)]
    values += [schema.get("items")]
    values += [
        value for key in ("anyOf", "allOf", "oneOf") for value in cast("list[Any]", schema.get(key) or [])
    ]
    return [cast("Mapping[str, Any]", value) for value in values if isinstance(value, Mapping)]


def _values(held: Any) -> list[Any]:
    return list(cast("Mapping[str, Any]", held).values())
