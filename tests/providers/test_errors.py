"""What a provider says went wrong is in what parsing gives: whole or streamed, with its code and words."""

from typing import Any

import pytest

from quire.errors import WrongType
from quire.items import Message
from quire.providers import PROVIDERS

Json = dict[str, Any]
CHAT_ERROR: Json = {"message": "Slow down.", "type": "tokens", "param": None, "code": "rate_limit_exceeded"}
CHUNK: Json = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well"}}]}
FAILED: Json = {"code": "server_error", "message": "It broke."}
OVERLOADED: Json = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
UNAVAILABLE: Json = {"error": {"code": 503, "message": "Try later.", "status": "UNAVAILABLE"}}
SPOKEN: Json = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Well"}]}}]}

WHOLE: dict[str, tuple[str, Json, str]] = {
    "a body of Chat": ("openai", {"error": CHAT_ERROR}, "tokens rate_limit_exceeded: Slow down."),
    "an error of a choice": (
        "openai",
        {"choices": [{"message": {"content": "Well"}, "finish_reason": "stop", "error": FAILED}]},
        "server_error: It broke.",
    ),
    "a body of Responses": (
        "openai-responses",
        {"error": CHAT_ERROR},
        "tokens rate_limit_exceeded: Slow down.",
    ),
    "a failed response": (
        "openai-responses",
        {"status": "failed", "output": [], "error": FAILED},
        "server_error: It broke.",
    ),
    "a body of Anthropic": ("anthropic", OVERLOADED, "overloaded_error: Overloaded"),
    "a body of Gemini": ("gemini", UNAVAILABLE, "UNAVAILABLE 503: Try later."),
    "a bare text": ("openai", {"error": "no such model"}, "no such model"),
    "an object that says nothing": ("gemini", {"error": {}}, "an error without words"),
}

STREAMS: dict[str, tuple[str, list[Json], str]] = {
    "a chunk of Chat": ("openai", [CHUNK, {"error": FAILED}], "server_error: It broke."),
    "a choice of a chunk": (
        "openai",
        [CHUNK, {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": FAILED}]}],
        "server_error: It broke.",
    ),
    "an event of Responses": (
        "openai-responses",
        [{"type": "response.output_text.delta", "delta": "Well"}, {"type": "error", **FAILED}],
        "server_error: It broke.",
    ),
    "a failed response": (
        "openai-responses",
        [
            {"type": "response.output_item.done", "item": {"type": "message", "content": "Well"}},
            {"type": "response.failed", "response": {"status": "failed", "output": [], "error": FAILED}},
        ],
        "server_error: It broke.",
    ),
    "an event of Anthropic": (
        "anthropic",
        [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Well"}},
            OVERLOADED,
        ],
        "overloaded_error: Overloaded",
    ),
    "a chunk of Gemini": ("gemini", [SPOKEN, UNAVAILABLE], "UNAVAILABLE 503: Try later."),
}


@pytest.mark.parametrize("name", WHOLE)
def test_an_error_in_place_of_an_answer_is_told(name: str) -> None:
    wire, body, error = WHOLE[name]
    parsed = PROVIDERS[wire].parse(body)
    assert (parsed.error, parsed.finish) == (error, "other")


@pytest.mark.parametrize("name", STREAMS)
def test_an_error_in_a_stream_is_told_and_what_came_before_is_kept(name: str) -> None:
    wire, events, error = STREAMS[name]
    reader = PROVIDERS[wire].stream()
    for event in events:
        reader.feed(event)
    parsed = reader.close()
    assert (parsed.error, parsed.finish) == (error, "other")
    assert [item.text for item in parsed.items if isinstance(item, Message)] == ["Well"]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_it_is_cut_in_length_and_none_where_nothing_is_said(wire: str) -> None:
    parsed = PROVIDERS[wire].parse({"error": {"message": "x" * 10_000}})
    assert parsed.error is not None and len(parsed.error) < 600
    assert PROVIDERS[wire].stream().close().error is None


def test_custom_calls_of_a_stream_come_whole_or_not_at_all() -> None:
    start: Json = {"index": 0, "id": "c1", "type": "custom", "custom": {"name": "shell", "input": ""}}
    for reason, expected in (("tool_calls", ['{"input":"ls -l"}']), (None, [])):
        reader = PROVIDERS["openai"].stream()
        for piece in (
            start,
            {"index": 0, "custom": {"input": "ls "}},
            {"index": 0, "custom": {"input": "-l"}},
        ):
            reader.feed({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
        reader.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        calls = [item.arguments for item in reader.close().items if not isinstance(item, Message)]  # type: ignore[union-attr]
        assert calls == expected


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("sent", [{}, {"messages": []}, "x", 0])
def test_what_was_sent_is_a_rendering(wire: str, sent: Any) -> None:
    with pytest.raises(WrongType, match="Rendered"):
        PROVIDERS[wire].parse({}, sent=sent)
    with pytest.raises(WrongType, match="Rendered"):
        PROVIDERS[wire].stream(sent=sent)
    with pytest.raises(WrongType, match="strict"):
        PROVIDERS[wire].render([], strict="x")  # type: ignore[arg-type]  # pyright: ignore
