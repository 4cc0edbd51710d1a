"""What stands within a schema: other spellings and older drafts are put right at any depth, and noted."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message
from quire.providers import PROVIDERS, parameters
from quire.state import Transcript
from tests.providers.schemas_drawn import FLAWED, WITHIN
from tests.providers.test_tool_laws import WIRES, schemas_in

ASKED = [Message("user", "Go.")]


def tool(schema: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}}


def written(wire: str, schema: Any) -> tuple[Any, list[str]]:
    """The property as a wire has it, and what was noted."""
    rendered = PROVIDERS[wire].render(ASKED, tools=[tool(schema)], strict=True)
    assert PROVIDERS[wire].check(rendered.payload) == []
    (found,) = schemas_in(rendered.payload)
    return found["properties"]["a"], [str(note) for note in rendered.downgrades]


@pytest.mark.laws
@given(FLAWED, WIRES)
def test_no_wire_finds_a_fault_below_the_top(schema: Any, wire: tuple[str, str | None]) -> None:
    rendered = PROVIDERS[wire[0]].render(ASKED, model=wire[1], tools=[tool(schema)], strict=True)
    assert PROVIDERS[wire[0]].check(rendered.payload, wire[1]) == []


@pytest.mark.laws
@given(FLAWED, WIRES)
def test_what_was_mended_needs_no_mending(schema: Any, wire: tuple[str, str | None]) -> None:
    first = PROVIDERS[wire[0]].render(ASKED, model=wire[1], tools=[tool(schema)])
    for found in schemas_in(first.payload):
        again = PROVIDERS[wire[0]].render(
            ASKED, model=wire[1], tools=[{"name": "f", "parameters": found}], strict=True
        )
        assert schemas_in(again.payload) == [found] and again.downgrades == ()


@pytest.mark.laws
@given(st.one_of(WITHIN, FLAWED), WIRES)
def test_a_schema_is_the_same_to_the_letter_at_every_turn(schema: Any, wire: tuple[str, str | None]) -> None:
    transcript, sent = Transcript(ASKED), set[str]()
    for _ in range(3):
        rendered = PROVIDERS[wire[0]].render(transcript.view, model=wire[1], tools=[tool(schema)])
        anew = PROVIDERS[wire[0]].render([*transcript.view], model=wire[1], tools=[tool(schema)])
        sent |= {json.dumps(schemas_in(one.payload)) for one in (rendered, anew)}
        transcript.append(Message("user", "more"))
    assert len(sent) == 1


ANYTHING: dict[str, Any] = {}
MENDED: dict[str, tuple[Any, Any, str]] = {
    "any": ({"type": "any", "title": "T"}, {"title": "T"}, "'any'"),
    "float": ({"type": "float"}, {"type": "number"}, "'float'"),
    "a date": ({"type": "date"}, {"type": "string", "format": "date"}, "'date'"),
    "one of several": ({"type": ["int", "null"]}, {"type": ["integer", "null"]}, "'int'"),
    "one of several, or anything": ({"type": ["string", "mixed"]}, ANYTHING, "'mixed'"),
    "a text for a schema": ("number", {"type": "number"}, "a text"),
    "words for a schema": ("the city", {"description": "the city"}, "a text"),
    "nothing for a schema": (None, ANYTHING, "no schema"),
    "an array of nothing": ({"type": "array"}, {"type": "array", "items": {}}, "without items"),
    "an array or nothing": (
        {"type": ["array", "null"]},
        {"type": ["array", "null"], "items": {}},
        "without items",
    ),
    "places alone": (
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 2},
        {
            **{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 2},
            "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "without items",
    ),
    "a list of items": (
        {"type": "array", "items": [{"type": "int"}], "additionalItems": {"$ref": "#/properties/a/items/0"}},
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}],
            "items": {"$ref": "#/properties/a/prefixItems/0"},
        },
        "a list of items",
    ),
    "an exclusive bound": (
        {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        {"type": "integer", "exclusiveMinimum": 0},
        "exclusiveMinimum",
    ),
    "nothing to choose from": ({"type": "string", "enum": []}, {"type": "string"}, "enum"),
    "no list to choose from": ({"type": "string", "enum": None}, {"type": "string"}, "enum"),
    "dependencies": (
        {"dependencies": {"b": ["c"], "c": {"type": "dict"}}},
        {"dependentRequired": {"b": ["c"]}, "dependentSchemas": {"c": {"type": "object"}}},
        "dependencies",
    ),
    "a pointer to nowhere": (
        {"$ref": "#/$defs/Nope", "title": "T"},
        {"title": "T"},
        "a pointer to what is not there",
    ),
}


@pytest.mark.parametrize("case", MENDED)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_is_mended_within_is_noted(wire: str, case: str) -> None:
    schema, expected, reason = MENDED[case]
    found, (note,) = written(wire, schema)
    assert found == expected
    assert reason in note and "schema_mended" in note


def held(inner: Any) -> list[Any]:
    """A schema in each of some places."""
    deep = {"type": "object", "properties": {"b": inner}}
    return [
        {"type": "array", "items": inner},
        {"anyOf": [{"type": "null"}, inner]},
        {"type": "object", "additionalProperties": deep},
        {"$defs": {"A": {"not": inner}}},
    ]


# A pointer leads to its place, and null is no keyword's value.
MOVABLE = [case for case, (schema, _, _) in MENDED.items() if schema and "$ref" not in json.dumps(schema)]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("case", MOVABLE)
def test_it_is_mended_wherever_it_stands(wire: str, case: str) -> None:
    schema, expected, _ = MENDED[case]
    for given_schema, written_schema in zip(held(schema), held(expected), strict=True):
        assert written(wire, given_schema)[0] == written_schema


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_property_that_says_itself_that_it_is_required_is_in_the_list(wire: str) -> None:
    inner = {
        "type": "object",
        "properties": {"b": {"type": "string", "required": True}, "c": {"required": False}},
    }
    found, (note,) = written(wire, inner)
    assert found == {"type": "object", "properties": {"b": {"type": "string"}, "c": {}}, "required": ["b"]}
    assert "required" in note


@pytest.mark.parametrize("wire", PROVIDERS)
def test_an_object_by_another_name_keeps_its_properties_at_the_top(wire: str) -> None:
    given_tool = {"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "str"}}}}
    rendered = PROVIDERS[wire].render(ASKED, tools=[given_tool])
    assert schemas_in(rendered.payload) == [{"type": "object", "properties": {"a": {"type": "string"}}}]
    assert [note.change for note in rendered.downgrades] == ["schema_mended"]


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("levels", [100, 400])
def test_what_nests_too_deeply_is_cut_off_and_noted(wire: str, levels: int) -> None:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    found, (note,) = written(wire, schema)
    assert json.dumps(found).count("array") < 100 and "deep" in note


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_schema_is_walked_once_for_each_definition(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Any] = []
    real = parameters.understood

    def counting(given_schema: Any, *rest: Any) -> Any:
        walked.append(given_schema)
        return real(given_schema, *rest)

    monkeypatch.setattr(parameters, "understood", counting)
    once = {"name": "f", "parameters": tool({"type": "float", "title": wire})["parameters"]}
    transcript = Transcript(ASKED)
    for _ in range(3):
        PROVIDERS[wire].render(transcript.view, tools=[once])
        PROVIDERS[wire].render(ASKED, tools=[once])
        transcript.append(Message("user", "more"))
    assert len(walked) == 1
