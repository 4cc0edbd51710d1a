"""Which schemas the strict modes of the wires take: both want every object closed, and each knows a part."""

from collections.abc import Iterator
from typing import NamedTuple

from quire.providers.json_values import Json, entries_in, fields_in
from quire.providers.patterns import is_simple
from quire.providers.pointers import is_recursive, leads_out, schemas_in, within

_OPEN = "an object that takes other properties"
_ELSEWHERE = "a pointer to elsewhere"
_ANY = "a value of any type"
_NOT_OPENAIS = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
        *("prefixItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems"),
        "default",
    )
)
_ANTHROPICS = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "minItems", "enum", "const"),
        *("anyOf", "allOf", "$ref", "$defs", "definitions", "pattern", "format", "default"),
        *("title", "description", "examples", "$schema", "$id", "$comment", "deprecated"),
    )
)
"""What Anthropic's strict mode is documented to take; it was seen to refuse most of the rest."""
_OPENAIS_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
_ANTHROPICS_FORMATS = _OPENAIS_FORMATS | {"uri"}
_SAYS = frozenset(("type", "anyOf", "$ref", "enum", "const"))


class Weight(NamedTuple):
    """What is limited in a request: strict tools, what may be left out of them, values of several types."""

    tools: int = 1
    optional: int = 0
    unions: int = 0


class Refusals(NamedTuple):
    """Why a strict mode refuses a schema, in a few words, empty where it does not; and how much one takes."""

    openai: str = ""
    anthropic: str = ""
    weight: Weight = Weight()


def refusals(schema: Json) -> Refusals:
    """What the strict mode of OpenAI, and that of Anthropic, refuse in a schema first."""
    found = [*schemas_in(schema)]
    return Refusals(next(_openais(found), ""), next(_anthropics(found), ""), _weight(found))


def _openais(found: list[Json]) -> Iterator[str]:
    for schema in found:
        if is_open(schema):
            yield _OPEN
        if _optional(schema):
            yield "a property that may be left out"
        yield from sorted(_NOT_OPENAIS.intersection(schema))
        if _SAYS.isdisjoint(schema) or _holds_flags(schema):
            yield _ANY
        if leads_out(schema):
            yield _ELSEWHERE
        if "$ref" in schema and len(schema) > 1:
            yield "something beside a pointer"
        if "format" in schema and schema["format"] not in _OPENAIS_FORMATS:
            yield "a format that strict tools do not have"


def _anthropics(found: list[Json]) -> Iterator[str]:
    for schema in found:
        if is_open(schema):
            yield _OPEN
        yield from sorted(schema.keys() - _ANTHROPICS)
        yield from _not_anthropics(schema)
        if leads_out(schema):
            yield _ELSEWHERE
        if not is_simple(schema.get("pattern", "")):
            yield "a pattern that looks around or back"
        if "format" in schema and schema["format"] not in _ANTHROPICS_FORMATS:
            yield "a format that strict tools do not have"
    if is_recursive(found[0]):
        yield "a schema that holds itself"


def _not_anthropics(schema: Json) -> Iterator[str]:
    """What Anthropic's strict mode does not take of the keywords that it knows."""
    if (_SAYS.isdisjoint(schema) and "allOf" not in schema) or _holds_flags(schema):
        yield _ANY
    if schema.get("minItems", 0) > 1:
        yield "minItems above one"
    if any("$ref" in fields_in(inner) for inner in entries_in(schema.get("allOf"))):
        yield "allOf with a pointer"
    if any(isinstance(value, dict | list) for value in entries_in(schema.get("enum"))):
        yield "an enum of objects"


def _weight(found: list[Json]) -> Weight:
    unions = ("anyOf" in schema or isinstance(schema.get("type"), list) for schema in found)
    return Weight(1, sum(map(_optional, found)), sum(unions))


def _optional(schema: Json) -> int:
    """How many properties may be left out."""
    return len(fields_in(schema.get("properties")).keys() - {*entries_in(schema.get("required"))})


def _holds_flags(schema: Json) -> bool:
    """Whether true or false stands for a schema in it."""
    return any(isinstance(inner, bool) for key, inner in within(schema) if key != "additionalProperties")


def is_open(schema: Json) -> bool:
    """Whether a schema is one of an object that may have properties beside those it names."""
    kind = schema.get("type")
    is_object = kind == "object" or "object" in entries_in(kind) or "properties" in schema
    return is_object and schema.get("additionalProperties") is not False
