"""Tools that are strict: a provider takes a part of JSON Schema for them, and refuses the rest."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from quire.providers.checking.reading import Fields, as_list, as_object
from quire.providers.checking.schemas import each_schema

_SAYS = ("type", "anyOf", "$ref", "enum", "const")


def each_strict(tool: Fields, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas of a strict tool, with their places; none of one that is not."""
    if tool.get("strict") is True:
        yield from ((place, as_object(value) or {}) for place, value in each_schema(tool, key))


def check_closed(tool: Fields, key: str, barred: Collection[str]) -> None:
    """Note, of a strict tool, each object that takes other properties, and each keyword that is barred."""
    for place, schema in each_strict(tool, key):
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
    for place, schema in each_strict(tool, key):
        # Beside the properties of an object, false is no value's schema but says that there are no more.
        if schema or not place.endswith(".additionalProperties"):
            _check_complete(tool, place, schema)


def _check_complete(tool: Fields, place: str, schema: Mapping[str, Any]) -> None:
    required = as_list(schema.get("required")) or ()
    missing = [name for name in as_object(schema.get("properties")) or {} if name not in required]
    if missing:
        text = f"{len(missing)} properties are not required, and all must be where a tool is strict"
        tool.findings.add(place, "tool_strict", text)
    if not any(name in schema for name in _SAYS):
        tool.findings.add(place, "tool_strict", "a value has a type where a tool is strict")


def check_formats(tool: Fields, key: str, formats: Collection[str]) -> None:
    """Note, of a strict tool, each format that is none of those that strict tools have."""
    for place, schema in each_strict(tool, key):
        if isinstance(schema.get("format"), str) and schema["format"] not in formats:
            text = "there is no such format where a tool is strict"
            tool.findings.add(f"{place}.format", "tool_strict", text)


def check_pointers(tool: Fields, key: str, *, alone: bool) -> None:
    """Note, of a strict tool, each pointer that leads out of its schema, or has to be `alone` and is not."""
    for place, schema in each_strict(tool, key):
        pointer = schema.get("$ref")
        if not isinstance(pointer, str):
            continue
        if pointer != "#" and not pointer.startswith("#/"):
            text = "a $ref leads to a place in the schema where a tool is strict"
            tool.findings.add(f"{place}.$ref", "tool_strict", text)
        elif alone and len(schema) > 1:
            text = f"{len(schema) - 1} keywords beside a $ref, and none is taken where a tool is strict"
            tool.findings.add(place, "tool_strict", text)
