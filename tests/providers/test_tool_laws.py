"""Laws 13 and 14 of tools: whatever a definition says, no wire finds a fault, and what is lost is noted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message
from quire.providers import PROVIDERS, CachePlan
from quire.providers.spelling import respelled
from tests.providers.conversations import MODELS
from tests.providers.schemas_drawn import FIELDS, SHAPES, WITHIN, toolsets

WIRES = st.sampled_from([(wire, model) for wire, models in MODELS.items() for model in models])
PLANS = st.sampled_from([None, CachePlan(), CachePlan(keep="long")])
ASKED = [Message("system", "Be brief."), Message("user", "Go.")]
TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}


@pytest.mark.laws
@given(toolsets(), WIRES, PLANS)
def test_no_wire_finds_a_fault_in_any_tool(
    tools: list[dict[str, Any]], wire: tuple[str, str | None], plan: CachePlan | None
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    rendered = provider.render(ASKED, model=model, tools=tools, plan=plan)
    assert provider.check(rendered.payload, model) == []
    again = provider.render(ASKED, model=model, tools=tools[::-1], plan=plan)
    assert json.dumps(rendered.payload) == json.dumps(again.payload)


@pytest.mark.laws
@given(st.dictionaries(st.sampled_from("abcd"), WITHIN, min_size=1), WIRES)
def test_a_schema_of_an_object_keeps_all_its_parameters(
    properties: dict[str, Any], wire: tuple[str, str | None]
) -> None:
    tool = {"name": "f", "parameters": {"type": "OBJECT", "properties": properties, "required": ["a"]}}
    rendered = PROVIDERS[wire[0]].render(ASKED[1:], model=wire[1], tools=[tool], strict=True)
    (schema,) = schemas_in(rendered.payload)
    assert schema["properties"].keys() == properties.keys() and schema["required"] == ["a"]
    assert rendered.downgrades == ()


@pytest.mark.laws
@given(SHAPES, FIELDS, WIRES)
def test_each_field_of_a_tool_is_sent_or_noted(
    shape: str, fields: dict[str, Any], wire: tuple[str, str | None]
) -> None:
    inner = {"name": "f", **fields}
    tool: dict[str, Any] = {"type": "function", "function": inner} if shape == "chat" else inner
    rendered = PROVIDERS[wire[0]].render(ASKED, model=wire[1], tools=[tool])
    sent = json.dumps(rendered.payload)
    notes = " ".join(note.reason for note in rendered.downgrades)
    for name in fields:
        assert f'"{name}"' in sent or name in notes or fields[name] is False or "loaded later" in notes


@pytest.mark.laws
@given(WITHIN)
def test_respelling_is_done_once_and_leaves_no_capitals(schema: Any) -> None:
    plain = respelled(schema)
    assert respelled(plain) == plain
    assert {name for name in types_in(plain) if isinstance(name, str)} <= TYPES


def types_in(schema: Any) -> Iterator[Any]:
    """The types that a schema has, and those within it, as JSON Schema reads it."""
    kind = schema.get("type")
    yield from kind if isinstance(kind, list) else [kind]
    for inner in [
        *schema.get("properties", {}).values(),
        *(one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ())),
        *([schema["items"]] if isinstance(schema.get("items"), dict) else []),
    ]:
        yield from types_in(inner)


def schemas_in(payload: dict[str, Any]) -> list[Any]:
    """The schemas of the functions in a payload of any wire."""
    tools = payload.get("tools") or payload["config"]["tools"]
    functions = [one for tool in tools for one in tool.get("function_declarations", [tool])]
    inner = [function.get("function", function) for function in functions]
    keys = ("parameters", "input_schema", "parameters_json_schema")
    return [one[key] for one in inner for key in keys if key in one]


WEATHER = {
    "type": "OBJECT",
    "properties": {
        "city": {"type": "STRING", "nullable": True, "enum": ["A"], "min_length": "1"},
        "days": {"type": "ARRAY", "items": {"type": "INTEGER"}, "min_items": 1, "example": [1]},
        "type": {"any_of": [{"type": "NUMBER"}], "nullable": True},
    },
    "property_ordering": ["city", "days", "type"],
}


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_schema_of_googles_is_one_of_every_wire(wire: str) -> None:
    rendered = PROVIDERS[wire].render(
        ASKED, tools=[{"function_declarations": [{"name": "f", "parameters": WEATHER}]}]
    )
    assert rendered.downgrades == ()
    assert schemas_in(rendered.payload) == [
        {
            "type": "object",
            "properties": {
                "city": {"type": ["string", "null"], "enum": ["A", None], "minLength": 1},
                "days": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "example": [1]},
                "type": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            },
            "propertyOrdering": ["city", "days", "type"],
        }
    ]


MENDED: list[tuple[Any, Any, str]] = [
    (
        {"type": "string", "title": "T"},
        {"title": "T", "type": "object", "properties": {}},
        "not one of an object",
    ),
    (
        {"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        {"type": "object", "properties": {"b": {}, "a": {}}, "required": []},
        "oneOf at its top",
    ),
    ({"properties": {"a": {}}, "enum": [1]}, {"type": "object", "properties": {"a": {}}}, "enum at its top"),
    (
        {"$ref": "#/$defs/Z", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {}}},
        "not there",
    ),
    ("object", {"type": "object", "properties": {}}, "no schema"),
]


@pytest.mark.parametrize(("given_schema", "written", "reason"), MENDED)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_a_schema_says_no_more_is_noted(wire: str, given_schema: Any, written: Any, reason: str) -> None:
    tool = {"name": "f", "parameters": given_schema, "strict": True}
    rendered = PROVIDERS[wire].render(ASKED, tools=[tool])
    (note,) = [note for note in rendered.downgrades if note.change == "schema_mended"]
    assert reason in note.reason and "strict no more" in note.reason
    assert schemas_in(rendered.payload) in ([written], [])
    assert '"strict": true' not in json.dumps(rendered.payload)


POINTED = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"q": {"type": "string"}}}}}


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("schema", [POINTED, {"additionalProperties": {"type": "string"}}])
def test_what_can_be_said_in_another_way_is_said(wire: str, schema: Any) -> None:
    rendered = PROVIDERS[wire].render(ASKED, tools=[{"name": "f", "parameters": schema}])
    (written,) = schemas_in(rendered.payload)
    assert written["type"] == "object" and rendered.downgrades == ()
    assert "q" in written["properties"] or written["additionalProperties"] == {"type": "string"}


OWN: dict[str, dict[str, Any]] = {
    "anthropic": {
        **{"name": "f", "input_schema": {"type": "object", "properties": {}}, "defer_loading": False},
        **{"input_examples": [{"a": 1}], "allowed_callers": ["direct"], "eager_input_streaming": True},
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    },
    "openai-responses": {
        **{"type": "function", "name": "f", "strict": True, "defer_loading": True},
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "gemini": {
        **{"name": "f", "parameters_json_schema": {"type": "object", "properties": {"q": {}}}},
        **{"behavior": "NON_BLOCKING", "response_json_schema": {"type": "string"}},
    },
}


@pytest.mark.parametrize("owner", OWN)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_is_said_beside_a_tool_goes_to_its_own_wire_and_is_noted_elsewhere(
    wire: str, owner: str
) -> None:
    rendered = PROVIDERS[wire].render(ASKED, tools=[OWN[owner]])
    tools = rendered.payload.get("tools") or rendered.payload["config"]["tools"]
    if wire == owner:
        assert (tools[0].get("function_declarations") or tools) == [OWN[owner]]
        assert rendered.downgrades == ()
    else:
        assert [note.change for note in rendered.downgrades] == ["fields_left_out"]


def test_with_a_plan_the_marks_are_those_of_the_plan() -> None:
    tool = OWN["anthropic"]
    rendered = PROVIDERS["anthropic"].render(ASKED, tools=[tool], plan=CachePlan())
    assert rendered.payload["tools"][0]["cache_control"] == {"type": "ephemeral"}
    assert [note.change for note in rendered.downgrades] == ["fields_left_out"]


def test_a_tool_that_is_loaded_later_carries_no_mark() -> None:
    later = {**OWN["anthropic"], "name": "z", "defer_loading": True}
    for plan in (None, CachePlan()):
        first, last = (
            PROVIDERS["anthropic"].render(ASKED, tools=[later, OWN["anthropic"]], plan=plan).payload["tools"]
        )
        assert "cache_control" in first and "cache_control" not in last
    alone = PROVIDERS["anthropic"].render(ASKED, tools=[later])
    assert "cache_control" not in alone.payload["tools"][0]
    assert [note.change for note in alone.downgrades] == ["fields_left_out"]


NULLABLE: list[tuple[Any, Any]] = [
    ({"$ref": "#/properties/b"}, {"anyOf": [{"$ref": "#/properties/b"}, {"type": "null"}]}),
    ({"allOf": [{"type": "string"}]}, {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
    (
        {"type": "OBJECT", "allOf": [{"required": ["x"]}]},
        {"anyOf": [{"type": "object", "allOf": [{"required": ["x"]}]}, {"type": "null"}]},
    ),
    ({"enum": ["x"]}, {"enum": ["x", None]}),
    ({"const": "x"}, {"anyOf": [{"const": "x"}, {"type": "null"}]}),
    ({"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
    ({}, {}),
]


@pytest.mark.parametrize(("given_schema", "written"), NULLABLE)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_whatever_may_be_null_still_may(wire: str, given_schema: Any, written: Any) -> None:
    inner = {**given_schema, "nullable": True, "description": "d"}
    schema = {"type": "object", "properties": {"a": inner, "b": {"type": "string"}}, "nullable": True}
    rendered = PROVIDERS[wire].render(ASKED, tools=[{"name": "f", "parameters": schema}])
    (found,) = schemas_in(rendered.payload)
    assert found["properties"]["a"] == {**written, "description": "d"} and found["type"] == "object"
    assert rendered.downgrades == ()


@pytest.mark.parametrize("wire", PROVIDERS)
def test_pointers_into_what_was_combined_at_the_top_still_lead_there(wire: str) -> None:
    one = {"type": "object", "properties": {"x": {"type": "integer"}, "n": {"$ref": "#/anyOf/0"}}}
    other = {"type": "object", "properties": {"y": {"$ref": "#/anyOf/0/properties/x"}}}
    rendered = PROVIDERS[wire].render(ASKED, tools=[{"name": "f", "parameters": {"anyOf": [one, other]}}])
    (found,) = schemas_in(rendered.payload)
    head = "#/$defs/anyOf_0"
    assert found["properties"]["y"] == {"$ref": f"{head}/properties/x"}
    assert found["properties"]["n"] == {"$ref": head}
    assert found["$defs"] == {
        "anyOf_0": {"type": "object", "properties": {"x": {"type": "integer"}, "n": {"$ref": head}}}
    }
    (note,) = rendered.downgrades
    assert "not there" not in note.reason
