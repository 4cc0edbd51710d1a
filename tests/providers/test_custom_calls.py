"""Calls of tools that take any text go back as such on both wires that have them, and elsewhere are noted."""

import json
from typing import Any

import pytest

from quire.items import JSON, Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript

CHAT, RESPONSES = PROVIDERS["openai"], PROVIDERS["openai-responses"]
GO: dict[str, Any] = {"role": "user", "content": "Go."}
TOOL: dict[str, Any] = {"type": "custom", "name": "run a shell", "description": "Any command."}
IN_CHAT: list[dict[str, Any]] = [
    GO,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "run a shell", "input": "ls -é"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    GO,
]
IN_RESPONSES: list[dict[str, Any]] = [
    GO,
    {"type": "custom_tool_call", "call_id": "c1", "name": "run a shell", "input": "ls -é"},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"},
    GO,
]
HISTORIES = {"openai": ("messages", IN_CHAT), "openai-responses": ("input", IN_RESPONSES)}


@pytest.mark.parametrize("source", HISTORIES)
@pytest.mark.parametrize("wire", HISTORIES)
def test_they_go_back_as_they_came_on_either_wire(source: str, wire: str) -> None:
    items = PROVIDERS[source].read_history(HISTORIES[source][1])
    field, expected = HISTORIES[wire]
    for read in (items, JSON.decode(JSON.encode(items)), Transcript(items).view):
        rendered = PROVIDERS[wire].render(read, tools=[TOOL], strict=True)
        assert rendered.payload[field] == expected
        assert rendered.downgrades == ()
        assert PROVIDERS[wire].check(rendered.payload) == []


@pytest.mark.parametrize("source", HISTORIES)
@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_elsewhere_they_are_calls_of_a_function_and_that_is_said(source: str, wire: str) -> None:
    items = PROVIDERS[source].read_history(HISTORIES[source][1])
    for read in (items, Transcript(items).view):
        rendered = PROVIDERS[wire].render(read)
        assert "fields_left_out" in {downgrade.change for downgrade in rendered.downgrades}
        assert PROVIDERS[wire].check(rendered.payload) == []
        assert "ls -é" in json.dumps(rendered.payload, ensure_ascii=False)


def test_one_without_a_result_gets_one_of_its_kind() -> None:
    items = RESPONSES.read_history(IN_RESPONSES[:2])
    rendered = RESPONSES.render(items)
    assert rendered.payload["input"][-1]["type"] == "custom_tool_call_output"
    assert RESPONSES.check(rendered.payload) == []


@pytest.mark.parametrize("arguments", ["no json", "[]", "{}", '{"input": 3}'])
@pytest.mark.parametrize("wire", HISTORIES)
def test_arguments_that_are_no_such_text_are_those_of_a_function(wire: str, arguments: str) -> None:
    form = {"form": {"kind": "custom", "wires": ["openai", "openai-responses"]}}
    call = ToolCall("c1", "shell", arguments, extras=form)
    items: list[Item] = [Message("user", "Go."), call, ToolResult("c1", "shell", "x")]
    rendered = PROVIDERS[wire].render(items)
    assert PROVIDERS[wire].check(rendered.payload) == []
    assert "custom" not in json.dumps(rendered.payload)


def test_other_calls_that_the_caller_runs_are_those_of_a_function_and_that_is_said() -> None:
    items = RESPONSES.read_history(
        [
            {"type": "computer_call", "call_id": "b", "action": {"type": "click"}},
            {"type": "computer_call_output", "call_id": "b", "output": "done"},
        ]
    )
    rendered = RESPONSES.render(items)
    assert [downgrade.change for downgrade in rendered.downgrades] == ["fields_left_out"]


def test_answers_with_them_are_sent_back_as_they_came() -> None:
    sent = RESPONSES.render([Message("user", "Go.")], tools=[TOOL])
    answer = {"status": "completed", "output": [{**IN_RESPONSES[1], "id": "ctc_1", "status": "completed"}]}
    items = RESPONSES.parse(answer, sent=sent).items
    again = RESPONSES.render([Message("user", "Go."), *items, ToolResult("c1", "run a shell", "a.txt")])
    assert again.payload["input"] == IN_RESPONSES[:3]
