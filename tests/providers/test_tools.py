"""Tool definitions: every form on every wire, refusals with paths, strict schemas, and what is noted."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import Downgraded, InvalidValue, WrongType
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, CachePlan, Rendered, read_tools
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
STRICT_WIRES = ["openai", "openai-responses", "anthropic"]


def rendered(wire: str, *tools: Json, model: str | None = None) -> Rendered:
    """A request with these tools, in which the checker finds no fault."""
    made = PROVIDERS[wire].render(ASKED, model=model, tools=tools)
    assert PROVIDERS[wire].check(made.payload, model) == []
    return made


def functions(made: Rendered) -> list[Json]:
    """The functions of a payload of any wire."""
    tools = made.payload.get("tools") or made.payload.get("config", {}).get("tools", [])
    flat = [one for tool in tools for one in tool.get("function_declarations", [tool])]
    return [one.get("function", one) for one in flat]


def schema_of(function: Json) -> Any:
    """The schema of a function of any wire."""
    keys = ("parameters", "input_schema", "parameters_json_schema")
    return next((function[key] for key in keys if key in function), None)


def sent(wire: str, schema: Any, **fields: Any) -> tuple[Any, list[str]]:
    """The schema as a wire has it, and what was noted."""
    made = rendered(wire, {"name": "f", "parameters": schema, **fields})
    return schema_of(functions(made)[0]), [str(note) for note in made.downgrades]


def changes(made: Rendered) -> list[str]:
    return [note.change for note in made.downgrades]


# --- laws ------------------------------------------------------------------------------------------------


@pytest.mark.laws
@given(TOOLSETS, TARGETS, st.sampled_from([None, CachePlan(), CachePlan(keep="long")]))
def test_no_wire_finds_a_fault_in_tools_or_they_are_refused_with_a_path(
    tools: list[Json], target: tuple[str, str | None], plan: CachePlan | None
) -> None:
    provider, model = PROVIDERS[target[0]], target[1]
    given_tools = copy.deepcopy(tools)
    try:
        made = provider.render(ASKED, model=model, tools=tools, plan=plan)
    except InvalidValue as fault:
        assert "tool 'f" in str(fault) and ("$ref:" in str(fault) or "an object" in str(fault))
        return
    assert provider.check(made.payload, model) == []
    again = provider.render(ASKED, model=model, tools=tools[::-1], plan=plan)
    assert json.dumps(made.payload) == json.dumps(again.payload)
    assert tools == given_tools


@pytest.mark.laws
@given(JSON, st.booleans(), TARGETS)
def test_any_json_as_a_schema_is_sent_without_fault_or_refused(
    schema: Any, strict: bool, target: tuple[str, str | None]
) -> None:
    tool = {"name": "f", "parameters": schema, "strict": strict}
    try:
        made = PROVIDERS[target[0]].render(ASKED, model=target[1], tools=[tool])
    except (InvalidValue, WrongType) as fault:
        assert str(fault).startswith("tool 'f', parameters")
    else:
        assert PROVIDERS[target[0]].check(made.payload, target[1]) == []


@pytest.mark.laws
@given(TOPS, TARGETS)
def test_a_schema_that_was_sent_is_sent_unchanged(top: Json, target: tuple[str, str | None]) -> None:
    provider = PROVIDERS[target[0]]
    try:
        first = provider.render(ASKED, model=target[1], tools=[{"name": "f", "parameters": top}])
        schema = schema_of(functions(first)[0])
        second = provider.render(ASKED, model=target[1], tools=[{"name": "f", "parameters": schema}])
    except InvalidValue:
        return
    assert schema_of(functions(second)[0]) == schema and second.downgrades == ()


@pytest.mark.laws
@given(st.sampled_from(SHAPES), FIELDS, TARGETS)
def test_each_field_is_sent_or_noted(shape: str, fields: Json, target: tuple[str, str | None]) -> None:
    made = PROVIDERS[target[0]].render(
        ASKED, model=target[1], tools=[definition(shape, "f", an_object(q=TEXT), fields)]
    )
    told = json.dumps(made.payload) + " ".join(note.reason for note in made.downgrades)
    for name, value in fields.items():
        is_blank = value is False or (name == "description" and not value.strip())
        assert is_blank or name in told or "loaded later" in told


# --- forms and refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_every_form_is_the_same_tool(wire: str) -> None:
    forms = [definition(shape, "look", an_object(q=TEXT), {"description": "Looks."}) for shape in SHAPES]
    assert len({json.dumps(rendered(wire, form).payload) for form in forms}) == 1
    (function,) = functions(rendered(wire, forms[0]))
    assert (function["name"], function["description"]) == ("look", "Looks.")
    assert schema_of(function) == an_object(q=TEXT)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("schema", [None, True, {}, {"type": "object"}])
def test_a_tool_may_have_no_parameters(wire: str, schema: Any) -> None:
    (function,) = functions(rendered(wire, {"name": "f", "parameters": schema}))
    assert schema_of(function) == (None if wire == "gemini" else an_object())


REFUSED: dict[str, tuple[Any, str]] = {
    "a type": (an_object(q={"type": "float"}), "parameters.properties.q.type: there is no type 'float'"),
    "a text": (an_object(q="a city"), "properties.q: a schema is an object or a boolean, this is a string"),
    "no object": ({"type": "string"}, "parameters.type: the parameters of a tool are an object"),
    "a list": ([], "parameters: a schema is an object or a boolean, this is a list"),
    "required of one": (an_object(q={"required": True}), "properties.q.required: must be a list"),
    "a flag for a bound": (an_object(q={"exclusiveMinimum": True}), "q.exclusiveMinimum: must be a number"),
    "no choices": (an_object(q={"enum": []}), "q.enum: must be a list that is not empty"),
    "a pointer to nowhere": (an_object(q={"$ref": "#/$defs/X"}), "q.$ref: the pointer leads to no schema"),
    "a pointer outside": (an_object(q={"$ref": "a.json"}), "q.$ref: a pointer must lead into the schema"),
    "a pointer to itself": ({"$ref": "#"}, "parameters.$ref: the schema is nothing but a pointer to itself"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_json_schema_is_refused_with_a_path(case: str) -> None:
    schema, message = REFUSED[case]
    with pytest.raises((InvalidValue, WrongType)) as raised:
        read_tools([{"name": "fine"}, {"name": "look", "parameters": schema}])
    assert str(raised.value).startswith("tool 'look', parameters") and message in str(raised.value)


NO_TOOLS: list[Any] = [
    *("look", {"name": "look"}, [["look"]], [{}], [{"name": ""}], [{"name": 5}]),
    *([{"name": "f", "description": 5}], [{"name": "f", "strict": "yes"}]),
    [{"name": "f"}, {"type": "function", "function": {"name": "f"}}],
]


@pytest.mark.parametrize("tools", NO_TOOLS)
def test_what_is_no_definition_is_refused(tools: Any) -> None:
    for wire in WIRES:
        with pytest.raises((InvalidValue, WrongType)):
            PROVIDERS[wire].render(ASKED, tools=tools)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object(), {1: "a"}])
def test_a_value_that_is_not_json_is_refused_by_the_name_of_the_tool(value: Any) -> None:
    tool = {"name": "look", "parameters": an_object(q={"default": value})}
    with pytest.raises(InvalidValue, match="the tool 'look' is not JSON"):
        read_tools([tool])


def test_a_schema_that_nests_too_deeply_is_refused() -> None:
    schema: Any = TEXT
    for _ in range(60):
        schema = {"type": "array", "items": schema}
    with pytest.raises(InvalidValue, match="nest deeper than 50 levels"):
        read_tools([{"name": "f", "parameters": an_object(q=schema)}])


@pytest.mark.parametrize(("wire", "most"), [("openai", 128), ("gemini", 512)])
def test_more_tools_than_a_wire_takes_are_refused(wire: str, most: int) -> None:
    tools = [{"name": f"f{number:03}"} for number in range(most + 1)]
    assert len(functions(rendered(wire, *tools[:most]))) == most
    with pytest.raises(InvalidValue, match=f"at most {most}"):
        rendered(wire, *tools)


# --- translations ----------------------------------------------------------------------------------------

NULL = {"type": "null"}
POINTER = {"$ref": "#/properties/b"}
DRAFT = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "A b"}
TRANSLATED: dict[str, tuple[Any, Any, str]] = {
    "capitals": ({"type": "STRING", "minLength": "2"}, {"type": "string", "minLength": 2}, ""),
    "no type": ({"type": "TYPE_UNSPECIFIED", "nullable": True}, {}, ""),
    "underscores": ({"any_of": [{"type": "NULL"}, TEXT]}, {"anyOf": [NULL, TEXT]}, ""),
    "nullable": (
        {**TEXT, "enum": [1], "nullable": True},
        {"type": ["string", "null"], "enum": [1, None]},
        "",
    ),
    "a nullable union": ({"anyOf": [TEXT], "nullable": True}, {"anyOf": [TEXT, NULL]}, ""),
    "a nullable pointer": ({**POINTER, "nullable": True}, {"anyOf": [POINTER, NULL]}, ""),
    "null for nothing": ({**TEXT, "enum": None, "default": None}, {**TEXT, "default": None}, ""),
    "the name of a draft": ({**DRAFT, **TEXT}, TEXT, ""),
    "a tuple": (
        {"type": "array", "items": [TEXT], "additionalItems": False},
        {"type": "array", "prefixItems": [TEXT], "items": False},
        "prefixItems",
    ),
    "an array": ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}, "without items"),
}


@pytest.mark.parametrize("case", TRANSLATED)
def test_what_clients_write_in_other_words_is_translated_at_any_depth(case: str) -> None:
    schema, expected, note = TRANSLATED[case]
    for wire in WIRES:
        for before, after in ((schema, expected), (_deeper(schema), _deeper(expected))):
            found, notes = sent(wire, an_object(a=before, b=TEXT))
            assert found == an_object(a=after, b=TEXT)
            assert len(notes) == bool(note) and note in "".join(notes)


def _deeper(schema: Any) -> Json:
    return {"anyOf": [{"type": "array", "items": schema}, TEXT]}


@pytest.mark.parametrize("wire", WIRES)
def test_names_of_properties_are_no_keywords(wire: str) -> None:
    schema = an_object(type={"type": "integer"}, nullable=TEXT, any_of=TEXT, default={"type": "number"})
    assert sent(wire, schema) == (schema, [])


@pytest.mark.parametrize("wire", WIRES)
def test_a_top_that_points_elsewhere_is_followed(wire: str) -> None:
    found, notes = sent(wire, {"$ref": "#/definitions/A", "definitions": {"A": an_object(q=TEXT)}})
    assert found["properties"] == {"q": TEXT} and found["type"] == "object" and not notes


UNION = [closed(kind={"const": "a"}, x=TEXT), {"$ref": "#/$defs/B"}, {"type": "null"}]
B = closed(kind={"const": "b"}, y=TEXT)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_a_union_at_the_top_becomes_one_object(wire: str, key: str) -> None:
    found, (note,) = sent(wire, {key: UNION, "$defs": {"B": B}, "description": "D."})
    both = {"anyOf": [{"const": "a"}, {"const": "b"}]}
    assert found["properties"] == {"kind": both, "x": TEXT, "y": TEXT}
    assert found["required"] == (["kind", "x", "y"] if key == "allOf" else ["kind"])
    assert found["description"] == "D." and f"{key} at its top" in note and key not in found


@pytest.mark.parametrize("pattern", ["^(?!x)", "(?<=a)b", r"^\p{L}+$"])
def test_openai_gets_no_pattern_that_it_refuses(pattern: str) -> None:
    schema = an_object(q={"type": "array", "items": {**TEXT, "pattern": pattern}}, pattern=TEXT)
    for wire in ("openai", "openai-responses"):
        found, (note,) = sent(wire, schema)
        assert found == an_object(q={"type": "array", "items": TEXT}, pattern=TEXT) and "pattern" in note
    for wire in ("anthropic", "gemini"):
        assert sent(wire, schema) == (schema, [])


# --- strict tools ----------------------------------------------------------------------------------------


def strict(wire: str, schema: Any) -> tuple[bool, Any, str]:
    """Whether a strict tool is strict on a wire, its schema there, and what was noted."""
    made = rendered(wire, {"name": "f", "strict": True, "parameters": schema})
    (function,) = functions(made)
    return (
        function.get("strict", False),
        schema_of(function),
        " ".join(note.reason for note in made.downgrades),
    )


@pytest.mark.parametrize("wire", STRICT_WIRES)
def test_a_strict_tool_has_closed_objects(wire: str) -> None:
    inner = closed(a=TEXT, b={"anyOf": [{"type": "integer"}, {"type": "null"}]})
    open_one = {key: value for key, value in inner.items() if key != "additionalProperties"}
    whole = closed(x=inner, y={"type": "array", "items": inner})
    half = closed(x=open_one, y={"type": "array", "items": open_one})
    assert strict(wire, whole) == strict(wire, half) == (True, whole, "")
    assert sent(wire, half)[0] == half  # only where it says strict


NODE = closed(kids={"type": "array", "items": {"$ref": "#/$defs/N"}})
ALL, OPENAI, ANTHROPIC = tuple(STRICT_WIRES), ("openai", "openai-responses"), ("anthropic",)
NOT_STRICT: dict[str, tuple[Any, tuple[str, ...]]] = {
    "other properties": (closed(a={"type": "object", "additionalProperties": TEXT}), ALL),
    "any type": (closed(a={}), ALL),
    "true": (closed(a=True), ALL),
    "prefixItems": (closed(a={"type": "array", "prefixItems": [TEXT], "items": TEXT}), ALL),
    "not": (closed(a={**TEXT, "not": {"const": ""}}), ALL),
    "optional": ({**closed(a=TEXT), "required": []}, OPENAI),
    "beside a pointer": ({**closed(a={"$ref": "#/$defs/P", "title": "T"}), "$defs": {"P": TEXT}}, OPENAI),
    "oneOf": (closed(a={"oneOf": [TEXT, {"type": "null"}]}), OPENAI),
    "recursion": ({**closed(a={"$ref": "#/$defs/N"}), "$defs": {"N": NODE}}, ANTHROPIC),
    "an enum of objects": (closed(a={"enum": [{"a": 1}]}), ANTHROPIC),
}


@pytest.mark.parametrize("case", NOT_STRICT)
def test_a_tool_is_not_strict_where_that_would_change_its_meaning(case: str) -> None:
    schema, refusing = NOT_STRICT[case]
    for wire in STRICT_WIRES:
        is_strict, found, note = strict(wire, schema)
        assert is_strict is (wire not in refusing)
        assert is_strict or (found == schema and "strict, because of" in note)


REMOVED: list[tuple[str, Json, tuple[str, ...]]] = [
    ("format", {**TEXT, "format": "emoji"}, ALL),
    ("format", {**TEXT, "format": "uri"}, OPENAI),
    ("default", {**TEXT, "default": "x"}, OPENAI),
    ("maxLength", {**TEXT, "maxLength": 9}, ANTHROPIC),
    ("minimum", {"type": "integer", "minimum": 1}, ANTHROPIC),
    ("minItems", {"type": "array", "items": TEXT, "minItems": 2}, ANTHROPIC),
    ("pattern", {**TEXT, "pattern": r"\bword\b"}, ANTHROPIC),
    ("x-order", {**TEXT, "x-order": 1}, ANTHROPIC),
]


@pytest.mark.parametrize(("keyword", "inner", "without"), REMOVED)
def test_limits_that_a_strict_mode_lacks_are_left_out_and_noted(
    keyword: str, inner: Json, without: tuple[str, ...]
) -> None:
    for wire in STRICT_WIRES:
        is_strict, found, note = strict(wire, closed(a=inner))
        assert is_strict and (keyword in found["properties"]["a"]) is (wire not in without)
        assert (keyword in note) is (wire in without)


def optional(count: int) -> Json:
    return {**closed(**{f"p{number}": TEXT for number in range(count)}), "required": []}


@pytest.mark.parametrize(
    ("schemas", "most"),
    [
        ([closed(a=TEXT)] * 21, 20),
        ([optional(24), optional(1), closed(a=TEXT)], 2),
        ([optional(25)], 0),
        ([closed(**{f"p{number}": {"type": ["string", "null"]} for number in range(6)})] * 4, 2),
    ],
)
def test_anthropic_takes_so_many_strict_tools_in_a_request(schemas: list[Json], most: int) -> None:
    tools = [{"name": f"f{n:02}", "strict": True, "parameters": one} for n, one in enumerate(schemas)]
    made = rendered("anthropic", *tools)
    assert sum(one.get("strict", False) for one in functions(made)) == most
    assert len(made.downgrades) == len(schemas) - most


def test_strictness_is_said_where_it_means_something() -> None:
    tool = {"name": "f", "strict": True, "parameters": closed(a=TEXT)}
    for model in ("us.anthropic.claude-opus-4-8-v1:0", "vertex_ai/claude-opus-4-8"):
        made = rendered("anthropic", tool, model=model)
        assert "strict" not in functions(made)[0] and changes(made) == ["fields_left_out"]
    assert changes(rendered("gemini", tool)) == ["fields_left_out"]
    assert functions(rendered("openai-responses", {"name": "f"}))[0]["strict"] is False
    assert "strict" not in functions(rendered("openai", {"name": "f"}))[0]


# --- fields and names ------------------------------------------------------------------------------------

OWN: dict[str, Json] = {
    "anthropic": {
        **{"name": "f", "input_schema": an_object(), "defer_loading": False, "input_examples": [{"a": 1}]},
        **{"allowed_callers": ["direct"], "eager_input_streaming": True},
    },
    "openai-responses": {"type": "function", "name": "f", "defer_loading": True, "output_schema": TEXT},
    "gemini": {
        "name": "f",
        "parameters_json_schema": an_object(q=TEXT),
        "behavior": "NON_BLOCKING",
        "response": TEXT,
    },
}


@pytest.mark.parametrize("owner", OWN)
@pytest.mark.parametrize("wire", WIRES)
def test_fields_of_a_wire_go_to_that_wire_and_are_noted_elsewhere(wire: str, owner: str) -> None:
    made = rendered(wire, OWN[owner])
    assert (OWN[owner].items() <= functions(made)[0].items()) is (wire == owner)
    assert changes(made) == ([] if wire == owner else ["fields_left_out"])


def test_a_field_of_the_wrong_type_is_refused() -> None:
    wrong: list[Json] = [{"defer_loading": "yes"}, {"cache_control": 5}, {"input_examples": {}}]
    for field in wrong:
        with pytest.raises(WrongType, match=f"tool 'f', {next(iter(field))}: must be"):
            rendered("anthropic", {"name": "f", **field})
    with pytest.raises(InvalidValue, match="cache_control"):
        rendered("anthropic", {"name": "f", "cache_control": {"type": "?"}})


def test_a_cache_mark_moves_to_the_last_tool_that_can_have_it() -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}
    tools: list[Json] = [
        {"name": "b", "cache_control": {"type": "ephemeral"}},
        {"name": "a", "cache_control": mark},
        {"name": "c", "defer_loading": True},
    ]
    made = rendered("anthropic", *tools)
    assert [one.get("cache_control") for one in functions(made)] == [None, mark, None]


@pytest.mark.parametrize("wire", WIRES)
def test_tools_are_sorted_and_names_fit_the_wire(wire: str) -> None:
    made = rendered(wire, {"name": "look up!"}, {"name": "b"}, {"name": "x" * 200})
    names = [function["name"] for function in functions(made)]
    assert names[0] == "b" and made.names == {names[1]: "look up!", names[2]: "x" * 200}


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


def test_aliases_reach_all_that_names_a_property_and_conditions_go() -> None:
    schema = {**an_object(**{"$a": TEXT, "b": an_object(**{"$in": TEXT})}), "if": {"required": ["$a"]}}
    tool: Json = {"name": "f", "input_schema": schema, "input_examples": [{"$a": "x"}]}
    made = rendered("anthropic", tool)
    (function,) = functions(made)
    (alias,) = made.parameters["f"]
    assert function["input_schema"] == an_object(**{alias: TEXT, "b": an_object(**{"$in": TEXT})})
    assert function["input_examples"] == [{alias: "x"}] and changes(made) == [
        "name_renamed",
        "schema_changed",
    ]
    for wire in ("openai", "openai-responses", "gemini"):
        assert sent(wire, schema) == (schema, [])


@pytest.mark.parametrize("pointer", ["#", "#/properties/$a"])
def test_a_pointer_to_what_is_renamed_is_refused_on_that_wire(pointer: str) -> None:
    schema = an_object(**{"$a": TEXT, "b": {"$ref": pointer}})
    with pytest.raises(InvalidValue, match=r"input_schema\.properties\.b\.\$ref"):
        rendered("anthropic", {"name": "f", "parameters": schema})
    assert sent("openai", schema) == (schema, [])


# --- tools of providers ----------------------------------------------------------------------------------

FORM = {"syntax": "lark", "definition": "start: /x/"}
FLAT: Json = {"type": "custom", "name": "run", "description": "Runs.", "format": {"type": "grammar", **FORM}}
NESTED: Json = {
    "type": "custom",
    "custom": {"name": "run", "description": "Runs.", "format": {"type": "grammar", "grammar": FORM}},
}
NATIVE: dict[str, list[Json]] = {
    "openai": [NESTED],
    "openai-responses": [
        FLAT,
        {"type": "web_search_2025_08_26"},
        {"type": "computer_use_preview", "environment": "linux"},
        {"type": "mcp", "server_label": "a", "server_url": "https://example.com"},
    ],
    "anthropic": [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"type": "mcp_toolset", "mcp_server_name": "crm"},
        {"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"},
    ],
    "gemini": [{"google_search": {}}, {"codeExecution": {}}],
}


@pytest.mark.parametrize("owner", NATIVE)
@pytest.mark.parametrize("wire", WIRES)
def test_tools_of_a_provider_go_to_it_as_they_are_and_nowhere_else(wire: str, owner: str) -> None:
    is_own = wire == owner
    for tool in NATIVE[owner]:
        if "openai" in wire and tool in (FLAT, NESTED):
            assert rendered(wire, tool).payload["tools"] == [NESTED if wire == "openai" else FLAT]
            continue
        made = rendered(wire, tool)
        found = made.payload.get("tools") or made.payload.get("config", {}).get("tools", [])
        assert found == ([tool] if is_own else []) and changes(made) == ([] if is_own else ["tools_left_out"])
        if not is_own:
            with pytest.raises(Downgraded):
                PROVIDERS[wire].render(ASKED, tools=[tool], strict=True)


def test_a_tool_that_takes_any_text_is_a_function_for_other_services() -> None:
    made = rendered("openai", FLAT, model="mistral-large-latest")
    schema = {**an_object(input=TEXT), "required": ["input"]}
    assert functions(made) == [{"name": "run", "description": "Runs.", "parameters": schema}]
    assert changes(made) == ["fields_left_out"]


def test_custom_with_a_schema_is_anthropics_word_for_a_function() -> None:
    tool = {"type": "custom", "name": "look", "input_schema": an_object()}
    assert [functions(rendered(wire, tool))[0]["name"] for wire in WIRES] == ["look"] * 4


@pytest.mark.parametrize(
    ("model", "left_out"),
    [("claude-opus-4-8", 0), ("bedrock/claude-opus-4-8", 3), ("vertex_ai/claude-opus-4-8", 2)],
)
def test_clouds_run_only_some_of_anthropics_tools(model: str, left_out: int) -> None:
    kinds = ("web_search_20250305", "web_fetch_20260209", "code_execution_20260120", "bash_20250124")
    tool: Json = {"name": "a", "input_schema": an_object(), "allowed_callers": ["direct"]}
    made = rendered("anthropic", tool, *({"type": kind, "name": kind} for kind in kinds), model=model)
    assert changes(made).count("tools_left_out") == left_out == 5 - len(functions(made))
    assert ("allowed_callers" in functions(made)[0]) is (left_out == 0)


@pytest.mark.parametrize(("model", "mixes"), [("gemini-3-pro", True), ("gemini-2.5-pro", False)])
def test_gemini_mixes_functions_with_its_own_tools_where_the_model_does(model: str, mixes: bool) -> None:
    made = rendered("gemini", {"name": "f"}, {"google_search": {}}, model=model)
    assert changes(made) == ([] if mixes else ["tools_left_out"])
    assert ("tool_config" in made.payload["config"]) is mixes


def test_tools_of_two_services_may_have_one_name_and_two_of_one_request_may_not() -> None:
    searches: list[Json] = [{"type": "web_search"}, {"type": "web_search_20250305", "name": "web_search"}]
    for wire in WIRES:
        assert len(rendered(wire, *searches).payload.get("tools", ())) == (
            wire in ("openai-responses", "anthropic")
        )
    with pytest.raises(InvalidValue, match="two tools are called 'web_search'"):
        rendered("anthropic", searches[1], {"name": "web_search"})


def test_calls_without_tools_have_definitions_that_are_not_to_be_called() -> None:
    history: list[Item] = [*ASKED, ToolCall("a", "look at"), ToolResult("a", "look at", "A")]
    made = PROVIDERS["anthropic"].render(history)
    (tool,), call = made.payload["tools"], made.payload["messages"][1]["content"][0]
    assert tool["name"] == call["name"] and tool["input_schema"] == an_object()
    assert made.payload["tool_choice"] == {"type": "none"}
    assert changes(made) == ["name_renamed", "tools_added"]


# --- readings are shared ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_definitions_and_payloads_that_are_changed_later_change_nothing_else(wire: str) -> None:
    transcript, tool = Transcript(ASKED), {"name": "look", "parameters": an_object(q={"type": "string"})}
    first = PROVIDERS[wire].render(transcript.view, tools=[tool])
    before = json.dumps(first.payload)
    tool["parameters"]["properties"]["q"]["type"] = "integer"  # type: ignore[index]  # pyright: ignore
    assert json.dumps(first.payload) == before
    again = PROVIDERS[wire].render(transcript.view, tools=[tool])
    assert '"integer"' in json.dumps(again.payload)
    schema_of(functions(again)[0])["properties"]["q"]["type"] = "boolean"
    assert '"boolean"' not in json.dumps(rendered(wire, tool).payload)


@pytest.mark.parametrize(("one", "other"), [(0, False), (1, 1.0), ([1], (1,)), (None, "null")])
@pytest.mark.parametrize("wire", WIRES)
def test_values_that_python_takes_for_the_same_are_told_apart(wire: str, one: Any, other: Any) -> None:
    transcript = Transcript(ASKED)
    for value in (one, other):
        tools = [{"name": "f", "parameters": an_object(q={"default": value})}]
        going_on = PROVIDERS[wire].render(transcript.view, tools=tools)
        assert json.dumps(value) in json.dumps(going_on.payload)
        assert going_on.prefix == PROVIDERS[wire].render(ASKED, tools=tools).prefix


def test_a_reading_is_kept() -> None:
    tools = [{"name": "f", "parameters": an_object(q=TEXT)}]
    assert read_tools(tools)[0] is read_tools(copy.deepcopy(tools))[0]
