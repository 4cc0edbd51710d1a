"""Chat Completions: what services that speak the wire want back goes back, and to no other model."""

import json
from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import Hide, Item, Mask, Message, Reasoning, Span, ToolCall, ToolResult
from quire.providers import OpenAIChat, Parsed
from quire.state import Transcript

WIRE = OpenAIChat()
CALL: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SIGN = {"google": {"thought_signature": "c2ln"}}
DETAILS: list[dict[str, Any]] = [
    {"type": "reasoning.text", "text": "I look.", "signature": "c2ln", "index": 0, "format": "anthropic"},
    {"type": "reasoning.encrypted", "data": "ZW5j", "id": "c1", "index": 0, "note": None},
]
BESIDE: dict[str, dict[str, Any]] = {
    "deepseek-v4-pro": {"reasoning_content": "I look."},
    "zai-glm-4.7": {"reasoning": "I look."},
    "vllm-model": {"reasoning": "I look.", "reasoning_content": "I look."},
    "openrouter/a/b": {"reasoning": "I look.", "reasoning_details": DETAILS},
    "litellm/claude": {"thinking_blocks": [{"type": "thinking", "thinking": "I look.", "signature": "c2ln"}]},
    "litellm/signed": {"provider_specific_fields": {"thought_signatures": ["c2ln", "bmV4dA=="]}},
    "kimi-k2.5": {"reasoning_content": ""},
    "two-texts": {"reasoning": "I look.", "reasoning_content": "I look closely."},
}
ASKED = Message("user", "Rain?")


def answered(model: str, message: dict[str, Any]) -> list[Item]:
    """A conversation in which a model answered with a message, and the calls in it were run."""
    sent = WIRE.render([ASKED], model=model)
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", **message}}
    return with_results(WIRE.parse({"model": model, "choices": [choice]}, sent=sent).items)


def with_results(items: tuple[Item, ...]) -> list[Item]:
    results = [ToolResult(item.call_id, item.name, "rain") for item in items if isinstance(item, ToolCall)]
    return [ASKED, *items, *results, Message("user", "And now?")]


def reply(items: list[Item], model: str | None) -> dict[str, Any]:
    payload = WIRE.render(items, model=model).payload
    assert WIRE.check(payload, model) == []
    return next(message for message in payload["messages"] if message["role"] == "assistant")


@pytest.mark.parametrize("model", BESIDE)
@pytest.mark.parametrize("content", [None, "I see."])
def test_thoughts_beside_calls_go_back_by_their_names(model: str, content: str | None) -> None:
    message = {"content": content, "tool_calls": [CALL], **BESIDE[model]}
    items = answered(model, message)
    assert reply(items, model) == {"role": "assistant", **message}
    assert WIRE.render(items, model=model, strict=True).downgrades == ()


@pytest.mark.parametrize("model", [model for model in BESIDE if model != "kimi-k2.5"])
def test_thoughts_beside_words_go_back_too(model: str) -> None:
    message = {"content": "It rains.", **BESIDE[model]}
    assert reply(answered(model, message), model) == {"role": "assistant", **message}


def test_that_nothing_was_thought_is_no_item_where_there_are_no_calls() -> None:
    items = answered("kimi-k2.5", {"content": "It rains.", "reasoning_content": ""})
    assert [type(item) for item in items] == [Message, Message, Message]


def test_a_signature_goes_back_on_the_call_that_it_came_with() -> None:
    calls = [{**CALL, "extra_content": SIGN}, {**CALL, "id": "c2"}]
    items = answered("gemini-3-pro", {"content": None, "tool_calls": calls})
    assert reply(items, "gemini-3-pro")["tool_calls"] == calls
    assert not any(isinstance(item, Reasoning) for item in items)


def test_a_signature_of_vertex_and_one_on_words_go_back() -> None:
    vertex = {"vertex": {"thought_signature": "c2ln"}}
    message = {"content": "It rains.", "extra_content": vertex}
    assert reply(answered("google/gemini-3-pro", message), "google/gemini-3-pro")["extra_content"] == vertex
    shown = {"content": "It rains.", "extra_content": {"google": {"thought": True}}}
    assert "extra_content" not in reply(answered("gemini-3-pro", shown), "gemini-3-pro")


@pytest.mark.parametrize("model", ["gpt-5.6", "gpt-4o", "o1-mini", "azure/gpt-5.6"])
@pytest.mark.parametrize("made_by", [*BESIDE, "gemini-3-pro"])
def test_openais_own_models_get_no_such_field(model: str, made_by: str) -> None:
    call = {**CALL, "extra_content": SIGN}
    message = reply(
        answered(made_by, {"content": "x", "tool_calls": [call], **BESIDE.get(made_by, {})}), model
    )
    assert message == {"role": "assistant", "content": "x", "tool_calls": [CALL]}
    own = answered("gpt-5.6", {"content": "x", "tool_calls": [CALL], "reasoning_content": None})
    assert [item.state for item in own if isinstance(item, Message | ToolCall)] == [None] * 4


@pytest.mark.parametrize("made_by", [*BESIDE, "gemini-3-pro"])
def test_what_may_not_go_to_another_model_is_noted(made_by: str) -> None:
    call = {**CALL, "extra_content": SIGN}
    items = answered(made_by, {"tool_calls": [call], **BESIDE.get(made_by, {})})
    assert {note.change for note in WIRE.render(items, model="gpt-5.6").downgrades} == {"state_foreign"}
    with pytest.raises(Downgraded):
        WIRE.render(items, model="gpt-5.6", strict=True)


def edited(model: str, message: dict[str, Any], *edits: Item) -> dict[str, Any]:
    """The message of the model once there was an edit before it."""
    transcript = Transcript([Message("user", "Hi.", id="hi"), Message("assistant", "Hi.", id="ho")])
    transcript.append(Message("user", "Rain?"))
    sent = WIRE.render(transcript.view, model=model)
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    transcript.extend(WIRE.parse({"model": model, "choices": [choice]}, sent=sent).items)
    transcript.extend(ToolResult(call.call_id, call.name, "x") for call in transcript.view.pending())
    transcript.extend(edits)
    rendered = WIRE.render(transcript.view, model=model)
    assert ("state_stale" in {note.change for note in rendered.downgrades}) == bool(edits)
    return next(one for one in rendered.payload["messages"] if one.get("tool_calls"))


@pytest.mark.parametrize("edit", [Hide((Span("hi", "ho"),)), Mask("ho", "[cleared]")])
def test_after_an_edit_something_stands_where_a_service_refuses_nothing(edit: Item) -> None:
    thought = {"content": None, "tool_calls": [CALL], "reasoning_content": "I look."}
    assert edited("some-thinker", thought)["reasoning_content"] == "I look."
    assert edited("some-thinker", thought, edit)["reasoning_content"] == " "
    signed = {"content": None, "tool_calls": [{**CALL, "extra_content": SIGN}]}
    placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert edited("gemini-3-pro", signed, edit)["tool_calls"][0]["extra_content"] == placeholder
    detailed = {"content": None, "tool_calls": [CALL], "reasoning_details": DETAILS}
    assert "reasoning_details" not in edited("openrouter/a/b", detailed, edit)


@pytest.mark.parametrize("model", ["deepseek-v4-pro", "deepseek/deepseek-v4-flash", "moonshotai/Kimi-K2.5"])
def test_a_call_of_another_model_has_a_blank_where_thoughts_are_wanted(model: str) -> None:
    message = reply(answered("gpt-5.6", {"content": None, "tool_calls": [CALL]}), model)
    assert message["reasoning_content"] == " "


def test_a_call_of_another_model_has_a_placeholder_where_signatures_are_wanted() -> None:
    items = answered("gpt-5.6", {"content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]})
    first, second = reply(items, "gemini-3-pro")["tool_calls"]
    assert first["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert "extra_content" not in second
    assert {note.change for note in WIRE.render(items, model="gemini-3-pro").downgrades} == {"state_foreign"}


def test_the_first_of_such_services_takes_thoughts_beside_calls_alone() -> None:
    model, thought = "deepseek-reasoner", {"reasoning_content": "I look."}
    assert reply(answered(model, {"tool_calls": [CALL], **thought}), model)["reasoning_content"] == "I look."
    items = answered(model, {"content": "It rains.", **thought})
    assert "reasoning_content" not in reply(items, model)
    assert [note.change for note in WIRE.render(items, model=model, strict=True).downgrades] == [
        "thoughts_left_out"
    ]


@pytest.mark.parametrize("model", [*BESIDE, "gemini-3-pro"])
@pytest.mark.parametrize("named", [True, False])
def test_a_history_is_read_with_it_and_written_as_it_was(model: str, named: bool) -> None:
    call = {**CALL, "extra_content": SIGN} if model == "gemini-3-pro" else CALL
    said = {"role": "assistant", "content": None, "tool_calls": [call], **BESIDE.get(model, {})}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Rain?"},
        said,
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    given: Any = {"model": model, "messages": messages} if named else messages
    read = WIRE.read_history(given)
    assert WIRE.check(given, model) == []
    assert WIRE.render(read, model=model if named else None).payload == {"messages": messages}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def streamed(model: str, *chunks: dict[str, Any]) -> Parsed:
    reader = WIRE.stream(sent=WIRE.render([ASKED], model=model), model=model)
    for one in chunks:
        reader.feed(one)
    return reader.close()


def test_streamed_thoughts_and_signatures_go_back() -> None:
    pieces = [
        chunk(role="assistant", content=None, reasoning_content=""),
        chunk(reasoning_content="I "),
        chunk(reasoning_content="look."),
        chunk(tool_calls=[{"index": 0, **CALL, "extra_content": SIGN}]),
        chunk("tool_calls"),
    ]
    message = reply(with_results(streamed("m", *pieces).items), "m")
    assert message["reasoning_content"] == "I look."
    assert message["tool_calls"] == [{**CALL, "extra_content": SIGN}]


def test_that_nothing_was_thought_before_streamed_calls_goes_back() -> None:
    pieces = [
        chunk(content=None, reasoning_content=""),
        chunk("tool_calls", tool_calls=[{"index": 0, **CALL}]),
    ]
    assert reply(with_results(streamed("m", *pieces).items), "m")["reasoning_content"] == ""


def test_streamed_blocks_of_thoughts_are_put_together() -> None:
    text = {"type": "reasoning.text", "index": 0}
    pieces = [
        chunk(reasoning="I ", reasoning_details=[{**text, "text": "I ", "format": "anthropic"}]),
        chunk(reasoning="look.", reasoning_details=[{**text, "text": "look.", "signature": None}]),
        chunk(reasoning_details=[{**text, "signature": "c2ln"}]),
        chunk(reasoning_details=[DETAILS[1]]),
        chunk(reasoning_details=[{**DETAILS[1], "id": "c2", "data": "b3Ro"}]),
        chunk("tool_calls", tool_calls=[{"index": 0, **CALL}]),
    ]
    message = reply(with_results(streamed("m", *pieces).items), "m")
    assert message["reasoning"] == "I look."
    assert message["reasoning_details"] == [*DETAILS, {**DETAILS[1], "id": "c2", "data": "b3Ro"}]


def test_thoughts_with_nothing_after_them_do_not_go_back() -> None:
    parsed = streamed("m", chunk(reasoning_content="I look."))
    assert [item.state for item in parsed.items if isinstance(item, Reasoning)] == [None]
    read = WIRE.read_history([{"role": "assistant", "reasoning_content": "I look.", "content": ""}])
    rendered = WIRE.render([*read, ASKED])
    assert [note.change for note in rendered.downgrades] == ["reasoning_left_out"]
    assert "I look." not in json.dumps(rendered.payload)


def test_of_two_thoughts_on_one_message_the_last_goes_back_and_the_other_is_noted() -> None:
    first: dict[str, Any] = {"role": "assistant", "content": "", "reasoning_content": "Hm."}
    second = {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "I look."}
    rendered = WIRE.render(WIRE.read_history([first, second]))
    assert rendered.payload["messages"][0]["reasoning_content"] == "I look."
    assert "reasoning_left_out" in {note.change for note in rendered.downgrades}


def test_two_signed_blocks_that_no_service_numbered_stay_two() -> None:
    reader = WIRE.stream(model="litellm/claude")
    for block in (("A1 ", None), ("A2", None), ("", "c2lnQQ=="), ("B", None), ("", "c2lnQg==")):
        piece = {"type": "thinking", "thinking": block[0], "signature": block[1]}
        reader.feed({"choices": [{"index": 0, "delta": {"thinking_blocks": [piece]}}]})
    reader.feed({"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]})
    blocks = reply(with_results(reader.close().items), "litellm/claude")["thinking_blocks"]
    assert [(one["thinking"], one["signature"]) for one in blocks] == [
        ("A1 A2", "c2lnQQ=="),
        ("B", "c2lnQg=="),
    ]
