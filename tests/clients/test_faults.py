"""Faults of providers, through the three official SDKs: which error each becomes, and what is tried again."""

from typing import Any

import pytest

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
from tests.clients.asking import SECRET, asked, both_ways, each_row, each_wire
from tests.clients.said import Said
from tests.clients.scenes import PATIENCE, Stage
from tests.clients.speaking import error, fails, says, whole
from tests.models.answerers import NEEDS_SDK, text_of


@each_wire
@both_ways
@each_row(
    "status kind",
    *[(429, "rate_limit_error"), (500, "api_error"), (529, "busy"), (503, "UNAVAILABLE"), (408, "")],
)
def test_what_may_pass_is_tried_again(server: Stage, wire: str, how: str, status: int, kind: str) -> None:
    fault = fails(status, error(wire, status, kind, "not now"))
    scene = server.scene(fault, fault, says(wire, "Hello", " there."))
    assert text_of(asked(scene, wire, how)) == "Hello there."
    assert len(scene.requests) == 3
    assert scene.requests[0].body == scene.requests[2].body


@each_wire
@both_ways
def test_what_does_not_pass_is_given_up(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(fails(529, error(wire, 529, "overloaded_error", f"busy with {SECRET}")))
    with pytest.raises(Overloaded, match=r"is overloaded \(529 overloaded_error\)") as caught:
        asked(scene, wire, how)
    assert len(scene.requests) == 3
    assert SECRET not in str(caught.value) and SECRET in "".join(caught.value.__notes__)


@each_wire
@both_ways
def test_a_provider_that_says_when_to_come_back_is_heeded(server: Stage, wire: str, how: str) -> None:
    limited = error(wire, 429, "rate_limit_error", "slow down")
    scene = server.scene(fails(429, limited, retry_after="0"), says(wire, "Fine."))
    assert text_of(asked(scene, wire, how, retries=Retries(times=1, first=PATIENCE))) == "Fine."
    later = server.scene(fails(429, limited, retry_after="3600"))
    with pytest.raises(RateLimited) as caught:
        asked(later, wire, how)
    assert caught.value.retry_after == 3600
    assert len(later.requests) == 1


@NEEDS_SDK["gemini"]
def test_google_says_it_in_the_body(server: Stage) -> None:
    body = error("gemini", 429, "RESOURCE_EXHAUSTED", "quota")
    body["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"}]
    with pytest.raises(RateLimited) as caught:
        asked(server.scene(fails(429, body)), "gemini", "whole")
    assert caught.value.retry_after == 3600


@NEEDS_SDK["openai"]
def test_a_spent_quota_is_not_asked_again(server: Stage) -> None:
    scene = server.scene(fails(429, error("openai", 429, "insufficient_quota", "pay first")))
    with pytest.raises(RateLimited, match="insufficient_quota"):
        asked(scene, "openai", "whole")
    assert len(scene.requests) == 1


@each_wire
@both_ways
@each_row("status", 401, 403)
def test_a_wrong_key(server: Stage, wire: str, how: str, status: int) -> None:
    scene = server.scene(fails(status, error(wire, status, "authentication_error", "who are you?")))
    with pytest.raises(NotAuthorized, match="may not be asked with this key") as caught:
        asked(scene, wire, how)
    assert isinstance(caught.value, PermissionError | ModelFailed)
    assert len(scene.requests) == 1


LENGTH = "This model's maximum context length is 8192 tokens. However, "
WINDOWS = [
    ("openai", 400, "context_length_exceeded", f"{LENGTH}your messages resulted in 9000 tokens.", 808),
    ("openai", 400, "BadRequestError", f"{LENGTH}you requested 8200 tokens (messages and completion)", 8),
    ("openai", 400, "exceed_context_size_error", "the request exceeds the available context size", 0),
    ("openai-responses", 400, "context_length_exceeded", "Your input exceeds the context window.", 0),
    ("anthropic", 400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 10_000),
    ("anthropic", 400, "invalid_request_error", "exceed context limit: 188240 + 21333 > 200000", 9_573),
    ("anthropic", 413, "request_too_large", "Request exceeds the maximum size", 0),
    ("gemini", 400, "INVALID_ARGUMENT", "The input token count (1048600) exceeds the maximum (1048576).", 24),
]
"""What providers say, word for word in what is looked for."""


@both_ways
@pytest.mark.parametrize(
    ("wire", "status", "kind", "words", "over"),
    [pytest.param(*window, marks=NEEDS_SDK[window[0]]) for window in WINDOWS],
)
def test_a_window_exceeded(
    server: Stage, wire: str, status: int, kind: str, words: str, over: int, how: str
) -> None:
    scene = server.scene(fails(status, error(wire, status, kind, words)))
    with pytest.raises(WindowExceeded, match="more was sent than") as caught:
        asked(scene, wire, how)
    assert isinstance(caught.value, OverBudget) and caught.value.over == over
    assert len(scene.requests) == 1


@each_wire
@both_ways
def test_other_mistakes_are_plain_failures(server: Stage, wire: str, how: str) -> None:
    scene = server.scene(fails(404, error(wire, 404, "not_found_error", "no such model")))
    with pytest.raises(ModelFailed, match=r"failed \(404 not_found_error\)") as caught:
        asked(scene, wire, how)
    assert type(caught.value) is ModelFailed
    assert len(scene.requests) == 1


@each_wire
@both_ways
def test_a_request_that_is_turned_down(server: Stage, wire: str, how: str) -> None:
    words = "Output blocked by content filtering policy"
    scene = server.scene(fails(400, error(wire, 400, "content_filter", words)))
    with pytest.raises(Refused, match="turned down for what it says"):
        asked(scene, wire, how)


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
        asked(server.scene(lambda exchange: exchange.answer(response)), wire, "whole")


@NEEDS_SDK["anthropic"]
def test_a_refusal_in_words_is_an_answer(server: Stage) -> None:
    response = whole("anthropic", Said(["I would rather not."]), "refusal")
    parsed = asked(server.scene(lambda exchange: exchange.answer(response)), "anthropic", "whole")
    assert (text_of(parsed), parsed.finish) == ("I would rather not.", "refused")
