"""Payloads as the clients' own pages write them: dictionaries whose fields hold what the client gave."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from anthropic.types import Message, Message as AnthropicMessage, ThinkingBlock, ToolUseBlock
from google.genai import types
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseReasoningItem

from quire.providers import PROVIDERS, check, provider_for

ASKED: dict[str, Any] = {"role": "user", "content": "How is the weather?"}
NEVER_MIND: dict[str, Any] = {"role": "user", "content": "Never mind."}


def anthropic_answer() -> Message:
    return AnthropicMessage.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "content": [
                {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"town": None}},
            ],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def anthropic(*after: dict[str, Any]) -> Any:
    return [ASKED, {"role": "assistant", "content": anthropic_answer().content}, *after]


def openai_answer() -> ChatCompletionMessage:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]})


def openai(*after: dict[str, Any]) -> Any:
    answer = openai_answer()
    said = {"role": "assistant", "content": answer.content, "tool_calls": answer.tool_calls}
    return {"model": "gpt-5.6", "messages": [ASKED, said, *after]}


def responses(*after: dict[str, Any]) -> Any:
    reasoning = ResponseReasoningItem(id="rs_1", type="reasoning", summary=[], encrypted_content="E")
    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="look", arguments="{}")
    return {"model": "gpt-5.6", "input": (ASKED, reasoning, call, *after)}


def gemini(*after: Any) -> Any:
    called = types.Part(function_call=types.FunctionCall(name="look", args={}), thought_signature=b"abc")
    return [
        {"role": "user", "parts": [types.Part(text="How is the weather?")]},
        {"role": "model", "parts": [called]},
        *after,
    ]


def function() -> types.Tool:
    town = types.Schema(type=types.Type.OBJECT, properties={"town": types.Schema(type=types.Type.STRING)})
    return types.Tool(function_declarations=[types.FunctionDeclaration(name="look", parameters=town)])


def look(town: str) -> str:
    """Look out of a window."""
    return town


GEMINI_ASKED = types.Content(role="user", parts=[types.Part(text="q")])
SETTINGS = types.GenerateContentConfig(system_instruction="Be brief.", tools=[function()])
WITH_FUNCTION = types.GenerateContentConfig(system_instruction="Be brief.", tools=[look])
PICTURE = types.Part.from_bytes(data=b"\xff\xd8\xff\xe0\x00\x10JFIF", mime_type="image/jpeg")
HALF = ToolUseBlock(type="tool_use", id="t", name="\ud800", input={})
BLOCK = ResponseOutputMessage.model_validate(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}],
    }
)

GOOD: dict[str, tuple[str, Any]] = {
    "content of a response": (
        "anthropic",
        anthropic(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}
        ),
    ),
    "calls of a message": ("openai", openai({"role": "tool", "tool_call_id": "c1", "content": "r"})),
    "output of a response": (
        "openai-responses",
        responses({"type": "function_call_output", "call_id": "c1", "output": "r"}),
    ),
    "blocks of a message": (
        "openai-responses",
        [
            ASKED,
            {"type": "message", "role": "assistant", "content": BLOCK.content, "id": "msg_1"},
            NEVER_MIND,
        ],
    ),
    "parts of a content": (
        "gemini",
        gemini(
            {"role": "user", "parts": [types.Part.from_function_response(name="look", response={"r": 1})]}
        ),
    ),
    "picture among parts": ("gemini", [{"role": "user", "parts": [PICTURE, types.Part(text="What is it?")]}]),
    "settings": ("gemini", {"contents": [GEMINI_ASKED], "config": SETTINGS}),
    "one content": ("gemini", {"contents": GEMINI_ASKED, "config": SETTINGS}),
    "tools in settings": (
        "gemini",
        {"contents": [GEMINI_ASKED], "config": {"tools": [function(), look], "system_instruction": "S"}},
    ),
    "a function in settings": ("gemini", {"contents": [GEMINI_ASKED], "config": WITH_FUNCTION}),
}

BAD: dict[str, tuple[str, Any, set[tuple[str, str]]]] = {
    "content of a response": (
        "anthropic",
        anthropic(NEVER_MIND),
        {("messages[1].content[2]", "unanswered_call")},
    ),
    "calls of a message": (
        "openai",
        openai(NEVER_MIND),
        {("messages[1].tool_calls[0].id", "unanswered_tool_call")},
    ),
    "output of a response": (
        "openai-responses",
        responses(NEVER_MIND),
        {("input[2].call_id", "unanswered_call")},
    ),
    "parts of a content": (
        "gemini",
        gemini({"role": "user", "parts": [types.Part(text="Never mind.")]}),
        {("contents[1]", "unanswered_call")},
    ),
    "settings": (
        "gemini",
        {
            "contents": [GEMINI_ASKED],
            "config": types.GenerateContentConfig(tools=[function(), function()]),
        },
        {("config.tools[1].functionDeclarations[0].name", "duplicate_tool")},
    ),
    "half a pair in a block": (
        "anthropic",
        [ASKED, {"role": "assistant", "content": [HALF]}],
        {("messages[1].content[0].name", "not_unicode")},
    ),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_a_client_takes_has_no_fault(case: str) -> None:
    provider, payload = GOOD[case]
    assert check(payload, provider) == []


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_objects_is_found_in_them(case: str) -> None:
    provider, payload, expected = BAD[case]
    faults = check(payload, provider)
    assert faults
    assert expected <= {(fault.place, fault.rule) for fault in faults}
    assert "shape" not in {fault.rule for fault in faults}


@pytest.mark.parametrize("case", [*GOOD, *BAD])
def test_every_door_says_the_same(case: str) -> None:
    provider, payload, *_ = BAD.get(case) or GOOD[case]
    assert provider_for(provider).check(payload) == check(payload, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("payload", ["words", 5, None, object()], ids=lambda one: type(one).__name__)
def test_every_door_refuses_the_same(provider: str, payload: Any) -> None:
    assert said_by(partial(check, payload, provider)) == said_by(
        partial(provider_for(provider).check, payload)
    )


def said_by(door: Callable[[], Any]) -> Any:
    try:
        return door()
    except TypeError as fault:
        return str(fault)


def test_nothing_that_was_given_is_changed() -> None:
    block = ThinkingBlock(type="thinking", thinking="t", signature="c2ln")
    blocks = [block]
    history = [ASKED, {"role": "assistant", "content": blocks}]
    check(history, "anthropic")
    assert blocks == [block] and history[1]["content"] is blocks


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_payload_that_holds_itself_is_no_exception(provider: str) -> None:
    message: dict[str, Any] = {"role": "user", "content": "q", "parts": [GEMINI_ASKED]}
    message["content"] = [message, openai_answer()]
    assert check([message], provider)
