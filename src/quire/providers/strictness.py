"""Which schemas the strict modes of the wires take: both want every object closed, and each knows a part."""

from collections.abc import Iterator
from typing import NamedTuple

from quire.providers.json_values import Json, entries_in, fields_in
from quire.providers.pointers import schemas_in

_OPEN = "an object that takes other properties"
_NOT_OPENAIS = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
        *("prefixItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems"),
        "default",
    )
)
_NOT_ANTHROPICS = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"),
        *("maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties"),
    )
)
_SAYS = frozenset(("type", "anyOf", "$ref", "enum", "const"))


class Refusals(NamedTuple):
    """Why a strict mode refuses a schema, in a few words; empty where it does not."""

    openai: str = ""
    anthropic: str = ""


def refusals(schema: Json) -> Refusals:
    """What the strict mode of OpenAI, and that of Anthropic, refuse in a schema first."""
    found = [*schemas_in(schema)]
    return Refusals(next(_openais(found), ""), next(_anthropics(found), ""))


def _openais(found: list[Json]) -> Iterator[str]:
    for schema in found:
        if is_open(schema):
            yield _OPEN
        if not fields_in(schema.get("properties")).keys() <= {*entries_in(schema.get("required"))}:
            yield "a property that may be left out"
        yield from sorted(_NOT_OPENAIS.intersection(schema))
        if _SAYS.isdisjoint(schema):
            yield "a value of any type"


def _anthropics(found: list[Json]) -> Iterator[str]:
    for schema in found:
        if is_open(schema):
            yield _OPEN
        yield from sorted(_NOT_ANTHROPICS.intersection(schema))
        if schema.get("minItems", 0) > 1:
            yield "minItems above one"


def is_open(schema: Json) -> bool:
    """Whether a schema is one of an object that may have properties beside those it names."""
    kind = schema.get("type")
    is_object = kind == "object" or "object" in entries_in(kind) or "properties" in schema
    return is_object and schema.get("additionalProperties") is not False
