"""Answers of the user's own client: JSON, objects of the SDKs, streams, and streams that were left."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from quire.errors import ModelFailed, WrongType
from quire.items import Message, Reasoning, ToolCall
from tests.session.opened import session, texts

CHAT: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5.6",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Let me see.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}
RESPONSES: dict[str, Any] = {
    "id": "r",
    "object": "response",
    "status": "completed",
    "model": "gpt-5.6",
    "output": [
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
        },
        {"type": "function_call", "id": "f", "call_id": "c1", "name": "look", "arguments": "{}"},
    ],
    "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
}
ANTHROPIC: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "stop_reason": "tool_use",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
    ],
    "usage": {"input_tokens": 9, "output_tokens": 3},
}
GEMINI: dict[str, Any] = {
    "candidates": [
        {
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Let me see."},
                    {"functionCall": {"id": "c1", "name": "look", "args": {}}},
                ],
            },
        }
    ],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3},
}
RESPONSES_ALSO: dict[str, Any] = {
    "created_at": 1.0,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        **RESPONSES["usage"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
WHOLE: dict[str, dict[str, Any]] = {
    "openai": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}


def from_sdk(wire: str) -> Any:
    """The same answer as the official client gives it."""
    if wire == "openai":
        from openai.types.chat import ChatCompletion

        return ChatCompletion.model_validate(CHAT)
    if wire == "anthropic":
        from anthropic.types import Message as AnthropicMessage

        return AnthropicMessage.model_validate(ANTHROPIC)
    if wire == "gemini":
        from google.genai.types import GenerateContentResponse

        return GenerateContentResponse.model_validate(GEMINI)
    from openai.types.responses import Response

    return Response.model_validate({**RESPONSES, **RESPONSES_ALSO})


@pytest.mark.parametrize("wire", WHOLE)
def test_a_whole_answer_is_told_by_its_shape(wire: str) -> None:
    one = session()
    one.user("Look.")
    parsed = one.record(WHOLE[wire])
    said, call = one.view()[1:]
    assert isinstance(said, Message) and said.text == "Let me see."
    assert isinstance(call, ToolCall) and call.name == "look"
    assert parsed.usage is not None and one.spending.tokens == 12
    assert one.view().pending() == [call]


@pytest.mark.parametrize("wire", WHOLE)
def test_an_answer_as_the_official_client_gives_it(wire: str) -> None:
    one = session()
    one.user("Look.")
    one.record(from_sdk(wire))
    assert [type(item) for item in one.view()] == [Message, Message, ToolCall]


def chunks(*words: str) -> Iterator[dict[str, Any]]:
    for word in words:
        delta = {"role": "assistant", "content": word}
        yield {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}
    last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    yield {"object": "chat.completion.chunk", "model": "m", "choices": [last]}
    yield {"object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage}


def test_a_stream_is_handed_on_and_recorded_once() -> None:
    one = session()
    one.user("Hi.")
    words = ""
    for event in one.listen(chunks("Hel", "lo", "!")):
        assert one.version == 1, "it is recorded when it has come to its end"
        words += "".join(choice["delta"].get("content", "") for choice in event["choices"])
    assert words == "Hello!" and texts(one.view()) == ["Hi.", "Hello!"]
    assert one.spending.tokens == 7


def test_a_stream_can_be_recorded_as_a_whole() -> None:
    one = session()
    one.record(chunks("Hel", "lo!"))
    assert texts(one.view()) == ["Hello!"]


def test_a_stream_that_is_left_is_marked() -> None:
    one = session()
    stream = one.listen(chunks("Hel", "lo!"))
    next(stream)
    stream.close()
    said = one.view()[-1]
    assert isinstance(said, Message) and said.interrupted and said.text == "Hel"


def test_a_stream_that_breaks_keeps_what_came() -> None:
    def breaking() -> Iterator[Any]:
        yield next(chunks("Hel"))
        raise ConnectionError("gone")

    one = session()
    with pytest.raises(ConnectionError):
        list(one.listen(breaking()))
    said = one.view()[-1]
    assert isinstance(said, Message) and said.interrupted


def test_an_async_stream() -> None:
    async def events() -> AsyncIterator[Any]:
        for event in chunks("Hel", "lo!"):
            yield event

    one = session()

    async def talk() -> int:
        return len([event async for event in one.listen_async(events())])

    assert asyncio.run(talk()) == 4 and texts(one.view()) == ["Hello!"]


def test_async_verbs_take_whole_answers_and_streams() -> None:
    async def events() -> AsyncIterator[Any]:
        for event in chunks("Hel", "lo!"):
            yield event

    async def talk() -> None:
        await one.add_response(CHAT)
        await one.add_response(events())
        await one.add_response(chunks("Bye."))

    one = session()
    asyncio.run(talk())
    assert texts(one.view()) == ["Let me see.", "ToolCall", "Hello!", "Bye."]
    assert one.spending.requests == 3


def test_an_empty_stream_records_nothing() -> None:
    one = session()
    assert list(one.listen([])) == [] and one.version == 0
    assert one.record([]).items == ()


def test_what_is_no_answer_is_refused() -> None:
    one = session()
    for wrong in ({"hello": 1}, object(), 5, "text"):
        with pytest.raises(WrongType):
            one.record(wrong)
    assert one.version == 0


def test_an_error_is_nobodys_words() -> None:
    one = session()
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ModelFailed) as fault:
        one.record(body, provider="anthropic")
    assert "overloaded_error" in fault.value.__notes__[0] and one.version == 0


def test_an_answer_that_breaks_off_with_an_error() -> None:
    one = session()
    failing = [*list(chunks("Hel"))[:1], {"error": {"code": "server_error", "message": "gone"}}]
    parsed = one.record(failing, provider="openai")
    assert parsed.error is not None and "server_error" in parsed.error
    said = one.view()[-1]
    assert isinstance(said, Message) and said.interrupted


def test_thoughts_are_bound_to_what_was_sent() -> None:
    answer: dict[str, Any] = {
        **ANTHROPIC,
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "abc"},
            {"type": "text", "text": "Yes."},
        ],
    }
    one = session()
    one.user("Think.")
    one.record(answer)
    thought = one.view()[1]
    assert isinstance(thought, Reasoning) and thought.state is not None
    assert thought.state.provider == "anthropic"
