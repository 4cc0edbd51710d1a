"""Parameters whose names Anthropic refuses: other names there, their own in items, both ways."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, Rendered
from quire.state import Transcript

ANTHROPIC = PROVIDERS["anthropic"]
ASKED = [Message("user", "Go.")]
NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=70),
    st.sampled_from(["$top", "@a.b", "filter[id]", "k" * 70, "xtop_4fca3ad05c"]),
)


def tool(names: list[str]) -> dict[str, Any]:
    properties = {name: {"type": "integer"} for name in names}
    return {"name": "f", "parameters": {"type": "object", "properties": properties, "required": names}}


def answer(arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": arguments}
    return {"content": [call], "model": "claude-opus-5", "stop_reason": "tool_use"}


def pieces(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    begun: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    return [
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]


def streamed(arguments: dict[str, Any], sent: Rendered) -> tuple[Item, ...]:
    reader = ANTHROPIC.stream(sent=sent)
    for event in pieces(arguments):
        reader.feed(event)
    return reader.close().items


@pytest.mark.laws
@given(st.lists(NAMES, unique=True, max_size=5))
def test_arguments_come_back_by_their_own_names(names: list[str]) -> None:
    sent = ANTHROPIC.render(ASKED, tools=[tool(names)], strict=True)
    assert ANTHROPIC.check(sent.payload) == []
    schema = sent.payload["tools"][0]["input_schema"]
    written = [*schema["properties"]]
    assert len(written) == len(names) and schema["required"] == written
    own = {name: place for place, name in enumerate(names)}
    for items in (
        ANTHROPIC.parse(answer(dict(zip(written, range(5), strict=False))), sent=sent.bare()).items,
        streamed(dict(zip(written, range(5), strict=False)), sent),
    ):
        assert isinstance(items[0], ToolCall) and json.loads(items[0].arguments) == own
        history = [*ASKED, *items, ToolResult("c1", "f", "fine"), Message("user", "On.")]
        for view in (history, Transcript(history).view):
            again = ANTHROPIC.render(view, tools=[tool(names)])
            (call,) = again.payload["messages"][1]["content"]
            assert call["input"] == dict(zip(written, range(5), strict=False))
            assert again.payload["tools"] == sent.payload["tools"]


def test_only_names_that_are_refused_are_changed_and_that_is_noted() -> None:
    given_tool = tool(["limit", "$top"])
    given_tool["parameters"]["properties"]["deep"] = {"type": "object", "properties": {"$in": {}}}
    sent = ANTHROPIC.render(ASKED, tools=[given_tool])
    assert [*sent.payload["tools"][0]["input_schema"]["properties"]][::2] == ["limit", "deep"]
    assert "$in" in sent.payload["tools"][0]["input_schema"]["properties"]["deep"]["properties"]
    assert [(note.change, "'f'" in note.reason) for note in sent.downgrades] == [("name_renamed", True)]
    assert [*sent.parameters["f"].values()] == ["$top"]


def test_whatever_speaks_of_a_property_has_its_name() -> None:
    schema = {
        "type": "object",
        "properties": {"$a": {"type": "string"}, "b": {"$ref": "#/properties/$a"}, "c": {}},
        "dependentRequired": {"$a": ["b"], "c": ["$a"]},
    }
    examples = [{"$a": "x", "b": "y"}]
    sent = ANTHROPIC.render(ASKED, tools=[{"name": "f", "input_schema": schema, "input_examples": examples}])
    (written,) = sent.payload["tools"]
    name = next(iter(written["input_schema"]["properties"]))
    assert written["input_schema"]["properties"]["b"] == {"$ref": f"#/properties/{name}"}
    assert written["input_schema"]["dependentRequired"] == {name: ["b"], "c": [name]}
    assert written["input_examples"] == [{name: "x", "b": "y"}]
    assert schema["dependentRequired"] == {"$a": ["b"], "c": ["$a"]}


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "gemini"])
def test_other_wires_take_every_name(wire: str) -> None:
    sent = PROVIDERS[wire].render(ASKED, tools=[tool(["$top"])])
    assert '"$top"' in json.dumps(sent.payload) and sent.downgrades == () and sent.parameters == {}


def test_in_a_long_history_too() -> None:
    history: list[Item] = [*ASKED, Message("assistant", "Well."), Message("user", "And?")]
    for number in range(3):
        call = ToolCall(f"c{number}", "f", '{"$top": 1, "limit": 2}')
        history += [call, ToolResult(f"c{number}", "f", "fine"), Message("user", "On.")]
    sent = ANTHROPIC.render(history, tools=[tool(["limit", "$top"])])
    calls = [
        block
        for message in sent.payload["messages"]
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    (name,) = sent.parameters["f"]
    assert [call["input"] for call in calls] == [{name: 1, "limit": 2}] * 3


def test_what_points_to_the_whole_keeps_its_own_names() -> None:
    schema = {
        "type": "object",
        "properties": {
            "$op": {"type": "string"},
            "args": {"type": "array", "items": {"$ref": "#"}},
            "one": {"$ref": "#/$defs/whole"},
        },
        "required": ["$op"],
        "$defs": {"whole": {"anyOf": [{"$ref": "#"}, {"$ref": "#/properties/$op"}]}},
    }
    sent = ANTHROPIC.render(ASKED, tools=[{"name": "f", "input_schema": schema}])
    assert ANTHROPIC.check(sent.payload) == []
    written = sent.payload["tools"][0]["input_schema"]
    name = next(iter(written["properties"]))
    assert written["required"] == [name] != ["$op"]
    pointer = written["properties"]["args"]["items"]["$ref"]
    inner = written["$defs"][pointer.removeprefix("#/$defs/")]
    assert [*inner["properties"]] == ["$op", "args", "one"] and inner["required"] == ["$op"]
    assert inner["properties"]["args"]["items"]["$ref"] == pointer and "$defs" not in inner
    assert written["$defs"]["whole"]["anyOf"] == [{"$ref": pointer}, {"$ref": f"#/properties/{name}"}]
    given_answer: dict[str, Any] = {name: "and", "args": [{"$op": "eq", "args": []}]}
    (call,) = ANTHROPIC.parse(answer(given_answer), sent=sent).items
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == {"$op": "and", "args": [{"$op": "eq", "args": []}]}


def test_conditions_on_the_whole_have_the_new_names() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"$a": {"type": "string"}, "b": {"type": "object", "properties": {"$a": {}}}},
        "if": {"properties": {"$a": {"const": "1"}}},
        "then": {"allOf": [{"required": ["$a", "b"]}], "properties": {"b": {"required": ["$a"]}}},
        "else": {"not": {"required": ["$a"]}},
        "dependentSchemas": {"$a": {"properties": {"$a": {}}}, "b": {"required": ["$a"]}},
    }
    sent = ANTHROPIC.render(ASKED, tools=[{"name": "f", "input_schema": schema}])
    written = sent.payload["tools"][0]["input_schema"]
    name = next(iter(written["properties"]))
    assert written["if"] == {"properties": {name: {"const": "1"}}}
    assert written["then"]["allOf"] == [{"required": [name, "b"]}]
    assert written["then"]["properties"] == {"b": {"required": ["$a"]}}
    assert written["else"] == {"not": {"required": [name]}}
    assert written["dependentSchemas"] == {name: {"properties": {name: {}}}, "b": {"required": [name]}}


def test_dependencies_of_an_older_draft_have_them_too() -> None:
    schema = {
        "type": "object",
        "properties": {"$a": {"type": "string"}, "b": {"type": "string"}},
        "dependencies": {"$a": ["b"], "b": {"required": ["$a"]}},
    }
    sent = ANTHROPIC.render(ASKED, tools=[{"name": "f", "input_schema": schema}])
    written = sent.payload["tools"][0]["input_schema"]
    name = next(iter(written["properties"]))
    assert "dependencies" not in written
    assert written["dependentRequired"] == {name: ["b"]}
    assert written["dependentSchemas"] == {"b": {"required": [name]}}
