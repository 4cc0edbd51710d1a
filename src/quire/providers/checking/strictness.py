"""Tools that are strict: a provider takes a part of JSON Schema for them, and refuses the rest."""

from collections.abc import Collection

from quire.providers.checking.reading import Fields, as_list, as_object
from quire.providers.checking.schemas import each_schema

_SAYS = ("type", "anyOf", "$ref", "enum", "const")


def check_closed(tool: Fields, key: str, barred: Collection[str]) -> None:
    """Note, of a strict tool, each object that takes other properties, and each keyword that is barred."""
    if tool.get("strict") is not True:
        return
    for place, value in each_schema(tool, key):
        schema = as_object(value) or {}
        kind = schema.get("type")
        is_object = "object" in (as_list(kind) or (kind,)) or "properties" in schema
        if is_object and schema.get("additionalProperties") is not False:
            text = "additionalProperties must be false where a tool is strict"
            tool.findings.add(place, "tool_strict", text)
        for name in barred:
            if name in schema:
                text = f"{name} is not taken where a tool is strict"
                tool.findings.add(f"{place}.{name}", "tool_strict", text)


def check_complete(tool: Fields, key: str) -> None:
    """Note, of a strict tool, properties that may be left out, and values that may be of any type."""
    if tool.get("strict") is not True:
        return
    for place, value in each_schema(tool, key):
        schema = as_object(value)
        if schema is None:
            continue
        required = as_list(schema.get("required")) or ()
        missing = [name for name in as_object(schema.get("properties")) or {} if name not in required]
        if missing:
            text = f"{len(missing)} properties are not required, and all must be where a tool is strict"
            tool.findings.add(place, "tool_strict", text)
        if not any(name in schema for name in _SAYS):
            tool.findings.add(place, "tool_strict", "a value has a type where a tool is strict")
