"""Histories in the forms of wires and libraries, as items."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given

from quire.errors import Damaged, WrongType
from quire.items import File, Image, Item, Message, Part, Reasoning, ToolCall, ToolResult
from quire.providers import provider_for
from tests.providers.replies import MODELS, WIRES, Json, Reply, drawn_replies, plain, whole

PNG = b"\x89PNG\r\n\x1a\n"
PNG64 = b64encode(PNG).decode()
IMAGE = Image(data=PNG, media_type="image/png")


def read(wire: str, payload: Any, model: str | None = None) -> list[Item]:
    return provider_for(wire).read_history(payload, model=model)


@pytest.mark.parametrize("wire", WIRES)
@given(reply=drawn_replies)
def test_a_rendered_payload_is_read_and_rendered_the_same(wire: str, reply: Reply) -> None:
    provider, model = provider_for(wire), MODELS[wire]
    question = [Message("system", "Be brief."), Message("user", ("See:", IMAGE))]
    answer = provider.parse(whole(wire, reply), sent=provider.render(question, model=model)).items
    results = [
        ToolResult(item.call_id, item.name, "done" if place else "failed", is_error=not place)
        for place, item in enumerate(one for one in answer if isinstance(one, ToolCall))
    ]
    items = [*question, *answer, *results, Message("user", "And?")]
    payload = provider.render(items, model=model).payload
    again = provider.render(provider.read_history(payload, model=model), model=model)
    assert provider.check(again.payload, model) == []
    assert [plain_kind(item) for item in read(wire, again.payload, model)] == [
        plain_kind(item) for item in read(wire, payload, model)
    ]


def plain_kind(item: Item) -> Json:
    [written] = plain([item])
    return {name: value for name, value in written.items() if name != "state"}


# --- pairing of calls and results


PAIRED: dict[str, list[Any]] = {
    "openai": [
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "function": {"name": "f", "arguments": "{}"}},
                {"id": "b", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ],
    "openai-responses": [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                {"type": "tool_use", "id": "b", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            ],
        },
    ],
    "gemini": [
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "a", "name": "f"}}, {"functionCall": {"id": "b", "name": "g"}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "b", "name": "g", "response": {"output": "2"}}},
                {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}},
            ],
        },
    ],
}


@pytest.mark.parametrize("wire", WIRES)
def test_results_name_the_tool_of_their_call(wire: str) -> None:
    results = [item for item in read(wire, PAIRED[wire]) if isinstance(item, ToolResult)]
    assert [(item.call_id, item.name, item.text) for item in results] == [("b", "g", "2"), ("a", "f", "1")]


@pytest.mark.parametrize("wire", WIRES)
def test_an_id_that_a_later_turn_repeats_is_made_unique(wire: str) -> None:
    turns: Any = [*PAIRED[wire], *PAIRED[wire]]
    items = read(wire, turns)
    assert [item.call_id for item in items if isinstance(item, ToolCall)] == ["a", "b", "a_2", "b_2"]
    assert [item.call_id for item in items if isinstance(item, ToolResult)] == ["b", "a", "b_2", "a_2"]


def test_parallel_calls_under_one_id_have_their_results_in_order() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    answers = [{"role": "tool", "tool_call_id": "a", "content": text} for text in "123"]
    items = read("openai", [{"role": "assistant", "tool_calls": [call, call]}, *answers])
    results = [(item.call_id, item.text) for item in items if isinstance(item, ToolResult)]
    assert results == [("a", "1"), ("a_2", "2"), ("a_2", "3")]


@pytest.mark.parametrize(
    ("wire", "payload"),
    [
        (
            "openai",
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"function": {"name": "f"}}, {"function": {"name": "g"}}],
                },
                {"role": "tool", "name": "g", "content": "2"},
                {"role": "tool", "content": "1"},
            ],
        ),
        (
            "gemini",
            [
                {
                    "role": "model",
                    "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "g"}}],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "g", "response": {"output": "2"}}},
                        {"functionResponse": {"response": {"output": "1"}}},
                    ],
                },
            ],
        ),
    ],
)
def test_calls_without_ids_are_counted_and_paired_by_name_and_order(wire: str, payload: Any) -> None:
    items = read(wire, payload)
    assert [item.call_id for item in items if isinstance(item, ToolCall)] == ["call_0", "call_1"]
    results = [(item.call_id, item.name, item.text) for item in items if isinstance(item, ToolResult)]
    assert results == [("call_1", "g", "2"), ("call_0", "f", "1")]
    assert [plain_kind(item) for item in read(wire, payload)] == [plain_kind(item) for item in items]


def test_the_form_before_calls_had_ids_is_read() -> None:
    items = read(
        "openai",
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
        ],
    )
    assert [(type(item), getattr(item, "name", "")) for item in items] == [(ToolCall, "f"), (ToolResult, "f")]


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_the_mark_of_failure_becomes_an_error_again(wire: str) -> None:
    provider = provider_for(wire)
    items: list[Item] = [
        Message("user", "Go."),
        ToolCall("a", "f"),
        ToolResult("a", "f", "no luck", is_error=True),
    ]
    again = provider.read_history(provider.render(items, model=MODELS[wire]).payload)
    [result] = [item for item in again if isinstance(item, ToolResult)]
    assert (result.is_error, result.text) == (True, "no luck")


# --- parts and results


def user(wire: str, block: Any) -> Any:
    if wire == "openai-responses":
        return [{"role": "user", "content": [block]}]
    return (
        [{"role": "user", "content": [block]}] if wire != "gemini" else [{"role": "user", "parts": [block]}]
    )


def result(wire: str, content: Any) -> Any:
    return {
        "openai": [*PAIRED["openai"][:1], {"role": "tool", "tool_call_id": "a", "content": content}],
        "openai-responses": [
            *PAIRED["openai-responses"][:1],
            {"type": "function_call_output", "call_id": "a", "output": content},
        ],
        "anthropic": [
            *PAIRED["anthropic"][:1],
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]},
        ],
    }[wire]


DATA = f"data:image/png;base64,{PNG64}"
PARTS: list[tuple[str, Json, Part]] = [
    (
        "openai",
        {"type": "image_url", "image_url": {"url": DATA, "detail": "low"}},
        Image(data=PNG, media_type="image/png", detail="low"),
    ),
    ("openai", {"type": "image_url", "image_url": {"url": "https://a/b.png"}}, Image(url="https://a/b.png")),
    ("openai", {"type": "file", "file": {"file_id": "file-1"}}, File(url="file-id:openai/file-1")),
    (
        "openai",
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
        File(data=b"%PDF-", media_type="application/pdf", name="a.pdf"),
    ),
    ("openai-responses", {"type": "input_image", "image_url": DATA}, IMAGE),
    ("openai-responses", {"type": "input_file", "file_url": "https://a/b.pdf"}, File(url="https://a/b.pdf")),
    (
        "anthropic",
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}},
        IMAGE,
    ),
    (
        "anthropic",
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        Image(url="file-id:anthropic/file_1"),
    ),
    (
        "anthropic",
        {
            "type": "document",
            "title": "a",
            "source": {"type": "text", "media_type": "text/plain", "data": "Rain."},
        },
        File(data=b"Rain.", media_type="text/plain", name="a"),
    ),
    (
        "anthropic",
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "Rain."}]}},
        File(data=b"Rain.", media_type="text/plain"),
    ),
    ("gemini", {"inlineData": {"mimeType": "image/png", "data": PNG64}}, IMAGE),
    ("gemini", {"inline_data": {"mime_type": "image/png", "data": PNG}}, IMAGE),
    (
        "gemini",
        {"fileData": {"fileUri": "gs://a", "mimeType": "video/mp4"}},
        File(url="gs://a", media_type="video/mp4"),
    ),
    # Forms of libraries and protocols
    ("openai", {"type": "image", "image": PNG64, "mediaType": "image/png"}, IMAGE),
    ("openai", {"type": "file", "data": PNG64, "mediaType": "image/png"}, IMAGE),
    (
        "openai",
        {"type": "file", "url": "https://a/b.pdf", "mediaType": "application/pdf"},
        File(url="https://a/b.pdf", media_type="application/pdf"),
    ),
    ("openai", {"type": "image", "source_type": "base64", "data": PNG64, "mime_type": "image/png"}, IMAGE),
    ("openai", {"type": "image", "base64": PNG64, "mime_type": "image/png"}, IMAGE),
    (
        "anthropic",
        {"type": "image", "source_type": "url", "url": "https://a/b.png"},
        Image(url="https://a/b.png"),
    ),
    (
        "openai-responses",
        {"type": "file", "source_type": "id", "id": "file-1"},
        File(url="file-id:openai/file-1"),
    ),
    ("openai", {"type": "image", "data": PNG64, "mimeType": "image/png"}, IMAGE),
    (
        "anthropic",
        {
            "type": "resource",
            "resource": {"uri": "a://b/c.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="},
        },
        File(data=b"%PDF-", media_type="application/pdf", name="c.pdf"),
    ),
    ("openai", {"type": "resource", "resource": {"uri": "a://b", "text": "Rain."}}, "Rain."),
    (
        "openai",
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG64}},
        IMAGE,
    ),
]


@pytest.mark.parametrize(("wire", "block", "part"), PARTS)
def test_parts(wire: str, block: Json, part: Part) -> None:
    [message] = read(wire, user(wire, block))
    assert isinstance(message, Message)
    assert message.parts == (part,)
    if wire != "gemini":
        [given_back] = [
            item
            for item in read(wire, result(wire, [{"type": "text", "text": "See:"}, block]))
            if isinstance(item, ToolResult)
        ]
        assert given_back.parts == ("See:", part)


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(
    "value",
    [
        {"temperature": 5},
        [1, 2],
        5,
        [{"type": "text", "text": "a", "score": 0.5}],
        [{"type": "file", "path": "a.md", "url": "https://a/a.md"}, {"type": "dir", "path": "b"}],
        [{"type": "image", "data": "not base64!"}],
    ],
)
def test_a_result_that_is_a_value_is_its_json(wire: str, value: Any) -> None:
    [item] = [item for item in read(wire, result(wire, value)) if isinstance(item, ToolResult)]
    assert isinstance(item.content, str)
    assert item.content.replace(" ", "")[:1] in "[{5"


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_texts_values_and_media_of_one_result_all_stay(wire: str) -> None:
    image = {"type": "image", "data": PNG64, "mimeType": "image/png"}
    [item] = [item for item in read(wire, result(wire, ["See:", image, 5])) if isinstance(item, ToolResult)]
    assert item.parts == ("See:", IMAGE, "5")


@pytest.mark.parametrize("wire", WIRES)
def test_a_block_of_no_known_kind_is_its_json(wire: str) -> None:
    block = {"hologram": {"x": 1}} if wire == "gemini" else {"type": "hologram", "x": 1}
    [message] = read(wire, user(wire, block))
    assert isinstance(message, Message)
    assert "hologram" in message.text


# --- state


def test_names_of_speakers_go_back() -> None:
    messages = [{"role": "user", "content": "Go.", "name": "Ann"}]
    provider = provider_for("openai")
    assert provider.render(provider.read_history(messages), model="gpt-5.6").payload["messages"] == messages


def test_the_placeholder_of_a_signature_is_no_signature() -> None:
    part = {"functionCall": {"name": "f", "id": "a"}, "thoughtSignature": "skip_thought_signature_validator"}
    [call] = read("gemini", [{"role": "model", "parts": [part]}])
    assert isinstance(call, ToolCall)
    assert call.state is None


# --- forms of libraries


def test_messages_of_langchain_are_read() -> None:
    messages: list[Json] = [
        {"type": "system", "content": "Be brief."},
        {"type": "human", "content": "Rain?"},
        {
            "type": "ai",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "I look.", "index": 1},
                {
                    "type": "tool_use",
                    "id": "a",
                    "name": "f",
                    "input": {},
                    "partial_json": '{"q": 1}',
                    "index": 2,
                },
            ],
            "tool_calls": [{"type": "tool_call", "id": "a", "name": "f", "args": {"q": 1}}],
        },
        {"type": "tool", "tool_call_id": "a", "content": "no luck", "status": "error"},
    ]
    items = read("openai", messages, "claude-opus-4-8")
    assert [type(item) for item in items] == [Message, Message, Reasoning, Message, ToolCall, ToolResult]
    call, given_back = items[-2:]
    assert isinstance(call, ToolCall)
    assert isinstance(given_back, ToolResult)
    assert (call.call_id, call.arguments, given_back.name, given_back.is_error) == ("a", '{"q":1}', "f", True)


AI_SDK_OUTPUTS: list[tuple[Json, str, bool]] = [
    ({"output": {"type": "text", "value": "rain"}}, "rain", False),
    ({"output": {"type": "json", "value": {"mm": 5}}}, '{"mm":5}', False),
    ({"output": {"type": "error-text", "value": "no luck"}}, "no luck", True),
    ({"output": {"type": "execution-denied", "reason": "not now"}}, "not now", True),
    ({"output": {"type": "content", "value": [{"type": "text", "text": "rain"}]}}, "rain", False),
    ({"result": {"mm": 5}}, '{"mm":5}', False),
    ({"result": "no luck", "isError": True}, "no luck", True),
]


@pytest.mark.parametrize(("output", "text", "is_error"), AI_SDK_OUTPUTS)
def test_messages_of_the_ai_sdk_are_read(output: Json, text: str, is_error: bool) -> None:
    messages = [
        {
            "role": "user",
            "content": "Rain?",
            "experimental_attachments": [{"name": "a.png", "contentType": "image/png", "url": DATA}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "I look."},
                {"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {"q": 1}},
            ],
        },
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "f", **output}]},
    ]
    items = read("openai", messages)
    assert [type(item) for item in items] == [Message, Reasoning, Message, ToolCall, ToolResult]
    question, given_back = items[0], items[-1]
    assert isinstance(question, Message)
    assert question.parts == ("Rain?", IMAGE)
    assert isinstance(given_back, ToolResult)
    assert (given_back.call_id, given_back.text, given_back.is_error) == ("a", text, is_error)


def test_messages_of_ollama_are_read() -> None:
    messages = [
        {"role": "user", "content": "See:", "images": [PNG64]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [{"function": {"name": "f", "arguments": {"q": 1}}}],
        },
        {"role": "tool", "tool_name": "f", "content": "rain"},
    ]
    question, thought, call, given_back = read("openai", messages)
    assert isinstance(question, Message)
    assert question.parts == ("See:", IMAGE)
    assert isinstance(thought, Reasoning)
    assert thought.text == "hm"
    assert isinstance(call, ToolCall)
    assert isinstance(given_back, ToolResult)
    assert (call.arguments, given_back.call_id) == ('{"q":1}', call.call_id)


# --- refusals


DAMAGED: list[tuple[str, Any, str]] = [
    ("openai", {"model": "m"}, "messages"),
    ("openai", [5], "messages[0]"),
    ("openai", [{"role": "boss", "content": "a"}], "messages[0].role"),
    ("openai", [{"role": "user"}], "messages[0].content"),
    ("openai", [{"role": "tool", "tool_call_id": 5, "content": ""}], "messages[0].tool_call_id"),
    (
        "openai",
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        "messages[0].content[0].image_url",
    ),
    (
        "openai",
        [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "?"}}]}],
        "messages[0].content[0].input_audio.data",
    ),
    (
        "openai",
        [{"role": "user", "content": "", "parts": [{"type": "text", "text": "a"}]}],
        "messages[0].parts",
    ),
    (
        "openai",
        [{"role": "assistant", "content": "a", "toolInvocations": [{}]}],
        "messages[0].toolInvocations",
    ),
    ("openai-responses", {"model": "m"}, "input"),
    ("openai-responses", [{"role": "boss", "content": "a"}], "input[0].role"),
    ("openai-responses", [{"type": 5}], "input[0].type"),
    ("openai-responses", [{"type": "function_call", "name": "f"}], "input[0].call_id"),
    ("openai-responses", [{"type": "function_call_output", "output": ""}], "input[0].call_id"),
    ("openai-responses", [{"role": "user"}], "input[0].content"),
    ("anthropic", {"model": "m"}, "$.messages"),
    ("anthropic", [{"role": "boss", "content": "a"}], "$.messages[0].role"),
    ("anthropic", [{"role": "user"}], "$.messages[0].content"),
    (
        "anthropic",
        [{"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}],
        "$.messages[0].content",
    ),
    (
        "anthropic",
        [{"role": "user", "content": [{"type": "tool_result"}]}],
        "$.messages[0].content[0].tool_use_id",
    ),
    ("anthropic", {"system": [{"type": "image"}], "messages": []}, "$.system[0]"),
    ("gemini", {"model": "m"}, "$.contents"),
    ("gemini", [{"role": "boss", "parts": []}], "$[0].role"),
    ("gemini", [{"role": "user", "text": "a", "x": 1, "parts": 5}], "$[0].parts"),
    ("gemini", [{"role": "model", "parts": [{"functionCall": {}}]}], "$[0].parts.functionCall.name"),
]


@pytest.mark.parametrize(("wire", "payload", "path"), DAMAGED)
def test_a_malformed_history_is_damage_with_a_path(wire: str, payload: Any, path: str) -> None:
    with pytest.raises(Damaged) as caught:
        read(wire, payload)
    assert f"(at {path})" in str(caught.value)


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_a_history_of_a_wrong_type_is_refused(wire: str) -> None:
    with pytest.raises(WrongType):
        read(wire, 5)


GEMINI_FORMS: list[tuple[Any, list[str]]] = [
    ("Rain?", ["Rain?"]),
    ([{"role": "user", "parts": ["Rain?"]}], ["Rain?"]),
    (["Rain?", {"text": "Snow?"}], ["Rain?", "Snow?"]),
    ({"contents": "Rain?", "config": {"system_instruction": "Be brief."}}, ["Be brief.", "Rain?"]),
    (
        {
            "contents": [{"parts": [{"text": "Rain?"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
        },
        ["Be brief.", "Rain?"],
    ),
]


@pytest.mark.parametrize(("payload", "texts"), GEMINI_FORMS)
def test_all_forms_that_geminis_client_takes_are_read(payload: Any, texts: list[str]) -> None:
    assert [item.text for item in read("gemini", payload) if isinstance(item, Message)] == texts


def test_instructions_and_a_text_as_input_of_responses() -> None:
    items = read("openai-responses", {"instructions": "Be brief.", "input": "Rain?"})
    assert [(item.role, item.text) for item in items if isinstance(item, Message)] == [
        ("system", "Be brief."),
        ("user", "Rain?"),
    ]


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_an_empty_reply_that_a_client_wrote_without_content_is_nothing(wire: str) -> None:
    assert len(read(wire, [{"role": "user", "content": "Go."}, {"role": "assistant"}])) == 1


SIGNED: dict[str, Json] = {
    "openai": {"messages": [{"role": "assistant", "content": "Well", "reasoning_content": "hm"}]},
    "openai-responses": {
        "input": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbA=="}]
    },
    "anthropic": {
        "messages": [
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]}
        ]
    },
    "gemini": {
        "contents": [
            {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": "c2ln"}]}
        ]
    },
}


@pytest.mark.parametrize("wire", WIRES)
def test_state_is_of_the_model_that_the_caller_or_the_payload_names(wire: str) -> None:
    for payload, named in ((SIGNED[wire], "a-model"), ({**SIGNED[wire], "model": "a-model"}, None)):
        thought = read(wire, payload, named)[0]
        assert isinstance(thought, Reasoning)
        assert thought.state is not None
        assert thought.state.model == "a-model"
