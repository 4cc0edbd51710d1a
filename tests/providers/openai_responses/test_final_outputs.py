"""Responses: what a stream said was done is there once, whatever the response at its end still lists."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Message, Reasoning, ToolCall
from tests.providers.feeding import fed
from tests.providers.openai_responses.test_places import (
    ALL,
    ITEMS,
    PLACES,
    WIRE,
    Json,
    Place,
    ended,
    events,
    shown,
)
from tests.providers.openai_responses.test_reading import THOUGHT, call, said

OTHER = {**call("c", '{"y": 2}'), "id": "fc_9"}


def without(item: Json, *names: str) -> Json:
    return {name: value for name, value in item.items() if name not in names}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@given(kept=st.sets(st.sampled_from(range(len(ITEMS)))), begun=st.booleans())
def test_what_is_not_listed_at_the_end_is_kept_in_its_order(
    place: Place, kept: set[int], begun: bool
) -> None:
    final = [ITEMS[number] for number in sorted(kept)]
    parsed = fed(WIRE, [*events(ITEMS, place, begun=begun), ended(final)])
    assert shown(parsed) == ALL and len(parsed.items) == len(ITEMS) and parsed.finish == "calls"
    assert isinstance(parsed.items[0], Reasoning)


@given(st.lists(st.sampled_from(["id", "call_id", "status"]), unique=True), st.booleans())
def test_ids_that_are_others_at_the_end_repeat_nothing(changed: list[str], right: bool) -> None:
    final = [
        {**item, **{name: f"{item[name]}_" for name in changed if name in item}, "number": None}
        for item in ITEMS
    ]
    parsed = fed(WIRE, [*events(ITEMS, PLACES["right" if right else "all the first"]), ended(final)])
    assert len(parsed.items) == len(ITEMS)
    assert [item.arguments for item in parsed.items if isinstance(item, ToolCall)] == ['{"x": 1}', "{}"]


@pytest.mark.parametrize("lost", ["encrypted_content", "summary"])
@pytest.mark.parametrize("empty", [True, False])
def test_what_an_item_lacks_at_the_end_is_what_it_was_done_with(lost: str, empty: bool) -> None:
    bare = {**without(THOUGHT, lost), **({lost: None} if empty else {})}
    told = events(ITEMS, PLACES["right"])
    whole, parsed = fed(WIRE, [*told, ended(ITEMS)]), fed(WIRE, [*told, ended([bare, *ITEMS[1:]])])
    first, wanted = parsed.items[0], whole.items[0]
    assert isinstance(first, Reasoning) and isinstance(wanted, Reasoning)
    assert first.state == wanted.state is not None


def test_arguments_and_words_that_are_empty_at_the_end_are_those_it_was_done_with() -> None:
    final: list[Json] = [THOUGHT, said(), {**ITEMS[2], "arguments": ""}, ITEMS[3]]
    assert shown(fed(WIRE, [*events(ITEMS, PLACES["right"]), ended(final)])) == ALL


def test_what_is_said_at_the_end_alone_is_kept_too() -> None:
    assert shown(fed(WIRE, [*events(ITEMS, PLACES["right"]), ended([*ITEMS, OTHER])])) == [
        *ALL,
        ("c", '{"y": 2}'),
    ]
    parsed = fed(WIRE, [*events([call("a")], PLACES["right"]), ended([OTHER])])
    assert shown(parsed) == [("a", "{}"), ("c", '{"y": 2}')]


def test_calls_that_are_alike_are_told_apart_by_their_ids() -> None:
    items = [call("a"), {**call("b"), "id": "fc_2"}]
    assert shown(fed(WIRE, [*events(items, PLACES["left out"]), ended(items[1:])])) == [
        ("a", "{}"),
        ("b", "{}"),
    ]


@pytest.mark.parametrize("output", [True, False])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_what_is_said_to_be_done_again_is_there_once(place: Place, output: bool) -> None:
    told = [event for event in events(ITEMS, place) for _ in range(1 + event["type"].endswith("done"))]
    parsed = fed(WIRE, [*told, ended(ITEMS if output else [])])
    assert shown(parsed) == ALL and len(parsed.items) == len(ITEMS)


@pytest.mark.parametrize("final", [[], [call("a", '{ "x":1}')]])
def test_a_call_with_other_spaces_is_the_same(final: list[Any]) -> None:
    items = [call("a", '{"x":1}'), call("a", '{"x": 1}')]
    parsed = fed(WIRE, [*events(items, PLACES["left out"], begun=False), ended(final)])
    assert len(parsed.items) == 1


def test_two_messages_of_the_same_words_are_two() -> None:
    items = [said("Well."), {**said("Well."), "id": "msg_2"}]
    for final in (items, []):
        parsed = fed(WIRE, [*events(items, PLACES["right"]), ended(final)])
        assert [item.text for item in parsed.items if isinstance(item, Message)] == ["Well.", "Well."]


def test_words_of_a_message_that_is_done_without_them_are_kept() -> None:
    told: list[Json] = [
        {"type": "response.output_text.delta", "delta": "Hello"},
        {"type": "response.output_item.done", "item": said()},
    ]
    ends: list[list[Json]] = [[], [said()]]
    for final in ends:
        assert shown(fed(WIRE, [*told, ended(final)])) == ["Hello"]
