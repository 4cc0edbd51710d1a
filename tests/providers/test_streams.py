"""Streams: laws for all wires, and what services really send, each row with its source."""

from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import Message, Reasoning, ToolCall
from quire.providers import Parsed, provider_for
from quire.testing.providers import plain
from tests.providers.replies import FULL, MODELS, ROWS, WIRES, Json, Reply, events, whole


def read(wire: str, given_events: list[Any], model: str | None = None) -> tuple[Parsed, str]:
    """A stream's answer, and the text that was heard on the way."""
    stream = provider_for(wire).stream(model=model)
    text = "".join([stream.feed(event) for event in given_events])
    return stream.close(), text


def said(parsed: Parsed) -> str:
    return "".join(item.text for item in parsed.items if isinstance(item, Message))


def called(parsed: Parsed) -> list[tuple[str, str]]:
    return [(item.name, item.arguments) for item in parsed.items if isinstance(item, ToolCall)]


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_breaks_off(wire: str) -> None:
    parsed, text = read(wire, events(wire, Reply(text="Well, now"))[:3])
    [message] = parsed.items
    assert isinstance(message, Message)
    assert (message.interrupted, parsed.finish, parsed.error) == (True, "other", None)
    assert text == message.text != ""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Later."}}
    failed, text = read(wire, [*events(wire, Reply(text="Well"), 9)[:3], error])
    assert (failed.error, failed.finish, said(failed)) == ("overloaded_error: Later.", "other", text)
    alone, _ = read(wire, events(wire, Reply(thought="hm", text="Well"), 99)[:3])
    if all(isinstance(item, Reasoning) for item in alone.items):  # no wire takes thoughts alone back
        assert all(item.state is None for item in alone.items if isinstance(item, Reasoning))


@pytest.mark.parametrize("wire", WIRES)
def test_other_events(wire: str) -> None:
    parsed, _ = read(wire, [{"type": "ping"}, *events(wire, Reply(text="Well")), {"type": "keepalive"}])
    assert (parsed.error, parsed.finish) == (None, "stop")
    other = {"openai": "anthropic", "anthropic": "gemini", "gemini": "openai-responses"}.get(wire, "openai")
    strange, text = read(wire, events(other, Reply(text="Well")))
    assert (strange.items, text) == ((), "")
    assert "no event was" in str(strange.error)
    for event in ("text", 5, [1], None):
        with pytest.raises(WrongType):
            provider_for(wire).stream().feed(event)
    stream = provider_for(wire).stream()
    assert stream.close() is stream.close()


@pytest.mark.parametrize("wire", WIRES)
def test_halves_of_a_character_are_one_character_in_the_answer(wire: str) -> None:
    parsed, heard = read(wire, events(wire, Reply(text="a\ud83d\ude00b"), 2))  # elie222/rakazo#416
    assert said(parsed) == "a😀b"
    assert heard.encode() == "a��b".encode()


# --- what services send on OpenAI's wire


def chunk(*calls: Json, reason: str | None = None, **delta: Any) -> Json:
    more = {"tool_calls": list(calls)} if calls else {}
    return {"choices": [{"index": 0, "delta": {**delta, **more}, "finish_reason": reason}]}


def test_calls_of_services_on_openais_wire() -> None:
    for about, chunks, expected in ROWS["calls_of_services"]:
        parsed, _ = read("openai", [*chunks, chunk(reason="tool_calls")])
        assert called(parsed) == [tuple(call) for call in expected], about
        ids = {item.call_id for item in parsed.items if isinstance(item, ToolCall)}
        assert (len(ids), parsed.finish, parsed.error) == (len(expected), "calls", None), about


def test_thoughts_of_services_on_openais_wire() -> None:
    for about, chunks, thought in ROWS["thoughts_of_services"]:
        ending = [chunk(content="Well"), chunk(reason="stop")]
        parsed, text = read("openai", [*chunks, *ending], "some/model")
        reasoning, message = parsed.items
        assert isinstance(reasoning, Reasoning)
        assert isinstance(message, Message)
        assert (reasoning.text, message.text, text) == (thought, "Well", "Well"), about


def test_pieces_of_one_block_of_thoughts_go_back_as_one_block() -> None:
    provider, model = provider_for("openai"), "openrouter/anthropic/claude-sonnet-4.5"
    question = [Message("user", "Go.")]
    stream = provider.stream(sent=provider.render(question, model=model))
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    for event in [*ROWS["thoughts_of_services"][2][1], chunk(call), chunk(reason="tool_calls")]:
        stream.feed(event)
    rendered = provider.render([*question, *stream.close().items], model=model)
    block = {"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s"}
    assert rendered.payload["messages"][1]["reasoning_details"] == [block]


def test_usage_of_a_stream_is_where_services_put_it() -> None:
    counts = {"prompt_tokens": 9, "completion_tokens": 3}
    details = {"prompt_tokens_details": {"cached_tokens": 4}}
    reports: list[Json] = [
        {"choices": [], "usage": {**counts, "cached_tokens": 4}},  # OpenAI, Moonshot
        {"choices": [], "usage": {**counts, "prompt_cache_hit_tokens": 4}},  # DeepSeek
        {"choices": [{"index": 0, "delta": {}, "usage": {**counts, **details}}]},
    ]
    for report in reports:
        usage: Any = read("openai", [chunk(content="Well"), report, chunk(reason="stop")])[0].usage
        assert (usage.input, usage.output, usage.cache_read) == (9, 3, 4), report


def test_events_of_the_client_beside_its_chunks_are_skipped() -> None:
    given_events = [
        {"type": "chunk", "chunk": chunk(content="Well")},
        {"type": "content.delta", "delta": "Well", "snapshot": "Well"},
        {"type": "chunk", "chunk": chunk(reason="stop")},
        {"type": "content.done", "content": "Well"},
    ]
    parsed, text = read("openai", given_events)
    assert (text, parsed.finish) == ("Well", "stop")


# --- the other wires


def test_a_stream_of_responses_may_lack_what_its_events_or_its_end_hold() -> None:
    expected = plain(provider_for("openai-responses").parse(whole("openai-responses", FULL)).items)
    empty = events("openai-responses", FULL)
    empty[-1]["response"]["output"] = []  # bytedance/deer-flow#1928
    by_id = [
        {k: v for k, v in event.items() if k != "output_index"} for event in events("openai-responses", FULL)
    ]
    at_end = [event for event in events("openai-responses", FULL) if not event["type"].endswith(".delta")]
    for given_events in (empty, empty[-1:0:-1][::-1], by_id, at_end, events("openai-responses", FULL)[-1:]):
        assert plain(read("openai-responses", given_events)[0].items) == expected
    assert read("openai-responses", at_end)[1] == FULL.text


HALF_CALLS: dict[str, list[Json]] = {
    "openai": [chunk({"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"q": "x'}})],
    "openai-responses": [
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {"type": "function_call", "id": "fc", "call_id": "a", "name": "f"},
        },
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"q": "x'},
    ],
    "anthropic": [
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"q": "x'},
        },
    ],
}


@pytest.mark.parametrize("wire", HALF_CALLS)
def test_half_a_call_is_left_out_unless_the_answer_ended_well(wire: str) -> None:
    given_events = events(wire, Reply(text="Well"), 9)
    broken, _ = read(wire, [*given_events[:-2], *HALF_CALLS[wire]])
    assert called(broken) == []
    full, _ = read(wire, [*given_events[:-1], *HALF_CALLS[wire], *given_events[-1:]])
    assert (called(full), full.error) == ([("f", '{"q": "x')], None)


def test_citations_of_a_stream_go_back_with_their_text() -> None:
    citation = {"type": "char_location", "cited_text": "a", "document_index": 0}
    citation |= {"start_char_index": 0, "end_char_index": 1}
    delta = {"type": "citations_delta", "citation": citation}
    given_events = events("anthropic", Reply(text="Well"), 9)
    given_events.insert(3, {"type": "content_block_delta", "index": 0, "delta": delta})
    provider, model = provider_for("anthropic"), MODELS["anthropic"]
    question = [Message("user", "Go.")]
    stream = provider.stream(sent=provider.render(question, model=model))
    for event in given_events:
        stream.feed(event)
    rendered = provider.render([*question, *stream.close().items, Message("user", "And?")], model=model)
    block = {"type": "text", "text": "Well", "citations": [citation]}
    assert rendered.payload["messages"][1]["content"] == [block]


def test_a_piece_that_names_no_call_or_block_is_damage() -> None:
    delta = {"type": "text_delta", "text": "a"}
    partial: Json = {"functionCall": {"name": "f", "partialArgs": [], "willContinue": True}}
    rows: list[tuple[str, Json, str]] = [
        ("openai", chunk({"function": {"arguments": "{}"}}), "index or an id"),
        ("openai-responses", {"type": "response.output_text.delta", "delta": "a"}, "index or an id"),
        ("anthropic", {"type": "content_block_delta", "delta": delta}, "must have an index"),
        ("anthropic", {"type": "content_block_delta", "index": 0, "delta": delta}, "has started"),
        ("gemini", {"candidates": [{"content": {"parts": [partial]}}]}, "streamFunctionCallArguments"),
    ]
    for wire, event, message in rows:
        with pytest.raises(Damaged, match=message):
            read(wire, [event])
