"""A good status that something else follows than an answer: an error, a page, nothing, or another form."""

import asyncio
import json
from typing import Any

import pytest

from quire import Agent, Message, Session
from quire.agent.reply import Done
from quire.errors import ModelFailed, NotAuthorized, Overloaded, RateLimited, WindowExceeded
from quire.models import Model
from quire.models.answering import Delta
from quire.models.clients import unstreamed
from quire.stores import MemoryStore
from tests.clients.asking import AT_ONCE, asked, both_ways, each_row, each_wire
from tests.clients.said import Said
from tests.clients.scenes import Exchange, Stage, Step
from tests.clients.speaking import events, fails, is_streamed, says, send, whole
from tests.models.answerers import NEEDS_SDK, QUESTION, model_at, text_of

HERE = Said(["Here", " I am."], calls=[("look_up", {"q": "pens"})], thought="Greet them.")
KEYLESS = {"error": {"code": 401, "type": "authentication_error", "message": "No key was found"}}
TOO_LONG = {"error": {"code": 400, "message": "This model's maximum context length is 8192 tokens"}}
PAGE = b"<html><head><title>Blocked by the gateway</title></head></html>"
OF_VLLM = {"object": "error", "message": "Internal error", "type": "InternalServerError", "code": 500}
LIMITS = ({"error": {"message": text}} for text in ("Rate limit exceeded", "Too Many Requests."))
ANSWER = '{"price": 3.5}'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
    "additionalProperties": False,
}
needs_openai = NEEDS_SDK["openai"]


def sends(body: Any, kind: str = "application/json") -> Step:
    """A body, also where a stream was asked for."""
    return fails(200, body, content_type=kind)


def answers(wire: str, body: Any, event: Any = None) -> Step:
    """A body in one piece, or as an event, as it is asked for."""

    def step(exchange: Exchange) -> None:
        if is_streamed(wire, exchange):
            send(wire, exchange, [event or {"type": "error", **body}])
        else:
            exchange.answer(body)

    return step


# --- errors


@each_wire
@both_ways
@each_row("body kind", (KEYLESS, NotAuthorized), (TOO_LONG, WindowExceeded))
def test_an_error_is_told_apart_however_it_was_asked(
    server: Stage, wire: str, how: str, body: Any, kind: type[ModelFailed]
) -> None:
    scene = server.scene(sends(body))
    with pytest.raises(kind) as caught:
        asked(scene, wire, how)
    assert body["error"]["message"] in "".join(caught.value.__notes__)
    assert len(scene.requests) == 1


@needs_openai
@both_ways
@each_row("wire", "openai", "openai-responses")
@each_row("code kind", (429, RateLimited), ("503", Overloaded), (502, ModelFailed), (404, ModelFailed))
def test_an_error_is_told_apart_by_its_code(
    server: Stage, wire: str, how: str, code: int | str, kind: type[ModelFailed]
) -> None:
    fault = answers(wire, {"error": {"message": "not now", "code": code}})
    scene = server.scene(fault)
    with pytest.raises(kind, match=rf"\({code}\)") as caught:
        asked(scene, wire, how)
    assert type(caught.value) is kind
    assert len(scene.requests) == (1 if code == 404 else 3)
    if code != 404:
        again = server.scene(fault, fault, says(wire, "Hello", " there."))
        assert text_of(asked(again, wire, how)) == "Hello there."


@needs_openai
@both_ways
def test_an_error_without_a_status_is_told_apart_by_its_words(server: Stage, how: str) -> None:
    for body in (OF_VLLM, *LIMITS):
        scene = server.scene(answers("openai", body, body), says("openai", "Hello", " there."))
        assert text_of(asked(scene, "openai", how, retries=AT_ONCE)) == "Hello there.", body
    full = {**OF_VLLM, "code": 400, "message": "This model's maximum context length is 10 tokens."}
    with pytest.raises(WindowExceeded):
        asked(server.scene(answers("openai", full, full)), "openai", how)
    mention = {"error": {"message": "no article: Rate limit exceeded, a novel"}}
    scene = server.scene(answers("openai", mention))
    with pytest.raises(ModelFailed):
        asked(scene, "openai", how)
    assert len(scene.requests) == 1


@needs_openai
@both_ways
def test_an_error_that_says_what_was_used_counts(server: Stage, how: str) -> None:
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "not now"}}
    usage = {"input_tokens": 11, "output_tokens": 0}
    body = {**whole("openai-responses", Said()), **failed, "usage": usage}
    scene = server.scene(answers("openai-responses", body, {"type": "response.failed", "response": body}))

    async def run() -> None:
        async with model_at(scene, "openai-responses", retries=0) as model:
            session = Session.open("ana/one", store=MemoryStore())
            agent = Agent(session, model=model)
            with pytest.raises(RateLimited):
                if how == "whole":
                    await agent.ask("Say hello.")
                else:
                    assert [one async for one in agent.stream("Say hello.") if isinstance(one, Done)]
            assert session.spending.usage.input == 11

    asyncio.run(run())


@needs_openai
@both_ways
def test_a_shape_that_is_turned_down_in_an_answer_is_left_out(server: Stage, how: str) -> None:
    refused = {"error": {"message": "response_format is not supported", "code": 400}}

    def step(exchange: Exchange) -> None:
        shaped = "response_format" in exchange.body
        (answers("openai", refused) if shaped else says("openai", ANSWER))(exchange)

    async def run() -> None:
        scene = server.scene(step)
        question = [Message("user", "Offer a pen.")]
        async with Model(f"openai:qwen3:30b@{scene.base_url}/v1", retries=0) as model:
            for _ in range(2):
                stream = model.stream(question, output=SCHEMA)
                parsed = await (model.ask(question, output=SCHEMA) if how == "whole" else stream.whole())
                assert text_of(parsed) == ANSWER
        assert ["response_format" in sent.body for sent in scene.requests] == [True, False, False]

    asyncio.run(run())


# --- other bodies


@each_wire
@both_ways
def test_what_is_no_answer_is_told_and_asked_again(server: Stage, wire: str, how: str) -> None:
    told: list[tuple[Step, str]] = [
        (sends(PAGE, "text/html"), "Blocked by the gateway"),
        (sends(b"Blocked by the gateway", "text/plain"), "Blocked by the gateway"),
        (sends({"detail": "Not Found"}), "Not Found"),
        (sends({"detail": [{"loc": ["body"], "msg": "Not Found"}]}), "Not Found"),
        (sends({"msg": "Not Found"}), "Not Found"),
        *((sends(body), "") for body in (b"", b'{"id": "1", "cho', b"null", b"[]")),
    ]
    for step, words in told:
        scene = server.scene(step, says(wire, "Here", " I am."))
        assert text_of(asked(scene, wire, how)) == "Here I am.", words
        assert len(scene.requests) == 2
        with pytest.raises(ModelFailed) as caught:
            asked(server.scene(step), wire, how)
        assert words in "".join(getattr(caught.value, "__notes__", ()))
    more = {**whole(wire, HERE), "detail": "served from afar", "message": "all is well"}
    assert text_of(asked(server.scene(sends(more)), wire, how)) == "Here I am."


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
def test_another_form_than_was_asked_for_is_taken(server: Stage, wire: str) -> None:
    async def run() -> list[Delta]:
        async with model_at(server.scene(sends(whole(wire, HERE))), wire, retries=AT_ONCE) as model:
            return [delta async for delta in model.stream(QUESTION).deltas()]

    told = asyncio.run(run())
    assert "".join(delta.text for delta in told if delta.kind == "text") == "Here I am."
    assert Delta("call", "look_up") in told
    names = ["event: {type}\n" if wire in ("anthropic", "openai-responses") else ""]
    lines = [names[0].format(**event) + f"data: {json.dumps(event)}\n\n" for event in events(wire, HERE)]
    scene = server.scene(sends("".join(lines).encode(), "text/plain"))
    assert text_of(asked(scene, wire, "streamed")) == "Here I am."


@needs_openai
def test_a_body_without_an_end_is_not_read_to_it(server: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unstreamed, "_LARGEST", 1000)
    with pytest.raises(ModelFailed, match="no_answer"):
        asked(server.scene(sends(b"x" * 5000, "text/plain")), "openai", "streamed")
