"""Tools are strict where the strict mode of a wire takes their schema, and say no elsewhere."""

from typing import Any

import pytest
from hypothesis import given

from quire.items import Message
from quire.providers import PROVIDERS
from tests.providers.schemas_drawn import FLAWED
from tests.providers.test_tool_laws import WIRES

ASKED = [Message("user", "Go.")]
CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def closed(**properties: Any) -> dict[str, Any]:
    return {**CLOSED, "properties": properties, "required": [*properties]}


def said(wire: str, schema: Any) -> tuple[Any, list[str]]:
    """Whether a tool that is to be strict is, on a wire, and what was noted."""
    tool = {"name": "f", "strict": True, "parameters": schema}
    rendered = PROVIDERS[wire].render(ASKED, tools=[tool], strict=True)
    assert PROVIDERS[wire].check(rendered.payload) == []
    written = rendered.payload["tools"][0]
    return written.get("function", written).get("strict", False), [
        note.reason for note in rendered.downgrades
    ]


@pytest.mark.laws
@given(FLAWED, WIRES)
def test_what_is_strict_is_taken(schema: Any, wire: tuple[str, str | None]) -> None:
    for inner in (schema, closed(a=schema)):
        tool = {"name": "f", "strict": True, "parameters": inner}
        rendered = PROVIDERS[wire[0]].render(ASKED, model=wire[1], tools=[tool])
        assert PROVIDERS[wire[0]].check(rendered.payload, wire[1]) == []


STRICT = ("openai", "openai-responses", "anthropic")


@pytest.mark.parametrize("wire", STRICT)
def test_a_closed_schema_stays_strict(wire: str) -> None:
    assert said(wire, CLOSED) == (True, [])
    assert said(wire, closed(a=CLOSED, b={"type": "array", "items": CLOSED})) == (True, [])


@pytest.mark.parametrize("wire", STRICT)
@pytest.mark.parametrize("levels", [0, 2])
def test_an_object_that_is_open_is_not_strict(wire: str, levels: int) -> None:
    schema: dict[str, Any] = {key: CLOSED[key] for key in ("type", "properties", "required")}
    for _ in range(levels):
        schema = closed(a=schema)
    strict, (note,) = said(wire, schema)
    assert strict is False and "strict" in note and "other properties" in note


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({**CLOSED, "required": ["a"]}, "may be left out"),
        (closed(a={}), "any type"),
        (closed(a={"type": "array"}), "any type"),
        (closed(a={"type": "string", "default": "x"}), "default"),
        (closed(a={"allOf": [{"type": "string"}], "type": "string"}), "allOf"),
    ],
)
def test_openai_wants_all_of_it(schema: Any, reason: str) -> None:
    for wire in ("openai", "openai-responses"):
        strict, notes = said(wire, schema)
        assert strict is False and reason in notes[0]
    assert said("anthropic", schema)[0] is (reason != "any type")  # which nobody's strict mode takes


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"allOf": [{"$ref": "#/$defs/P"}], "description": "where"},
        {"type": "string", "not": {"const": ""}},
        {"enum": [{"a": 1}]},
        {"type": "array", "items": {}},
    ],
)
def test_anthropic_takes_what_is_documented(inner: Any) -> None:
    schema = {**closed(a=inner), "$defs": {"P": CLOSED}}
    assert said("anthropic", schema)[0] is False


def test_anthropic_takes_no_bounds() -> None:
    schema = closed(a={"type": "integer", "minimum": 1})
    strict, (note,) = said("anthropic", schema)
    assert strict is False and "minimum" in note
    assert said("openai", schema) == (True, [])


PLACE: dict[str, Any] = {"$ref": "#/$defs/P"}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({**closed(a={**PLACE, "description": "where"}), "$defs": {"P": CLOSED}}, "beside a pointer"),
        (closed(a={"type": "string", "format": "uri"}), "format"),
        (closed(a={"type": "url"}), "format"),
        (closed(a=True), "any type"),
        (closed(a={"anyOf": [True, {"type": "string"}]}), "any type"),
    ],
)
def test_openai_takes_a_part_of_pointers_and_formats(schema: Any, reason: str) -> None:
    for wire in ("openai", "openai-responses"):
        strict, notes = said(wire, schema)
        assert strict is False and reason in notes[0]
    assert said("anthropic", schema)[0] is (reason != "any type")  # which nobody's strict mode takes


@pytest.mark.parametrize("wire", STRICT)
def test_no_strict_mode_follows_a_pointer_to_elsewhere(wire: str) -> None:
    strict, (note,) = said(wire, closed(a={"$ref": "other.json#/x"}))
    assert strict is False and "elsewhere" in note


NODE = closed(v={"type": "integer"}, kids={"type": "array", "items": {"$ref": "#/$defs/N"}})
CHAIN = {f"D{n}": closed(a={"$ref": f"#/$defs/D{n + 1}"}) for n in range(500)} | {"D500": CLOSED}


@pytest.mark.parametrize(
    "schema",
    [
        {**closed(a={"$ref": "#/$defs/N"}), "$defs": {"N": NODE}},
        {**closed(a={"$ref": "#/$defs/M"}), "$defs": {"M": closed(b={"$ref": "#/$defs/N"}), "N": NODE}},
        closed(a={"type": "array", "items": {"$ref": "#"}}),
        closed(a={"type": "array", "items": {"$ref": "#/properties/a"}}),
        {"$ref": "#/$defs/N", "$defs": {"N": NODE}},
    ],
)
def test_anthropic_takes_no_recursion(schema: Any) -> None:
    strict, (note,) = said("anthropic", schema)
    assert strict is False and "itself" in note
    assert said("openai", schema)[0] is True


def test_the_same_definition_twice_is_no_recursion() -> None:
    both = closed(a=PLACE, b=PLACE, c={"$ref": "#/$defs/Q"})
    schema = {**both, "$defs": {"P": CLOSED, "Q": closed(d=PLACE)}}
    assert said("anthropic", schema) == (True, [])
    assert said("anthropic", {**closed(a={"$ref": "#/$defs/D0"}), "$defs": CHAIN})[0] is True


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (closed(a={"oneOf": [{"type": "string"}]}), "oneOf"),
        (closed(a={"type": "string", "pattern": "^(?!x)"}), "pattern"),
        (closed(a={"type": "string", "pattern": r"(a)\1"}), "pattern"),
        (closed(a={"type": "string", "pattern": r"\bword\b"}), "pattern"),
        (closed(a={"type": "string", "pattern": r"\p{L}"}), "pattern"),
        (closed(a={"type": "string", "format": "emoji"}), "format"),
    ],
)
def test_anthropic_takes_a_part_of_keywords(schema: Any, reason: str) -> None:
    strict, (note,) = said("anthropic", schema)
    assert strict is False and reason in note
    fine = closed(a={"type": "string", "pattern": r"^[a-z\b]+\\b$", "format": "uri"})
    assert said("anthropic", fine) == (True, [])


def optional(count: int) -> dict[str, Any]:
    return {**closed(**{f"p{n}": {"type": "string"} for n in range(count)}), "required": []}


EITHER: dict[str, Any] = {"type": ["string", "null"]}


@pytest.mark.parametrize(
    ("schemas", "most"),
    [
        ([CLOSED] * 15, 15),
        ([closed(a={"type": "string"})] * 30, 20),
        ([optional(10)] * 4, 2),
        ([optional(24), optional(1), CLOSED], 2),
        ([optional(25)], 0),
        ([CLOSED] * 17, 16),
        ([closed(**{f"p{n}": EITHER for n in range(6)})] * 4, 2),
        ([closed(a=closed(b=optional(13))), optional(12)], 1),
    ],
)
def test_anthropic_takes_so_many_strict_tools_in_a_request(schemas: list[Any], most: int) -> None:
    tools = [{"name": f"f{n:02}", "strict": True, "parameters": one} for n, one in enumerate(schemas)]
    rendered = PROVIDERS["anthropic"].render(ASKED, tools=tools)
    assert PROVIDERS["anthropic"].check(rendered.payload) == []
    assert sum(one.get("strict", False) for one in rendered.payload["tools"]) == most
    assert len(rendered.downgrades) == len(schemas) - most
    again = PROVIDERS["anthropic"].render(ASKED, tools=tools[::-1])
    assert again.payload == rendered.payload


def test_check_counts_the_strict_tools_of_a_request() -> None:
    for schemas in ([closed(a={"type": "string"})] * 21, [optional(25)], [CLOSED] * 17):
        tools = [{"name": f"f{n}", "strict": True, "input_schema": one} for n, one in enumerate(schemas)]
        payload = {"messages": [{"role": "user", "content": "Go."}], "tools": tools}
        (fault,) = PROVIDERS["anthropic"].check(payload)
        assert fault.rule == "strict_count"
        loose = {**payload, "tools": [{**one, "strict": False} for one in tools]}
        assert PROVIDERS["anthropic"].check(loose) == []


REFUSED: dict[str, list[Any]] = {
    "anthropic": [
        *(closed(a={"oneOf": [{"type": "string"}]}), closed(a={"$ref": "other.json"})),
        *(closed(a={"type": "array", "items": {"$ref": "#"}}), closed(a={"pattern": "^(?!x)"})),
        *(closed(a={"$ref": "#/$defs/N"}) | {"$defs": {"N": NODE}}, closed(a={"format": "emoji"})),
    ],
    "openai": [
        *(closed(a={**PLACE, "title": "T"}) | {"$defs": {"P": CLOSED}}, closed(a={"$ref": "other.json"})),
        *(closed(a={"type": "string", "format": "uri"}), closed(a=True)),
    ],
}


@pytest.mark.parametrize("wire", REFUSED)
def test_check_names_what_a_strict_mode_refuses(wire: str) -> None:
    for schema in REFUSED[wire]:
        flat = {"name": "f", "strict": True, "input_schema": schema}
        nested = {"type": "function", "function": {"name": "f", "strict": True, "parameters": schema}}
        payload = {"messages": [{"role": "user", "content": "Go."}]}
        faults = PROVIDERS[wire].check({**payload, "tools": [flat if wire == "anthropic" else nested]})
        assert [fault.rule for fault in faults] == ["tool_strict"]
