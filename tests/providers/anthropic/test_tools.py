"""Messages: definitions of tools, and what stands in where there are none."""

from typing import Any

import pytest

from quire.items import Message, Opaque, Reasoning, ToolCall, ToolResult
from tests.providers.anthropic.histories import BOUND, STEERED
from tests.providers.anthropic.test_writing import HI, WIRE, YES

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
CALLED = (HI, ToolCall("a", "look at"), ToolResult("a", "look at", "A"))


def tools(*definitions: dict[str, Any]) -> Any:
    made = WIRE.render([HI], tools=definitions)
    assert WIRE.check(made.payload) == []
    return made.payload["tools"]


def test_tools_are_in_the_order_of_their_names_and_their_own_names_come_back() -> None:
    closed = {**EMPTY, "additionalProperties": False}
    function = {"name": "b.c", "description": "B.", "strict": True, "parameters": closed}
    chat = {"type": "function", "function": function}
    plain = {"name": "a", "input_schema": {"type": "object", "properties": {"x": {"type": "string"}}}}
    made = WIRE.render([HI], tools=[chat, plain])
    first, second = made.payload["tools"]
    assert first == plain
    assert second == {"name": second["name"], "description": "B.", "input_schema": closed, "strict": True}
    assert made.names == {second["name"]: "b.c"}
    call: dict[str, Any] = {"type": "tool_use", "id": "t", "name": second["name"], "input": {}}
    assert [
        item.name for item in WIRE.parse({"content": [call]}, sent=made).items if isinstance(item, ToolCall)
    ] == ["b.c"]


def test_a_tool_of_the_provider_is_passed_as_it_is() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    assert tools(search) == [search]
    servers = {"type": "mcp_toolset", "mcp_server_name": "files"}
    assert tools(servers) == [servers]


@pytest.mark.parametrize(
    "other", [{"google_search": {}}, {"type": "web_search_preview"}, {"type": "web_search_2025_08_26"}]
)
def test_a_tool_of_another_provider_is_left_out(other: dict[str, Any]) -> None:
    made = WIRE.render([HI], tools=[other, {"name": "a"}])
    assert [tool["name"] for tool in made.payload["tools"]] == ["a"]
    assert [downgrade.change for downgrade in made.downgrades] == ["tools_left_out"]
    assert "tools" not in WIRE.render([HI], tools=[other]).payload


A: dict[str, Any] = {"properties": {"a": {}, "k": {}}, "required": ["k", "a"]}
B: dict[str, Any] = {"properties": {"b": {}, "k": {}}, "required": ["k", "b"]}
BOTH: dict[str, Any] = {"a": {}, "b": {}, "k": {}}
SCHEMAS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"properties": {"x": {}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {"properties": {"x": {}}, "required": []},
    ),
    (
        {"oneOf": [{"$ref": "#/$defs/A"}, B], "$defs": {"A": A}},
        {"properties": BOTH, "required": ["k"], "$defs": {"A": A}},
    ),
    ({"allOf": [A, B]}, {"properties": BOTH, "required": ["k", "a", "b"]}),
    ({"anyOf": "nonsense", "required": 5}, {"properties": {}}),
]


@pytest.mark.parametrize(("schema", "written"), SCHEMAS)
def test_a_schema_that_combines_others_at_its_top_is_one_plain_object(
    schema: dict[str, Any], written: dict[str, Any]
) -> None:
    made = WIRE.render([HI], tools=[{"name": "a", "input_schema": schema}])
    assert made.payload["tools"] == [{"name": "a", "input_schema": {**written, "type": "object"}}]
    assert [each.change for each in made.downgrades] == ["schema_mended"]
    assert WIRE.check(made.payload) == []


def test_the_top_of_a_schema_is_an_object() -> None:
    [tool] = tools({"name": "a", "input_schema": {"properties": {"x": {}}}})
    assert tool["input_schema"] == {"type": "object", "properties": {"x": {}}}


def test_a_history_with_calls_and_no_tools_has_definitions_that_are_not_to_be_called() -> None:
    made = WIRE.render(CALLED)
    name = made.payload["messages"][1]["content"][0]["name"]
    assert made.payload["tools"] == [
        {"name": name, "description": "Not at hand any more.", "input_schema": EMPTY}
    ]
    assert made.payload["tool_choice"] == {"type": "none"}
    assert [each.change for each in made.downgrades] == ["name_renamed", "tools_added"]
    assert "tools" not in WIRE.render([HI]).payload


def test_thinking_is_left_out_where_it_is_bound_to_tools_that_are_made_up() -> None:
    for model, changes in ((STEERED, ["tools_added"]), (BOUND, ["state_stale", "tools_added"])):
        thought = Reasoning("hm", Opaque("anthropic", model, '{"signature":"s"}'))
        call = ToolCall("a", "look")
        made = WIRE.render(
            [HI, thought, YES, call, ToolResult("a", "look", "A"), Message("user", "x")], model=model
        )
        assert [each.change for each in made.downgrades] == changes
        assert WIRE.check(made.payload, model) == []
