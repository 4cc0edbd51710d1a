"""Errors of services, by status, code and words: which error each becomes, and what a caller is told.

Each row goes through an official SDK and a server of ours. The phrases are those of `failures.toml`.
"""

import pickle
from typing import Any

import pytest

from quire.errors import (
    ModelFailed,
    ModelTimeout,
    NotAuthorized,
    OverBudget,
    Overloaded,
    RateLimited,
    Refused,
    WindowExceeded,
)
from tests.clients.scenes import Exchange, Stage
from tests.clients.speaking import error, fails, send, sends
from tests.models.answerers import NEEDS_SDK, asked, both_ways, each_row, each_wire

pytestmark = NEEDS_SDK["openai"]


def raised(server: Stage, status: int, body: Any, wire: str = "openai", how: str = "whole") -> ModelFailed:
    """The error of a request that is not sent again."""
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(fails(status, body)), wire, how, retries=0)
    return caught.value


def note_of(fault: BaseException) -> str:
    return "".join(getattr(fault, "__notes__", ()))


@each_row(
    "status code words kind tries",
    (400, "invalid_request_error", "the safety of it", ModelFailed, 1),
    (409, "conflict", "", ModelFailed, 3),
    (500, "server_error", "", ModelFailed, 3),
    (429, "rate_limit_exceeded", "slow down", RateLimited, 3),
    (429, "insufficient_quota", "pay first", RateLimited, 1),
    (413, "rate_limit_exceeded", "Request too large on tokens per minute: Limit 6000", RateLimited, 3),
    (400, "ThrottlingException", "Too many tokens, please wait before trying again.", RateLimited, 3),
    (529, "overloaded_error", "", Overloaded, 3),
    (400, "overloaded", "", Overloaded, 3),
    (504, "DEADLINE_EXCEEDED", "", ModelTimeout, 3),
    (401, "invalid_api_key", "", NotAuthorized, 1),
    (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", NotAuthorized, 1),
    (400, "content_policy_violation", "", Refused, 1),
    (400, "", "Output blocked by content filtering policy", Refused, 1),
    (413, "tokens_limit_reached", "", WindowExceeded, 1),
    (400, "model_max_prompt_tokens_exceeded", "", WindowExceeded, 1),
    # A limit of the output, of a text or of an image is no window.
    (400, "", "too many tokens: max tokens must be less than or equal to 4096", ModelFailed, 1),
    (400, "invalid_parameter_error", "Range of max_tokens should be [1, 8192]", ModelFailed, 1),
    (400, "", "max_tokens: 100000 > 64000, which is the maximum number of them", ModelFailed, 1),
    (400, "string_above_max_length", "string too long. Its maximum length is 1048576", ModelFailed, 1),
    (400, "", "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes", ModelFailed, 1),
)
def test_errors_are_told_apart(
    server: Stage, status: int, code: str, words: str, kind: type[ModelFailed], tries: int
) -> None:
    scene = server.scene(fails(status, error("openai", status, code, words)))
    with pytest.raises(ModelFailed) as caught:
        asked(scene, "openai")
    assert type(caught.value) is kind and len(scene.requests) == tries


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
    (
        {"object": "error", "message": "Internal error", "type": "InternalServerError", "code": 500},
        ModelFailed,
        3,
    ),
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


@each_row(
    "words over limit",
    (
        "maximum context length is 8192 tokens. However, you requested 9000 tokens "
        "(8000 in the messages, 1000 in the completion).",
        *(808, 8_192),
    ),
    ("maximum context length is 4096 tokens. However, your messages resulted in 9921", 5_825, 4_096),
    ("exceed context limit: 188240 + 21333 > 200000, decrease input length", 9_573, 200_000),
    ("prompt is too long: 210,000 tokens > 200,000 maximum", 10_000, 200_000),
    (
        "The input token count (1050000) exceeds the maximum number of tokens allowed (1048576).",
        1424,
        1048576,
    ),
    ("Your request exceeded model token limit: 262144 (requested: 269030)", 6_886, 262_144),
    ("This model's maximum context length is 4096 tokens.", 0, 4_096),
    ("max_tokens is 8000; maximum context length is 4096, you have 100 (8000 > 4096 - 100)", 0, 4_096),
    ("maximum context length: of 12345, 23456 or 34567", 0, 0),
    ("Input is too long for requested model.", 0, 0),
    ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 808, 8_192),
    ("to keep the first 9000 tokens, but it is loaded with context length of only 8192 tokens", 808, 8_192),
    ("Context size has been exceeded.", 0, 0),
    ("the input token count is 33000 but model only supports up to 32767.", 233, 32_767),
    ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 808, 8_192),
    ("Prompt contains 9000 tokens, too large for model with 8192 maximum context length", 808, 8_192),
    ("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 and 512", 0, 8_192),
    ("`inputs` must have less than 8192 tokens. Given: 9000", 808, 8_192),
    ("Please reduce the length of the messages or completion.", 0, 0),
    ("too many tokens: size limit exceeded by 3512 tokens. Try fewer inputs.", 3_512, 0),
    ("too many tokens: size limit exceeded by 3512. The limit for this model is 132000.", 3_512, 132_000),
    ("too many tokens: the prompt cannot exceed 4081 - received 5000. Use a shorter one", 919, 4_081),
    ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", 0, 30_720),
    ("Input Tokens Exceeded: Number of input tokens exceeds maximum length.", 0, 0),
    ("The total length of all messages is too long.", 0, 0),
    ("Request body too large for gpt-4o-2024-08-06 model. Max size: 8000 tokens.", 0, 8_000),
    ("prompt token count of 138898 exceeds the limit of 64000", 74_898, 64_000),
    ("Prompt exceeds max length", 0, 0),
    ("length of prompt_tokens (163280) must be less than max_seq_len (32768).", 130_512, 32_768),
    ("the input length exceeds the context length", 0, 0),
    ("Input tokens exceed the configured limit of 272000. Your messages have 300000.", 28_000, 272_000),
    ("the request exceeds the available context size", 0, 0),
    ("Your input exceeds the context window of this model.", 0, 0),
    ("This model's maximum prompt length is 131072 but the request contains 143343.", 12_271, 131_072),
    ("400 prompt is too long: 6103 tokens", 0, 0),
    ("Error code: 400 - maximum context length is 512 tokens, you requested 600", 88, 512),
    ("a context window of 128k tokens", 0, 0),
    ("prompt is too long for gpt-4-0613: 9000 tokens", 0, 0),
    ("prompt is too long (9000 tokens), max 8192", 808, 0),  # which of the two is the window is not said
)
def test_what_is_said_of_a_window(server: Stage, words: str, over: int, limit: int) -> None:
    fault = raised(server, 400, error("openai", 400, "invalid_request_error", words))
    assert isinstance(fault, WindowExceeded) and isinstance(fault, OverBudget)
    assert (fault.over, fault.limit, fault.in_bytes) == (over, limit, False)


@NEEDS_SDK["anthropic"]
def test_a_limit_in_bytes_is_marked(server: Stage) -> None:
    body = error("anthropic", 413, "request_too_large", "Request exceeds the maximum size")
    fault = raised(server, 413, body, "anthropic")
    assert isinstance(fault, WindowExceeded) and fault.in_bytes


WORDS = "This model's maximum prompt length is 131072 but the request contains 143343 tokens."
BODIES: list[Any] = [
    {"code": "invalid-argument", "error": WORDS},
    {"object": "error", "message": WORDS, "code": "3230"},
    {"error": None, "message": WORDS},
    {"detail": WORDS},
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


@each_row("body", {}, [], 5, {"error": {}}, {"error": 5}, [[[]]], {"detail": [1]}, b"")
def test_a_body_without_words_is_an_error_all_the_same(server: Stage, body: Any) -> None:
    assert type(raised(server, 400, body)) is ModelFailed


def test_words_are_cut_and_stay_out_of_the_message(server: Stage) -> None:
    fault = raised(server, 400, error("openai", 400, "odd_code", "you said: " + "x" * 5000))
    assert str(fault) == "the request to gpt-5.6 failed (400 odd_code)"
    assert "you said" in note_of(fault) and len(note_of(fault)) < 600
    page = f"<html><style>p {{}}</style><p>Bad&nbsp;gateway</p>{'<p>more</p>' * 9000}</html>"
    fault = raised(server, 502, page.encode())
    assert "says: Bad gateway more" in note_of(fault) and len(note_of(fault)) < 600


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


def test_errors_can_be_sent_to_other_processes() -> None:
    for fault in (RateLimited("slow", 2.5), NotAuthorized("no"), ModelTimeout("late"), Overloaded("busy")):
        again = pickle.loads(pickle.dumps(fault))
        assert (type(again), str(again), vars(again)) == (type(fault), str(fault), vars(fault))
    exceeded = pickle.loads(pickle.dumps(WindowExceeded("too long", 5, limit=100, in_bytes=True)))
    assert (str(exceeded), exceeded.over, exceeded.limit, exceeded.in_bytes) == ("too long", 5, 100, True)
