"""Whole responses as items: finish reasons, usage, errors, calls, state and media."""

from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged, QuireError
from quire.items import Audio, Image, Message, Reasoning, ToolCall
from quire.providers import Parsed, provider_for
from tests.providers.replies import MODELS, ROWS, WIRES, Call, Json, Reply, events, whole

QUESTION = [Message("user", "Go.")]
WELL = Reply(text="Well")


def ended(wire: str, reason: str, reply: Reply = WELL) -> Parsed:
    """A whole response that ended for a reason."""
    body = whole(wire, reply)
    if wire == "openai":
        body["choices"][0]["finish_reason"] = reason
    elif wire == "anthropic":
        body["stop_reason"] = reason
    elif wire == "gemini":
        body["candidates"][0]["finishReason"] = reason
    else:
        body |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return provider_for(wire).parse(body)


def sent_back(wire: str, body: Json, model: str | None = None) -> tuple[Parsed, Any]:
    """A response, and what is sent after it in the next request."""
    provider, model = provider_for(wire), model or MODELS[wire]
    parsed = provider.parse(body, sent=provider.render(QUESTION, model=model))
    payload = provider.render([*QUESTION, *parsed.items, Message("user", "And?")], model=model).payload
    return parsed, (payload.get("messages") or payload.get("input") or payload["contents"])[1:]


def called(parsed: Parsed) -> list[ToolCall]:
    return [item for item in parsed.items if isinstance(item, ToolCall)]


def test_finish_reasons() -> None:
    for wire, reason, finish in ROWS["finishes"]:
        parsed = ended(wire, reason)
        assert (parsed.finish, parsed.error) == (finish, None), (wire, reason)


@pytest.mark.parametrize("wire", WIRES)
def test_a_word_for_a_failure_is_an_error(wire: str) -> None:
    for reason in ("failed", "network_error", "insufficient_system_resource", "aborted"):
        parsed = ended(wire, reason)
        assert str(parsed.error).startswith(f"server_error {reason}")
        assert parsed.finish == "other"
        assert [item.interrupted for item in parsed.items if isinstance(item, Message)] == [True]


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_answer_has_no_calls(wire: str) -> None:
    reason = {"anthropic": "refusal", "gemini": "SAFETY"}.get(wire, "content_filter")
    parsed = ended(wire, reason, Reply(text="No", calls=(Call("a", "f", {}),)))
    assert (parsed.finish, [type(item) for item in parsed.items]) == ("refused", [Message])


def test_a_refusal_of_openai_and_a_blocked_prompt_of_gemini_are_refused() -> None:
    message = {"role": "assistant", "content": None, "refusal": "No."}
    output = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    for wire, body in (
        ("openai", {"choices": [{"message": message, "finish_reason": "stop"}]}),
        ("openai-responses", {"status": "completed", "output": [output]}),
    ):
        parsed = provider_for(wire).parse(body)
        assert ([item.text for item in parsed.items if isinstance(item, Message)], parsed.finish) == (
            ["No."],
            "refused",
        )
    blocked = provider_for("gemini").parse({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (blocked.items, blocked.finish) == ((), "refused")


def test_a_last_call_that_may_be_cut_off_is_left_out() -> None:
    calls = Reply(text="Well", calls=(Call("a", "f", {"x": 1}), Call("b", "f", {})))
    lengths = {"openai": "length", "openai-responses": "max_output_tokens", "anthropic": "max_tokens"}
    for wire in WIRES:
        assert [call.call_id for call in called(ended(wire, lengths.get(wire, "MAX_TOKENS"), calls))] == ["a"]
    failed = ended("gemini", "MALFORMED_FUNCTION_CALL", calls)
    assert (called(failed), failed.error) == ([], "MALFORMED_FUNCTION_CALL")


def test_usage() -> None:
    for wire, report, expected in ROWS["usages"]:
        body = {**whole(wire, WELL), "usage": report, "usageMetadata": report}
        usage: Any = provider_for(wire).parse(body).usage
        found = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning]
        assert found == expected, (wire, report)


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_a_body_is_an_answer_with_an_error(wire: str) -> None:
    for error, text in ROWS["errors"]:
        parsed = provider_for(wire).parse({"error": error})
        assert (parsed.items, parsed.finish, parsed.error) == ((), "other", text)


def test_a_malformed_response_is_damage_with_a_path() -> None:
    for wire, response, path in ROWS["damaged_responses"]:
        with pytest.raises(Damaged) as caught:
            provider_for(wire).parse(response)
        assert f"(at {path})" in str(caught.value), (wire, response)


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_without_a_name_is_left_out_and_is_an_error(wire: str) -> None:
    parsed = provider_for(wire).parse(whole(wire, Reply(text="Well", calls=(Call("a", "", {}),))))
    assert [type(item) for item in parsed.items] == [Message]
    assert (parsed.finish, parsed.error) == ("other", "a call did not arrive whole")


# --- calls


@pytest.mark.parametrize("wire", WIRES)
def test_repeated_and_missing_ids_of_calls_are_made_unique(wire: str) -> None:
    calls = [Call(call_id, "f", {"x": x}) for x, call_id in enumerate(("a", "a", "b", "", ""))]
    reply = Reply(calls=(*calls, calls[2]))  # a whole call that is repeated is one call
    ids = [call.call_id for call in called(provider_for(wire).parse(whole(wire, reply)))]
    assert ids[:3] == ["a", "a_2", "b"]
    assert len(set(ids)) == 5
    assert all(ids)


@pytest.mark.parametrize("wire", WIRES)
def test_renamed_tools_have_their_own_names_again(wire: str) -> None:
    provider = provider_for(wire)
    tool: Json = {"name": "weather in.oslo ü", "parameters": {"type": "object", "properties": {}}}
    sent = provider.render(QUESTION, model=MODELS[wire], tools=[tool])
    [name] = [wire_name for wire_name, own in sent.names.items() if own == tool["name"]]
    parsed = provider.parse(whole(wire, Reply(calls=(Call("a", name, {}),))), sent=sent)
    assert [call.name for call in called(parsed)] == [tool["name"]]


def test_custom_calls_go_back_as_they_came_on_responses_and_signed_ones_on_chat() -> None:
    for wire, body in ROWS["custom_calls"].items():
        parsed, back = sent_back(wire, body, "gpt-5.6")
        assert called(parsed)[0].arguments == '{"input":"select 1"}'
        assert ("'custom" in str(back[0])) is (wire == "openai-responses")
    for call in ROWS["signed_calls"]:
        body = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [call]}}]}
        assert "c2ln" in str(sent_back("openai", body, "gemini-3-pro")[1][0]["tool_calls"]), call


# --- state and media


def test_blocks_of_the_service_are_one_reasoning_and_go_back_verbatim() -> None:
    blocks: list[Json] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "Well"},
    ]
    parsed, back = sent_back("anthropic", {"content": blocks, "stop_reason": "end_turn"})
    assert [type(item) for item in parsed.items] == [Reasoning, Message]
    assert back[0]["content"] == blocks
    said = {"type": "output_text", "text": "Well"}
    output: list[Json] = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "c"},
        {"type": "message", "role": "assistant", "content": [said], "phase": "final_answer"},
    ]
    parsed, back = sent_back("openai-responses", {"status": "completed", "output": output})
    assert [type(item) for item in parsed.items] == [Reasoning, Message]
    assert (back[:2], back[2]["phase"]) == (output[:2], "final_answer")
    for wire, body in ROWS["blocks_alone"]:
        [item] = provider_for(wire).parse(body, model=MODELS[wire]).items
        assert isinstance(item, Reasoning)
        assert item.state is not None, wire


def test_signed_parts_of_gemini_go_back_on_the_same_parts() -> None:
    parts: list[Json] = [
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "Well "},
        {"text": "then", "thoughtSignature": "c2lo"},
        {"functionCall": {"name": "f", "args": {}, "id": "a"}, "thoughtSignature": "c2lp"},
    ]
    body = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    parsed, back = sent_back("gemini", body)
    assert [item.text for item in parsed.items if isinstance(item, Message)] == ["Well then"]
    signatures = [part.get("thoughtSignature") for part in back[0]["parts"]]
    assert signatures == ["c2ln", None, "c2lo", "c2lp"]


def test_thinking_without_a_signature_goes_back_to_services_that_sign_none() -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    call: Json = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    body = {"content": [thinking, call], "stop_reason": "tool_use"}
    for model in ("deepseek-v4-pro", "moonshotai/kimi-k2.5", "mimo-v2.5-pro"):
        back = sent_back("anthropic", body, model)[1]
        assert back[0]["content"][0] == {**thinking, "signature": ""}, model


def test_images_and_sound_of_a_reply() -> None:
    for wire, body in ROWS["images"]:
        [message] = provider_for(wire).parse(body).items
        assert isinstance(message, Message)
        assert [part.data for part in message.parts if isinstance(part, Image)] == [b"\x89PNG\r\n\x1a\n"]
    audio = {"id": "audio_1", "data": b64encode(b"RIFF").decode(), "transcript": "Hello"}
    messages: list[Json] = [
        {"content": None, "audio": audio},
        {"content": "Here.", "images": [{"image_url": {"url": ""}}]},
    ]
    bodies = [{"choices": [{"finish_reason": "stop", "message": message}]} for message in messages]
    [spoken], [drawn] = (provider_for("openai").parse(body).items for body in bodies)
    assert isinstance(spoken, Message)
    assert spoken.parts == (Audio(data=b"RIFF", transcript="Hello"),)
    assert isinstance(drawn, Message)
    assert drawn.text.startswith("Here.")  # an image that cannot be read costs no answer


# --- whatever comes

ODD: tuple[Any, ...] = (None, [], {}, 5, True, "x", "", [[]], [5], {"a": 1}, {"type": []}, "\ud83d", 1e308)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        inner = list(value.items() if isinstance(value, dict) else enumerate(value))  # pyright: ignore
    found = [place for key, one in inner for place in places(one, (*path, key))]
    return [path, *found] if path else found


def with_odd(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """A JSON value with another value at a path."""
    if not path:
        return odd
    copied: Any = dict(value) if isinstance(value, dict) else list(value)  # pyright: ignore
    copied[path[0]] = with_odd(value[path[0]], path[1:], odd)
    return copied


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data(), odd=st.sampled_from(ODD))
def test_an_odd_value_anywhere_is_read_or_refused(wire: str, data: st.DataObject, odd: Any) -> None:
    def changed(value: Any) -> Any:
        return with_odd(value, data.draw(st.sampled_from(places(value))), odd)

    reply = Reply("hm", "Well", (Call("a", "f", {"x": 1}),))
    body, provider = whole(wire, reply), provider_for(wire)
    with suppress(QuireError):
        provider.parse(changed(body))
    with suppress(QuireError):
        stream = provider.stream()
        for event in changed(events(wire, reply)):
            stream.feed(event)
        stream.close()
    items = [*QUESTION, *provider.parse(body).items, Message("user", "And?")]
    with suppress(QuireError):
        provider.read_history(changed(provider.render(items, model=MODELS[wire]).payload))
