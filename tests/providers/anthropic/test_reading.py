"""Messages: answers as items, whole and in pieces."""

from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import Item, Message, Note, Opaque, Reasoning, ToolCall
from quire.providers import Parsed
from quire.tokens import Usage
from tests.providers.anthropic.histories import STEERED
from tests.providers.anthropic.test_writing import HI, TOOL, WIRE

Json = dict[str, Any]


def response(*content: Json, stop: str = "end_turn", **more: Any) -> Json:
    usage = {
        "input_tokens": 10,
        "output_tokens": 7,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
    }
    head = {"id": "msg_01", "type": "message", "role": "assistant", "model": STEERED}
    return {
        **head,
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def told(parsed: Parsed) -> list[Any]:
    return [_told(item) for item in parsed.items]


def _told(item: Item) -> Any:
    match item:
        case Message():
            return item.role, item.content, item.interrupted
        case ToolCall():
            return item.call_id, item.name, item.arguments
        case Reasoning():
            return item.text, item.state and item.state.data
        case Note():
            return item.content
        case _:
            return item


TEXT: Json = {"type": "text", "text": "Hello."}
CALLS: list[Json] = [
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "é", "n": [1, 2.5]}},
    {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
]
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED: Json = {"type": "redacted_thinking", "data": "eA=="}
SEARCHED: Json = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
KEPT = '{"block":{"id":"srv_1","input":{"query":"x"},"name":"web_search","type":"server_tool_use"}}'
NOVEL = '{"block":{"type":"novelty","x":1}}'

ANSWERS: dict[str, tuple[Json, list[Any], str]] = {
    "text": (response(TEXT), [("assistant", "Hello.", False)], "stop"),
    "stopped": (response(TEXT, stop="stop_sequence"), [("assistant", "Hello.", False)], "stop"),
    "cut": (response(TEXT, stop="max_tokens"), [("assistant", "Hello.", False)], "length"),
    "refused": (response(stop="refusal"), [], "refused"),
    "paused": (response(SEARCHED, stop="pause_turn"), [("", KEPT)], "paused"),
    "calls": (
        response(TEXT, *CALLS, stop="tool_use"),
        [
            ("assistant", "Hello.", False),
            ("toolu_1", "look", '{"at":"é","n":[1,2.5]}'),
            ("toolu_2", "look", "{}"),
        ],
        "calls",
    ),
    "thinking": (
        response(THOUGHT, REDACTED, TEXT),
        [("hm", '{"signature":"c2ln"}'), ("", '{"redacted":"eA=="}'), ("assistant", "Hello.", False)],
        "stop",
    ),
    "texts": (response(TEXT, TEXT), [("assistant", ("Hello.", "Hello."), False)], "stop"),
    "unknown": (response({"type": "novelty", "x": 1}), [("", NOVEL)], "stop"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_whole_answer(name: str) -> None:
    answer, items, finish = ANSWERS[name]
    parsed = WIRE.parse(answer, model=STEERED)
    assert (told(parsed), parsed.finish, parsed.model) == (items, finish, STEERED)
    assert parsed.usage == Usage(input=15, output=7, cache_read=3, cache_write=2)


def events(answer: Json) -> list[Json]:
    """The stream in which an answer would have come, its texts in two pieces each."""
    start: Json = {
        **answer,
        "content": [],
        "stop_reason": None,
        "usage": {**answer["usage"], "output_tokens": 1},
    }
    made: list[Json] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(answer["content"]):
        made.append({"type": "content_block_start", "index": index, "content_block": _opening(block)})
        made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in _deltas(block)]
        made.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": answer["usage"]["output_tokens"]}
    return [*made, {"type": "message_delta", "delta": ending, "usage": usage}, {"type": "message_stop"}]


def _opening(block: Json) -> Json:
    empty: Json = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def _deltas(block: Json) -> list[Json]:
    match block:
        case {"type": "text", "text": text}:
            return [{"type": "text_delta", "text": piece} for piece in (text[:2], text[2:])]
        case {"type": "thinking", "thinking": text, "signature": signature}:
            pieces = [{"type": "thinking_delta", "thinking": piece} for piece in (text[:1], text[1:])]
            return [*pieces, {"type": "signature_delta", "signature": signature}]
        case {"input": {"at": _}}:
            parts = ("", '{"at": ', '"é", "n": [1,', " 2.50]}")
            return [{"type": "input_json_delta", "partial_json": part} for part in parts]
        case {"input": {"query": _}}:
            return [{"type": "input_json_delta", "partial_json": '{"query": "x"}'}]
        case _:
            return []


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_in_pieces_is_the_same(name: str) -> None:
    answer, items, finish = ANSWERS[name]
    stream = WIRE.stream(model=STEERED)
    words = "".join(stream.feed(event) for event in events(answer))
    parsed = stream.close()
    assert (told(parsed), parsed.finish, parsed.model) == (items, finish, STEERED)
    assert parsed.usage == Usage(input=15, output=7, cache_read=3, cache_write=2)
    assert words == "".join(block.get("text", "") for block in answer["content"])
    assert stream.close() is parsed


def cut(answer: Json, last: str) -> Parsed:
    stream = WIRE.stream(model=STEERED)
    for event in events(answer):
        stream.feed(event)
        if event.get("type") == last:
            break
    return stream.close()


def test_a_stream_that_was_cut_off_is_marked() -> None:
    stream = WIRE.stream(model=STEERED)
    for event in events(response(TEXT))[:4]:
        stream.feed(event)
    stream.feed({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert told(stream.close()) == [("assistant", "He", True)]
    assert stream.close().finish == "other"


def test_a_call_that_had_not_come_whole_is_dropped() -> None:
    told_so_far = events(response(TEXT, *CALLS))
    stream = WIRE.stream(model=STEERED)
    for event in told_so_far[: next(n for n, e in enumerate(told_so_far) if e.get("index") == 1) + 3]:
        stream.feed(event)
    assert told(stream.close()) == [("assistant", "Hello.", True)]
    stream = WIRE.stream(model=STEERED)
    for event in told_so_far[: next(n for n, e in enumerate(told_so_far) if e.get("index") == 2) + 1]:
        stream.feed(event)
    assert told(stream.close())[1:] == [("toolu_1", "look", '{"at":"é","n":[1,2.5]}')]


def test_thinking_that_had_not_come_whole_has_no_state_to_send() -> None:
    parsed = cut(response(THOUGHT), "content_block_delta")
    assert told(parsed) == [("h", None)]


@pytest.mark.parametrize(("text", "calls"), [('{"a"', []), ("[1]", [("t", "look", "[1]")])])
def test_a_call_whose_arguments_are_not_whole_is_dropped_also_at_a_proper_end(
    text: str, calls: list[Any]
) -> None:
    stream = WIRE.stream()
    call: Json = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    stream.feed({"type": "content_block_start", "index": 0, "content_block": call})
    delta = {"type": "input_json_delta", "partial_json": text}
    stream.feed({"type": "content_block_delta", "index": 0, "delta": delta})
    stream.feed({"type": "content_block_stop", "index": 0})
    stream.feed({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
    stream.feed({"type": "message_stop"})
    assert (told(stream.close()), stream.close().finish) == (calls, "length")


@pytest.mark.parametrize(
    ("pieces", "given"), [(("{}", '{"a":', "1}"), '{"a":1}'), (("{}", "{}"), "{}"), (("{}",), "{}")]
)
def test_an_empty_object_may_only_hold_the_place_of_the_arguments(pieces: Any, given: str) -> None:
    stream = WIRE.stream()
    call: Json = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    stream.feed({"type": "content_block_start", "index": 0, "content_block": call})
    for piece in pieces:
        delta = {"type": "input_json_delta", "partial_json": piece}
        stream.feed({"type": "content_block_delta", "index": 0, "delta": delta})
    stream.feed({"type": "content_block_stop", "index": 0})
    stream.feed({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    assert told(stream.close()) == [("t", "look", given)]


def test_a_compaction_that_comes_in_pieces() -> None:
    stream = WIRE.stream(model=STEERED)
    stream.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction"}})
    delta = {"type": "compaction_delta", "content": "So far.", "encrypted_content": "eA=="}
    stream.feed({"type": "content_block_delta", "index": 0, "delta": delta})
    stream.feed({"type": "content_block_stop", "index": 0})
    stream.feed({"type": "content_block_start", "index": 1, "content_block": TEXT})
    kept = '{"block":{"content":"So far.","encrypted_content":"eA==","type":"compaction"}}'
    assert told(stream.close())[0] == ("", kept)


def test_state_is_of_the_model_asked_and_of_what_was_sent() -> None:
    sent = WIRE.render([HI], model="claude-opus-4-8-latest", tools=[TOOL])
    items = WIRE.parse(response(THOUGHT, TEXT), sent=sent, model="claude-opus-4-8-latest").items
    state = Opaque("anthropic", "claude-opus-4-8-latest", '{"signature":"c2ln"}', sent.prefix)
    assert isinstance(items[0], Reasoning) and items[0].state == state
    unasked = WIRE.parse(response(THOUGHT, TEXT)).items[0]
    assert isinstance(unasked, Reasoning) and unasked.model == STEERED


def test_pieces_with_citations_are_one_text() -> None:
    cited = {"type": "text", "text": " there", "citations": [{"type": "char_location"}]}
    assert told(WIRE.parse(response(TEXT, cited, TEXT))) == [("assistant", "Hello. thereHello.", False)]


def test_thinking_is_a_part_of_the_output() -> None:
    usage = {"input_tokens": 1, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}
    parsed = WIRE.parse(response(TEXT, usage=usage))
    assert parsed.usage == Usage(input=1, output=9, reasoning=4)


class Dumped:
    """As an object of the client."""

    def __init__(self, body: Json) -> None:
        self._body = body

    def model_dump(self, **_: Any) -> Json:
        return self._body


def test_objects_of_the_client_are_read_too() -> None:
    assert told(WIRE.parse(Dumped(response(TEXT)))) == [("assistant", "Hello.", False)]
    stream = WIRE.stream()
    assert "".join(stream.feed(Dumped(event)) for event in events(response(TEXT))) == "Hello."


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(WrongType):
        WIRE.parse("Hello.")
    with pytest.raises(Damaged):
        WIRE.parse({"errors": {}})
    with pytest.raises(Damaged, match=r"content\[0\]"):
        WIRE.parse(response({"type": "tool_use", "input": {}}))
