"""Whole responses as items: finish reasons, usage, errors, state, and forms of services."""

from base64 import b64encode
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import Damaged, QuireError, WrongType
from quire.items import Audio, File, Image, Message, Reasoning, ToolCall
from quire.providers import provider_for
from tests.providers.replies import MODELS, WIRES, Call, Json, Reply, drawn_replies, events, plain, whole

PNG = b"\x89PNG\r\n\x1a\n"
PNG64 = b64encode(PNG).decode()
QUESTION = [Message("user", "Go.")]
WELL = Reply(text="Well")


@pytest.mark.parametrize("wire", WIRES)
@given(reply=drawn_replies)
def test_a_reply_goes_back_as_it_came(wire: str, reply: Reply) -> None:
    provider, model = provider_for(wire), MODELS[wire]
    parsed = provider.parse(whole(wire, reply), sent=provider.render(QUESTION, model=model))
    rendered = provider.render([*QUESTION, *parsed.items, Message("user", "And?")], model=model)
    assert provider.check(rendered.payload, model) == []
    again = provider.read_history(rendered.payload, model=model)
    said = [
        item.text for item in again if isinstance(item, Message) and item.role == "assistant" and item.text
    ]
    assert said == [text for text in [reply.text] if text.strip()] or not reply.text.strip()
    calls = [(item.name, item.arguments) for item in again if isinstance(item, ToolCall)]
    assert len(calls) == len(reply.calls)


FINISHES: list[tuple[str, str, str]] = [
    ("openai", "stop", "stop"),
    ("openai", "eos_token", "stop"),
    ("openai", "tool_calls", "calls"),
    ("openai", "function_call", "calls"),
    ("openai", "length", "length"),
    ("openai", "model_length", "length"),
    ("openai", "content_filter", "refused"),
    ("openai", "CONTENT-FILTER", "refused"),
    ("openai", "weird", "other"),
    ("anthropic", "end_turn", "stop"),
    ("anthropic", "stop_sequence", "stop"),
    ("anthropic", "tool_use", "calls"),
    ("anthropic", "max_tokens", "length"),
    ("anthropic", "model_context_window_exceeded", "length"),
    ("anthropic", "refusal", "refused"),
    ("anthropic", "pause_turn", "paused"),
    ("gemini", "STOP", "stop"),
    ("gemini", "MAX_TOKENS", "length"),
    ("gemini", "SAFETY", "refused"),
    ("gemini", "IMAGE_SAFETY", "refused"),
    ("gemini", "OTHER", "other"),
]


def ended(wire: str, reason: str, reply: Reply = WELL) -> Json:
    body = whole(wire, reply)
    if wire == "openai":
        body["choices"][0]["finish_reason"] = reason
    elif wire == "anthropic":
        body["stop_reason"] = reason
    elif wire == "gemini":
        body["candidates"][0]["finishReason"] = reason
    else:
        body |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return body


@pytest.mark.parametrize(("wire", "reason", "finish"), FINISHES)
def test_finish_reasons(wire: str, reason: str, finish: str) -> None:
    parsed = provider_for(wire).parse(ended(wire, reason))
    assert (parsed.finish, parsed.error) == (finish, None)


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "refused"), ("new", "other")]
)
def test_reasons_of_incomplete_responses(reason: str, finish: str) -> None:
    assert provider_for("openai-responses").parse(ended("openai-responses", reason)).finish == finish


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("reason", ["failed", "network_error", "insufficient_system_resource", "aborted"])
def test_a_word_for_a_failure_is_an_error(wire: str, reason: str) -> None:
    parsed = provider_for(wire).parse(ended(wire, reason))
    assert parsed.error is not None
    assert parsed.error.startswith(f"server_error {reason}")
    assert parsed.finish == "other"
    assert [item.interrupted for item in parsed.items if isinstance(item, Message)] == [True]


REFUSALS = {
    "openai": "content_filter",
    "openai-responses": "content_filter",
    "anthropic": "refusal",
    "gemini": "SAFETY",
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_answer_has_no_calls(wire: str) -> None:
    parsed = provider_for(wire).parse(
        ended(wire, REFUSALS[wire], Reply(text="No", calls=(Call("a", "f", {}),)))
    )
    assert parsed.finish == "refused"
    assert [type(item) for item in parsed.items] == [Message]


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_the_last_call_of_an_answer_without_room_is_left_out(wire: str) -> None:
    calls = (Call("a", "f", {"x": 1}), Call("b", "f", {"x": 2}))
    reason = "max_tokens" if wire == "anthropic" else "MAX_TOKENS"
    parsed = provider_for(wire).parse(ended(wire, reason, Reply(calls=calls)))
    assert [item.call_id for item in parsed.items if isinstance(item, ToolCall)] == ["a"]


def test_calls_of_a_gemini_model_that_failed_are_left_out() -> None:
    body = ended("gemini", "MALFORMED_FUNCTION_CALL", Reply(text="Well", calls=(Call("a", "f", {}),)))
    body["candidates"][0]["finishMessage"] = "print(f())"
    parsed = provider_for("gemini").parse(body)
    assert [type(item) for item in parsed.items] == [Message]
    assert parsed.error == "MALFORMED_FUNCTION_CALL: print(f())"


def test_a_blocked_prompt_is_refused() -> None:
    parsed = provider_for("gemini").parse({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (parsed.items, parsed.finish) == ((), "refused")


def test_a_refusal_of_openai_is_text_and_a_reason() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I can't."}
    chat = provider_for("openai").parse({"choices": [{"message": message, "finish_reason": "stop"}]})
    output = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]}
    responses = provider_for("openai-responses").parse({"status": "completed", "output": [output]})
    for parsed in (chat, responses):
        assert ([item.text for item in parsed.items if isinstance(item, Message)], parsed.finish) == (
            ["I can't."],
            "refused",
        )


USAGES: list[tuple[str, Json, tuple[int, ...]]] = [
    (
        "openai",
        {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        (9, 5, 4, 2, 3),
    ),
    ("openai", {"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (9, 5, 4, 0, 0)),
    (
        "openai",
        {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 99}},
        (9, 5, 9, 0, 0),
    ),
    ("openai", {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": None}, (9, 5, 0, 0, 0)),
    (
        "openai-responses",
        {
            "input_tokens": 9,
            "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 3},
        },
        (9, 5, 4, 0, 3),
    ),
    (
        "anthropic",
        {
            "input_tokens": 3,
            "output_tokens": 5,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 2,
        },
        (9, 5, 4, 2, 0),
    ),
    (
        "gemini",
        {
            "promptTokenCount": 7,
            "toolUsePromptTokenCount": 2,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
            "cachedContentTokenCount": 4,
        },
        (9, 5, 4, 0, 3),
    ),
]


@pytest.mark.parametrize(("wire", "report", "expected"), USAGES)
def test_usage(wire: str, report: Json, expected: tuple[int, ...]) -> None:
    usage = (
        provider_for(wire)
        .parse({**whole(wire, Reply(text="Well")), "usage": report, "usageMetadata": report})
        .usage
    )
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning) == expected


ERRORS: list[tuple[Any, str]] = [
    ({"type": "rate_limit_error", "message": "Slow down."}, "rate_limit_error: Slow down."),
    ({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota."}, "RESOURCE_EXHAUSTED 429: Quota."),
    ("No.", "No."),
    ({}, "an error without a message"),
    ({"message": "x" * 600}, "x" * 500 + "…"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("error", "text"), ERRORS)
def test_an_error_in_a_body_is_an_answer_with_an_error(wire: str, error: Any, text: str) -> None:
    parsed = provider_for(wire).parse({"error": error})
    assert (parsed.items, parsed.finish, parsed.error) == ((), "other", text)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("response", [None, "text", 5, [1], SimpleNamespace(choices=[])])
def test_a_response_of_a_wrong_type_is_refused(wire: str, response: Any) -> None:
    with pytest.raises(WrongType):
        provider_for(wire).parse(response)


DAMAGED: list[tuple[str, Json, str]] = [
    ("openai", {}, "choices"),
    ("openai", {"choices": {"a": 1}}, "choices"),
    ("openai", {"choices": [5]}, "choices[0]"),
    ("openai", {"choices": [{"message": None}]}, "choices[0].message"),
    (
        "openai",
        {"choices": [{"message": {"tool_calls": [{"id": "a"}]}}]},
        "choices[0].message.tool_calls[0].function",
    ),
    (
        "openai",
        {"choices": [{"message": {"tool_calls": [{"id": 5, "function": {"name": "f"}}]}}]},
        "choices[0].message.tool_calls[0].id",
    ),
    ("openai-responses", {}, "output"),
    ("openai-responses", {"output": [5]}, "output[0]"),
    ("openai-responses", {"output": [{"type": []}]}, "output[0].type"),
    ("openai-responses", {"output": [{"type": "function_call", "call_id": "a"}]}, "output[0].name"),
    ("anthropic", {}, "$.content"),
    ("anthropic", {"content": [5]}, "$.content"),
    ("anthropic", {"content": [{"type": "text", "text": 5}]}, "$.content"),
    ("anthropic", {"content": [{"type": "tool_use", "id": "a"}]}, "$.content"),
    ("gemini", {"x": 1}, "$.candidates"),
    ("gemini", {"candidates": 5}, "$.candidates"),
    (
        "gemini",
        {"candidates": [{"content": {"parts": [{"inlineData": {"data": 5}}]}}]},
        "$.candidates[0].content.parts[0].inlineData.data",
    ),
    (
        "gemini",
        {"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]},
        "$.candidates[0].content.parts.functionCall.name",
    ),
]


@pytest.mark.parametrize(("wire", "response", "path"), DAMAGED)
def test_a_malformed_response_is_damage_with_a_path(wire: str, response: Json, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        provider_for(wire).parse(response)
    assert f"(at {path})" in str(caught.value)


# --- calls


@pytest.mark.parametrize("wire", WIRES)
def test_repeated_ids_of_calls_are_made_unique(wire: str) -> None:
    reply = Reply(calls=(Call("a", "f", {}), Call("a", "f", {"x": 1}), Call("b", "f", {})))
    parsed = provider_for(wire).parse(whole(wire, reply))
    assert [item.call_id for item in parsed.items if isinstance(item, ToolCall)] == ["a", "a_2", "b"]


@pytest.mark.parametrize("wire", WIRES)
def test_calls_without_ids_get_one(wire: str) -> None:
    parsed = provider_for(wire).parse(whole(wire, Reply(calls=(Call("", "f", {}), Call("", "f", {"x": 1})))))
    ids = [item.call_id for item in parsed.items if isinstance(item, ToolCall)]
    assert len(set(ids)) == 2
    assert all(ids)


@pytest.mark.parametrize("wire", WIRES)
def test_renamed_tools_have_their_own_names_again(wire: str) -> None:
    provider = provider_for(wire)
    tool: Json = {"name": "weather in.oslo ü", "parameters": {"type": "object", "properties": {}}}
    sent = provider.render(QUESTION, model=MODELS[wire], tools=[tool])
    [name] = [wire_name for wire_name, own in sent.names.items() if own == tool["name"]]
    parsed = provider.parse(whole(wire, Reply(calls=(Call("a", name, {}),))), sent=sent)
    assert [item.name for item in parsed.items if isinstance(item, ToolCall)] == [tool["name"]]


def test_malformed_arguments_of_an_answer_that_ended_well_stay() -> None:
    function = {"name": "f", "arguments": '{"a": '}
    message = {"content": None, "tool_calls": [{"id": "a", "function": function}]}
    parsed = provider_for("openai").parse({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert [item.arguments for item in parsed.items if isinstance(item, ToolCall)] == ['{"a": ']


CUSTOM = {
    "openai": {
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {
                    "tool_calls": [
                        {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
                    ]
                },
            }
        ]
    },
    "openai-responses": {
        "status": "completed",
        "output": [{"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "select 1"}],
    },
}


@pytest.mark.parametrize("wire", CUSTOM)
def test_a_custom_call_goes_back_as_one(wire: str) -> None:
    provider = provider_for(wire)
    parsed = provider.parse(CUSTOM[wire], sent=provider.render(QUESTION, model="gpt-5.6"))
    [call] = parsed.items
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"input":"select 1"}'
    rendered = provider.render([*QUESTION, call], model="gpt-5.6")
    written = (
        rendered.payload["messages"][1]["tool_calls"][0] if wire == "openai" else rendered.payload["input"][1]
    )
    assert written["type"] in ("custom", "custom_tool_call")


# --- state and media


def test_blocks_of_server_tools_are_one_reasoning_and_go_back_verbatim() -> None:
    provider, model = provider_for("anthropic"), "claude-opus-4-8"
    blocks: list[Json] = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "Well"},
    ]
    parsed = provider.parse(
        {"content": blocks, "stop_reason": "end_turn"}, sent=provider.render(QUESTION, model=model)
    )
    assert [type(item) for item in parsed.items] == [Reasoning, Message]
    rendered = provider.render([*QUESTION, *parsed.items, Message("user", "And?")], model=model)
    assert rendered.payload["messages"][1]["content"] == blocks


def test_items_of_the_service_on_responses_are_one_reasoning() -> None:
    items = [
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1",
            "container_id": "c",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Well"}],
            "phase": "final_answer",
        },
    ]
    provider = provider_for("openai-responses")
    parsed = provider.parse(
        {"status": "completed", "output": items}, sent=provider.render(QUESTION, model="gpt-5.6")
    )
    assert [type(item) for item in parsed.items] == [Reasoning, Message]
    rendered = provider.render([*QUESTION, *parsed.items], model="gpt-5.6")
    assert rendered.payload["input"][1:3] == items[:2]
    assert rendered.payload["input"][3]["phase"] == "final_answer"


def test_signed_parts_of_gemini_go_back_on_the_same_parts() -> None:
    parts: list[Json] = [
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "Well "},
        {"text": "then", "thoughtSignature": "c2lo"},
        {"functionCall": {"name": "f", "args": {}, "id": "a"}, "thoughtSignature": "c2lp"},
    ]
    provider, model = provider_for("gemini"), "gemini-3-pro"
    body: Json = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    parsed = provider.parse(body, sent=provider.render(QUESTION, model=model))
    assert [item.text for item in parsed.items if isinstance(item, Message)] == ["Well then"]
    rendered = provider.render([*QUESTION, *parsed.items], model=model)
    written = rendered.payload["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in written] == ["c2ln", None, "c2lo", "c2lp"]


def test_thinking_without_a_signature_goes_back_to_services_that_sign_none() -> None:
    provider, model = provider_for("anthropic"), "deepseek-v4-pro"
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ]
    parsed = provider.parse(
        {"content": blocks, "stop_reason": "tool_use"}, sent=provider.render(QUESTION, model=model)
    )
    rendered = provider.render([*QUESTION, *parsed.items], model=model)
    assert rendered.payload["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "hm",
        "signature": "",
    }


SIGNED_CALLS: list[Json] = [
    {
        "id": "a",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "c2ln"}},
    },
    {
        "id": "a",
        "function": {
            "name": "f",
            "arguments": "{}",
            "provider_specific_fields": {"thought_signature": "c2ln"},
        },
    },
    {"id": "a__thought__c2ln", "function": {"name": "f", "arguments": "{}"}},
]


@pytest.mark.parametrize("call", SIGNED_CALLS)
def test_signatures_of_calls_on_openais_wire_go_back(call: Json) -> None:
    provider, model = provider_for("openai"), "gemini-3-pro"
    body = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [call]}}]}
    parsed = provider.parse(body, sent=provider.render(QUESTION, model=model))
    rendered = provider.render([*QUESTION, *parsed.items], model=model)
    assert "c2ln" in str(rendered.payload["messages"][1]["tool_calls"][0])


IMAGES: list[tuple[str, Json]] = [
    (
        "openai",
        {
            "choices": [
                {
                    "finish_reason": "stop",
                    "message": {
                        "content": "",
                        "images": [
                            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG64}"}}
                        ],
                    },
                }
            ]
        },
    ),
    (
        "openai",
        {
            "choices": [
                {"finish_reason": "stop", "message": {"content": None, "images": [{"b64_json": PNG64}]}}
            ]
        },
    ),
    ("openai-responses", {"output": [{"type": "image_generation_call", "id": "ig_1", "result": PNG64}]}),
    (
        "gemini",
        {
            "candidates": [
                {
                    "content": {"parts": [{"inlineData": {"mimeType": "image/png", "data": PNG64}}]},
                    "finishReason": "STOP",
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("wire", "body"), IMAGES)
def test_images_of_a_reply(wire: str, body: Json) -> None:
    [message] = provider_for(wire).parse(body).items
    assert isinstance(message, Message)
    [image] = message.parts
    assert isinstance(image, Image)
    assert image.data == PNG


def test_an_image_that_cannot_be_read_costs_no_answer() -> None:
    message = {"content": "Here.", "images": [{"image_url": {"url": ""}}]}
    parsed = provider_for("openai").parse({"choices": [{"finish_reason": "stop", "message": message}]})
    assert [item.text.startswith("Here.") for item in parsed.items if isinstance(item, Message)] == [True]


def test_sound_of_a_reply() -> None:
    audio = {"id": "audio_1", "data": b64encode(b"RIFF").decode(), "transcript": "Hello"}
    parsed = provider_for("openai").parse(
        {"choices": [{"finish_reason": "stop", "message": {"content": None, "audio": audio}}]}
    )
    [message] = parsed.items
    assert isinstance(message, Message)
    assert message.parts == (Audio(data=b"RIFF", transcript="Hello"),)


def test_files_by_address_of_gemini() -> None:
    part = {"fileData": {"fileUri": "gs://a", "mimeType": "video/mp4"}}
    parsed = provider_for("gemini").parse(
        {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    )
    [message] = parsed.items
    assert isinstance(message, Message)
    assert message.parts == (File(url="gs://a", media_type="video/mp4"),)


@pytest.mark.parametrize("wire", WIRES)
def test_an_object_of_a_client_is_read_like_its_json(wire: str) -> None:
    body = whole(wire, Reply("hm", "Well", (Call("a", "f", {"x": 1}),)))

    class Response:
        def model_dump(self, **options: Any) -> Json:
            return body

    provider = provider_for(wire)
    assert plain(provider.parse(Response()).items) == plain(provider.parse(body).items)


# --- whatever comes

ODD: tuple[Any, ...] = (None, [], {}, 5, True, "x", "", [[]], [5], {"a": 1}, {"type": []}, "\ud83d", 1e308)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    found = [path] if path else []
    inner: Any = ()
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore
    return found + [place for key, one in inner for place in places(one, (*path, key))]


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
    reply = Reply("hm", "Well", (Call("a", "f", {"x": 1}),))
    body, provider = whole(wire, reply), provider_for(wire)
    with suppress(QuireError):
        provider.parse(with_odd(body, data.draw(st.sampled_from(places(body))), odd))
    all_events = events(wire, reply)
    changed = with_odd(all_events, data.draw(st.sampled_from(places(all_events))), odd)
    with suppress(QuireError):
        stream = provider.stream()
        for event in changed:
            stream.feed(event)
        stream.close()
    parsed = provider.parse(body)
    payload = provider.render([*QUESTION, *parsed.items, Message("user", "And?")], model=MODELS[wire]).payload
    with suppress(QuireError):
        provider.read_history(with_odd(payload, data.draw(st.sampled_from(places(payload))), odd))


@pytest.mark.parametrize("wire", WIRES)
def test_a_value_that_nests_too_deep_is_refused(wire: str) -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    block = {"type": "new", "deep": deep}
    history = (
        [{"role": "user", "parts": [block]}] if wire == "gemini" else [{"role": "user", "content": [block]}]
    )
    with pytest.raises(Damaged, match="nested deeper"):
        provider_for(wire).read_history(history)


ALONE: list[tuple[str, Json]] = [
    (
        "anthropic",
        {
            "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}],
            "stop_reason": "pause_turn",
        },
    ),
    (
        "gemini",
        {
            "candidates": [
                {
                    "content": {"parts": [{"executableCode": {"code": "1", "language": "PYTHON"}}]},
                    "finishReason": "STOP",
                }
            ]
        },
    ),
    ("openai-responses", {"output": [{"type": "web_search_call", "id": "ws_1", "status": "completed"}]}),
]


@pytest.mark.parametrize(("wire", "body"), ALONE)
def test_blocks_of_the_service_alone_keep_their_state(wire: str, body: Json) -> None:
    [item] = provider_for(wire).parse(body, model=MODELS[wire]).items
    assert isinstance(item, Reasoning)
    assert item.state is not None
    assert item.state.model == MODELS[wire]
