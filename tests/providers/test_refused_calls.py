"""A call of an answer that its provider refused or filtered is not run: it was not to be made."""

from typing import Any

import pytest

from quire.items import Item, Message, Reasoning, ToolCall
from quire.providers import PROVIDERS, Parsed

Json = dict[str, Any]
ARGUMENTS = ("", "{}", '{"month": "Jan"}', '{"month": "J')
GEMINIS = ("SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "LANGUAGE", "MODEL_ARMOR")


def read(wire: str, *events: Json, whole: bool = False) -> Parsed:
    if whole:
        return PROVIDERS[wire].parse(events[0])
    reader = PROVIDERS[wire].stream()
    for event in events:
        reader.feed(event)
    return reader.close()


def chat(reason: str, arguments: str, whole: bool) -> Parsed:
    call: Json = {"id": "c", "index": 0, "type": "function"}
    call["function"] = {"name": "purge", "arguments": arguments}
    said: Json = {"role": "assistant", "content": "I purge.", "tool_calls": [call]}
    if whole:
        return read("openai", {"choices": [{"finish_reason": reason, "message": said}]}, whole=True)
    ends: Json = {"index": 0, "delta": {}, "finish_reason": reason}
    return read("openai", {"choices": [{"index": 0, "delta": said}]}, {"choices": [ends]})


def responses(reason: str, arguments: str, whole: bool) -> Parsed:
    call: Json = {"type": "function_call", "id": "f", "call_id": "c", "name": "purge", "arguments": arguments}
    text: Json = {"type": "output_text", "text": "I purge.", "annotations": []}
    output: list[Json] = [{"type": "message", "role": "assistant", "content": [text]}, call]
    body: Json = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": output}
    ended: Json = {"type": "response.incomplete", "response": body}
    return read("openai-responses", body if whole else ended, whole=whole)


def anthropic(reason: str, arguments: str, whole: bool) -> Parsed:
    use: Json = {"type": "tool_use", "id": "c", "name": "purge", "input": {}}
    said: Json = {"type": "text", "text": "I purge."}
    if whole:
        given = {"month": "Jan"} if arguments.endswith('n"}') else {}
        body: Json = {"stop_reason": reason, "content": [said, {**use, "input": given}]}
        return read("anthropic", body, whole=True)
    delta = {"type": "input_json_delta", "partial_json": arguments}
    return read(
        "anthropic",
        {"type": "content_block_start", "index": 0, "content_block": said},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": use},
        {"type": "content_block_delta", "index": 1, "delta": delta},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    )


def gemini(reason: str, arguments: str, whole: bool) -> Parsed:
    args = {"month": "Jan"} if arguments.endswith('n"}') else {}
    parts: list[Json] = [{"text": "I purge."}, {"functionCall": {"name": "purge", "args": args}}]
    body: Json = {"candidates": [{"finishReason": reason, "content": {"role": "model", "parts": parts}}]}
    return read("gemini", body, whole=whole)


REFUSALS = [
    (chat, "content_filter"),
    (responses, "content_filter"),
    (anthropic, "refusal"),
    *((gemini, reason) for reason in GEMINIS),
]


def kinds(items: tuple[Item, ...]) -> list[type[Item]]:
    return [type(item) for item in items]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize(("ask", "reason"), REFUSALS)
def test_it_is_left_out_and_what_was_said_stays(ask: Any, reason: str, arguments: str, whole: bool) -> None:
    answer = ask(reason, arguments, whole)
    assert (kinds(answer.items), answer.finish) == ([Message], "refused")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
def test_calls_that_the_service_could_not_read_are_left_out(reason: str, whole: bool) -> None:
    answer = gemini(reason, "{}", whole)
    assert kinds(answer.items) == [Message] and answer.error is not None


@pytest.mark.parametrize("whole", [True, False])
def test_a_call_of_an_answer_that_was_not_refused_stays(whole: bool) -> None:
    asked = ((chat, "tool_calls"), (anthropic, "tool_use"), (gemini, "STOP"))
    answers = [ask(reason, '{"month": "Jan"}', whole) for ask, reason in asked]
    assert [kinds(answer.items) for answer in answers] == [[Message, ToolCall]] * 3
    assert {answer.finish for answer in answers} == {"calls"}


def test_thoughts_that_led_to_nothing_but_it_have_no_way_back() -> None:
    thought: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    use: Json = {"type": "tool_use", "id": "c", "name": "purge", "input": {}}
    answer = read("anthropic", {"stop_reason": "refusal", "content": [thought, use]}, whole=True)
    assert [item.state for item in answer.items if isinstance(item, Reasoning)] == [None]
    assert kinds(answer.items) == [Reasoning]
