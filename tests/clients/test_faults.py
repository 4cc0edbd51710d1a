"""Faults of providers through the official SDKs: which error each becomes, and what is tried again."""

import asyncio
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from quire import Agent, Session
from quire.agent.reply import Done
from quire.errors import ModelFailed, NotAuthorized, Overloaded, RateLimited, Refused, WindowExceeded
from quire.models import Retries
from quire.stores import MemoryStore
from tests.clients.scenes import PATIENCE, Exchange, Stage
from tests.clients.speaking import Said, error, fails, is_streamed, says, send, sends, whole
from tests.models.answerers import (
    AT_ONCE,
    NEEDS_SDK,
    asked,
    both_ways,
    each_row,
    each_wire,
    model_at,
    text_of,
)

SECRET = "the words of a person"


@each_wire
@both_ways
@each_row(
    "status code",
    *[(429, "rate_limit_error"), (500, "api_error"), (529, "busy"), (503, "UNAVAILABLE"), (408, "")],
)
def test_what_may_pass_is_tried_again(server: Stage, wire: str, how: str, status: int, code: str) -> None:
    fault = fails(status, error(wire, status, code, "not now"))
    scene = server.scene(fault, fault, says(wire, "Hello", " there."))
    assert text_of(asked(scene, wire, how)) == "Hello there."
    assert len(scene.requests) == 3
    assert scene.requests[0].body == scene.requests[2].body


@each_wire
@both_ways
@each_row(
    "status code kind said tries",
    (529, "overloaded_error", Overloaded, r"is overloaded \(529 overloaded_error\)", 3),
    (401, "authentication_error", NotAuthorized, "rejected the API key", 1),
    (403, "permission_error", NotAuthorized, "rejected the API key", 1),
    (404, "not_found_error", ModelFailed, r"failed \(404 not_found_error\)", 1),
    (400, "content_filter", Refused, "because of its content", 1),
    (400, "context_length_exceeded", WindowExceeded, "larger than the context window", 1),
)
def test_faults(
    server: Stage, wire: str, how: str, status: int, code: str, kind: type[ModelFailed], said: str, tries: int
) -> None:
    scene = server.scene(fails(status, error(wire, status, code, f"not with {SECRET}")))
    with pytest.raises(kind, match=said) as caught:
        asked(scene, wire, how)
    assert type(caught.value) is kind and len(scene.requests) == tries
    assert SECRET not in str(caught.value) and SECRET in "".join(caught.value.__notes__)
    assert caught.value.__cause__ is not None


@each_wire
@both_ways
def test_a_provider_that_says_when_to_come_back_is_obeyed(server: Stage, wire: str, how: str) -> None:
    limited = error(wire, 429, "rate_limit_error", "slow down")
    patient = Retries(times=1, first=PATIENCE)
    past = format_datetime(datetime.fromtimestamp(time.time() - 1000, UTC), usegmt=True)
    for header in ({"retry_after": "0"}, {"retry_after": past}, {"retry_after_ms": "10", "retry_after": "9"}):
        scene = server.scene(fails(429, limited, **header), says(wire, "Fine."))
        assert text_of(asked(scene, wire, how, retries=patient)) == "Fine."
    later = format_datetime(datetime.fromtimestamp(time.time() + 3600, UTC), usegmt=True)
    for text in ("3600", later):
        scene = server.scene(fails(429, limited, retry_after=text))
        with pytest.raises(RateLimited) as caught:
            asked(scene, wire, how)
        assert len(scene.requests) == 1
        assert caught.value.retry_after is not None and 3000 < caught.value.retry_after <= 3600
    for text in ("soon", "-3", "inf", "nan"):
        scene = server.scene(fails(429, limited, retry_after=text), says(wire, "Fine."))
        assert text_of(asked(scene, wire, how)) == "Fine."


@NEEDS_SDK["gemini"]
def test_google_says_when_to_come_back_in_the_body(server: Stage) -> None:
    body = error("gemini", 429, "RESOURCE_EXHAUSTED", "quota")
    body["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"}]
    with pytest.raises(RateLimited) as caught:
        asked(server.scene(fails(429, body)), "gemini")
    assert caught.value.retry_after == 3600


@each_wire
@both_ways
@each_row(
    "body kind",
    ({"error": {"code": 401, "type": "authentication_error", "message": "No key"}}, NotAuthorized),
    ({"error": {"code": 400, "message": "maximum context length is 8192 tokens"}}, WindowExceeded),
    ({"error": {"message": "no article: Rate limit exceeded, a novel"}}, ModelFailed),
)
def test_an_error_under_a_good_status(
    server: Stage, wire: str, how: str, body: Any, kind: type[ModelFailed]
) -> None:
    scene = server.scene(sends(body))
    with pytest.raises(kind) as caught:
        asked(scene, wire, how)
    assert type(caught.value) is kind and len(scene.requests) == 1
    assert body["error"]["message"] in "".join(caught.value.__notes__)


@NEEDS_SDK["openai"]
@both_ways
def test_an_error_that_says_what_was_used_counts(server: Stage, how: str) -> None:
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "not now"}}
    body = {**whole("openai-responses", Said()), **failed, "usage": {"input_tokens": 11, "output_tokens": 0}}

    def step(exchange: Exchange) -> None:
        if is_streamed("openai-responses", exchange):
            send("openai-responses", exchange, [{"type": "response.failed", "response": body}])
        else:
            exchange.answer(body)

    async def run() -> None:
        async with model_at(server.scene(step), "openai-responses", retries=0) as model:
            session = Session.open("ana/one", store=MemoryStore())
            agent = Agent(session, model=model)
            with pytest.raises(RateLimited):
                if how == "whole":
                    await agent.ask("Say hello.")
                else:
                    assert [one async for one in agent.stream("Say hello.") if isinstance(one, Done)]
            assert session.spending.usage.input == 11

    asyncio.run(run())


@pytest.mark.parametrize(
    ("wire", "response"),
    [
        pytest.param("anthropic", whole("anthropic", Said(), "refusal"), marks=NEEDS_SDK["anthropic"]),
        pytest.param("openai", whole("openai", Said(), "content_filter"), marks=NEEDS_SDK["openai"]),
        pytest.param("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, marks=NEEDS_SDK["gemini"]),
    ],
)
def test_a_refusal_without_a_word_is_an_error(server: Stage, wire: str, response: Any) -> None:
    with pytest.raises(Refused, match="refused to answer"):
        asked(server.scene(sends(response)), wire)


@NEEDS_SDK["anthropic"]
def test_a_refusal_in_words_is_an_answer(server: Stage) -> None:
    response = whole("anthropic", Said(["I would rather not."]), "refusal")
    parsed = asked(server.scene(sends(response)), "anthropic")
    assert (text_of(parsed), parsed.finish) == ("I would rather not.", "refused")


@NEEDS_SDK["gemini"]
@both_ways
@each_row(
    "reason parts retries tries",
    ("MALFORMED_FUNCTION_CALL", [], AT_ONCE, 3),
    ("UNEXPECTED_TOOL_CALL", [], AT_ONCE, 3),
    ("MALFORMED_FUNCTION_CALL", [], 0, 1),
    ("MALFORMED_FUNCTION_CALL", [{"text": "I look"}], AT_ONCE, 1),
    ("TOO_MANY_TOOL_CALLS", [], AT_ONCE, 1),
)
def test_a_call_that_cannot_be_read_is_asked_for_again(
    server: Stage, how: str, reason: str, parts: list[Any], retries: Any, tries: int
) -> None:
    candidate: dict[str, Any] = {"finishReason": reason, "finishMessage": "Malformed.", "index": 0}
    candidate |= {"content": {"role": "model", "parts": parts}} if parts else {}
    body = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9}}

    def wrong(exchange: Exchange) -> None:
        send("gemini", exchange, [body]) if is_streamed("gemini", exchange) else exchange.answer(body)

    scene = server.scene(wrong)
    with pytest.raises(ModelFailed):
        asked(scene, "gemini", how, retries=retries)
    assert len(scene.requests) == tries
