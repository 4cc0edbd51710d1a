"""Schemas of tools that a provider refuses, and with them every request that has them."""

from typing import Any

import pytest

from quire.providers import check

QUERY = {"q": {"type": "string"}}
NESTED = {"q": {"type": "array", "items": {"anyOf": [{"type": "STRING"}, {"type": "null"}]}}}
BAD: dict[str, tuple[Any, str]] = {
    "no type": ({"properties": QUERY}, "type"),
    "no object": ({"type": "string"}, "type"),
    "an object or nothing": ({"type": ["object", "null"], "properties": QUERY}, "type"),
    "one of several": ({"type": "object", "properties": QUERY, "anyOf": []}, "anyOf"),
    "only a pointer": ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, "type"),
    "a type in capitals": ({"type": "OBJECT", "properties": QUERY}, "type"),
    "a type in capitals within": (
        {"type": "object", "properties": NESTED},
        "properties.q.items.anyOf[0].type",
    ),
}
WITHIN: dict[str, tuple[Any, str]] = {
    "any": ({"type": "any"}, ".type"),
    "a type that is no text": ({"type": 5}, ".type"),
    "no type of several": ({"type": []}, ".type"),
    "one type twice": ({"type": ["string", "string"]}, ".type"),
    "a text": ("number", ""),
    "nothing": (None, ""),
    "a list of items": ({"items": [{"type": "string"}]}, ".items"),
    "no items": ({"items": None}, ".items"),
    "a flag for a bound": ({"minimum": 0, "exclusiveMinimum": True}, ".exclusiveMinimum"),
    "a property that is required": ({"type": "string", "required": True}, ".required"),
    "a name required twice": ({"required": ["b", "b"]}, ".required"),
    "nothing to choose from": ({"enum": []}, ".enum"),
    "no list to choose from": ({"enum": None}, ".enum"),
    "no description": ({"description": None}, ".description"),
    "less than nothing": ({"minLength": -1}, ".minLength"),
    "one of none": ({"anyOf": []}, ".anyOf"),
    "properties in a list": ({"properties": []}, ".properties"),
    "deep down": (
        {"additionalProperties": {"not": {"$defs": {"A": 5}}}},
        ".additionalProperties.not.$defs.A",
    ),
}
OPENAIS_OWN: dict[str, tuple[Any, str]] = {
    "a choice": ({"type": "object", "properties": QUERY, "enum": [{}]}, "enum"),
    "all but one": ({"type": "object", "properties": QUERY, "not": {}}, "not"),
}
GOOD: list[Any] = [
    {"type": "object", "properties": {"type": {"type": "string", "enum": ["STRING"]}}},
    {"type": "object", "properties": {"OBJECT": {"type": ["string", "null"], "default": {"type": "X"}}}},
    {"type": "object", "properties": {"a": True, "b": {"minLength": 2.0, "enum": [None], "nullable": "?"}}},
]


def faults(wire: str, schema: Any) -> list[tuple[str, str]]:
    """The faults of a request that has one tool with a schema."""
    asked = {"role": "user", "content": "hi"}
    flat = {"type": "function", "name": "f", "parameters": schema}
    payloads: dict[str, Any] = {
        "openai": {"messages": [asked], "tools": [{"type": "function", "function": {**flat, "type": None}}]},
        "openai-responses": {"input": [asked], "tools": [flat]},
        "anthropic": {"messages": [asked], "tools": [{"name": "f", "input_schema": schema}]},
    }
    return [(fault.place, fault.rule) for fault in check(payloads[wire], wire)]


PLACES = {
    "openai": "tools[0].function.parameters",
    "openai-responses": "tools[0].parameters",
    "anthropic": "tools[0].input_schema",
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("wire", PLACES)
def test_a_schema_that_is_refused_is_named(wire: str, case: str) -> None:
    schema, place = BAD[case]
    assert faults(wire, schema) == [(f"{PLACES[wire]}.{place}", "tool_schema")]


@pytest.mark.parametrize("case", WITHIN)
@pytest.mark.parametrize("wire", PLACES)
def test_so_is_one_that_stands_within_another(wire: str, case: str) -> None:
    inner, place = WITHIN[case]
    schema = {"type": "object", "properties": {"a": inner}}
    assert faults(wire, schema) == [(f"{PLACES[wire]}.properties.a{place}", "tool_schema")]


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
@pytest.mark.parametrize("kind", ["array", ["string", "array"]])
def test_openai_wants_to_know_what_an_array_holds(wire: str, kind: Any) -> None:
    cases: list[tuple[dict[str, Any], int]] = [({}, 1), ({"prefixItems": [{}]}, 1), ({"items": {}}, 0)]
    for more, expected in cases:
        inner = {"anyOf": [{"type": kind, **more}]}
        found = faults(wire, {"type": "object", "properties": {"a": inner}})
        assert found == [(f"{PLACES[wire]}.properties.a.anyOf[0]", "tool_array")] * expected


@pytest.mark.parametrize("case", OPENAIS_OWN)
@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_openai_takes_no_choices_at_the_top(wire: str, case: str) -> None:
    schema, place = OPENAIS_OWN[case]
    assert faults(wire, schema) == [(f"{PLACES[wire]}.{place}", "tool_schema")]


@pytest.mark.parametrize("schema", GOOD)
@pytest.mark.parametrize("wire", PLACES)
def test_what_only_looks_like_a_type_is_none(wire: str, schema: Any) -> None:
    assert faults(wire, schema) == []
