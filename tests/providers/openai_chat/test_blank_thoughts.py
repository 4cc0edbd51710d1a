"""Chat Completions: where a service wants thoughts beside plain answers, a blank stands for those gone."""

from typing import Any

import pytest

from quire.items import Hide, Item, Message, Span, ToolCall, ToolResult
from quire.providers import OpenAIChat
from quire.state import Transcript

WIRE = OpenAIChat()
TOOLS: list[Any] = [{"name": "look"}]
EVERYWHERE = ["deepseek-v4-pro", "deepseek-flash", "deepseek/deepseek-v5"]
BESIDE_CALLS = ["kimi-k2.6", "mimo-v2.5-pro", "deepseek-reasoner"]
OF_ANOTHER: list[Item] = [
    Message("user", "Hi."),
    Message("assistant", "Hello."),
    Message("user", "Rain?"),
    ToolCall("c1", "look", "{}"),
    ToolResult("c1", "look", "rain"),
    Message("assistant", "It rains."),
    Message("user", "And now?"),
]


def thoughts(items: Any, model: str, tools: list[Any]) -> list[str | None]:
    """The thoughts beside each message of the model, in a payload that its service takes."""
    payload = WIRE.render(items, model=model, tools=tools).payload
    assert WIRE.check(payload, model) == []
    said = [message for message in payload["messages"] if message["role"] == "assistant"]
    return [message.get("reasoning_content") for message in said]


@pytest.mark.parametrize("model", EVERYWHERE)
def test_a_conversation_of_another_model_has_a_blank_on_every_answer(model: str) -> None:
    assert thoughts(OF_ANOTHER, model, TOOLS) == [" ", " ", " "]


@pytest.mark.parametrize("model", BESIDE_CALLS)
def test_of_others_it_has_one_beside_calls_alone(model: str) -> None:
    assert thoughts(OF_ANOTHER, model, TOOLS) == [None, " ", None]


@pytest.mark.parametrize("model", EVERYWHERE)
def test_nothing_before_changes_when_tools_and_calls_come(model: str) -> None:
    early, late = (
        WIRE.render(items, model=model, tools=tools).payload["messages"]
        for items, tools in ((OF_ANOTHER[:3], []), (OF_ANOTHER, TOOLS))
    )
    assert late[:3] == early


def test_after_an_edit_a_plain_answer_has_a_blank() -> None:
    model, beside = "deepseek-v4-pro", {"reasoning_content": "I say."}
    transcript = Transcript([Message("user", "Hi.", id="hi"), Message("assistant", "Hi.", id="ho")])
    transcript.append(Message("user", "Rain?"))
    sent = WIRE.render(transcript.view, model=model, tools=TOOLS)
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": "It rains.", **beside}}
    transcript.extend(WIRE.parse({"model": model, "choices": [choice]}, sent=sent).items)
    transcript.append(Message("user", "And now?"))
    assert thoughts(transcript.view, model, TOOLS) == [" ", "I say."]
    transcript.append(Hide((Span("hi", "ho"),)))
    assert thoughts(transcript.view, model, TOOLS) == [" "]


def test_that_nothing_was_thought_goes_back_as_a_blank() -> None:
    said = {"role": "assistant", "content": "Hello.", "reasoning_content": ""}
    history = WIRE.read_history([{"role": "user", "content": "Hi."}, said], model="deepseek-v4-pro")
    assert thoughts([*history, Message("user", "Rain?")], "deepseek-v4-pro", TOOLS) == [" "]


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-V4-Pro", "moonshotai/Kimi-K2.5"])
@pytest.mark.parametrize(
    "beside",
    [{"reasoning": "I look."}, {"reasoning_details": [{"type": "reasoning.text", "text": "I look."}]}],
)
def test_beside_thoughts_of_another_name_there_is_no_blank(model: str, beside: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said: list[Any] = [
        {"role": "assistant", "content": "", "tool_calls": [call], **beside},
        {"role": "assistant", "content": "It rains.", **beside},
    ]
    transcript = Transcript([Message("user", "Rain?")])
    for message in said:
        sent = WIRE.render(transcript.view, model=model, tools=TOOLS)
        answer = {"model": model, "choices": [{"finish_reason": "stop", "message": message}]}
        transcript.extend(WIRE.parse(answer, sent=sent).items)
        if "tool_calls" in message:
            transcript.append(ToolResult("c1", "look", "rain"))
    payload = WIRE.render(transcript.view, model=model, tools=TOOLS).payload
    written = [message for message in payload["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in written] == [None, None]
    for name, value in beside.items():
        assert [message[name] for message in written] == [value, value]
    assert WIRE.check(payload, model) == []
