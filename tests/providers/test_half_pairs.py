"""Answers with halves of surrogate pairs: halves that belong together are joined, a lone one is replaced."""

import json
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from quire.items import JSON, Item, Message, Reasoning, ToolCall
from quire.providers import PROVIDERS, Parsed, mended
from quire.providers.halves import without_halves
from tests.providers.answers import answer

pytestmark = pytest.mark.laws
EVERY = pytest.mark.parametrize("wire", PROVIDERS)
PAIR, HIGH = "\ud83d\ude00", "\ud83d"
HALVES = st.text(st.sampled_from("a é中😀\ud83d\ude00\udbff\udc00"), max_size=8)


def with_texts(value: Any, text: str) -> Any:
    """The same answer with another text wherever a model speaks, thinks or calls."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: with_texts(inner, text) for key, inner in fields.items()}
    if isinstance(value, list):
        return [with_texts(inner, text) for inner in cast("Any", value)]
    return text.join(value.split("x")) if value == '{"q": "x"}' else _spoken(value, text)


def _spoken(value: Any, text: str) -> Any:
    if value == "a-model":
        return f"a-model{HIGH}"
    return text if value in ("answer 1", "hm", "x") else value


def said(parsed: Parsed) -> list[str]:
    return [text for item in parsed.items for text in _texts(item)]


def _texts(item: Item) -> list[str]:
    match item:
        case Message():
            return [item.text]
        case ToolCall():
            return [json.loads(item.arguments)["q"]]
        case Reasoning():
            return [item.text]
        case _:
            return []


def check_kept(parsed: Parsed) -> None:
    for item in parsed.items:
        assert JSON.decode_item(JSON.encode_item(item)) == item


@EVERY
@given(text=HALVES.filter(bool))
def test_a_whole_answer_can_be_kept(wire: str, text: str) -> None:
    body = with_texts(answer(wire, "a-model", 1, 2, 7), text)
    parsed = PROVIDERS[wire].parse(body)
    check_kept(parsed)
    assert set(said(parsed)) == {mended(text)} and len(said(parsed)) >= 2
    assert parsed.usage is not None and parsed.model == "a-model\ufffd"


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "model": "gpt-5.6", "choices": [choice]}


def _chat(pieces: list[str]) -> list[Any]:
    call = {"index": 0, "id": "c1", "function": {"name": "look_up", "arguments": '{"q": "'}}
    ends = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]}, "tool_calls")]
    calls = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    spoken = [chunk({"content": piece}) for piece in pieces]
    return [*spoken, chunk({"tool_calls": [call]}), *calls, *ends]


def _responses(pieces: list[str]) -> list[Any]:
    body = with_texts(answer("openai-responses", "gpt-5.6", 1, 2, 2), "".join(pieces))
    deltas = [{"type": "response.output_text.delta", "output_index": 0, "delta": piece} for piece in pieces]
    return [*deltas, {"type": "response.completed", "response": body}]


def _anthropic(pieces: list[str]) -> list[Any]:
    start = {"type": "message_start", "message": {"model": "claude", "usage": {"input_tokens": 9}}}
    call: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}
    return [
        start,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(_grown(0, {"type": "text_delta", "text": piece}) for piece in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        *(_grown(1, {"type": "input_json_delta", "partial_json": p}) for p in ('{"q": "', *pieces, '"}')),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def _grown(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _gemini(pieces: list[str]) -> list[Any]:
    call = {"functionCall": {"id": "c1", "name": "look_up", "args": {"q": "".join(pieces)}}}
    parts: list[Any] = [{"text": piece} for piece in pieces]
    events = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in [*parts, call]]
    return [*events, {"candidates": [{"finishReason": "STOP"}]}]


STREAMS = {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}


@EVERY
@given(pieces=st.lists(HALVES.filter(bool), min_size=1, max_size=5))
def test_a_streamed_answer_can_be_kept_and_heard(wire: str, pieces: list[str]) -> None:
    reader = PROVIDERS[wire].stream()
    heard = [reader.feed(event) for event in STREAMS[wire](pieces)]
    parsed = reader.close()
    check_kept(parsed)
    whole = mended("".join(pieces))
    assert said(parsed) and set(said(parsed)) == {whole}
    assert all(piece == mended(piece) for piece in heard)
    held_back = "\ufffd" if "\ud800" <= pieces[-1][-1] <= "\udbff" else ""
    assert "".join(heard) + held_back == whole


@EVERY
def test_a_pair_that_came_in_two_is_one_character(wire: str) -> None:
    reader = PROVIDERS[wire].stream()
    heard = [reader.feed(event) for event in STREAMS[wire](["Well done ", PAIR[0], PAIR[1], ", and so on"])]
    assert "".join(heard) == "Well done 😀, and so on"
    assert set(said(reader.close())) == {"Well done 😀, and so on"}


@given(text=HALVES)
def test_what_is_mended_is_all_that_was_whole(text: str) -> None:
    whole = mended(text)
    assert whole.encode().decode() == whole and mended(whole) is whole
    without = "".join(letter for letter in text.replace(PAIR, "😀") if not "\ud800" <= letter <= "\udfff")
    assert [letter for letter in without if letter in "a é中"] == [c for c in whole if c in "a é中"]
    assert whole.count("😀") >= text.count("😀") + text.count(PAIR)


def test_halves_in_lists_are_mended_too() -> None:
    cited = {"type": "text", "text": "a", "citations": [{"cited_text": HIGH, "of": [HIGH]}]}
    strange = {"type": "new", "of": [HIGH, {"within": [HIGH]}]}
    choice = {"message": {"role": "assistant", "content": [strange]}, "finish_reason": "stop"}
    check_kept(PROVIDERS["anthropic"].parse({"content": [cited], "stop_reason": "end_turn"}))
    check_kept(PROVIDERS["openai"].parse({"choices": [choice]}))


@EVERY
def test_what_is_whole_is_the_same_item(wire: str) -> None:
    items = PROVIDERS[wire].parse(with_texts(answer(wire, "gpt-5.6", 1, 2, 7), "naïve 😀")).items
    assert len(items) >= 2 and all(without_halves(item) is item for item in items)
