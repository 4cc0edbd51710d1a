"""Ids of calls: not every service that speaks this wire takes more than forty characters."""

from typing import Any

import pytest

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, check

MODELS = ["gpt-5.6", "azure/gpt-5.6", None]


def history(call_id: str) -> list[Item]:
    return [
        *(Message("user", "Go."), ToolCall(call_id, "f", "{}"), ToolResult(call_id, "f", "fine")),
        Message("user", "On."),
    ]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("length", [40, 41, 64])
def test_an_id_has_at_most_forty_characters(model: str | None, length: int) -> None:
    rendered = PROVIDERS["openai"].render(history("c" * length), model=model)
    _, asked, given, _ = rendered.payload["messages"]
    assert asked["tool_calls"][0]["id"] == given["tool_call_id"]
    assert len(given["tool_call_id"]) <= 40
    assert [note.change for note in rendered.downgrades] == ["id_renamed"] * (length > 40)


def test_responses_takes_longer_ones() -> None:
    rendered = PROVIDERS["openai-responses"].render(history("c" * 64), model="azure/gpt-5.6")
    assert rendered.payload["input"][1]["call_id"] == "c" * 64 and rendered.downgrades == ()


@pytest.mark.parametrize(
    "model", ["azure/gpt-5.6", "azure_ai/gpt-5", "litellm/azure/gpt-5", "github_copilot/gpt-5"]
)
def test_a_longer_one_is_a_fault_where_it_is_refused(model: str) -> None:
    calls: list[Any] = [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c" * 41, "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c" * 41, "content": "fine"},
    ]
    assert [fault.rule for fault in check(calls, "openai", model=model)] == ["call_id_length"]
    assert check(calls, "openai", model="gpt-5.6") == []
