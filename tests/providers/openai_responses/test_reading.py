"""Responses: answers, whole and in events, as items."""

from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import Image, Message, Reasoning, ToolCall
from quire.providers import OpenAIResponses, Parsed
from quire.tokens import Usage

WIRE = OpenAIResponses()
PNG = b"\x89PNG\r\n\x1a\n"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}
THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
    "encrypted_content": "sealed",
}


def said(*texts: str) -> dict[str, Any]:
    content: list[Any] = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "look", "arguments": arguments}


def parsed(*output: Any, **more: Any) -> Parsed:
    return WIRE.parse({"model": "gpt-5.6", "status": "completed", "output": list(output), **more})


def test_words_and_usage() -> None:
    answer = parsed(said("hello"), usage=USAGE)
    (message,) = answer.items
    assert isinstance(message, Message) and message.role == "assistant" and message.content == "hello"
    assert message.state is None and not message.interrupted
    assert answer.usage == Usage(100, 20, 40, 10, 5)
    assert (answer.finish, answer.model) == ("stop", "gpt-5.6")


def test_parallel_calls_and_reasoning() -> None:
    thought, first, second = parsed(THOUGHT, call("a", '{"x": 1}'), call("b")).items
    assert isinstance(thought, Reasoning) and thought.text == "one\n\ntwo"
    assert (thought.provider, thought.model) == ("openai-responses", "gpt-5.6")
    assert isinstance(first, ToolCall) and (first.call_id, first.arguments) == ("a", '{"x": 1}')
    assert isinstance(second, ToolCall) and second.call_id == "b"
    assert parsed(call("a")).finish == "calls"


def test_tools_have_their_own_names_again() -> None:
    sent = WIRE.render([Message("user", "hi")], tools=[{"name": "a tool"}])
    wired = sent.payload["tools"][0]["name"]
    answer = WIRE.parse({"status": "completed", "output": [{**call("a"), "name": wired}]}, sent=sent)
    assert isinstance(answer.items[0], ToolCall) and answer.items[0].name == "a tool"


def test_a_refusal() -> None:
    content = [{"type": "refusal", "refusal": "no"}]
    answer = parsed({"type": "message", "role": "assistant", "content": content})
    assert isinstance(answer.items[0], Message) and answer.items[0].content == "no"
    assert answer.finish == "refused"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_output_tokens", "length"), ("steered", "other")],
)
def test_an_answer_cut_short_has_no_half_calls(reason: str, finish: str) -> None:
    details = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    answer = parsed(said("so"), call("a"), call("b", '{"x": '), **details)
    assert [type(item) for item in answer.items] == [Message, ToolCall]
    assert answer.finish == finish


def test_a_failed_answer() -> None:
    failed = parsed(status="failed", error={"code": "server_error"})
    assert failed == Parsed((), None, "other", "gpt-5.6", "server_error")


def test_pictures_and_calls_of_other_tools() -> None:
    drawn = {"type": "image_generation_call", "id": "ig", "result": b64encode(PNG).decode()}
    typed = {"type": "custom_tool_call", "id": "ct", "call_id": "a", "name": "sql", "input": "select 1"}
    pressed = {"type": "computer_call", "id": "cu", "call_id": "b", "action": {"type": "click"}}
    picture, query, click = parsed(drawn, typed, pressed).items
    assert isinstance(picture, Message) and picture.content == (Image(data=PNG),)
    assert isinstance(query, ToolCall) and (query.name, query.arguments) == ("sql", '{"input":"select 1"}')
    assert isinstance(click, ToolCall) and (click.name, click.call_id) == ("computer_call", "b")


def test_what_is_no_response_is_refused() -> None:
    with pytest.raises(Damaged):
        WIRE.parse({"errors": {"message": "?"}})
    with pytest.raises(WrongType):
        WIRE.parse("hello")
    with pytest.raises(Damaged) as found:
        parsed({"type": "function_call", "call_id": "a"})
    assert found.value.path == "output[0].name"


EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"model": "gpt-5.6", "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {**THOUGHT, "encrypted_content": "se"}},
    {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
    {"type": "response.output_item.added", "output_index": 1, "item": {**said(), "phase": "commentary"}},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "hel"},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "lo"},
    {
        "type": "response.output_item.done",
        "output_index": 1,
        "item": {**said("hello"), "phase": "commentary"},
    },
    {"type": "response.output_item.added", "output_index": 2, "item": call("a", "")},
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"x"'},
    {"type": "response.output_item.done", "output_index": 2, "item": call("a", '{"x": 1}')},
]
END: dict[str, Any] = {
    "type": "response.completed",
    "response": {"model": "gpt-5.6", "status": "completed", "usage": USAGE},
}


def streamed(events: list[dict[str, Any]]) -> tuple[str, Parsed]:
    stream = WIRE.stream(model="gpt-5.6")
    words = "".join(stream.feed(event) for event in events)
    answer = stream.close()
    assert stream.close() is answer
    return words, answer


def test_a_stream_gives_what_was_done() -> None:
    output = [THOUGHT, {**said("hello"), "phase": "commentary"}, call("a", '{"x": 1}')]
    whole = {**END, "response": {**END["response"], "output": output}}
    for end in (END, whole):
        words, answer = streamed([*EVENTS, end])
        assert words == "hello"
        thought, message, called = answer.items
        assert isinstance(thought, Reasoning) and '"sealed"' in (thought.state.data if thought.state else "")
        assert isinstance(message, Message) and message.content == "hello" and not message.interrupted
        assert isinstance(called, ToolCall) and called.arguments == '{"x": 1}'
        assert (answer.finish, answer.usage) == ("calls", Usage(100, 20, 40, 10, 5))


def test_a_stream_that_breaks_off_keeps_what_is_whole() -> None:
    words, answer = streamed(EVENTS[:5])
    thought, message = answer.items
    assert words == "hel" and isinstance(thought, Reasoning)
    assert isinstance(message, Message) and message.content == "hel" and message.interrupted
    assert message.state is not None and "commentary" in message.state.data
    assert answer.finish == "other"
    _, answer = streamed(EVENTS[:-1])
    assert [type(item) for item in answer.items] == [Reasoning, Message]
    assert isinstance(answer.items[1], Message) and answer.items[1].interrupted
    _, answer = streamed(EVENTS)
    assert [type(item) for item in answer.items] == [Reasoning, Message, ToolCall]
    assert streamed([])[1] == Parsed(())


def test_a_streamed_refusal_is_heard() -> None:
    words, answer = streamed([{"type": "response.refusal.delta", "output_index": 0, "delta": "no"}])
    assert words == "no" and isinstance(answer.items[0], Message) and answer.items[0].interrupted
