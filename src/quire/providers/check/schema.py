"""Schemas of tools: JSON Schema draft 2020-12 at every depth, and the part of it that strict tools take."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from quire.providers import rules
from quire.providers.check.core import Fields, as_list, as_object, short, type_of

_TYPES = frozenset(("string", "number", "integer", "boolean", "array", "object", "null"))
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_INNER = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_TYPED = ("type", "anyOf", "$ref", "enum", "const")


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
_KEYWORDS: Mapping[str, _Kind] = {
    **dict.fromkeys(_BY_NAME, _OBJECT),
    **dict.fromkeys((*_LISTED, "enum"), _SOME),
    **dict.fromkeys(("title", "description", "pattern", "format", "$ref", "$schema", "$id"), _TEXT),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _FLAG),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _COUNT),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _COUNT),
    "required": (_are_names, "a list of different names"),
}


class Strict(NamedTuple):
    """What one provider takes in the schema of a strict tool."""

    refused: Collection[str]
    formats: Collection[str]
    complete: bool
    """Whether all properties are required and each value has a type, and a $ref has no keyword beside it."""
    finite: bool
    """Whether recursive schemas, a $ref inside allOf and enums of objects are refused."""


OPENAI_STRICT = Strict(
    rules.OPENAI_STRICT_REFUSED.accepted, rules.OPENAI_STRICT_FORMATS.accepted, complete=True, finite=False
)
ANTHROPIC_STRICT = Strict(
    rules.ANTHROPIC_STRICT_REFUSED.accepted,
    rules.ANTHROPIC_STRICT_FORMATS.accepted,
    complete=False,
    finite=True,
)


def subschemas(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A schema and everything that stands for a schema within it, with paths."""
    yield path, schema
    values = as_object(schema) or {}
    for key in _BY_NAME:
        for name, inner in (as_object(values.get(key)) or {}).items():
            yield from subschemas(inner, f"{path}.{key}.{name}")
    for key in _LISTED:
        for index, inner in enumerate(as_list(values.get(key)) or ()):
            yield from subschemas(inner, f"{path}.{key}[{index}]")
    for key in _INNER:
        if key in values:
            yield from subschemas(values[key], f"{path}.{key}")


def schema_errors(schema: Any, path: str) -> Iterator[tuple[str, str]]:
    """What in a schema is not as JSON Schema has it, at any depth: a path and a sentence each."""
    for place, value in subschemas(schema, path):
        values = as_object(value)
        if values is None:
            if not isinstance(value, bool):
                yield place, f"a schema is an object or a boolean, this is {type_of(value)}"
            continue
        if "type" in values and (error := _type_error(values["type"])):
            yield f"{place}.type", error
        for name, (holds, wanted) in _KEYWORDS.items():
            if name in values and not holds(values[name]):
                yield f"{place}.{name}", f"must be {wanted}, is {type_of(values[name])}"


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
    if tool.has(key):
        for place, error in schema_errors(tool.get(key), tool.at(key)):
            tool.findings.add(place, "tool_schema", error)


def check_arrays(tool: Fields, key: str) -> None:
    """Check that each array in a schema has `items`."""
    for place, value in subschemas(tool.get(key), tool.at(key)):
        schema = as_object(value) or {}
        kinds = as_list(schema.get("type")) or (schema.get("type"),)
        if schema.get("items") is None and any(isinstance(k, str) and k.lower() == "array" for k in kinds):
            tool.findings.add(place, "tool_array", "an array without items")


def check_strict(tool: Fields, key: str, strict: Strict) -> None:
    """Check the schema of a tool against what strict tools take, if the tool is strict."""
    if tool.get("strict") is not True:
        return
    for place, value in subschemas(tool.get(key), tool.at(key)):
        for where, text in _strict_errors(place, as_object(value) or {}, strict):
            tool.findings.add(where, "tool_strict", f"{text} in a strict tool")
    if strict.finite and _is_recursive(tool.get(key), tool.get(key), frozenset("#"), set()):
        tool.add(key, "tool_strict", "the schema must not be recursive in a strict tool")


def _strict_errors(place: str, schema: Mapping[str, Any], strict: Strict) -> Iterator[tuple[str, str]]:
    kind = schema.get("type")
    is_object = "object" in (as_list(kind) or (kind,)) or "properties" in schema
    if is_object and schema.get("additionalProperties") is not False:
        yield place, "additionalProperties must be false"
    for name in strict.refused:
        if name in schema:
            yield f"{place}.{name}", f"{name} is refused"
    if isinstance(schema.get("format"), str) and schema["format"] not in strict.formats:
        yield f"{place}.format", "the format is not supported"
    pointer = schema.get("$ref")
    if isinstance(pointer, str) and pointer != "#" and not pointer.startswith("#/"):
        yield f"{place}.$ref", "a $ref must point into the schema"
    if strict.complete:
        yield from _incomplete(place, schema)
    if strict.finite and any("$ref" in (as_object(one) or {}) for one in as_list(schema.get("allOf")) or ()):
        yield f"{place}.allOf", "a $ref inside allOf is refused"
    if strict.finite and any(isinstance(one, dict | list) for one in as_list(schema.get("enum")) or ()):
        yield f"{place}.enum", "an enum must have plain values"


def _incomplete(place: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not schema and place.endswith(".additionalProperties"):
        return  # false, which is the schema of no value
    required = as_list(schema.get("required")) or ()
    missing = sum(name not in required for name in as_object(schema.get("properties")) or {})
    if missing:
        yield place, f"all properties must be required, {missing} are not,"
    if not any(name in schema for name in _TYPED):
        yield place, "each value must have a type"
    pointer = schema.get("$ref")
    if isinstance(pointer, str) and (pointer == "#" or pointer.startswith("#/")) and len(schema) > 1:
        yield place, f"a $ref must stand alone, {len(schema) - 1} keywords are beside it,"


def _is_recursive(root: Any, schema: Any, entered: frozenset[str], done: set[str]) -> bool:
    """Whether pointers within a schema lead back to one of those that were entered."""
    for _, value in subschemas(schema, ""):
        pointer = (as_object(value) or {}).get("$ref")
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            continue
        if pointer in entered:
            return True
        if pointer not in done:
            done.add(pointer)
            if _is_recursive(root, _target(root, pointer), entered | {pointer}, done):
                return True
    return False


def _target(schema: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        entries = as_list(schema)
        if entries is None:
            schema = (as_object(schema) or {}).get(key)
        else:
            schema = entries[int(key)] if key.isdecimal() and int(key) < len(entries) else None
    return schema
