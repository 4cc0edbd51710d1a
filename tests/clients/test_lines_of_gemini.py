"""Streams of Gemini with lines that its SDK does not know: comments, names of events, errors of others."""

import json
from typing import Any

import pytest

from quire.errors import ModelFailed, Overloaded, WindowExceeded
from tests.clients.asking import asked, each_row
from tests.clients.said import Said
from tests.clients.scenes import Exchange, Stage, Step
from tests.clients.speaking import events
from tests.models.answerers import NEEDS_SDK, text_of

pytestmark = NEEDS_SDK["gemini"]

HERE = events("gemini", Said(["Here", " I am."]))


def sends(*lines: str) -> Step:
    """A stream of these lines, as they are."""

    def step(exchange: Exchange) -> None:
        exchange.begin()
        for line in lines:
            exchange.chunk(f"{line}\n")
        exchange.end()

    return step


def data(told: Any, before: str = "data: ") -> list[str]:
    return [f"{before}{json.dumps(told)}", ""]


@each_row("beside", [": PROCESSING", ""], [":", ""], ["event: message", "id: 7"], ["retry: 9"])
@each_row("before", "data: ", "data:")
def test_lines_that_are_no_data_are_passed_over(server: Stage, beside: list[str], before: str) -> None:
    told = [line for event in HERE for line in (*beside, *data(event, before))]
    scene = server.scene(sends(*told, *beside))
    assert text_of(asked(scene, "gemini", "streamed")) == "Here I am."
    assert len(scene.requests) == 1


@each_row(
    "error kind",
    *[
        ({"message": "the maximum context length is 10", "code": "context_length_exceeded"}, WindowExceeded),
        ({"message": "too much", "type": "context_length_exceeded"}, WindowExceeded),
        ({"message": "busy", "code": 503, "status": "UNAVAILABLE"}, Overloaded),
        ("model overloaded", Overloaded),
        ({"message": "no", "code": "odd"}, ModelFailed),
    ],
)
def test_an_error_in_a_stream_is_told_apart_whatever_its_code_is(
    server: Stage, error: Any, kind: type[ModelFailed]
) -> None:
    with pytest.raises(kind) as caught:
        asked(server.scene(sends(*data({"error": error}))), "gemini", "streamed", retries=0)
    words = error if isinstance(error, str) else error["message"]
    assert type(caught.value) is kind and caught.value.__notes__ == [f"the provider says: {words}"]


def test_words_that_speak_of_an_error_are_words(server: Stage) -> None:
    said = events("gemini", Said(['{"error": "none"}']))
    scene = server.scene(sends(*(line for event in said for line in data(event))))
    assert text_of(asked(scene, "gemini", "streamed")) == '{"error": "none"}'
