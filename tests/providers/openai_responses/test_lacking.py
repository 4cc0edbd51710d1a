"""Responses: what a call is made with and what is said is kept where only events beside the item tell it."""

from typing import Any

import pytest

from quire.items import Message, ToolCall
from quire.providers import Parsed
from tests.providers.feeding import fed
from tests.providers.openai_responses.test_places import PLACES, WIRE, Json, Place, ended, placed, shown
from tests.providers.openai_responses.test_reading import call, said

GIVEN = '{"x": 1}'


def added(item: Json, place: int | None = 0) -> Json:
    return placed({"type": "response.output_item.added", "item": item}, place)


def done(item: Json, place: int | None = 0) -> Json:
    return placed({"type": "response.output_item.done", "item": item}, place)


def given(*pieces: str, whole: str | None = None, place: int | None = 0, item_id: str = "fc_1") -> list[Json]:
    kind = "response.function_call_arguments"
    told = [{"type": f"{kind}.delta", "item_id": item_id, "delta": piece} for piece in pieces]
    told += [{"type": f"{kind}.done", "item_id": item_id, "arguments": whole}] if whole is not None else []
    return [placed(event, place) for event in told]


def texts(*pieces: str, whole: str | None = None, place: int | None = 0) -> list[Json]:
    kind = "response.output_text"
    told: list[Json] = [{"type": f"{kind}.delta", "delta": piece} for piece in pieces]
    told += [{"type": f"{kind}.done", "text": whole}] if whole is not None else []
    return [placed(event, place) for event in told]


EMPTY = call("a", "")
CALLS: dict[str, list[Json]] = {
    "pieces and all of it": [added(EMPTY), *given('{"x"', ": 1}", whole=GIVEN)],
    "pieces alone": [added(EMPTY), *given('{"x"', ": 1}")],
    "all of it alone": [added(EMPTY), *given(whole=GIVEN)],
    "with the item as it began": [added(call("a", GIVEN))],
    "after an empty object": [added(call("a")), *given("{}", GIVEN)],
    "done without them": [added(EMPTY), *given('{"x": 1}', whole=GIVEN), done(EMPTY)],
    "done with them": [added(EMPTY), *given('{"x"', ": 1}", whole=GIVEN), done(call("a", GIVEN))],
    "done under another id": [
        *(added({**EMPTY, "call_id": "b"}), *given(GIVEN, whole=GIVEN)),
        done({**call("a", GIVEN), "id": "fc_7"}, 3),
    ],
}


@pytest.mark.parametrize("final", [[], [EMPTY], [call("a", GIVEN)]], ids=["none", "empty", "whole"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_there_once_with_its_arguments(name: str, final: list[Json]) -> None:
    parsed = fed(WIRE, [*CALLS[name], ended(final)])
    assert shown(parsed) == [("a", GIVEN)] and (parsed.finish, parsed.error) == ("calls", None)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_calls_beside_each_other_have_their_own_arguments(place: Place) -> None:
    told: list[Json] = []
    for number, name in enumerate("abc"):
        at, own = place(number), f"fc_{number}"
        told += [added({**EMPTY, "call_id": name, "id": own}, at)]
        told += given(f'{{"x": {number}}}', whole=f'{{"x": {number}}}', place=at, item_id=own)
    wanted = [(name, f'{{"x": {number}}}') for number, name in enumerate("abc")]
    assert shown(fed(WIRE, [*told, ended([])])) == wanted


def test_a_text_that_a_tool_is_called_with_is_kept_too() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "a", "name": "shell", "input": ""}
    event = {"type": "response.custom_tool_call_input.done", "item_id": "ctc_1", "input": "ls"}
    for told in ([added(item), event], [added(item), event, done(item)]):
        assert shown(fed(WIRE, [*told, ended([])])) == [("a", '{"input":"ls"}')]


@pytest.mark.parametrize("pieces", [(), ('{"x"',)], ids=["nothing", "half"])
def test_a_call_of_which_too_little_came_is_an_error_and_what_was_said_stays(pieces: tuple[str, ...]) -> None:
    told = [*texts("Well."), added(EMPTY, 1), *given(*pieces, place=1)]
    parsed = fed(WIRE, [*told, ended([])])
    assert shown(parsed) == ["Well."]
    assert (parsed.finish, parsed.error) == ("other", "a call did not come whole")


@pytest.mark.parametrize("name", CALLS)
def test_a_stream_that_breaks_off_has_no_call_that_is_not_done(name: str) -> None:
    told = CALLS[name]
    for cut in range(len(told) + 1):
        parsed = fed(WIRE, told[:cut])
        calls = [item for item in parsed.items if isinstance(item, ToolCall)]
        is_done = any(event["type"] == "response.output_item.done" for event in told[:cut])
        assert [item.arguments for item in calls] == [GIVEN] * is_done and parsed.finish == "other"


WORDS: dict[str, list[Json]] = {
    "all of it alone": [added(said()), *texts(whole="Hello.")],
    "pieces and all of it": [added(said()), *texts("Hel", "lo.", whole="Hello.")],
    "some pieces and all of it": [added(said()), *texts("Hel", whole="Hello.")],
    "no item at all": texts(whole="Hello."),
    "all of it twice": [added(said()), *texts("Hello.", whole="Hello."), *texts(whole="Hello.")],
    "done without them": [added(said()), *texts(whole="Hello."), done(said())],
    "done with them": [added(said()), *texts("Hel", "lo.", whole="Hello."), done(said("Hello."))],
    "all of it after it was done": [
        added(said()),
        *texts("Hello."),
        done(said("Hello.")),
        *texts(whole="Hello."),
    ],
    "done without them before": [added(said()), *texts("Hello."), done(said()), *texts(whole="Hello.")],
    "in two parts": [added(said()), *texts("Hel", whole="Hel"), *texts("lo.", whole="lo.")],
    "in two parts at once": [added(said()), *texts("Hel", "lo."), *texts(whole="Hel"), *texts(whole="lo.")],
}


def heard(events: list[Json]) -> tuple[str, Parsed]:
    stream = WIRE.stream(model="m")
    return "".join(stream.feed(event) for event in events), stream.close()


@pytest.mark.parametrize("final", [[], [said("Hello.")]], ids=["none", "whole"])
@pytest.mark.parametrize("name", WORDS)
def test_words_are_there_once_and_heard_once(name: str, final: list[Any]) -> None:
    words, parsed = heard([*WORDS[name], ended(final)])
    assert (words, shown(parsed)) == ("Hello.", ["Hello."])
    assert (parsed.finish, parsed.error) == ("stop", None)


@pytest.mark.parametrize("name", WORDS)
def test_what_was_heard_until_a_stream_broke_off_is_there(name: str) -> None:
    for cut in range(len(WORDS[name]) + 1):
        words, parsed = heard(WORDS[name][:cut])
        assert [item.text for item in parsed.items if isinstance(item, Message)] == [words] * bool(words)


def test_a_refusal_that_comes_at_once_is_heard() -> None:
    words, parsed = heard([{"type": "response.refusal.done", "output_index": 0, "refusal": "No."}, ended([])])
    assert words == "No." and shown(parsed) == ["No."]
