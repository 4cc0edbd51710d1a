"""What OpenAI's wires have and only OpenAI takes: names of speakers, tools of any text, recordings by ids."""

import json
from typing import Any

import pytest

from quire.items import Item
from quire.providers import PROVIDERS, Rendered

CHAT = PROVIDERS["openai"]
OTHERS = ["mistral-large-latest", "groq/llama-3.3-70b-versatile", "qwen3", "deepseek-chat", "in-house"]
OPENAIS = ["gpt-5.6", "azure/gpt-5.6", "gpt-9", None]
TOOL: dict[str, Any] = {"type": "custom", "custom": {"name": "run a shell", "description": "Any command."}}
CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "Go."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "run a shell", "input": "ls"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
]
NAMED: list[dict[str, Any]] = [
    {"role": "system", "name": "boss", "content": "Be kind."},
    {"role": "user", "name": "ana", "content": "Hello."},
    {"role": "assistant", "name": "planner", "content": "Hello."},
    {"role": "user", "name": "bob", "content": "More."},
]


def rendered(history: list[dict[str, Any]], model: str | None, wire: str = "openai") -> Rendered:
    items: list[Item] = CHAT.read_history(history)
    sent = PROVIDERS[wire].render(items, model=model, tools=[TOOL])
    assert PROVIDERS[wire].check(sent.payload, model) == []
    return sent


@pytest.mark.parametrize("model", OTHERS)
def test_others_are_not_told_who_speaks(model: str) -> None:
    sent = rendered(NAMED, model)
    assert not any("name" in message for message in sent.payload["messages"])
    assert [note.change for note in sent.downgrades if note.item_id].count("fields_left_out") == 4


@pytest.mark.parametrize("model", OPENAIS)
def test_openai_is_told_who_speaks(model: str | None) -> None:
    sent = rendered(NAMED, model)
    assert [one["name"] for one in sent.payload["messages"]] == ["boss", "ana", "planner", "bob"]


def test_a_speakers_name_that_openai_refuses_is_changed_and_that_is_said() -> None:
    names = ["Ann Lee", "Ann_Lee", "Ann/Lee", "Ann Lee"]
    history = [{"role": "user", "name": name, "content": "Hello."} for name in names]
    sent = rendered(history, "gpt-5.6")
    first, plain, second, again = (message["name"] for message in sent.payload["messages"])
    assert plain == "Ann_Lee" and first == again and len({first, plain, second}) == 3
    assert first.startswith("Ann_Lee_") and second.startswith("Ann_Lee_")
    assert [note.change for note in sent.downgrades] == ["name_renamed"] * 3


@pytest.mark.parametrize("model", OTHERS)
@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_tools_of_any_text_and_calls_of_them_are_functions_of_one_text(wire: str, model: str) -> None:
    sent = rendered(CALLED, model, wire)
    told = json.dumps(sent.payload)
    assert "custom" not in told and "run a shell" not in told
    assert [note.change for note in sent.downgrades].count("fields_left_out") == 2
    if wire == "openai":
        (tool,) = (tool["function"] for tool in sent.payload["tools"])
        (call,) = (call["function"] for call in sent.payload["messages"][1]["tool_calls"])
    else:
        (tool,), (call,) = sent.payload["tools"], (one for one in sent.payload["input"] if "arguments" in one)
    assert tool["name"] == call["name"] and tool["description"] == "Any command."
    assert tool["parameters"]["properties"] == {"input": {"type": "string"}}
    assert json.loads(call["arguments"]) == {"input": "ls"}


def test_a_tool_of_any_text_has_its_own_name_again_in_an_answer() -> None:
    sent = rendered(CALLED, "qwen3")
    name = sent.payload["tools"][0]["function"]["name"]
    call = {"id": "c2", "type": "function", "function": {"name": name, "arguments": '{"input": "pwd"}'}}
    answer = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [call]}}]}
    (made,) = CHAT.parse(answer, sent=sent).items
    assert (made.name, made.arguments) == ("run a shell", '{"input": "pwd"}')  # type: ignore[union-attr]


def test_recordings_that_only_openai_has_are_put_in_words() -> None:
    history = [CALLED[0], {"role": "assistant", "audio": {"id": "audio_1"}}, CALLED[0]]
    assert "audio" in rendered(history, "gpt-4o-audio-preview").payload["messages"][1]
    sent = rendered(history, "llama-3.3-70b")
    assert not any("audio" in message for message in sent.payload["messages"])
    assert "media_as_text" in [note.change for note in sent.downgrades]
