"""A good status that is followed by something else than what was asked for, whole or as a stream."""

import asyncio
import json
from typing import Any

import pytest

from quire.errors import ModelFailed, NotAuthorized, WindowExceeded
from quire.models.answering import Delta
from quire.models.clients import unstreamed
from tests.clients.asking import AT_ONCE, asked, both_ways, each_wire
from tests.clients.said import Said
from tests.clients.scenes import Exchange, Stage, Step
from tests.clients.speaking import events, fails, says, whole
from tests.models.answerers import NEEDS_SDK, QUESTION, model_at, text_of

HERE = Said(["Here", " I am."], calls=[("look_up", {"q": "pens"})], thought="Greet them.")
KEYLESS = {"error": {"code": 401, "type": "authentication_error", "message": "No key was found"}}
TOO_LONG = {"error": {"code": 400, "message": "This model's maximum context length is 8192 tokens"}}
PAGE = b"<html><head><title>Blocked by the gateway</title></head></html>"


def sends(body: Any, kind: str = "application/json") -> Step:
    return fails(200, body, content_type=kind)


@each_wire
@both_ways
@pytest.mark.parametrize(("body", "kind"), [(KEYLESS, NotAuthorized), (TOO_LONG, WindowExceeded)])
def test_an_error_is_told_apart_however_it_was_asked(
    server: Stage, wire: str, how: str, body: Any, kind: type[ModelFailed]
) -> None:
    scene = server.scene(sends(body))
    with pytest.raises(kind) as caught:
        asked(scene, wire, how)
    assert body["error"]["message"] in "".join(caught.value.__notes__)
    assert len(scene.requests) == 1


@each_wire
def test_a_whole_answer_is_taken_where_a_stream_was_asked_for(server: Stage, wire: str) -> None:
    async def run() -> list[Delta]:
        async with model_at(server.scene(sends(whole(wire, HERE))), wire, retries=AT_ONCE) as model:
            return [delta async for delta in model.stream(QUESTION).deltas()]

    told = asyncio.run(run())
    assert "".join(delta.text for delta in told if delta.kind == "text") == "Here I am."
    assert Delta("call", "look_up") in told


@each_wire
@pytest.mark.parametrize(
    ("how", "body", "kind"),
    [
        ("whole", PAGE, "text/html"),
        ("streamed", PAGE, "text/html"),
        ("streamed", PAGE, "application/json"),
        ("whole", b"Blocked by the gateway", "text/plain"),
        ("streamed", b"Blocked by the gateway", "text/plain"),
    ],
)
def test_the_page_of_a_gateway_is_told_and_asked_again(
    server: Stage, wire: str, how: str, body: bytes, kind: str
) -> None:
    scene = server.scene(sends(body, kind), says(wire, "Here", " I am."))
    assert text_of(asked(scene, wire, how)) == "Here I am."
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(sends(body, kind)), wire, how)
    assert "Blocked by the gateway" in "".join(caught.value.__notes__)


@each_wire
@both_ways
@pytest.mark.parametrize("body", [b"", b'{"id": "1", "cho', b"null", b"[]"])
def test_an_empty_or_cut_body_is_asked_for_again(server: Stage, wire: str, how: str, body: bytes) -> None:
    scene = server.scene(sends(body), says(wire, "Here", " I am."))
    assert text_of(asked(scene, wire, how)) == "Here I am."
    assert len(scene.requests) == 2


@each_wire
@both_ways
@pytest.mark.parametrize(
    "body",
    [{"detail": "Not Found"}, {"detail": [{"loc": ["body"], "msg": "Not Found"}]}, {"msg": "Not Found"}],
)
def test_a_body_of_nothing_but_words_is_told(server: Stage, wire: str, how: str, body: Any) -> None:
    scene = server.scene(sends(body), says(wire, "Here", " I am."))
    assert text_of(asked(scene, wire, how)) == "Here I am."
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(sends(body)), wire, how)
    assert "Not Found" in "".join(caught.value.__notes__)


@each_wire
@both_ways
def test_an_answer_that_says_more_beside_it_is_an_answer(server: Stage, wire: str, how: str) -> None:
    body = {**whole(wire, HERE), "detail": "served from afar", "message": "all is well"}
    assert text_of(asked(server.scene(sends(body)), wire, how)) == "Here I am."


@each_wire
def test_the_words_of_a_page_are_without_the_key_that_was_sent(server: Stage, wire: str) -> None:
    def quotes(exchange: Exchange) -> None:
        sent = exchange.headers.get("x-api-key") or exchange.headers.get("x-goog-api-key")
        key = sent or exchange.headers["authorization"].removeprefix("Bearer ")
        sends(f"Not you, {key}!".encode(), "text/plain")(exchange)

    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(quotes), wire, "streamed", api_key="a-key-of-a-person")
    assert caught.value.__notes__ == ["the provider says: Not you, …!"]


@each_wire
def test_events_under_another_name_are_events(server: Stage, wire: str) -> None:
    def step(exchange: Exchange) -> None:
        named = wire in ("anthropic", "openai-responses")
        told = [
            (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
            for event in events(wire, HERE)
        ]
        sends("".join(told).encode(), "text/plain")(exchange)

    assert text_of(asked(server.scene(step), wire, "streamed")) == "Here I am."


@NEEDS_SDK["openai"]
def test_a_body_without_an_end_is_not_read_to_it(server: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unstreamed, "_LARGEST", 1000)
    with pytest.raises(ModelFailed, match="no_answer"):
        asked(server.scene(sends(b"x" * 5000, "text/plain")), "openai", "streamed")
