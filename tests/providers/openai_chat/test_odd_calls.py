"""Calls as services give them that only speak OpenAI's wire: none is lost, whole or in pieces."""

from typing import Any

import pytest

from quire.errors import Damaged
from quire.items import ToolCall
from quire.providers import PROVIDERS

WIRE = PROVIDERS["openai"]
Called = list[tuple[str, str, str]]
HELD: list[tuple[Any, str]] = [
    (("{}", '{"x": 1}'), '{"x": 1}'),
    (("{}", "", "{", '"x": 1}'), '{"x": 1}'),
    (({}, {"x": 1}), '{"x":1}'),
    (("{}", "{}"), "{}"),
    (("{}",), "{}"),
    (("{", "}"), "{}"),
]


def whole(*calls: Any) -> Called:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return made(WIRE.parse({"choices": [{"finish_reason": "tool_calls", "message": message}]}).items)


def streamed(*pieces: Any, ends: bool = True) -> Called:
    reader = WIRE.stream()
    for piece in pieces:
        reader.feed({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
    if ends:
        reader.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return made(reader.close().items)


def made(items: Any) -> Called:
    calls = [item for item in items if isinstance(item, ToolCall)]
    assert len({call.call_id for call in calls}) == len(calls) == len(items)
    return [
        ("made up" if call.call_id.startswith("call_") else call.call_id, call.name, call.arguments)
        for call in calls
    ]


def function(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


@pytest.mark.parametrize("read", [whole, streamed])
@pytest.mark.parametrize("nothing", [{}, {"id": None}, {"id": ""}])
def test_a_call_without_an_id_gets_one(read: Any, nothing: dict[str, Any]) -> None:
    assert read(function("f", "{}", **nothing)) == [("made up", "f", "{}")]


@pytest.mark.parametrize("read", [whole, streamed])
def test_arguments_that_are_a_value_are_its_json(read: Any) -> None:
    assert read(function("f", {"x": [1]}, id="a")) == [("a", "f", '{"x":[1]}')]


def test_a_call_without_a_name_is_refused() -> None:
    with pytest.raises(Damaged):
        whole(function("", "{}", id="a"))
    with pytest.raises(Damaged):
        whole(function("", '{"x": 1}'))


def test_a_name_that_is_said_again_is_one_name() -> None:
    pieces = [function("look", '{"x"', id="a", index=0), function("look", ":1}", id="a", index=0)]
    assert streamed(*pieces) == [("a", "look", '{"x":1}')]
    assert streamed(*[{**piece, "id": None} for piece in pieces]) == [("made up", "look", '{"x":1}')]


def test_a_name_may_come_in_pieces() -> None:
    pieces = [function("look", "", id="a", index=0), function("_up", "{}", index=0)]
    assert streamed(*pieces) == [("a", "look_up", "{}")]


def test_calls_that_share_a_place_and_have_no_ids_are_told_apart() -> None:
    pieces = [function("f", '{"x": 1}', index=0), function("f", '{"x": 2}', index=0), function("g", {"y": 3})]
    assert [call[1:] for call in streamed(*pieces)] == [
        ("f", '{"x": 1}'),
        ("f", '{"x": 2}'),
        ("g", '{"y":3}'),
    ]


def test_of_a_stream_that_broke_off_a_call_without_a_name_is_none() -> None:
    assert streamed(function("", "", id="a", index=0), ends=False) == []
    assert streamed(function(None, None, index=0)) == []


@pytest.mark.parametrize(
    ("pieces", "joined"),
    HELD,
)
def test_an_empty_object_may_only_hold_the_place_of_the_arguments(pieces: Any, joined: str) -> None:
    first, *rest = pieces
    told = [function("f", first, id="a", index=0), *(function(None, piece, index=0) for piece in rest)]
    assert streamed(*told) == [("a", "f", joined)]


def test_the_text_of_a_custom_call_is_as_it_comes() -> None:
    told = [{"index": 0, "id": "a", "custom": {"name": "f", "input": "{}"}}, {"custom": {"input": "{x"}}]
    assert streamed(*told) == [("a", "f", '{"input":"{}{x"}')]


def test_no_place_is_the_first_place() -> None:
    reader = WIRE.stream()
    words = reader.feed({"choices": [{"index": None, "delta": {"content": "Hi"}}]})
    reader.feed({"choices": [{"index": None, "delta": {}, "finish_reason": "stop"}]})
    assert (words, reader.close().finish) == ("Hi", "stop")


@pytest.mark.parametrize("value", [{"x": [1]}, '{"x":[1]}'])
def test_responses_has_such_arguments_too(value: Any) -> None:
    wire = PROVIDERS["openai-responses"]
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": value}
    for items in (wire.parse({"output": [call]}).items, wire.read_history([call])):
        assert made(items) == [("a", "f", '{"x":[1]}')]
