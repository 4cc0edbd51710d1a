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
OPENAIS_OWN: dict[str, tuple[Any, str]] = {
    "a choice": ({"type": "object", "properties": QUERY, "enum": [{}]}, "enum"),
    "all but one": ({"type": "object", "properties": QUERY, "not": {}}, "not"),
}
GOOD: list[Any] = [
    {"type": "object", "properties": {"type": {"type": "string", "enum": ["STRING"]}}},
    {"type": "object", "properties": {"OBJECT": {"type": ["string", "null"], "default": {"type": "X"}}}},
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


@pytest.mark.parametrize("case", OPENAIS_OWN)
@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_openai_takes_no_choices_at_the_top(wire: str, case: str) -> None:
    schema, place = OPENAIS_OWN[case]
    assert faults(wire, schema) == [(f"{PLACES[wire]}.{place}", "tool_schema")]


@pytest.mark.parametrize("schema", GOOD)
@pytest.mark.parametrize("wire", PLACES)
def test_what_only_looks_like_a_type_is_none(wire: str, schema: Any) -> None:
    assert faults(wire, schema) == []
