"""A call that an answer ran out of room in is not run: nobody can tell what it would have said."""

from typing import Any

import pytest

from quire.items import Item, Message, ToolCall
from quire.providers import PROVIDERS, Parsed

USED = {"input_tokens": 1, "output_tokens": 5}
SAID = {"type": "text", "text": "I delete the rows of January."}
CUTS = ("max_tokens", "model_context_window_exceeded")


def use(call_id: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "delete_rows", "input": given}


def parsed(*content: Any, stop: str) -> Parsed:
    body = {"model": "claude-opus-4-8", "stop_reason": stop, "content": content, "usage": USED}
    return PROVIDERS["anthropic"].parse({**body, "content": list(content)})


def streamed(*pieces: tuple[Any, str], stop: str) -> Parsed:
    """Blocks as they are streamed, each with the JSON of its arguments in two pieces."""
    reader = PROVIDERS["anthropic"].stream(model="claude-opus-4-8")
    for index, (block, arguments) in enumerate(pieces):
        reader.feed({"type": "content_block_start", "index": index, "content_block": block})
        for piece in ("", arguments[:5], arguments[5:]):
            delta = {"type": "input_json_delta", "partial_json": piece}
            reader.feed({"type": "content_block_delta", "index": index, "delta": delta})
        reader.feed({"type": "content_block_stop", "index": index})
    reader.feed({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": USED})
    reader.feed({"type": "message_stop"})
    return reader.close()


def calls(items: tuple[Item, ...]) -> list[str]:
    return [item.call_id for item in items if isinstance(item, ToolCall)]


@pytest.mark.parametrize("stop", CUTS)
@pytest.mark.parametrize("given", [{}, {"month": "Jan"}])
def test_the_last_call_of_a_whole_answer_is_left_out(stop: str, given: Any) -> None:
    answer = parsed(SAID, use("a", {}), use("b", given), stop=stop)
    assert (calls(answer.items), answer.finish) == (["a"], "length")
    assert parsed(use("a", given), stop=stop).items == ()


@pytest.mark.parametrize("stop", CUTS)
@pytest.mark.parametrize("last", ["", '{"month": "J'])
def test_the_last_call_of_a_stream_is_left_out_where_its_arguments_are_not_whole(
    stop: str, last: str
) -> None:
    answer = streamed((use("a", {}), ""), (use("b", {}), last), stop=stop)
    assert (calls(answer.items), answer.finish) == (["a"], "length")


def test_one_whose_arguments_came_whole_stays() -> None:
    answer = streamed((use("a", {}), '{"month": "Jan"}'), stop="max_tokens")
    assert calls(answer.items) == ["a"]


def test_calls_without_arguments_stay_where_there_was_room() -> None:
    assert calls(parsed(use("a", {}), stop="tool_use").items) == ["a"]
    assert calls(streamed((use("a", {}), ""), stop="tool_use").items) == ["a"]


@pytest.mark.parametrize("stop", CUTS)
def test_words_after_a_call_say_that_it_was_whole(stop: str) -> None:
    answer = parsed(use("a", {}), SAID, stop=stop)
    assert [type(item) for item in answer.items] == [ToolCall, Message]


def gemini(*parts: Any, reason: str = "MAX_TOKENS", whole: bool = True) -> Parsed:
    body = {"candidates": [{"finishReason": reason, "content": {"role": "model", "parts": list(parts)}}]}
    if whole:
        return PROVIDERS["gemini"].parse(body)
    reader = PROVIDERS["gemini"].stream()
    reader.feed(body)
    return reader.close()


def function(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "delete_rows", **fields}}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("given", [{}, {"month": "Jan"}])
def test_the_last_call_of_gemini_is_left_out(given: Any, whole: bool) -> None:
    answer = gemini(function("a", args={}), function("b", args=given), whole=whole)
    assert (calls(answer.items), answer.finish) == (["a"], "length")
    assert calls(gemini(function("a", args=given), reason="STOP", whole=whole).items) == ["a"]


def test_one_of_gemini_that_came_in_pieces_said_where_it_ends() -> None:
    pieces: list[dict[str, Any]] = [
        function("a", partialArgs=[{"jsonPath": "$.month", "stringValue": "Jan"}], willContinue=True),
        {"functionCall": {}},
    ]
    assert calls(gemini(*pieces, whole=False).items) == ["a"]
    assert calls(gemini(pieces[0], whole=False).items) == []
