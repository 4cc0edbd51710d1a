"""Blocks of other services in a content: thoughts are never words of the user, and a call is told once."""

import json
from typing import Any

import pytest

from quire.items import Item, Message, Note, Reasoning, ToolCall, ToolResult
from quire.providers import check, provider_for

CLAUDE = "claude-sonnet-4-5"
CALL = {"name": "look", "args": {"q": 1}, "id": "toolu_1", "type": "tool_call"}
TEXT = {"type": "text", "text": "I look."}
THINKING = {"type": "thinking", "thinking": "The user wants it.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "c2VhbGVk"}
USES: list[Any] = [
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"q": 1}},
    {"type": "tool_call", "id": "toolu_1", "name": "look", "args": {"q": 1}},
    {"type": "function_call", "id": "fc_1", "call_id": "toolu_1", "name": "look", "arguments": '{"q":1}'},
]
TOOL: dict[str, Any] = {
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {}},
}


def kept(*blocks: Any, **beside: Any) -> list[Any]:
    return [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": [*blocks], **beside},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "rain"},
    ]


def read(*blocks: Any, model: str | None = None, **beside: Any) -> list[Item]:
    return provider_for("openai").read_history(kept(*blocks, **beside), model=model)


def kinds(items: list[Item]) -> list[type]:
    return [type(item) for item in items]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("beside", [{"tool_calls": [CALL]}, {}])
def test_a_call_in_a_block_is_that_call(use: Any, beside: Any) -> None:
    items = read(TEXT, use, **beside)
    assert kinds(items) == [Message, Message, ToolCall, ToolResult]
    assert isinstance(items[2], ToolCall) and (items[2].call_id, items[2].arguments) == ("toolu_1", '{"q":1}')
    for wire in ("openai", "openai-responses", "anthropic", "gemini"):
        made = provider_for(wire).render(items, tools=[TOOL])
        assert not {"result_left_out", "media_as_text"} & {one.change for one in made.downgrades}


def test_one_call_in_several_blocks_is_told_once() -> None:
    assert kinds(read(*USES)) == [Message, ToolCall, ToolResult]


def test_a_call_that_nobody_answered_is_kept_as_it_is() -> None:
    unanswered = {**USES[0], "id": "toolu_2"}
    assert Note in kinds(read(TEXT, unanswered, tool_calls=[CALL]))


@pytest.mark.parametrize("odd", [{"id": []}, {"id": None}, {"name": 5}, {"input": 5}])
def test_odd_calls_are_no_exception(odd: Any) -> None:
    calls = [item for item in read(TEXT, {**USES[0], **odd}, tool_calls=[CALL]) if type(item) is ToolCall]
    assert [call.arguments for call in calls] == ['{"q":1}']


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
@pytest.mark.parametrize("block", [THINKING, REDACTED])
def test_thinking_goes_back_to_who_signed_it_and_is_told_to_nobody(wire: str, block: Any) -> None:
    history = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": [block, TEXT]},
        {"role": "user", "content": "Go on."},
    ]
    items = provider_for(wire).read_history(history, model=CLAUDE)
    assert kinds(items) == [Message, Reasoning, Message, Message]
    back = provider_for("anthropic").render(items, model=CLAUDE).payload["messages"][1]["content"]
    assert back == [block, TEXT]
    here = provider_for(wire).render(items, model=CLAUDE)
    left_out = "reasoning_left_out" if wire == "openai" else "state_foreign"
    assert [one.change for one in here.downgrades] == [left_out]
    text = json.dumps(here.payload)
    assert "c2ln" not in text and "c2VhbGVk" not in text and "wants it" not in text
    assert check(here.payload, wire) == []


def test_what_tools_of_the_service_left_is_none_of_the_users_words() -> None:
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}}
    found: Any = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    items = read(asked, found, TEXT, tool_calls=[CALL], model=CLAUDE)
    assert kinds(items) == [Message, Reasoning, Reasoning, Message, ToolCall, ToolResult]
    assert "srvtoolu" not in json.dumps(provider_for("openai").render(items).payload)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "c2ln"}},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "c2VhbGVk"},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
    ],
)
@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_thoughts_in_every_form_are_thoughts(wire: str, block: Any) -> None:
    history = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": [block, TEXT]}]
    _, thought, said = provider_for(wire).read_history(history)
    assert isinstance(thought, Reasoning) and thought.text == "hm"
    assert isinstance(said, Message) and said.text == "I look."


def test_langchain_has_the_signature_beside_them() -> None:
    block = {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "c2ln"}}
    items = read(block, TEXT, tool_calls=[CALL], model=CLAUDE)
    back = provider_for("anthropic").render(items, model=CLAUDE, tools=[TOOL]).payload["messages"][1]
    assert back["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def test_sealed_thoughts_without_words_are_not_dropped_in_silence() -> None:
    items = read({"type": "reasoning", "encrypted_content": "c2VhbGVk"}, TEXT, tool_calls=[CALL])
    made = provider_for("openai").render(items, model="gpt-5.6", tools=[TOOL])
    assert [one.change for one in made.downgrades] == ["reasoning_left_out"]


def test_thoughts_of_nothing_are_nothing() -> None:
    assert kinds(read({"type": "reasoning", "text": ""}, TEXT, tool_calls=[CALL]))[1] is Message


def test_thoughts_in_what_a_user_said_are_kept_as_they_are() -> None:
    (said, note) = provider_for("openai").read_history(
        [{"role": "user", "content": [{"type": "reasoning", "text": "hm"}, TEXT]}]
    )
    assert isinstance(said, Message) and isinstance(note, Note)
