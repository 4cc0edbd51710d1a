"""A call that a stream says twice is one call, and calls that only look alike are each their own."""

from typing import Any

import pytest

from quire.items import ToolCall
from quire.providers import PROVIDERS
from quire.providers.pieces import joined
from tests.providers.feeding import fed

Json = dict[str, Any]
Called = list[tuple[str, str, str]]
PAID, PAID_MORE = '{"eur":1}', '{"eur":2}'


def called(wire: str, events: list[Json]) -> Called:
    parsed = fed(PROVIDERS[wire], events)
    assert parsed.error is None and parsed.finish == "calls"
    return [(item.call_id, item.name, item.arguments) for item in parsed.items if isinstance(item, ToolCall)]


def chat(*lists: list[Json]) -> Called:
    deltas = [{"index": 0, "delta": {"tool_calls": pieces}} for pieces in lists]
    return called("openai", [{"choices": [one]} for one in (*deltas, {"finish_reason": "tool_calls"})])


def piece(arguments: Any, name: str | None = "pay", **more: Any) -> Json:
    return {"function": {"name": name, "arguments": arguments}, **more}


@pytest.mark.parametrize("place", [{"index": 0}, {}])
@pytest.mark.parametrize("again", [PAID, '{"eur": 1}', {"eur": 1}])
def test_a_call_of_chat_that_comes_again_is_one(place: Json, again: Any) -> None:
    told = chat([piece(PAID, id="a", **place)], [piece(again, id="a", **place)])
    assert [call[:2] for call in told] == [("a", "pay")] and told[0][2].replace(" ", "") == PAID
    assert len(chat([piece(PAID, id="a", **place)], [piece(again, None, **place)])) == 1


def test_at_the_same_place_the_last_arguments_are_those_of_the_call() -> None:
    pieces = [[piece(text, id="a", index=0)] for text in (PAID, PAID_MORE)]
    assert chat(*pieces) == [("a", "pay", PAID_MORE)]


@pytest.mark.parametrize("call_id", ["null", "a"])
def test_calls_of_one_list_under_one_id_are_each_their_own(call_id: str) -> None:
    names = chat([piece(PAID, "pay", id=call_id), piece("{}", "look", id=call_id)])
    assert names == [(call_id, "pay", PAID), (call_id, "look", "{}")]
    for text in (PAID, PAID_MORE):
        assert chat([piece(PAID, id=call_id), piece(text, id=call_id)]) == [
            (call_id, "pay", PAID),
            (call_id, "pay", text),
        ]


@pytest.mark.parametrize("call_id", ["null", "a"])
def test_calls_without_places_that_differ_are_each_their_own(call_id: str) -> None:
    told = chat(*([piece(text, id=call_id)] for text in (PAID, PAID_MORE)))
    assert told == [(call_id, "pay", PAID), (call_id, "pay", PAID_MORE)]
    begun = chat([piece(PAID, id=call_id)], [piece("", "look", id=call_id)], [piece(PAID_MORE, None)])
    assert begun == [(call_id, "pay", PAID), (call_id, "look", PAID_MORE)]


def test_one_id_at_several_places_is_several_calls() -> None:
    told = chat([piece(PAID, id="a", index=0)], [piece(PAID, id="a", index=1)])
    assert told == [("a", "pay", PAID)] * 2


def test_an_empty_object_under_the_same_id_only_held_the_place() -> None:
    assert chat([piece("{}", id="a")], [piece(PAID, id="a")]) == [("a", "pay", PAID)]


def test_other_arguments_are_never_taken_for_the_same() -> None:
    assert joined(PAID, PAID) == PAID
    assert joined(PAID, PAID_MORE) == PAID + PAID_MORE  # which no tool is run with
    assert joined('{"x":"}', '{"') == '{"x":"}{"'


BLOCK: Json = {"type": "tool_use", "id": "a", "name": "pay", "input": {}}


def messages(*events: Json, index: int | None = 0) -> Called:
    placed = [event if index is None else {"index": index, **event} for event in events]
    return called("anthropic", [*placed, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}])


def begun(**more: Any) -> Json:
    return {"type": "content_block_start", "content_block": {**BLOCK, **more}}


def grown(text: str) -> Json:
    return {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}}


STOP: Json = {"type": "content_block_stop"}
ONCE: dict[str, list[Json]] = {
    "begun twice": [begun(), begun(), grown(PAID), STOP],
    "begun with each piece": [begun(), grown('{"eur"'), begun(), grown(":1}"), STOP],
    "announced first": [begun(), STOP, begun(), grown(PAID), STOP],
    "all of it twice": [*([begun(), grown('{"eur"'), grown(":1}"), STOP] * 2)],
    "with its input": [begun(input={"eur": 1}), begun(), STOP],
}


@pytest.mark.parametrize("how", ONCE)
def test_a_block_that_begins_again_is_one(how: str) -> None:
    assert messages(*ONCE[how]) == [("a", "pay", PAID)]


def test_blocks_under_one_id_elsewhere_are_each_their_own() -> None:
    again = [{**event, "index": 1} for event in (begun(), grown(PAID_MORE), STOP)]
    assert messages(begun(), grown(PAID), STOP, *again) == [("a", "pay", PAID), ("a", "pay", PAID_MORE)]
    for ends in ([STOP], []):
        bare = messages(begun(), grown(PAID), *ends, begun(), grown(PAID_MORE), STOP, index=None)
        assert bare == [("a", "pay", PAID), ("a", "pay", PAID_MORE)]
    assert len(messages(begun(), grown(PAID), STOP, begun(name="look"), STOP)) == 2


def test_a_block_that_came_whole_stands_where_the_second_telling_breaks_off() -> None:
    events = [{**event, "index": 0} for event in (begun(), grown(PAID), STOP, begun(), grown('{"e'))]
    for ended in ([], [{**STOP, "index": 0}]):
        items = fed(PROVIDERS["anthropic"], [*events, *ended]).items
        assert [item.arguments for item in items if isinstance(item, ToolCall)] == [PAID]


def test_thoughts_and_words_that_begin_twice_are_there_once() -> None:
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": "W"},
    ]
    start: Json = {"type": "content_block_start"}
    starts = [{**start, "index": at, "content_block": block} for at, block in enumerate(blocks)]
    deltas: list[Json] = [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "text_delta", "text": "ell"},
    ]
    grow = [{"type": "content_block_delta", "index": at, "delta": delta} for at, delta in enumerate(deltas)]
    reader = PROVIDERS["anthropic"].stream()
    heard = [reader.feed(event) for at in (0, 1) for event in (starts[at], starts[at], grow[at])]
    assert "".join(heard) == "Well" and [getattr(item, "text", "") for item in reader.close().items] == [
        "hm",
        "Well",
    ]


CALL: Json = {"type": "function_call", "id": "f", "call_id": "a", "name": "pay", "arguments": ""}


def response(*events: tuple[str, str], place: Json) -> Called:
    told = [{**_event(kind, text), **place} for kind, text in events]
    end: Json = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    return called("openai-responses", [*told, end])


def _event(kind: str, text: str) -> Json:
    if kind == "delta":
        return {"type": "response.function_call_arguments.delta", "item_id": "f", "delta": text}
    return {"type": f"response.output_item.{kind}", "item": {**CALL, "arguments": text}}


@pytest.mark.parametrize("place", [{"output_index": 0}, {}])
def test_an_item_that_begins_again_is_one(place: Json) -> None:
    once = [("a", "pay", PAID)]
    twice = ("added", ""), ("added", "")
    assert response(*twice, ("delta", PAID), place=place) == once
    assert response(*twice, ("delta", PAID), ("done", PAID), place=place) == once
    held = ("added", "{}"), ("added", "{}"), ("delta", PAID), ("done", PAID)
    assert response(*held, place=place) == once


def test_an_item_that_is_done_again_at_its_place_is_what_it_is_now() -> None:
    done = ("added", ""), ("done", PAID), ("added", ""), ("done", PAID_MORE)
    assert response(*done, place={"output_index": 0}) == [("a", "pay", PAID_MORE)]
    assert len(response(*done, place={})) == 2


def gemini(*chunks: list[Json]) -> Called:
    told = [{"content": {"parts": [{"functionCall": call} for call in chunk]}} for chunk in chunks]
    return called("gemini", [{"candidates": [one]} for one in (*told, {"finishReason": "STOP"})])


def test_a_call_of_gemini_that_a_later_chunk_says_again_is_one() -> None:
    call: Json = {"id": "a", "name": "pay", "args": {"eur": 1}}
    assert gemini([call], [call]) == gemini([{**call, "args": {}}], [call]) == [("a", "pay", PAID)]
    assert len(gemini([call], [{**call, "id": None}])) == 2
    assert len(gemini([call, call])) == len(gemini([call], [{**call, "name": "look"}])) == 2
    assert gemini([call], [{**call, "args": {"eur": 2}}]) == [("a", "pay", PAID), ("a", "pay", PAID_MORE)]


def test_the_signature_of_a_call_that_is_said_again_is_kept() -> None:
    call: Json = {"functionCall": {"id": "a", "name": "pay", "args": {}}}
    signed: Json = {**call, "thoughtSignature": "c2ln"}
    for first, second in ((call, signed), (signed, call)):
        chunks = [{"candidates": [{"content": {"parts": [part]}}]} for part in (first, second)]
        (item,) = fed(PROVIDERS["gemini"], chunks).items
        assert isinstance(item, ToolCall) and item.state is not None and "c2ln" in item.state.data
