"""Messages: services that sign no thinking get it back all the same, and Anthropic's own models never."""

from typing import Any

import pytest

from quire.items import Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import Anthropic, Rendered
from quire.state import Transcript
from tests.providers.anthropic.test_writing import TOOL, use

WIRE = Anthropic()
Json = dict[str, Any]
UNSIGNED = ["kimi-k2.5", "moonshotai/kimi-k2-thinking", "mimo-v2.5-pro", "deepseek-v4-pro", "kimi-for-coding"]
CLAUDES = [
    "claude-opus-4-8",
    "anthropic/claude-sonnet-4-5",
    "us.anthropic.claude-opus-4-8-v1:0",
    "claude-opus-5",
]
GONE = {"type": "thinking", "thinking": " ", "signature": ""}
UUID = "91cfbb94-554b-4136-8e21-fa02280d56e0"


def rendered(items: Any, model: str, **options: Any) -> Rendered:
    made = WIRE.render(items, model=model, tools=[TOOL], **options)
    assert WIRE.check(made.payload, model) == []
    return made


def asked(model: str, thought: Json, name: str = "t1", words: str = "Go.") -> Transcript:
    talk = Transcript([Message("user", words)])
    sent = rendered(talk.view, model)
    blocks = [{"type": "thinking", "thinking": "I look.", **thought}, use(name)]
    body = {"model": model, "stop_reason": "tool_use", "content": blocks}
    talk.extend([*WIRE.parse(body, sent=sent, model=model).items, ToolResult(name, "look", "rain")])
    return talk


def written(made: Rendered) -> list[Json]:
    return [
        block for turn in made.payload["messages"] if turn["role"] == "assistant" for block in turn["content"]
    ]


@pytest.mark.parametrize("model", UNSIGNED)
@pytest.mark.parametrize("signature", [{}, {"signature": None}, {"signature": ""}, {"signature": UUID}])
def test_thinking_goes_back_beside_its_calls(model: str, signature: Json) -> None:
    made = rendered(asked(model, signature).view, model, strict=True)
    sent_back = signature.get("signature") or ""
    assert written(made)[0] == {"type": "thinking", "thinking": "I look.", "signature": sent_back}
    assert made.downgrades == ()


@pytest.mark.parametrize("model", CLAUDES)
def test_anthropics_own_models_get_none_without_a_signature(model: str) -> None:
    made = rendered(asked(model, {"signature": ""}).view, model)
    assert [block["type"] for block in written(made)] == ["tool_use"]
    assert [note.change for note in made.downgrades] == ["reasoning_left_out"]
    history = [*asked("kimi-k2.5", {}).view]
    assert [block["type"] for block in written(rendered(history, model))] == ["tool_use"]


@pytest.mark.parametrize("model", UNSIGNED)
@pytest.mark.parametrize("thought", [{}, {"signature": UUID}])
def test_where_thinking_may_not_go_back_a_blank_stands_for_it(model: str, thought: Json) -> None:
    edited = [Message("user", "Ok?"), Message("assistant", "Yes."), *asked(model, thought).view]
    made = rendered(edited, model)
    assert written(made)[1:] == [GONE, use("t1")]
    assert [note.change for note in made.downgrades] == ["state_stale"]


@pytest.mark.parametrize("model", UNSIGNED)
def test_calls_of_other_models_get_one_too(model: str) -> None:
    talk: list[Item] = [
        Message("user", "Go."),
        ToolCall("t1", "look", "{}"),
        ToolResult("t1", "look", "rain"),
    ]
    made = rendered([*talk, Message("assistant", "It rains."), Message("user", "And?")], model)
    assert written(made)[:2] == [GONE, use("t1")]
    assert rendered(Transcript(talk).view, model).payload["messages"][1]["content"] == [GONE, use("t1")]
    assert written(rendered(talk, "claude-opus-4-8")) == [use("t1")]


def test_where_no_model_is_named_the_last_that_answered_is_taken() -> None:
    talk = [*asked("kimi-k2.5", {}).view]
    made = WIRE.render(talk, tools=[TOOL])
    assert written(made)[0]["thinking"] == "I look."


@pytest.mark.parametrize("model", [*UNSIGNED, *CLAUDES, "MiniMax-M2"])
@pytest.mark.parametrize("signature", [{}, {"signature": ""}, {"signature": UUID}])
def test_what_is_rendered_for_nobody_has_no_fault(model: str, signature: Json) -> None:
    talk = asked(model, signature)
    edited = [Message("user", "Ok?"), Message("assistant", "Yes."), *talk.view]
    for items in (talk.view, edited, [*talk.view, Message("assistant", "Rain."), Message("user", "And?")]):
        assert WIRE.check(WIRE.render(items, tools=[TOOL]).payload) == []


def test_a_state_that_says_it_is_unsigned_is_none_of_a_model_that_signs() -> None:
    state = Opaque("anthropic", CLAUDES[0], '{"signature":""}')
    talk = [
        Message("user", "Go."),
        Reasoning("I look.", state),
        Message("assistant", "Rain."),
        Message("user", "?"),
    ]
    assert [block["type"] for block in written(rendered(talk, CLAUDES[0]))] == ["text"]


def test_unsigned_thinking_is_a_fault_for_models_that_sign() -> None:
    payload = {
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [GONE, use("t1")]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
        ]
    }
    for model in ("kimi-k2.5", None):
        assert WIRE.check(payload, model) == []
    for model in (*CLAUDES, "some-model"):
        assert [fault.rule for fault in WIRE.check(payload, model)] == ["thinking_signature"]


def test_where_no_model_is_named_a_signature_may_be_empty_and_not_missing() -> None:
    bare = {"type": "thinking", "thinking": "I look."}
    payload = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [bare, {"type": "text", "text": "Rain."}]},
        {"role": "user", "content": "And?"},
    ]
    assert [fault.rule for fault in WIRE.check(payload)] == ["thinking_signature"]
