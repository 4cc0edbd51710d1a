"""Streams that are not of their wire, or nothing but an error: what came is told, on every wire alike."""

from typing import Any

import pytest

from quire.errors import ModelFailed, NotAuthorized
from quire.models.whole import unfinished
from quire.providers import PROVIDERS, Parsed
from tests.providers.feeding import fed

Json = dict[str, Any]
STREAMS: dict[str, list[Json]] = {
    "openai": [{"choices": [{"index": 0, "delta": {"content": "Well"}, "finish_reason": "stop"}]}],
    "openai-responses": [
        {"type": "response.created", "response": {"model": "m", "output": []}},
        {"type": "response.output_text.delta", "delta": "Well"},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Well"}},
        {"type": "message_stop"},
    ],
    "gemini": [{"candidates": [{"content": {"parts": [{"text": "Well"}]}, "finishReason": "STOP"}]}],
}
FAULTS: list[tuple[Json, str]] = [
    ({"error": {"message": "x", "code": 401}}, "401: x"),
    ({"error": "no such model"}, "no such model"),
    ({"object": "error", "message": "bad", "code": 400}, "400: bad"),
    ({"type": "error", "message": "bad", "code": "server_error"}, "server_error: bad"),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Wait."}}, "overloaded_error: Wait."),
]
ALIVE: list[Json] = [{"type": "ping"}, {"type": "keepalive", "sequence_number": 1}, {}]


def failure(parsed: Parsed) -> ModelFailed:
    found = unfinished(parsed, "m")
    assert found is not None and not found.again
    return found.error


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("other", STREAMS)
def test_a_stream_of_another_wire_is_an_error(wire: str, other: str) -> None:
    parsed = fed(PROVIDERS[wire], [*ALIVE, *STREAMS[other]])
    if wire == other:
        assert parsed.error is None and parsed.items
        return
    assert parsed.items == () and parsed.error is not None
    assert parsed.error.startswith("no event was a") and ": the first was {" in parsed.error
    assert failure(parsed)


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize(("body", "error"), FAULTS)
def test_an_error_that_comes_as_an_event_is_the_one_of_a_whole_answer(
    wire: str, body: Json, error: str
) -> None:
    assert fed(PROVIDERS[wire], [body]).error == PROVIDERS[wire].parse(body).error == error
    after = fed(PROVIDERS[wire], [*STREAMS[wire][:2], body])
    assert (after.error, after.finish, len(after.items)) == (error, "other", 1)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_key_that_is_refused_in_a_stream_is_not_tried_again(wire: str) -> None:
    assert isinstance(failure(fed(PROVIDERS[wire], [FAULTS[0][0]])), NotAuthorized)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_nobody_knows_is_told_in_its_own_words(wire: str) -> None:
    parsed = fed(PROVIDERS[wire], [{"detail": "Not Found"}])
    assert parsed.error is not None and '{"detail":"Not Found"}' in parsed.error
    long = fed(PROVIDERS[wire], [{"detail": "x" * 10_000}])
    assert long.error is not None and len(long.error) < 500
    strange = fed(PROVIDERS[wire], [{"detail": object()}])
    assert strange.error is not None and strange.error.endswith("the first was a dict")


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_stream_that_only_kept_alive_broke_off(wire: str) -> None:
    parsed = fed(PROVIDERS[wire], ALIVE)
    assert (parsed.items, parsed.finish, parsed.error) == ((), "other", None)
    found = unfinished(parsed, "m")
    assert found is not None and found.again
