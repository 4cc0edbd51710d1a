"""Thoughts in blocks of an assistant's content stand where the blocks do, under the name that is wanted."""

import json
from typing import Any

import pytest

from quire.items import Item, Message, Note, Reasoning, ToolCall
from quire.providers import check, provider_for

CLAUDE = "claude-opus-4-6"
USER: Any = {"role": "user", "content": "Rain?"}
FIRST, THEN = {"type": "text", "text": "First."}, {"type": "text", "text": "Then."}
SEARCH: Any = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND: Any = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
TOOLS: Any = [
    {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
]


def thinking(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": f"sig{words}"}


def use(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"q": number}}


def call(number: int) -> dict[str, Any]:
    return {"type": "tool_call", "id": f"toolu_{number}", "name": "look", "args": {"q": number}}


def part(number: int) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": f"toolu_{number}", "toolName": "look", "input": {"q": number}}


def read(*blocks: Any, model: str = CLAUDE, results: tuple[int, ...] = (), **beside: Any) -> list[Item]:
    given = [{"role": "tool", "tool_call_id": f"toolu_{n}", "content": "rain"} for n in results]
    history = [USER, {"role": "assistant", "content": [*blocks], **beside}, *(given or [USER])]
    return provider_for("openai").read_history(history, model=model)


def to_claude(items: list[Item]) -> list[Any]:
    made = provider_for("anthropic").render(items, model=CLAUDE, tools=TOOLS)
    assert made.downgrades == ()
    assert check({**made.payload, "model": CLAUDE, "max_tokens": 9}, "anthropic") == []
    written: list[Any] = made.payload["messages"][1]["content"]
    return written


@pytest.mark.parametrize(
    ("block", "beside"),
    [
        *((use, {}), (call, {}), (part, {})),
        *((use, {"tool_calls": [call(1), call(2)]}), (call, {"tool_calls": [call(2), call(1)]})),
    ],
)
def test_thoughts_words_and_calls_stand_as_the_blocks_do(block: Any, beside: Any) -> None:
    items = read(thinking("T1"), FIRST, block(1), thinking("T2"), block(2), results=(1, 2), **beside)
    assert to_claude(items) == [thinking("T1"), FIRST, use(1), thinking("T2"), use(2)]


def test_a_call_without_a_block_comes_last_and_one_in_two_blocks_once() -> None:
    blocks = (thinking("T1"), use(1), call(1), thinking("T2"))
    items = read(*blocks, results=(1, 2), tool_calls=[call(2), call(1)])
    assert [item.call_id for item in items if isinstance(item, ToolCall)] == ["toolu_1", "toolu_2"]
    assert to_claude(items) == [thinking("T1"), use(1), thinking("T2"), use(2)]


def test_calls_without_an_id_take_no_place_of_words() -> None:
    calls = [{"type": "function", "function": {"name": "look", "arguments": "{}"}}]
    items = read(thinking("T1"), FIRST, thinking("T2"), THEN, tool_calls=calls)
    assert [type(item) for item in items[1:6]] == [Reasoning, Message, Reasoning, Message, ToolCall]


def test_a_call_that_cannot_be_read_is_told_once_as_it_is() -> None:
    odd = {"id": "toolu_1", "type": "odd"}
    notes = [item for item in read(thinking("T1"), use(1), FIRST, tool_calls=[odd]) if type(item) is Note]
    assert [note.content for note in notes] == [odd]


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_what_tools_of_the_service_left_stands_among_the_words(wire: str) -> None:
    blocks = [thinking("T1"), FIRST, SEARCH, FOUND, thinking("T2"), THEN]
    history = [USER, {"role": "assistant", "content": blocks}, USER]
    assert to_claude(provider_for(wire).read_history(history, model=CLAUDE)) == blocks


def test_what_stands_beside_the_content_is_not_lost() -> None:
    items = read(thinking("T1"), FIRST, thinking("T2"), refusal="No.", name="Ann")
    said = [item for item in items[1:-1] if isinstance(item, Message)]
    assert [item.text for item in said] == ["First.", "No."] and "Ann" in json.dumps(said[0].extras)


def test_bare_thoughts_are_apart_and_stay_after_sealed_ones() -> None:
    bare: Any = [{"type": "reasoning", "text": "One."}, FIRST, {"type": "reasoning", "text": "Two."}]
    assert [item.text for item in read(*bare) if isinstance(item, Reasoning)] == ["One.\n\nTwo."]
    mixed = read(thinking("T1"), {"type": "reasoning", "text": ""}, bare[0], FIRST)
    assert [item.text for item in mixed if isinstance(item, Reasoning)] == ["T1", "One."]


@pytest.mark.parametrize(
    "model", ["deepseek-reasoner", "deepseek-v4-pro", "kimi-k2.5", "moonshotai/kimi-k2.5"]
)
@pytest.mark.parametrize(
    "block", [{"type": "reasoning", "text": "hm"}, {"type": "reasoning", "reasoning": "hm"}]
)
def test_thoughts_in_blocks_go_back_under_the_name_that_is_read(model: str, block: Any) -> None:
    items = read(block, part(1), model=model, results=(1,))
    made = provider_for("openai").render(items, model=model, tools=TOOLS)
    assert made.downgrades == () and check({**made.payload, "model": model}, "openai") == []
    said = made.payload["messages"][1]
    assert said["reasoning_content"] == "hm" and "reasoning" not in said


@pytest.mark.parametrize("model", ["gpt-5", "", " ", "qwen3-max"])
def test_elsewhere_they_have_the_name_of_most(model: str) -> None:
    _, thought, *_ = read({"type": "reasoning", "text": "hm"}, FIRST, model=model)
    assert isinstance(thought, Reasoning) and thought.state is not None
    assert thought.state.data == '{"fields":{"reasoning":null}}'


@pytest.mark.parametrize("model", ["gpt-5", "gpt-4o", "o3-mini", "chatgpt-4o-latest", "gpt-5-2025-08-07"])
@pytest.mark.parametrize(
    "block",
    [
        {"type": "reasoning", "text": "hm"},
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_openais_own_models_get_no_thoughts_of_libraries(model: str, block: Any, named: bool) -> None:
    items = read(block, FIRST, part(1), model=model, results=(1,))
    made = provider_for("openai").render(items, model=model if named else None, tools=TOOLS)
    assert [note.change for note in made.downgrades] == ["reasoning_left_out"]
    assert made.payload["messages"][1].keys() == {"role", "content", "tool_calls"}
    assert made.payload["messages"][1]["content"] == "First."


@pytest.mark.parametrize("model", ["gpt-oss-120b", "openai/gpt-5", "qwen3-max"])
def test_models_that_others_serve_get_theirs(model: str) -> None:
    items = read({"type": "reasoning", "text": "hm"}, FIRST, part(1), model=model, results=(1,))
    made = provider_for("openai").render(items, model=model, tools=TOOLS)
    assert made.downgrades == () and made.payload["messages"][1]["reasoning"] == "hm"


@pytest.mark.parametrize("model", ["qwen3-max", "azure/gpt-5", "kimi-k2.5"])
def test_chunks_of_thoughts_go_to_none_that_gives_no_such(model: str) -> None:
    chunk: Any = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    made = provider_for("openai").render(read(chunk, FIRST, model=model), model=model)
    assert [note.change for note in made.downgrades] == ["reasoning_left_out"]
    assert made.payload["messages"][1]["content"] == "First."
    assert check({**made.payload, "model": model}, "openai") == []


@pytest.mark.parametrize(
    ("model", "names"),
    [("kimi-k2.5", {"reasoning", "reasoning_content"}), ("moonshotai/kimi-k2.5", {"reasoning"})],
)
def test_thoughts_of_another_name_are_there_under_the_one_that_is_read_too(
    model: str, names: set[str]
) -> None:
    items = read(tool_calls=[call(1)], reasoning="hm", model=model, results=(1,))
    payload = provider_for("openai").render(items, model=model, tools=TOOLS).payload
    assert {name: payload["messages"][1][name] for name in names} == dict.fromkeys(names, "hm")
    assert ("reasoning_content" in payload["messages"][1]) == ("reasoning_content" in names)
    assert check({**payload, "model": model}, "openai") == []


@pytest.mark.parametrize("wire", ["openai", "openai-responses", "anthropic"])
def test_what_langchain_leaves_of_a_stream_is_not_sent(wire: str) -> None:
    asked: Any = {**SEARCH, "input": {}, "partial_json": '{"query":"x"}', "index": 0}
    streamed: list[Any] = [asked, {**FOUND, "index": 1}, {**FIRST, "index": 2}]
    history = [USER, {"role": "assistant", "content": streamed}, USER]
    assert to_claude(provider_for(wire).read_history(history, model=CLAUDE)) == [SEARCH, FOUND, FIRST]


@pytest.mark.parametrize(
    ("odd", "arguments"),
    [
        ({"input": {}, "partial_json": '{"q":1}'}, '{"q":1}'),
        ({"input": {"q": 2}, "partial_json": '{"q":1}'}, '{"q":2}'),
        ({"input": {}, "partial_json": '{"q":'}, "{}"),
        ({"input": {}, "partial_json": "[1]"}, "{}"),
        ({"input": {}, "partial_json": 5}, "{}"),
    ],
)
def test_the_input_of_a_streamed_call_may_be_in_pieces(odd: Any, arguments: str) -> None:
    calls = [item for item in read({**use(1), **odd}, results=(1,)) if isinstance(item, ToolCall)]
    assert [one.arguments for one in calls] == [arguments]


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
@pytest.mark.parametrize(
    "block",
    [
        {"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "c2ln"}, "index": 0},
        {"type": "thinking", "thinking": None, "signature": "c2ln"},
        {"type": "thinking", "signature": "c2ln", "index": 0},
    ],
)
def test_signatures_are_nobodys_words(wire: str, block: Any) -> None:
    history = [USER, {"role": "assistant", "content": [block, FIRST]}, USER]
    items = provider_for(wire).read_history(history, model="anthropic.claude-opus-4-6-v1:0")
    back = provider_for("anthropic").render(items).payload["messages"][1]["content"][0]
    assert (back["type"], back["signature"]) == ("thinking", "c2ln")
    for other in ("openai", "openai-responses", "gemini"):
        assert "c2ln" not in json.dumps(provider_for(other).render(items).payload)


@pytest.mark.parametrize(
    ("held", "thoughts"),
    [("hm", ["hm"]), ({"text": "hm"}, ["hm"]), ({"redacted_content": "c2ln"}, [""]), (None, []), ({}, [])],
)
def test_thoughts_of_bedrock_without_a_signature(held: Any, thoughts: list[str]) -> None:
    items = read({"type": "reasoning_content", "reasoning_content": held}, FIRST)
    assert [item.text for item in items if isinstance(item, Reasoning)] == thoughts
    assert Note not in map(type, items)
