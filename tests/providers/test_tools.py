"""Tool definitions: every form on every wire, refusals with paths, strict schemas, and what is noted."""

import copy
import json
import tracemalloc
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from quire.errors import Downgraded, InvalidValue, WrongType
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, Rendered, read_tools
from quire.state import Transcript
from tests.providers.tool_schemas import (
    FIELDS,
    JSON,
    NAMES,
    SHAPES,
    TARGETS,
    TEXT,
    TOOLSETS,
    TOPS,
    Json,
    an_object,
    closed,
    definition,
)

ASKED = [Message("user", "Go.")]
WIRES = list(PROVIDERS)
OPENAI, ANTHROPIC = ("openai", "openai-responses"), ("anthropic",)
STRICT = (*OPENAI, *ANTHROPIC)


def rendered(wire: str, *tools: Json, model: str | None = None) -> Rendered:
    """A request with these tools, in which the checker finds no fault."""
    made = PROVIDERS[wire].render(ASKED, model=model, tools=tools)
    assert PROVIDERS[wire].check(made.payload, model) == []
    return made


def tools_in(made: Rendered) -> list[Json]:
    tools: list[Json] = made.payload.get("tools") or made.payload.get("config", {}).get("tools", [])
    return tools


def functions(made: Rendered) -> list[Json]:
    """The functions of a payload of any wire."""
    flat = [one for tool in tools_in(made) for one in tool.get("function_declarations", [tool])]
    return [one.get("function", one) for one in flat]


def schema_of(function: Json) -> Any:
    """The schema of a function of any wire."""
    keys = ("parameters", "input_schema", "parameters_json_schema")
    return next((function[key] for key in keys if key in function), None)


def sent(wire: str, schema: Any, **fields: Any) -> tuple[Any, str]:
    """The schema as a wire has it, and what was noted."""
    made = rendered(wire, {"name": "f", "parameters": schema, **fields})
    return schema_of(functions(made)[0]), " ".join(note.reason for note in made.downgrades)


def changes(made: Rendered) -> list[str]:
    return [note.change for note in made.downgrades]


# --- laws ------------------------------------------------------------------------------------------------


@pytest.mark.laws
@given(TOOLSETS, TARGETS)
def test_no_wire_finds_a_fault_in_tools_or_they_are_refused_with_a_path(
    tools: list[Json], target: tuple[str, str | None]
) -> None:
    provider, model = PROVIDERS[target[0]], target[1]
    given_tools = copy.deepcopy(tools)
    try:
        made = provider.render(ASKED, model=model, tools=tools)
    except (InvalidValue, WrongType) as fault:
        assert str(fault).startswith("tool 'f")
        return
    assert provider.check(made.payload, model) == []
    again = provider.render(ASKED, model=model, tools=tools[::-1])
    assert json.dumps(made.payload) == json.dumps(again.payload)
    assert tools == given_tools


@pytest.mark.laws
@given(st.one_of(JSON, TOPS), st.booleans(), TARGETS)
def test_a_schema_is_refused_or_sent_and_then_sent_again_unchanged(
    schema: Any, strict: bool, target: tuple[str, str | None]
) -> None:
    provider = PROVIDERS[target[0]]
    try:
        tool = {"name": "f", "parameters": schema, "strict": strict}
        first = provider.render(ASKED, model=target[1], tools=[tool])
        assert provider.check(first.payload, target[1]) == []
        made = schema_of(functions(first)[0])
        second = provider.render(ASKED, model=target[1], tools=[{"name": "f", "parameters": made}])
    except (InvalidValue, WrongType) as fault:
        assert str(fault).startswith("tool 'f', ")
    else:
        assert schema_of(functions(second)[0]) == made and second.downgrades == ()


@pytest.mark.laws
@given(st.sampled_from(SHAPES), FIELDS, TARGETS)
@example("declared", {"defer_loading": True}, ("anthropic", "claude-sonnet-4-5"))
def test_each_field_is_sent_or_noted(shape: str, fields: Json, target: tuple[str, str | None]) -> None:
    """Anthropic is not told to defer a tool that nothing could load; the tool is sent whole."""
    tool = definition(shape, "f", an_object(q=TEXT), fields)
    made = PROVIDERS[target[0]].render(ASKED, model=target[1], tools=[tool])
    told = json.dumps(made.payload) + " ".join(note.reason for note in made.downgrades)
    for name, value in fields.items():
        is_blank = value is False or (name == "description" and not value.strip())
        is_whole = name == "defer_loading" and target[0] == "anthropic"
        assert is_blank or is_whole or name in told


NAME = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=70), NAMES)


@pytest.mark.laws
@given(st.lists(NAME, unique=True, max_size=5))
def test_parameters_have_names_that_anthropic_takes_and_their_own_come_back(names: list[str]) -> None:
    tool = {"name": "f", "parameters": {**an_object(**dict.fromkeys(names, TEXT)), "required": names}}
    made = rendered("anthropic", tool)
    schema = schema_of(functions(made)[0])
    written = [*schema["properties"]]
    own = made.parameters.get("f", {})
    assert [own.get(name, name) for name in written] == names and schema["required"] == written
    use: Json = {"type": "tool_use", "id": "c1", "name": "f", "input": dict.fromkeys(written, "x")}
    answer: Json = {"content": [use], "stop_reason": "tool_use"}
    (call,) = PROVIDERS["anthropic"].parse(answer, sent=made).items
    assert isinstance(call, ToolCall) and [*json.loads(call.arguments)] == names
    history: list[Item] = [*ASKED, call, ToolResult("c1", "f", "fine"), Message("user", "On.")]
    again = PROVIDERS["anthropic"].render(history, tools=[tool])
    assert [*again.payload["messages"][1]["content"][0]["input"]] == written


# --- forms and refusals ----------------------------------------------------------------------------------


def test_every_form_is_the_same_tool() -> None:
    forms = [definition(shape, "look", an_object(q=TEXT), {"description": "Looks."}) for shape in SHAPES]
    custom = {"type": "custom", "name": "look", "description": "Looks.", "input_schema": an_object(q=TEXT)}
    for wire in WIRES:
        assert len({json.dumps(rendered(wire, form).payload) for form in (*forms, custom)}) == 1
        (function,) = functions(rendered(wire, forms[0]))
        assert (function["name"], function["description"]) == ("look", "Looks.")
        assert schema_of(function) == an_object(q=TEXT)


def test_a_tool_may_have_no_parameters() -> None:
    for wire, schema in product(WIRES, (None, True, {}, {"type": "object"})):
        assert sent(wire, schema) == (None if wire == "gemini" else an_object(), "")


DEEP: Json = json.loads('{"items":' * 120 + "{}" + "}" * 120)
REFUSED: list[tuple[Any, str]] = [
    (an_object(q={"type": "float"}), "parameters.properties.q.type: there is no type 'float'"),
    (an_object(q="a city"), "properties.q: a schema must be an object or a boolean, this is a string"),
    ({"type": "string"}, "parameters.type: the parameters of a tool must be an object"),
    ([], "parameters: a schema must be an object, this is a list"),
    (an_object(q={"required": True}), "properties.q.required: must be a list"),
    (an_object(q={"exclusiveMinimum": True}), "q.exclusiveMinimum: must be a number"),
    (an_object(q={"enum": []}), "q.enum: must be a filled list"),
    (an_object(q={"$ref": "#/$defs/X"}), "q.$ref: the pointer leads to no schema"),
    (an_object(q={"$ref": "a.json"}), "q.$ref: a pointer must lead into the schema"),
    (
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        "parameters.$ref: must not lead to another pointer",
    ),
    ({"anyOf": [an_object(q=TEXT)]}, "parameters.anyOf: parameters of a tool must be one object"),
    (an_object(q={"type": "array", "items": [TEXT]}), "q.items: a schema must be an object or a boolean"),
    (DEEP, "parameters: nests deeper than 100 levels"),
    (an_object(q={"$ref": f"#/{'9' * 5_000}"}), "q.$ref: the pointer leads to no schema"),
    (an_object(**{"q" * 10_000: an_object(q=5)}), "q….properties.q: a schema must be an object or a boolean"),
]


@pytest.mark.parametrize(("schema", "message"), REFUSED)
def test_what_is_no_json_schema_is_refused_with_a_path(schema: Any, message: str) -> None:
    with pytest.raises((InvalidValue, WrongType)) as raised:
        read_tools([{"name": "fine"}, {"name": "look", "parameters": schema}])
    said = str(raised.value)
    assert said.startswith("tool 'look', parameters") and message in said and len(said) < 500


def test_what_is_no_definition_is_refused() -> None:
    definitions: list[Any] = [
        *("look", {"name": "look"}, [["look"]], [{}], [{"name": ""}], [{"name": 5}]),
        *([{"name": "f", "description": 5}], [{"name": "f", "strict": "yes"}]),
        [{"name": "f"}, {"type": "function", "function": {"name": "f"}}],
    ]
    for wire, tools in product(WIRES, definitions):
        with pytest.raises((InvalidValue, WrongType)):
            PROVIDERS[wire].render(ASKED, tools=tools)
    values: list[Any] = [{1, 2}, float("nan"), object(), {1: "a"}]
    for value in values:
        with pytest.raises(InvalidValue, match=r"is not JSON|field name"):
            read_tools([{"name": "look", "parameters": an_object(q={"default": value})}])


# --- schemas ---------------------------------------------------------------------------------------------

TRANSLATED: list[tuple[Any, Any]] = [
    ({"type": "STRING", "nullable": False}, TEXT),
    ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "A b", **TEXT}, TEXT),
    ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
]


def test_what_clients_write_in_other_words_is_translated_at_any_depth() -> None:
    for wire, (schema, expected) in product(WIRES, TRANSLATED):
        for before, after in ((schema, expected), (_deeper(schema), _deeper(expected))):
            assert sent(wire, an_object(a=before, b=TEXT)) == (an_object(a=after, b=TEXT), "")


def _deeper(schema: Any) -> Json:
    return {"anyOf": [{"type": "array", "items": schema}, TEXT]}


def test_names_of_properties_are_no_keywords() -> None:
    schema = an_object(type={"type": "integer"}, items=TEXT, pattern=TEXT, default={"type": "number"})
    for wire in WIRES:
        assert sent(wire, schema) == (schema, "")


def test_the_top_of_a_schema_is_one_object_on_every_wire() -> None:
    pointed = {"$ref": "#/definitions/A", "definitions": {"A": an_object(q=TEXT)}}
    union = [{"required": ["q"]}, {"required": ["r"]}]
    for wire, key in product(WIRES, ("anyOf", "oneOf", "allOf")):
        assert sent(wire, pointed) == ({**an_object(q=TEXT), "definitions": pointed["definitions"]}, "")
        found, note = sent(wire, {**an_object(q=TEXT, r=TEXT), key: union})
        assert found == an_object(q=TEXT, r=TEXT) and f"{key} at its top" in note


def test_openai_gets_no_pattern_that_it_refuses() -> None:
    for pattern, wire in product(("^(?!x)", "(?<=a)b", r"^\p{L}+$"), WIRES):
        schema = an_object(q={"type": "array", "items": {**TEXT, "pattern": pattern}})
        found, note = sent(wire, schema)
        loose = an_object(q={"type": "array", "items": TEXT})
        assert found == (loose if wire in OPENAI else schema) and ("pattern" in note) is (wire in OPENAI)


# --- strict tools ----------------------------------------------------------------------------------------


def strict(wire: str, schema: Any) -> tuple[bool, Any, str]:
    """Whether a strict tool is strict on a wire, its schema there, and what was noted."""
    made = rendered(wire, {"name": "f", "strict": True, "parameters": schema})
    (function,) = functions(made)
    reasons = " ".join(note.reason for note in made.downgrades)
    return function.get("strict", False), schema_of(function), reasons


def test_a_strict_tool_has_closed_objects() -> None:
    inner = closed(a=TEXT, b={"anyOf": [{"type": "integer"}, {"type": "null"}]})
    open_one = {key: value for key, value in inner.items() if key != "additionalProperties"}
    whole = closed(x=inner, y={"anyOf": [inner]})
    half = closed(x=open_one, y={"oneOf": [open_one]})
    for wire in STRICT:
        assert strict(wire, whole) == strict(wire, half) == (True, whole, "")
        assert sent(wire, half)[0] == half  # only where it says strict


TO_A = {"$ref": "#/$defs/A"}
NODE = closed(kids={"type": "array", "items": {"$ref": "#/$defs/N"}})
NOT_STRICT: list[tuple[Any, tuple[str, ...]]] = [
    (closed(a={"type": "object", "additionalProperties": TEXT}), STRICT),
    (closed(a={}), STRICT),
    (closed(a=True), STRICT),
    (closed(a={"type": "array", "prefixItems": [TEXT], "items": TEXT}), STRICT),
    (closed(a={**TEXT, "not": {"const": ""}}), STRICT),
    ({**closed(a=TEXT), "required": []}, OPENAI),
    ({**closed(a={"$ref": "#/$defs/P", "title": "T"}), "$defs": {"P": TEXT}}, OPENAI),
    ({**closed(a={"$ref": "#/$defs/N"}), "$defs": {"N": NODE}}, ANTHROPIC),
    ({**closed(a=TO_A), "$defs": {"A": closed(b={"$ref": "#/$defs/B"}), "B": closed(a=TO_A)}}, ANTHROPIC),
]


def test_a_tool_is_not_strict_where_that_would_change_its_meaning() -> None:
    for wire, (schema, refusing) in product(STRICT, NOT_STRICT):
        is_strict, found, note = strict(wire, schema)
        assert is_strict is (wire not in refusing)
        assert is_strict or (found == schema and "strict, because of" in note)


REMOVED: list[tuple[str, Json, tuple[str, ...]]] = [
    ("format", {**TEXT, "format": "emoji"}, STRICT),
    ("format", {**TEXT, "format": "uri"}, OPENAI),
    ("default", {**TEXT, "default": "x"}, OPENAI),
    ("maxLength", {**TEXT, "maxLength": 9}, ANTHROPIC),
    ("minimum", {"type": "integer", "minimum": 1}, ANTHROPIC),
    ("pattern", {**TEXT, "pattern": "^a$"}, ANTHROPIC),
    ("x-order", {**TEXT, "x-order": 1}, STRICT),
]


def test_limits_that_a_strict_mode_lacks_are_left_out_and_noted() -> None:
    for wire, (keyword, inner, without) in product(STRICT, REMOVED):
        is_strict, found, note = strict(wire, closed(a=inner))
        assert is_strict and (keyword in found["properties"]["a"]) is (wire not in without)
        assert (keyword in note) is (wire in without)


def test_strictness_is_said_where_it_means_something() -> None:
    tool = {"name": "f", "strict": True, "parameters": closed(a=TEXT)}
    clouds = ("us.anthropic.claude-opus-4-8-v1:0", "vertex_ai/claude-opus-4-8")
    for made in (rendered("gemini", tool), *(rendered("anthropic", tool, model=one) for one in clouds)):
        assert "strict" not in functions(made)[0] and changes(made) == ["fields_left_out"]
    assert functions(rendered("openai-responses", {"name": "f"}))[0]["strict"] is False
    assert "strict" not in functions(rendered("openai", {"name": "f"}))[0]


# --- fields and names ------------------------------------------------------------------------------------

OWN: dict[str, Json] = {
    "anthropic": {
        **{"name": "f", "input_schema": an_object(), "defer_loading": False, "input_examples": [{"a": 1}]},
        **{"allowed_callers": ["direct"], "eager_input_streaming": True},
    },
    "openai-responses": {"type": "function", "name": "f", "defer_loading": True, "output_schema": TEXT},
    "gemini": {"name": "f", "parameters_json_schema": an_object(q=TEXT), "response": TEXT},
}


def test_fields_of_a_wire_go_to_that_wire_and_are_noted_elsewhere() -> None:
    for wire, owner in product(WIRES, OWN):
        made = rendered(wire, OWN[owner])
        assert (OWN[owner].items() <= functions(made)[0].items()) is (wire == owner)
        assert changes(made) == ([] if wire == owner else ["fields_left_out"])


def test_tools_are_sorted_and_names_fit_the_wire() -> None:
    for wire in WIRES:
        made = rendered(wire, {"name": "look up!"}, {"name": "b"}, {"name": "x" * 200})
        names = [function["name"] for function in functions(made)]
        assert names[0] == "b" and made.names == {names[1]: "look up!", names[2]: "x" * 200}


# --- tools of providers ----------------------------------------------------------------------------------

NATIVE: list[tuple[str, Json]] = [
    ("", {"type": "custom", "custom": {"name": "run", "description": "Runs."}}),
    ("openai-responses", {"type": "custom", "name": "run", "description": "Runs."}),
    ("openai-responses", {"type": "web_search_2025_08_26"}),
    ("openai-responses", {"type": "mcp", "server_label": "a", "server_url": "https://example.com"}),
    ("anthropic", {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}),
    ("anthropic", {"type": "mcp_toolset", "mcp_server_name": "crm"}),
    ("gemini", {"google_search": {}}),
    ("gemini", {"codeExecution": {}}),
]


def test_tools_of_a_provider_go_to_it_as_they_are_and_nowhere_else() -> None:
    for wire, (owner, tool) in product(WIRES, NATIVE):
        made = rendered(wire, tool, model="gpt-5.6" if wire in OPENAI else None)
        is_own = wire == owner
        assert tools_in(made) == ([tool] if is_own else [])
        assert changes(made) == ([] if is_own else ["tools_left_out"])
    assert changes(rendered("openai-responses", NATIVE[1][1], model="gpt-oss-120b")) == ["tools_left_out"]
    with pytest.raises(Downgraded):
        PROVIDERS["openai"].render(ASKED, tools=[NATIVE[2][1]], strict=True)


def test_gemini_mixes_functions_with_its_own_tools_where_the_model_does() -> None:
    for model, mixes in (("gemini-3-pro", True), ("gemini-2.5-pro", False)):
        made = rendered("gemini", {"name": "f"}, {"google_search": {}}, model=model)
        assert changes(made) == ([] if mixes else ["tools_left_out"])
        assert ("tool_config" in made.payload["config"]) is mixes


# --- readings are shared ---------------------------------------------------------------------------------


def test_definitions_and_payloads_that_are_changed_later_change_nothing_else() -> None:
    for wire in WIRES:
        field = {"type": "string"}
        transcript, tool = Transcript(ASKED), {"name": "look", "parameters": an_object(q=field)}
        first = PROVIDERS[wire].render(transcript.view, tools=[tool])
        before = json.dumps(first.payload)
        field["type"] = "integer"
        assert json.dumps(first.payload) == before
        again = PROVIDERS[wire].render(transcript.view, tools=[tool])
        assert '"integer"' in json.dumps(again.payload)
        schema_of(functions(again)[0])["properties"]["q"]["type"] = "boolean"
        assert '"boolean"' not in json.dumps(rendered(wire, tool).payload)


def test_readings_take_no_more_memory_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    def nested(depth: int) -> Json:
        return an_object(q=nested(depth - 1)) if depth else TEXT

    tools = [{"name": f"f{number}", "parameters": nested(20)} for number in range(40)]
    monkeypatch.setattr("quire.providers.tools._MAX_CACHE_BYTES", 2**20)
    tracemalloc.start()
    for wire, start in product(WIRES, range(0, len(tools), 20)):
        PROVIDERS[wire].render(ASKED, tools=copy.deepcopy(tools[start : start + 20]))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2**20
