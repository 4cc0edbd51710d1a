"""Responses: sealed reasoning goes back to the model that made it, in its place, or not at all."""

from typing import Any

import pytest

from quire.items import Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import OpenAIResponses, Parsed
from quire.providers.openai_responses import NAME

WIRE = OpenAIResponses()
MODEL = "gpt-5.6"
USER = Message("user", "hi")
THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "a",
    "name": "look",
    "arguments": "{}",
    "status": "completed",
}
RESULT = ToolResult("a", "look", "one")


def said(text: str, **more: Any) -> dict[str, Any]:
    content: list[Any] = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
        **more,
    }


def answered(history: list[Item], *output: Any) -> Parsed:
    """The answer to a history that was sent."""
    rendered = WIRE.render(history, model=MODEL)
    response = {"model": f"{MODEL}-2026-07-01", "status": "completed", "output": list(output)}
    return WIRE.parse(response, sent=rendered, model=MODEL)


def sent(items: list[Item], model: str = MODEL) -> list[Any]:
    payload = WIRE.render(items, model=model).payload
    assert WIRE.check(payload, model) == []
    return list(payload["input"])


def changes(items: list[Item], model: str = MODEL) -> list[str]:
    return [downgrade.change for downgrade in WIRE.render(items, model=model).downgrades]


def test_reasoning_goes_back_before_what_it_led_to_and_other_ids_do_not() -> None:
    history: list[Item] = [USER, *answered([USER], THOUGHT, CALL).items, RESULT]
    assert sent(history) == [
        {"role": "user", "content": "hi"},
        THOUGHT,
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
    ]
    assert changes(history) == []


def test_a_second_answer_is_bound_to_the_first() -> None:
    first: list[Item] = [USER, *answered([USER], THOUGHT, CALL).items, RESULT]
    second = [*first, *answered(first, {**THOUGHT, "id": "rs_2"}, said("done")).items]
    assert [item.get("id") for item in sent(second)] == [None, "rs_1", None, None, "rs_2", None]
    # Once the first is not sent, the second was thought after something else.
    assert changes([USER, *second[2:]]) == ["state_stale"]


def test_all_of_one_answer_is_bound_to_what_came_before_it() -> None:
    output = (said("one moment"), THOUGHT, said("looking"), {**THOUGHT, "id": "rs_2"}, CALL)
    history: list[Item] = [USER, *answered([USER], *output).items, RESULT]
    assert [item.get("id") for item in sent(history)] == [None, None, "rs_1", None, "rs_2", None, None]
    assert changes(history) == []


def test_reasoning_of_others_is_left_out() -> None:
    reply = list(answered([USER], THOUGHT, said("hello")).items)
    assert sent([USER, *reply], "gpt-4o")[1:] == [
        {"type": "message", "role": "assistant", "content": "hello"}
    ]
    assert changes([USER, *reply], "gpt-4o") == ["state_foreign"]
    foreign = Reasoning("hm", Opaque("anthropic", "claude-opus-4-8", "sealed"))
    assert changes([USER, foreign, Message("assistant", "hello")]) == ["state_foreign"]
    assert changes([USER, Reasoning("hm"), Message("assistant", "hello")]) == ["reasoning_left_out"]


def test_reasoning_is_left_out_once_what_came_before_it_has_changed() -> None:
    reply = list(answered([USER], THOUGHT, said("hello")).items)
    assert changes([Message("user", "ho"), *reply]) == ["state_stale"]
    assert sent([Message("user", "ho"), *reply])[1:] == [
        {"type": "message", "role": "assistant", "content": "hello"}
    ]


def test_reasoning_never_stands_alone() -> None:
    thought = answered([USER], THOUGHT).items[0]
    assert sent([USER, thought]) == [{"role": "user", "content": "hi"}]
    assert changes([USER, thought]) == ["reasoning_left_out"]
    assert changes([USER, thought, Message("assistant", "")]) == ["reasoning_left_out", "empty_left_out"]


def test_reasoning_without_its_content_is_left_out() -> None:
    bare = {key: value for key, value in THOUGHT.items() if key != "encrypted_content"}
    history = [USER, *answered([USER], bare, said("hello")).items]
    assert changes(history) == ["reasoning_left_out"]
    broken = Reasoning("", Opaque(NAME, MODEL, "not json"))
    assert changes([USER, broken, Message("assistant", "hello")]) == ["reasoning_left_out"]


def test_what_the_service_ran_goes_back_whole_or_not_at_all() -> None:
    reply = answered([USER], THOUGHT, SEARCH, said("found")).items
    assert sent([USER, *reply])[1:] == [
        THOUGHT,
        SEARCH,
        {"type": "message", "role": "assistant", "content": "found"},
    ]
    # A search that the reasoning behind it does not go with would be refused for its id.
    bare = {key: value for key, value in THOUGHT.items() if key != "encrypted_content"}
    history = [USER, *answered([USER], bare, SEARCH, said("found")).items]
    assert sent(history)[1:] == [{"type": "message", "role": "assistant", "content": "found"}]
    assert changes(history) == ["reasoning_left_out", "reasoning_left_out"]


@pytest.mark.parametrize("phase", ["commentary", "final_answer"])
def test_reasoning_goes_back_before_words_with_a_phase(phase: str) -> None:
    reply = list(answered([USER], THOUGHT, said("wait", phase=phase), CALL).items)
    assert [item.get("type") for item in sent([USER, *reply, RESULT])] == [
        *(None, "reasoning", "message", "function_call", "function_call_output")
    ]
    words = list(answered([USER], THOUGHT, said("done", phase=phase)).items)
    assert [item.get("type") for item in sent([USER, *words, USER])] == [None, "reasoning", "message", None]
    assert changes([USER, *reply, RESULT]) == changes([USER, *words, USER]) == []


def test_streamed_reasoning_goes_back_before_words_with_a_phase() -> None:
    stream = WIRE.stream(sent=WIRE.render([USER], model=MODEL), model=MODEL)
    for index, item in enumerate([THOUGHT, said("done", phase="final_answer")]):
        stream.feed({"type": "response.output_item.done", "output_index": index, "item": item})
    stream.feed({"type": "response.completed", "response": {"status": "completed", "output": []}})
    assert sent([USER, *stream.close().items, USER])[1] == THOUGHT


def test_a_retry_is_another_answer_also_behind_words_that_say_nothing_of_it() -> None:
    first = list(answered([USER], THOUGHT, CALL).items)
    retry = list(answered([Message("user", "ho")], {**THOUGHT, "id": "rs_2"}, {**CALL, "call_id": "b"}).items)
    words = Message("assistant", "hm", state=Opaque(NAME, MODEL, '{"phase":"commentary"}'))
    for between in ([], [words]):
        history: list[Item] = [USER, *first, *between, *retry, RESULT, ToolResult("b", "look", "two")]
        assert "state_stale" in changes(history)
        assert [item.get("id") for item in sent(history)][:2] == [None, "rs_1"]


def test_a_phase_goes_back_to_the_same_model() -> None:
    reply = list(answered([USER], said("wait", phase="commentary"), CALL).items)
    phased = {"type": "message", "role": "assistant", "content": "wait", "phase": "commentary"}
    assert sent([USER, *reply, RESULT])[1] == phased
    assert sent([Message("user", "ho"), *reply, RESULT])[1] == phased
    assert sent([USER, *reply, RESULT], "gpt-4o")[1] == {
        "type": "message",
        "role": "assistant",
        "content": "wait",
    }
    assert isinstance(reply[1], ToolCall)


@pytest.mark.parametrize(
    "item",
    [
        {**THOUGHT, "summary": ["hm"]},
        {**THOUGHT, "summary": [{"type": "summary_text"}]},
        {**THOUGHT, "summary": {"text": "hm"}},
        {**THOUGHT, "id": "resp_1"},
        {"type": "compaction", "id": [None], "encrypted_content": "sealed"},
        {"type": "tool_use", "id": "ws_1"},
        {"type": "function_call_output", "call_id": "none", "output": "x"},
        {"type": "text"},
    ],
)
def test_what_the_service_would_not_take_back_is_left_out_with_a_note(item: dict[str, Any]) -> None:
    history: list[Item] = [USER, *answered([USER], item, said("y")).items, USER]
    assert sent(history)[1:2] == [{"type": "message", "role": "assistant", "content": "y"}]
    assert changes(history) == ["reasoning_left_out"]


def test_an_answer_to_a_turn_that_was_made_up_loses_its_state() -> None:
    history: list[Item] = [*answered([], THOUGHT, said("y")).items, USER]
    assert sent(history) == [
        {"type": "message", "role": "assistant", "content": "y"},
        {"role": "user", "content": "hi"},
    ]
    assert changes(history) == ["state_stale"]
