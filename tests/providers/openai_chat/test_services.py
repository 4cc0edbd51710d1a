"""Services that speak OpenAI's wires and refuse what OpenAI takes: each gets what it takes, and says so."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from quire.items import ConfigChange, Image, Item, Message, Note, Summary, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.providers.native import beside
from quire.state import Transcript
from tests.providers.conversations import PNG, STEPS, Step, Talk

CHAT, RESPONSES = PROVIDERS["openai"], PROVIDERS["openai-responses"]
LOOK: list[dict[str, Any]] = [{"name": "look"}]
HELLO = Message("user", "Hello.")
STRICT = ["qwen3.6-27b", "MiniMax-M2", "ollama/gpt-oss:20b", "deepseek-v4-pro", "gemini-3-pro", "in-house"]
OPENAIS = ["gpt-5.6", "azure/gpt-5.6", "gpt-9", "gpt-4o"]
THINKING = [
    "kimi-k2.5",
    "moonshot.kimi-k2-thinking",
    "deepseek-reasoner",
    "deepseek-v4-flash",
    "mimo-v2.5-pro",
]
MISTRALS = [
    *("mistral-large-latest", "mistral/mistral-large-latest", "mistralai/mistral-small-4-119b-2603"),
    *("ministral-8b", "magistral-medium-latest", "devstral-small-latest", "open-mixtral-8x7b", "pixtral-12b"),
]


def messages(items: list[Item], model: str | None, wire: str = "openai") -> list[dict[str, Any]]:
    payload = PROVIDERS[wire].render(items, model=model, tools=LOOK).payload
    assert PROVIDERS[wire].check(payload, model) == []
    return list(payload["messages" if wire == "openai" else "input"])


def roles(items: list[Item], model: str | None, wire: str = "openai") -> list[str]:
    return [str(message.get("role") or message["type"]) for message in messages(items, model, wire)]


def changes(items: list[Item], model: str | None, wire: str = "openai") -> list[str]:
    return [note.change for note in PROVIDERS[wire].render(items, model=model, tools=LOOK).downgrades]


def exchange(call_id: str = "c1", arguments: str = "{}", *more: Item) -> list[Item]:
    return [HELLO, ToolCall(call_id, "look", arguments), ToolResult(call_id, "look", "rain"), *more]


def arguments_of(items: list[Item], model: str | None, wire: str) -> list[str]:
    sent = messages(items, model, wire)
    if wire == "openai":
        return [call["function"]["arguments"] for one in sent for call in one.get("tool_calls") or ()]
    return [one["arguments"] for one in sent if "arguments" in one]


on_both = pytest.mark.parametrize("wire", ["openai", "openai-responses"])
# Once in the plain way, which a call of a tool that was called before goes, and once in the other.
TWICE = exchange("c0", "{}", Message("assistant", "Rain."), HELLO)


@on_both
@pytest.mark.parametrize("model", [*STRICT, "kimi-k2.5", "grok-4", "mistral-large-latest", None])
@pytest.mark.parametrize("text", ['{"amount": 1', "[1]", "null", '"x"', "nothing", '{"a": NaN}'])
def test_arguments_that_are_no_object_become_one(wire: str, model: str | None, text: str) -> None:
    for items in (exchange("c1", text), [*TWICE, *exchange("c1", text), HELLO]):
        assert json.loads(arguments_of(items, model, wire)[-1]) == {"arguments": text}
        assert changes(items, model, wire).count("arguments_mended") == 1


@on_both
@pytest.mark.parametrize("model", OPENAIS)
@pytest.mark.parametrize("text", ['{"amount": 1', "[1]", "null"])
def test_openais_own_models_see_what_they_wrote(wire: str, model: str, text: str) -> None:
    for items in (exchange("c1", text), [*TWICE, *exchange("c1", text), HELLO]):
        assert arguments_of(items, model, wire)[-1] == text
        assert "arguments_mended" not in changes(items, model, wire)


@on_both
@pytest.mark.parametrize("model", [*STRICT, *OPENAIS, "mistral-large-latest", None])
def test_no_arguments_are_an_object_without_fields(wire: str, model: str | None) -> None:
    for items in (exchange("c1", ""), [*TWICE, *exchange("c1", ""), HELLO]):
        assert arguments_of(items, model, wire)[-1] == "{}"
        assert "arguments_mended" not in changes(items, model, wire)
    assert arguments_of(exchange("c1", " \n"), "qwen3", wire) == ["{}"]


@on_both
@pytest.mark.parametrize("model", STRICT)
def test_instructions_are_one_message_at_the_start_and_words_of_the_user_later(wire: str, model: str) -> None:
    first: list[Item] = [Message("system", "Be kind."), ConfigChange("Be brief."), HELLO]
    items = [*first, Message("assistant", "Hello."), Message("developer", "In French."), HELLO]
    sent = messages(items, model, wire)
    told = "<instructions>\nIn French.\n</instructions>"
    assert sent[0]["content"] == "Be kind.\n\nBe brief." and sent[0]["role"] in ("system", "developer")
    assert [message["content"] for message in sent[1:]] == ["Hello.", "Hello.", told, "Hello."]
    assert [message["role"] for message in sent[1:]] == ["user", "assistant", "user", "user"]
    assert changes(items, model, wire) == ["instructions_as_text"]


@on_both
@pytest.mark.parametrize("model", [*OPENAIS, "grok-4", "zai-org/GLM-4.7", "moonshotai/kimi-k2.5", None])
def test_instructions_stay_in_place_where_they_are_taken(wire: str, model: str | None) -> None:
    items: list[Item] = [Message("system", "a"), Message("system", "b"), HELLO, Message("system", "c")]
    assert [role == "user" for role in roles(items, model, wire)] == [False, False, True, False]
    assert changes(items, model, wire) == []


@pytest.mark.parametrize("model", [*STRICT, *MISTRALS])
def test_a_payload_does_not_end_in_instructions(model: str) -> None:
    assert roles([Message("system", "a")], model)[1:] == ["user"]
    assert changes([Message("system", "a")], model) == ["turn_added"]
    assert roles([Message("system", "a"), HELLO, Message("system", "b")], model)[-1] == "user"


def test_instructions_that_were_sent_do_not_change_when_others_come() -> None:
    transcript = Transcript([Message("system", "a"), HELLO])
    before = CHAT.render(transcript.view, model="qwen3.6-27b").payload["messages"]
    transcript.append(Message("system", "b"))
    assert CHAT.render(transcript.view, model="qwen3.6-27b").payload["messages"][:2] == before


def test_instructions_that_join_others_after_a_rendering_leave_it_as_it_was() -> None:
    transcript = Transcript([Message("system", "a")])
    before = CHAT.render(transcript.view, model="qwen3.6-27b").payload["messages"]
    transcript.append(Message("system", "b"))
    assert CHAT.render(transcript.view, model="qwen3.6-27b").payload["messages"][0]["content"] == "a\n\nb"
    assert before[0]["content"] == "a"


@pytest.mark.parametrize("model", MISTRALS)
def test_mistral_gets_ids_of_nine_letters_and_digits(model: str) -> None:
    items = exchange("call_PTLP8xhu3uwZk4l3nlnrrJha")
    _, asked, given = messages(items, model)
    made = asked["tool_calls"][0]["id"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", made) and given["tool_call_id"] == made
    assert changes(items, model) == ["id_renamed"]
    assert messages(items, model)[1] == asked  # the same one each time
    assert changes(exchange("D681PevKs"), model) == []


@pytest.mark.parametrize("model", MISTRALS)
def test_mistral_speaks_between_a_result_and_the_user(model: str) -> None:
    named = Message("user", "Hello?", extras=beside("openai", {"name": "ana"}))
    sent = messages(exchange("D681PevKs", "{}", named), model)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[3] == {"role": "assistant", "content": "Understood."}
    assert sent[4] == {"role": "user", "content": "Hello?"}
    assert changes(exchange("D681PevKs", "{}", HELLO), model) == ["turn_added"]
    for more in (Message("system", "b"), Note("k", "said"), Summary("so far")):
        assert roles(exchange("D681PevKs", "{}", more), model)[-2:] == ["assistant", "user"]


def test_mistral_speaks_before_media_and_after_a_call_that_was_interrupted() -> None:
    shown: list[Item] = [
        *(HELLO, ToolCall("D681PevKs", "look", "{}")),
        ToolResult("D681PevKs", "look", ("see", Image(data=PNG))),
    ]
    assert roles(shown, "pixtral-12b")[-3:] == ["tool", "assistant", "user"]
    cut: list[Item] = [HELLO, ToolCall("D681PevKs", "look", "{}"), HELLO]
    assert roles(cut, "mistral-large-latest") == ["user", "assistant", "tool", "assistant", "user"]
    assert changes(cut, "mistral-large-latest") == ["answer_added", "turn_added"]


def test_mistral_does_not_speak_last() -> None:
    items: list[Item] = [HELLO, Message("assistant", "Hello.")]
    assert roles(items, "mistral-large-latest") == ["user", "assistant", "user"]
    assert roles(items, "qwen3.6-27b") == ["user", "assistant"]


def mistral_refuses(sent: list[dict[str, Any]]) -> list[str]:
    """What Mistral answers 400 for, of order and ids."""
    after = {"system": "user assistant", "user": "assistant user", "assistant": "assistant user tool"}
    after["tool"] = "assistant tool"
    found = [
        f"{one['role']}, {other['role']}"
        for one, other in pairwise(sent)
        if other["role"] not in after[one["role"]].split()
    ]
    ids = [call["id"] for one in sent for call in one.get("tool_calls") or ()]
    ids += [one["tool_call_id"] for one in sent if "tool_call_id" in one]
    found += [one for one in ids if not re.fullmatch("[a-zA-Z0-9]{9}", one)]
    return found + ([] if sent[-1]["role"] in ("user", "tool") else [f"last: {sent[-1]['role']}"])


@pytest.mark.laws
@given(STEPS)
def test_strict_services_find_no_fault(steps: list[Step]) -> None:
    talk = Talk()
    talk.play(steps)
    view = talk.transcript.view
    for model in (
        *STRICT,
        *MISTRALS,
        "kimi-k2",
        "glm-4.6",
        "grok-3",
        "groq/llama-3.3-70b-versatile",
        *THINKING,
    ):
        assert CHAT.check(CHAT.render(view, model=model).payload, model) == []
    assert mistral_refuses(CHAT.render(view, model="mistral-large-latest").payload["messages"]) == []
    sent = CHAT.render(view, model="qwen3.6-27b").payload["messages"]
    assert "system" not in [message["role"] for message in sent[1:]]
    for call in (call for one in sent for call in one.get("tool_calls") or () if "function" in call):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}


@pytest.mark.parametrize("model", [*THINKING, "ollama:kimi-k2.5", "gemini-3-pro", "google/gemini-3.1-pro"])
def test_a_history_of_others_is_mended_for_services_that_want_their_state(model: str) -> None:
    history = [
        {"role": "user", "content": "Rain?"},
        CALLED,
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    (fault,) = CHAT.check(history, model)
    assert fault.rule in ("thoughts_for_model", "signature_for_model")
    assert CHAT.check(CHAT.render(CHAT.read_history(history), model=model).payload, model) == []


@pytest.mark.parametrize("model", ["deepseek-chat", "deepseek-v4-pro", "groq/llama-3.3-70b-versatile"])
def test_what_comes_in_parts_is_a_text_where_a_list_is_refused(model: str) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    history = [
        {"role": "system", "content": parts},
        {"role": "user", "content": "Rain?"},
        {**CALLED, "content": parts},
        {"role": "tool", "tool_call_id": "c1", "content": parts},
        {"role": "assistant", "content": parts},
        {"role": "user", "content": "So?"},
    ]
    assert "text_for_model" in [fault.rule for fault in CHAT.check(history, model)]
    sent = messages(CHAT.read_history(history), model)
    assert all(type(message["content"]) is str for message in sent)


def ids(items: list[Item], model: str) -> list[str]:
    return [call["id"] for one in messages(items, model) for call in one.get("tool_calls") or ()]


@pytest.mark.parametrize("model", ["kimi-k2.5", "moonshotai/Kimi-K2-Instruct", "moonshot.kimi-k2-thinking"])
def test_kimi_gets_its_own_ids_back(model: str) -> None:
    items = exchange("functions.look:0", "{}", *exchange("functions.look:1"), *exchange("call_1"))
    assert ids(items, model) == ["functions.look:0", "functions.look:1", "call_1"]
    assert "id_renamed" not in changes(items, model)


def test_a_repeated_id_of_kimi_is_counted_on() -> None:
    items = [item for _ in range(3) for item in exchange("functions.look:0")]
    assert ids(items, "kimi-k2.5") == ["functions.look:0", "functions.look:1", "functions.look:2"]
    assert changes(items, "kimi-k2.5").count("id_renamed") == 2


def test_ids_of_other_alphabets_are_renamed_for_kimi_too() -> None:
    for odd in ("a b", "é:1", "x" * 65):
        (made,) = ids(exchange(odd), "kimi-k2.5")
        assert re.fullmatch("[!-~]{1,64}", made) and made != odd


def test_others_get_the_alphabet_that_all_take() -> None:
    for model in ("gpt-5.6", "qwen3.6-27b"):
        assert re.fullmatch("[a-zA-Z0-9_-]{1,40}", ids(exchange("functions.look:0"), model)[0])
