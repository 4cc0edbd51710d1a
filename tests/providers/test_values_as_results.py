"""Results that are a value of a program, where a text or blocks should be: their JSON is the text."""

from typing import Any

import pytest

from quire.items import Item, ToolResult
from quire.providers import check, provider_for

VALUES = [
    ({"city": "Oslo"}, '{"city":"Oslo"}'),
    ([{"city": "Oslo"}], '[{"city":"Oslo"}]'),
    (["a", "b"], '["a","b"]'),
    ([1, None, ["a"]], '[1,null,["a"]]'),
    ([{"type": "text", "text": "a"}, 1], '[{"type":"text","text":"a"},1]'),
    (42, "42"),
    (1.5, "1.5"),
    (True, "true"),
]


def history(wire: str, value: Any) -> list[Any]:
    asked = {"role": "user", "content": "Rain?"}
    if wire == "openai":
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return [
            asked,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": value},
        ]
    if wire == "anthropic":
        used: Any = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        given = {"type": "tool_result", "tool_use_id": "c1", "content": value}
        return [asked, {"role": "assistant", "content": [used]}, {"role": "user", "content": [given]}]
    return [
        asked,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": value},
    ]


def result(items: list[Item]) -> ToolResult:
    (found,) = (item for item in items if isinstance(item, ToolResult))
    return found


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(("value", "text"), VALUES)
def test_a_value_is_its_json(wire: str, value: Any, text: str) -> None:
    provider = provider_for(wire)
    items = provider.read_history(history(wire, value))
    assert result(items).content == text
    faults = check(provider.render(items).payload, wire)
    assert [fault for fault in faults if fault.rule != "tools_missing"] == []


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_texts_among_blocks_are_texts(wire: str) -> None:
    items = provider_for(wire).read_history(history(wire, ["a", {"type": "text", "text": "b"}]))
    assert result(items).content == ("a", "b")


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("value", ["", None, []])
def test_nothing_is_nothing(wire: str, value: Any) -> None:
    assert result(provider_for(wire).read_history(history(wire, value))).content == ""
