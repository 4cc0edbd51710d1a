"""Errors of services through the official SDKs: what each becomes, what is told, what is tried again.

Rows of errors are in `failures.toml`; the phrases are those of `quire/models/failures.toml`.
"""

import time
import tomllib
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from quire import Agent, Session
from quire.agent.reply import TurnEnded
from quire.errors import (
    ModelFailed,
    NotAuthorized,
    OverBudget,
    Overloaded,
    RateLimited,
    Refused,
    WindowExceeded,
)
from quire.models import Retries
from quire.stores import MemoryStore
from tests.clients.scenes import PATIENCE, Exchange, Stage
from tests.clients.speaking import answers, error, fails, said, says, send, sends, whole
from tests.models.answerers import (
    NEEDS_SDK,
    asked,
    both_ways,
    each_row,
    each_wire,
    in_loop,
    model_at,
    text_of,
)

SECRET = "the words of a person"
ROWS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("failures.toml").read_text("utf-8"))


def raised(server: Stage, status: int, body: Any, wire: str = "openai", how: str = "whole") -> ModelFailed:
    """The error of a request that is not sent again."""
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(fails(status, body)), wire, how, retries=0)
    return caught.value


def note_of(fault: BaseException) -> str:
    return "".join(getattr(fault, "__notes__", ()))


# --- which error -----------------------------------------------------------------------------------------


@NEEDS_SDK["openai"]
@each_row("status code words kind tries", *ROWS["errors"])
def test_errors_are_told_apart(
    server: Stage, status: int, code: str, words: str, kind: str, tries: int
) -> None:
    scene = server.scene(fails(status, error("openai", status, code, words)))
    with pytest.raises(ModelFailed) as caught:
        asked(scene, "openai")
    assert type(caught.value).__name__ == kind and len(scene.requests) == tries


@each_wire
@both_ways
@each_row(
    "status code kind told tries",
    (529, "overloaded_error", Overloaded, r"is overloaded \(529 overloaded_error\)", 3),
    (401, "authentication_error", NotAuthorized, "rejected the API key", 1),
    (404, "not_found_error", ModelFailed, r"failed \(404 not_found_error\)", 1),
    (400, "content_filter", Refused, "because of its content", 1),
    (400, "context_length_exceeded", WindowExceeded, "larger than the context window", 1),
)
def test_the_words_of_a_service_are_noted_and_stay_out_of_the_message(
    server: Stage, wire: str, how: str, status: int, code: str, kind: type[ModelFailed], told: str, tries: int
) -> None:
    scene = server.scene(fails(status, error(wire, status, code, f"not with {SECRET}")))
    with pytest.raises(kind, match=told) as caught:
        asked(scene, wire, how)
    assert type(caught.value) is kind and len(scene.requests) == tries
    assert SECRET not in str(caught.value) and SECRET in note_of(caught.value)
    assert caught.value.__cause__ is not None


@NEEDS_SDK["openai"]
@both_ways
@each_row(
    "body kind tries",
    ({"error": {"message": "not now", "code": 429}}, RateLimited, 3),
    ({"error": {"message": "not now", "code": "503"}}, Overloaded, 3),
    ({"error": {"message": "not now", "code": 404}}, ModelFailed, 1),
    ({"error": {"message": "not now", "code": "there are 503 of them"}}, ModelFailed, 1),
    ({"error": {"message": "Rate limit exceeded"}}, RateLimited, 3),
    ({"error": {"message": "Too Many Requests."}}, RateLimited, 3),
    ({"error": {"message": "no article: Rate limit exceeded, a novel"}}, ModelFailed, 1),
    ({"object": "error", "message": "Internal error", "type": "server_error", "code": 500}, ModelFailed, 3),
)
def test_an_error_under_a_good_status_is_told_apart_by_its_code_or_words(
    server: Stage, how: str, body: Any, kind: type[ModelFailed], tries: int
) -> None:
    def as_event(exchange: Exchange) -> None:
        send("openai", exchange, [body])

    for step in [sends(body), *([as_event] if how == "streamed" else [])]:
        scene = server.scene(step)
        with pytest.raises(ModelFailed) as caught:
            asked(scene, "openai", how)
        assert type(caught.value) is kind and len(scene.requests) == tries


@NEEDS_SDK["openai"]
@each_row("words over limit", *ROWS["windows"])
def test_what_is_said_of_a_window(server: Stage, words: str, over: int, limit: int) -> None:
    fault = raised(server, 400, error("openai", 400, "invalid_request_error", words))
    assert isinstance(fault, WindowExceeded) and isinstance(fault, OverBudget)
    assert (fault.over, fault.limit, fault.in_bytes) == (over, limit, False)


@NEEDS_SDK["anthropic"]
def test_a_limit_in_bytes_is_marked(server: Stage) -> None:
    body = error("anthropic", 413, "request_too_large", "Request exceeds the maximum size")
    fault = raised(server, 413, body, "anthropic")
    assert isinstance(fault, WindowExceeded) and fault.in_bytes


# --- what a caller is told -------------------------------------------------------------------------------

WORDS = "This model's maximum prompt length is 131072 but the request contains 143343 tokens."
BODIES: list[Any] = [
    {"code": "invalid-argument", "error": WORDS},
    {"object": "error", "message": WORDS, "code": "3230"},
    {"error": None, "message": WORDS},
    {"detail": [{"loc": ["body", "messages"], "msg": WORDS, "input": "my secret"}]},
    {"message": {"detail": [{"msg": WORDS}]}},
    {"errors": [{"message": WORDS}]},
    WORDS.encode(),
    f"<!doctype html><html><head><title>{WORDS}</title></head></html>".encode(),
]


@each_wire
@each_row("body", *BODIES)
def test_the_words_of_an_error_are_found_in_any_shape_of_body(server: Stage, wire: str, body: Any) -> None:
    fault = raised(server, 400, body, wire)
    assert isinstance(fault, WindowExceeded) and fault.over == 143_343 - 131_072
    assert WORDS in note_of(fault) and "my secret" not in note_of(fault)


@each_wire
@both_ways
def test_a_key_that_a_body_quotes_is_not_told(server: Stage, wire: str, how: str) -> None:
    key = "sk-the-key-of-somebody-0123456789"
    body = f"refused: authorization: Bearer {key}, x-api-key: {key}".encode()
    for step in (fails(400, body), sends(body, "text/plain")):
        with pytest.raises(ModelFailed) as caught:
            asked(server.scene(step), wire, how, api_key=key, retries=0)
        assert "refused: authorization: Bearer …" in note_of(caught.value)
        assert key not in note_of(caught.value) and key not in str(caught.value)


# --- what is tried again ---------------------------------------------------------------------------------


@each_wire
@both_ways
@each_row("status code", (429, "rate_limit_error"), (500, "api_error"), (408, ""))
def test_what_may_pass_is_tried_again(server: Stage, wire: str, how: str, status: int, code: str) -> None:
    fault = fails(status, error(wire, status, code, "not now"))
    scene = server.scene(fault, fault, says(wire, "Hello", " there."))
    assert text_of(asked(scene, wire, how)) == "Hello there."
    assert len(scene.requests) == 3 and scene.requests[0].body == scene.requests[2].body


@each_wire
def test_a_provider_that_says_when_to_come_back_is_obeyed(server: Stage, wire: str) -> None:
    limited = error(wire, 429, "rate_limit_error", "slow down")
    patient = Retries(times=1, first=PATIENCE)
    past, later = (
        format_datetime(datetime.fromtimestamp(time.time() + seconds, UTC), usegmt=True)
        for seconds in (-1000, 3600)
    )
    for how, header in (
        ("whole", {"retry_after": "0"}),
        ("streamed", {"retry_after": past}),
        ("whole", {"retry_after_ms": "10", "retry_after": "9"}),
    ):
        scene = server.scene(fails(429, limited, **header), says(wire, "Fine."))
        assert text_of(asked(scene, wire, how, retries=patient)) == "Fine."
    for how, text in (("whole", "3600"), ("streamed", later)):
        scene = server.scene(fails(429, limited, retry_after=text))
        with pytest.raises(RateLimited) as caught:
            asked(scene, wire, how)
        assert len(scene.requests) == 1
        assert caught.value.retry_after is not None and 3000 < caught.value.retry_after <= 3600
    for text in ("soon", "-3", "inf", "nan"):
        scene = server.scene(fails(429, limited, retry_after=text), says(wire, "Fine."))
        assert text_of(asked(scene, wire)) == "Fine."


@NEEDS_SDK["gemini"]
def test_google_says_when_to_come_back_in_the_body(server: Stage) -> None:
    body = error("gemini", 429, "RESOURCE_EXHAUSTED", "quota")
    body["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"}]
    with pytest.raises(RateLimited) as caught:
        asked(server.scene(fails(429, body)), "gemini")
    assert caught.value.retry_after == 3600


@NEEDS_SDK["gemini"]
@both_ways
@each_row(
    "reason parts tries",
    ("MALFORMED_FUNCTION_CALL", [], 3),
    ("UNEXPECTED_TOOL_CALL", [], 3),
    ("MALFORMED_FUNCTION_CALL", [{"text": "I look"}], 1),
    ("TOO_MANY_TOOL_CALLS", [], 1),
)
def test_a_call_that_cannot_be_read_is_asked_for_again(
    server: Stage, how: str, reason: str, parts: list[Any], tries: int
) -> None:
    candidate: dict[str, Any] = {"finishReason": reason, "finishMessage": "Malformed.", "index": 0}
    candidate |= {"content": {"role": "model", "parts": parts}} if parts else {}
    body = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9}}
    scene = server.scene(answers("gemini", body, [body]))
    with pytest.raises(ModelFailed):
        asked(scene, "gemini", how)
    assert len(scene.requests) == tries


@NEEDS_SDK["openai"]
@both_ways
@in_loop
async def test_an_error_that_says_what_was_used_counts(server: Stage, how: str) -> None:
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "not now"}}
    body = {**whole("openai-responses", said()), **failed, "usage": {"input_tokens": 11, "output_tokens": 0}}
    scene = server.scene(answers("openai-responses", body, [{"type": "response.failed", "response": body}]))
    async with model_at(scene, "openai-responses", retries=0) as model:
        session = Session.open("ana/one", store=MemoryStore())
        agent = Agent(session, model=model)
        with pytest.raises(RateLimited):
            if how == "whole":
                await agent.ask("Say hello.")
            else:
                assert [one async for one in agent.stream("Say hello.") if isinstance(one, TurnEnded)]
        assert session.spending.usage.input == 11


# --- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "response"),
    [
        pytest.param("anthropic", whole("anthropic", said(), "refusal"), marks=NEEDS_SDK["anthropic"]),
        pytest.param("openai", whole("openai", said(), "content_filter"), marks=NEEDS_SDK["openai"]),
        pytest.param("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, marks=NEEDS_SDK["gemini"]),
    ],
)
def test_a_refusal_without_a_word_is_an_error(server: Stage, wire: str, response: Any) -> None:
    with pytest.raises(Refused, match="refused to answer"):
        asked(server.scene(sends(response)), wire)


@NEEDS_SDK["anthropic"]
def test_a_refusal_in_words_is_an_answer(server: Stage) -> None:
    response = whole("anthropic", said("I would rather not."), "refusal")
    parsed = asked(server.scene(sends(response)), "anthropic")
    assert (text_of(parsed), parsed.finish) == ("I would rather not.", "refused")
