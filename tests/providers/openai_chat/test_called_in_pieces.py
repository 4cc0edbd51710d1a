"""Chat Completions: calls in pieces whose ids change, and calls that nobody can name."""

from typing import Any

import pytest

from quire.items import Message, ToolCall
from quire.providers import PROVIDERS, Parsed

WIRE = PROVIDERS["openai"]
Json = dict[str, Any]


def chunk(reason: str | None = None, **delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def piece(name: str | None, arguments: str | None, **more: Any) -> Json:
    told = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return chunk(tool_calls=[{"type": "function", "function": told, **more}])


def streamed(*chunks: Json, reason: str | None = "tool_calls") -> Parsed:
    reader = WIRE.stream(model="m")
    for one in (chunk(content="I look."), *chunks, *([chunk(reason)] if reason else [])):
        reader.feed(one)
    return reader.close()


def calls(parsed: Parsed) -> list[tuple[str, str, str]]:
    assert isinstance(parsed.items[0], Message) and parsed.items[0].text == "I look."
    called = [item for item in parsed.items if isinstance(item, ToolCall)]
    return [(call.call_id, call.name, call.arguments) for call in called]


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_a_piece_without_a_name_is_of_the_call_at_its_place(index: Json) -> None:
    pieces = [("look", None), (None, '{"x": '), (None, "1}")]
    parsed = streamed(*(piece(*told, id=f"id-{nth}", **index) for nth, told in enumerate(pieces)))
    assert calls(parsed) == [("id-0", "look", '{"x": 1}')]
    assert (parsed.finish, parsed.error) == ("calls", None)


def test_two_calls_whose_ids_change() -> None:
    pieces = [(0, "look", ""), (0, None, '{"x":1}'), (1, "find", ""), (1, None, '{"y":2}')]
    told = [piece(name, text, id=f"id-{nth}", index=at) for nth, (at, name, text) in enumerate(pieces)]
    assert calls(streamed(*told)) == [("id-0", "look", '{"x":1}'), ("id-2", "find", '{"y":2}')]


def test_calls_that_all_count_as_the_first_are_told_apart_by_their_names() -> None:
    told = [piece("look", '{"x":1}', id="a", index=0), piece("look", '{"x":2}', id="b", index=0)]
    assert calls(streamed(*told)) == [("a", "look", '{"x":1}'), ("b", "look", '{"x":2}')]


def test_pieces_of_calls_without_places_go_by_their_ids() -> None:
    told = [
        ("a", "look", ""),
        ("b", "find", ""),
        ("a", None, '{"x":'),
        ("b", None, '{"y":'),
        ("a", None, "1}"),
    ]
    chunks = [piece(name, text, id=call_id) for call_id, name, text in [*told, ("b", None, "2}")]]
    assert calls(streamed(*chunks)) == [("a", "look", '{"x":1}'), ("b", "find", '{"y":2}')]


@pytest.mark.parametrize("first", ["{}", '{"y": 1}'])
def test_a_piece_that_names_nothing_goes_on_with_the_call_spoken_of_last(first: str) -> None:
    begun = [piece("look", first, id="a", index=0), piece("find", "", id="b", index=1)]
    parsed = streamed(*begun, piece(None, '{"x":'), piece(None, "1}"))
    assert calls(parsed) == [("a", "look", first), ("b", "find", '{"x":1}')]
    parsed = streamed(*begun, piece(None, "{}"), piece(None, '{"y":2}', index=0), piece(None, ""))
    assert calls(parsed)[1] == ("b", "find", "{}")


def test_places_may_be_told_later_than_the_calls() -> None:
    told = [piece("look", "", id="a"), piece(None, '{"x":1}', index=0), piece("find", "", id="b", index=1)]
    parsed = streamed(*told, piece(None, '{"y":2}', index=1))
    assert calls(parsed) == [("a", "look", '{"x":1}'), ("b", "find", '{"y":2}')]


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_another_name_after_whole_arguments_is_another_call(index: Json) -> None:
    told = [piece("look", "{}", **index), piece("find", "", **index), piece(None, '{"y":2}', **index)]
    assert [call[1:] for call in calls(streamed(*told))] == [("look", "{}"), ("find", '{"y":2}')]


def test_a_name_may_come_after_the_arguments() -> None:
    told = [piece(None, "{}", id="a", index=0), piece("look", None, id="a", index=0)]
    assert calls(streamed(*told)) == [("a", "look", "{}")]


@pytest.mark.parametrize("arguments", [{"arguments": "{}"}, {"arguments": {}}, {}])
def test_calls_of_one_list_that_only_names_tell_apart_are_each_their_own(arguments: Json) -> None:
    told = [{"function": {"name": name, **arguments}} for name in ("look", "find", "look")]
    parsed = streamed(chunk(tool_calls=told))
    assert [name for _, name, _ in calls(parsed)] == ["look", "find", "look"]
    assert {text for _, _, text in calls(parsed)} <= {"{}", ""}


def test_what_follows_such_a_list_goes_on_with_its_last_call() -> None:
    told = [{"function": {"name": name, "arguments": text}} for name, text in (("look", "{}"), ("find", ""))]
    parsed = streamed(chunk(tool_calls=told), piece(None, '{"x": '), piece(None, "1}"))
    assert [call[1:] for call in calls(parsed)] == [("look", "{}"), ("find", '{"x": 1}')]


@pytest.mark.parametrize("nameless", [{"id": "b"}, {}])
def test_a_call_that_has_no_name_costs_neither_the_words_nor_the_others(nameless: Json) -> None:
    parsed = streamed(piece("look", "{}", id="a", index=0), piece("", '{"y": 1}', index=1, **nameless))
    assert calls(parsed) == [("a", "look", "{}")]
    assert (parsed.finish, parsed.error) == ("other", "a call came without a name")


def test_of_a_stream_that_broke_off_a_call_without_a_name_is_no_fault() -> None:
    parsed = streamed(piece(None, None, id="a", index=0), reason=None)
    assert calls(parsed) == [] and parsed.error is None
