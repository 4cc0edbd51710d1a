"""Ids of calls with a signature in them, as LiteLLM gives them for Gemini: it is kept whole, or left out."""

from base64 import b64encode
from typing import Any

import pytest

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import OpenAIChat, check

WIRE = OpenAIChat()
PRO, FLASH = "gemini/gemini-3-pro", "gemini/gemini-3-flash"
SIGNATURE = b64encode(b"what only the model can read" * 5).decode()
SIGNED = {"thought_signature": SIGNATURE}


def history(base: str, where: str = "id") -> list[Any]:
    function = {"name": "look", "arguments": "{}"}
    call: dict[str, Any] = {"id": f"{base}__thought__{SIGNATURE}", "type": "function", "function": function}
    if where == "call":
        call["provider_specific_fields"] = SIGNED
    if where == "function":
        function["provider_specific_fields"] = SIGNED  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]
    return [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "rain"},
    ]


def sent(items: list[Item], model: str) -> tuple[Any, Any]:
    payload = WIRE.render(items, model=model).payload
    assert check(payload, "openai", model=model) == []
    return payload["messages"][1]["tool_calls"][0], payload["messages"][2]


@pytest.mark.parametrize("base", ["call_1", "call_0a1b2c3d4e5f60718293a4b5c6d7"])
@pytest.mark.parametrize("where", ["id", "call", "function"])
def test_the_signature_goes_back_beside_the_call(base: str, where: str) -> None:
    call, result = sent(WIRE.read_history(history(base, where), model=PRO), PRO)
    assert call["id"] == result["tool_call_id"] == base
    assert call["provider_specific_fields"] == SIGNED


@pytest.mark.parametrize("model", [FLASH, "gpt-5.6", "claude-opus-5"])
def test_another_model_gets_nothing_of_it(model: str) -> None:
    call, result = sent(WIRE.read_history(history("call_1"), model=PRO), model)
    assert call["id"] == result["tool_call_id"] == "call_1"
    assert SIGNATURE[:8] not in str(call)


def test_a_result_names_the_call_as_it_was_answered() -> None:
    raw = history("call_1")[1]
    parsed = WIRE.parse({"choices": [{"finish_reason": "tool_calls", "message": raw}]}, model=PRO)
    whole = raw["tool_calls"][0]["id"]
    items = [Message("user", "Rain?"), *parsed.items, ToolResult(whole, "look", "rain")]
    call, result = sent(items, PRO)
    assert call["id"] == result["tool_call_id"] == "call_1" and call["provider_specific_fields"] == SIGNED


def test_two_calls_of_one_bare_id_stay_two() -> None:
    items = [*WIRE.read_history(history("call_1")), *WIRE.read_history(history("call_1"))]
    messages = WIRE.render(items, model=PRO).payload["messages"]
    first, second = (message["tool_calls"][0]["id"] for message in messages if message.get("tool_calls"))
    assert first == "call_1" != second and "__thought__" not in second


def test_a_call_in_pieces() -> None:
    stream = WIRE.stream(model=PRO)
    for piece in (history("call_1", "function")[1]["tool_calls"][0], {"function": {"arguments": ""}}):
        stream.feed({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **piece}]}}]})
    stream.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    (call,) = stream.close().items
    assert isinstance(call, ToolCall) and call.state is not None and SIGNATURE in call.state.data


def test_what_the_gateway_takes_is_no_fault() -> None:
    assert check(history("call_1"), "openai", model=PRO) == []
    assert [fault.rule for fault in check(history("call_1"), "openai", model="gpt-5.6")] == ["call_id_length"]
    assert [fault.rule for fault in check(history("c" * 65), "openai", model=PRO)] == ["call_id_length"]
