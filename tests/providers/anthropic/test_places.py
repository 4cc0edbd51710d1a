"""Messages: the blocks of a stream are told apart by where they begin and end, whatever their events say."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.items import Message, Reasoning, ToolCall
from quire.providers import Anthropic, Parsed
from tests.providers.feeding import fed

WIRE = Anthropic()
Json = dict[str, Any]
Place = Callable[[int], int | None]
PLACES: dict[str, Place] = {
    "right": lambda number: number,
    "left out": lambda _: None,
    "all the first": lambda _: 0,
    "from one on": lambda number: number + 1,
}
BEGUN = "content_block_start"


def block(begun: Json, *deltas: Json) -> list[Json]:
    grown = [{"type": "content_block_delta", "delta": delta} for delta in deltas]
    return [{"type": BEGUN, "content_block": begun}, *grown, {"type": "content_block_stop"}]


BLOCKS = [
    block(
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    block({"type": "text", "text": ""}, {"type": "text_delta", "text": "Hello."}),
    block(
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"x":'},
        {"type": "input_json_delta", "partial_json": "1}"},
    ),
    block({"type": "tool_use", "id": "t2", "name": "look", "input": {}}),
]
END: list[Json] = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


def placed(event: Json, place: int | None) -> Json:
    return event if place is None else {**event, "index": place}


def shown(parsed: Parsed) -> list[Any]:
    return [
        (item.call_id, item.arguments) if isinstance(item, ToolCall) else item.text
        for item in parsed.items
        if isinstance(item, ToolCall | Message | Reasoning)
    ]


ALL = ["hm", "Hello.", ("t1", '{"x":1}'), ("t2", "{}")]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_each_block_is_there_once_and_in_order(place: Place) -> None:
    events = [placed(event, place(number)) for number, held in enumerate(BLOCKS) for event in held]
    parsed = fed(WIRE, [*events, *END])
    assert shown(parsed) == ALL and parsed.finish == "calls"
    assert isinstance(parsed.items[0], Reasoning) and parsed.items[0].state is not None
    assert "c2ln" in parsed.items[0].state.data


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_blocks_that_had_ended_before_a_stream_broke_off_are_there(place: Place) -> None:
    events = [placed(event, place(number)) for number, held in enumerate(BLOCKS) for event in held]
    assert shown(fed(WIRE, events[:-1])) == ALL[:-1]
    assert shown(fed(WIRE, events[:6])) == ["hm", "Hello."]


@pytest.mark.parametrize("numbered", [BEGUN, "content_block_delta", "content_block_stop"])
def test_a_place_may_be_on_some_events_alone(numbered: str) -> None:
    events = [
        placed(event, number if event["type"] == numbered else None)
        for number, held in enumerate(BLOCKS)
        for event in held
    ]
    assert shown(fed(WIRE, [*events, *END])) == ALL


def test_blocks_that_overlap_grow_by_their_places() -> None:
    first, second = ([placed(event, number) for event in BLOCKS[number + 1]] for number in (0, 1))
    events = [second[0], first[0], second[1], first[1], second[2], first[2], second[3]]
    assert shown(fed(WIRE, [*events, *END])) == ["Hello.", ("t1", '{"x":1}')]


def test_an_end_that_is_said_twice_ends_nothing_else() -> None:
    first, second = ([placed(event, number) for event in BLOCKS[number + 1]] for number in (0, 1))
    events = [*first, second[0], first[-1], *second[1:]]
    assert shown(fed(WIRE, [*events, *END])) == ["Hello.", ("t1", '{"x":1}')]


def test_words_of_a_block_that_was_never_begun_are_kept() -> None:
    events = [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}} for word in "ab"]
    assert shown(fed(WIRE, [*events, *END])) == ["ab"]


def unended(*numbers: int) -> list[Json]:
    return [
        placed(event, number)
        for number in numbers
        for event in BLOCKS[number]
        if event["type"] != "content_block_stop"
    ]


def test_calls_whose_end_is_never_said_are_whole_when_the_answer_is() -> None:
    parsed = fed(WIRE, [*unended(0, 1, 2, 3), *END])
    assert shown(parsed) == ALL and (parsed.finish, parsed.error) == ("calls", None)
    assert shown(fed(WIRE, [{**event, "index": 0} for event in unended(1, 2, 3)] + END)) == ALL[1:]
    assert shown(fed(WIRE, unended(1, 2, 3))) == ALL[1:2]


@pytest.mark.parametrize("ended", [True, False])
def test_a_call_that_did_not_come_whole_is_an_error(ended: bool) -> None:
    events = [*unended(1), *unended(2)[:-1], *([{"type": "content_block_stop", "index": 2}] if ended else [])]
    parsed = fed(WIRE, [*events, *unended(3), *END])
    assert shown(parsed) == ["Hello.", ("t2", "{}")]
    assert (parsed.finish, parsed.error) == ("other", "a call did not come whole")
    assert fed(WIRE, [*events, END[-1]]).error == parsed.error and fed(WIRE, events).error is None


def test_a_call_that_ran_out_of_room_is_none() -> None:
    cut: list[Json] = [
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "message_stop"},
    ]
    parsed = fed(WIRE, [*unended(1, 2)[:-1], *cut])
    assert (shown(parsed), parsed.finish, parsed.error) == (["Hello."], "length", None)
    assert shown(fed(WIRE, [*unended(1, 2), *cut])) == ALL[1:3]


def test_arguments_at_a_place_where_nothing_began_are_those_of_the_call_that_did() -> None:
    begun, *grown = unended(2)
    parsed = fed(WIRE, [*unended(1), begun, *({**event, "index": 7} for event in grown), *END])
    assert shown(parsed) == ALL[1:3]
