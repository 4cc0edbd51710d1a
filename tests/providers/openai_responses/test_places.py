"""Responses: the items of a stream are told apart and kept in order, whatever its events say of places."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message, ToolCall
from quire.providers import OpenAIResponses, Parsed
from tests.providers.feeding import fed
from tests.providers.openai_responses.test_reading import THOUGHT, call, said

WIRE = OpenAIResponses()
Json = dict[str, Any]
Place = Callable[[int], int | None]
PLACES: dict[str, Place] = {
    "right": lambda number: number,
    "left out": lambda _: None,
    "all the first": lambda _: 0,
    "from one on": lambda number: number + 1,
}
ITEMS = [THOUGHT, said("Hello."), call("a", '{"x": 1}'), {**call("b"), "id": "fc_2"}]


def placed(event: Json, place: int | None) -> Json:
    return event if place is None else {**event, "output_index": place}


def events(items: list[Json], place: Place, *, begun: bool = True) -> list[Json]:
    told: list[Json] = []
    for number, item in enumerate(items):
        empty = {name: value for name, value in item.items() if name != "content"}
        told += [placed({"type": "response.output_item.added", "item": empty}, place(number))] * begun
        words = [block["text"] for block in item.get("content", ())]
        told += [
            placed({"type": "response.output_text.delta", "delta": text}, place(number)) for text in words
        ]
        told.append(placed({"type": "response.output_item.done", "item": item}, place(number)))
    return told


def ended(output: Any) -> Json:
    return {"type": "response.completed", "response": {"status": "completed", "output": output}}


def shown(parsed: Parsed) -> list[Any]:
    return [
        item.text if isinstance(item, Message) else (item.call_id, item.arguments)
        for item in parsed.items
        if isinstance(item, Message | ToolCall)
    ]


ALL = ["Hello.", ("a", '{"x": 1}'), ("b", "{}")]


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("output", [ITEMS, [], None], ids=["whole", "empty", "none"])
@pytest.mark.parametrize("begun", [True, False])
def test_each_item_is_there_once_and_in_order(place: Place, output: Any, begun: bool) -> None:
    parsed = fed(WIRE, [*events(ITEMS, place, begun=begun), ended(output)])
    assert shown(parsed) == ALL and len(parsed.items) == 4
    assert parsed == fed(WIRE, [*events(ITEMS, PLACES["right"]), ended(ITEMS)])._replace(items=parsed.items)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_what_came_before_a_stream_broke_off_is_there_once(place: Place) -> None:
    parsed = fed(WIRE, events(ITEMS, place))
    assert shown(parsed) == ALL
    parsed = fed(WIRE, events([*ITEMS, said("And")], place)[:-1])
    assert shown(parsed) == [*ALL, "And"] and isinstance(parsed.items[-1], Message)
    assert parsed.items[-1].interrupted


@given(st.permutations(range(4)))
def test_items_that_are_done_in_any_order_stand_in_their_places(order: list[int]) -> None:
    told = events(ITEMS, PLACES["right"])
    begun = [event for event in told if event["type"] != "response.output_item.done"]
    done = [event for event in told if event["type"] == "response.output_item.done"]
    assert shown(fed(WIRE, [*begun, *(done[number] for number in order), ended([])])) == ALL


@given(st.permutations(range(4)))
def test_items_without_places_stand_in_the_order_in_which_they_were_begun(order: list[int]) -> None:
    told = events([{**item, "id": f"it_{number}"} for number, item in enumerate(ITEMS)], PLACES["left out"])
    begun = [event for event in told if event["type"] != "response.output_item.done"]
    done = [event for event in told if event["type"] == "response.output_item.done"]
    assert shown(fed(WIRE, [*begun, *(done[number] for number in order), ended([])])) == ALL


def test_a_call_that_is_said_again_is_one_call() -> None:
    told = events([call("a"), call("a"), call("a", '{"x": 1}')], PLACES["left out"], begun=False)
    assert shown(fed(WIRE, [*told, ended([])])) == [("a", "{}"), ("a", '{"x": 1}')]


def test_two_messages_that_nothing_but_their_ends_tells_apart() -> None:
    told: list[Json] = [
        {"type": "response.output_text.delta", "delta": "One."},
        {"type": "response.output_item.done", "item": said("One.")},
        {"type": "response.output_text.delta", "delta": "Two"},
    ]
    assert shown(fed(WIRE, told)) == ["One.", "Two"]


def test_ids_that_are_made_up_for_each_event_do_not_say_words_twice() -> None:
    told: list[Json] = [
        {"type": "response.output_item.added", "item": {**said(), "id": "1"}},
        {"type": "response.output_text.delta", "item_id": "2", "delta": "Hel"},
        {"type": "response.output_text.delta", "item_id": "3", "delta": "lo"},
    ]
    assert shown(fed(WIRE, told)) == ["Hello"]
    done = {"type": "response.output_item.done", "item": {**said("Hello"), "id": "4"}}
    assert shown(fed(WIRE, [*told, done, ended([])])) == ["Hello"]
