"""What went wrong: errors told apart by codes, delays read from headers, and words kept out of messages."""

import pickle
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from quire.errors import (
    ModelFailed,
    ModelTimeout,
    NotAuthorized,
    Overloaded,
    RateLimited,
    Refused,
    WindowExceeded,
)
from quire.items import use_clock
from quire.models.failing import Told, failure_of, seconds_until


@pytest.mark.parametrize(
    ("told", "error", "again"),
    [
        (Told(kinds="overloaded_error"), Overloaded, True),
        (Told(kinds="rate_limit_exceeded"), RateLimited, True),
        (Told(429, "insufficient_quota"), RateLimited, False),
        (Told(kinds="server_error"), ModelFailed, True),
        (Told(409, "conflict"), ModelFailed, True),
        (Told(400, "invalid_request_error", "the safety of it"), ModelFailed, False),
        (Told(504, "DEADLINE_EXCEEDED"), ModelTimeout, True),
        (
            Told(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            NotAuthorized,
            False,
        ),
        (Told(400, "content_policy_violation"), Refused, False),
        (Told(), ModelFailed, False),
        (Told(kinds="429"), RateLimited, True),
        (Told(kinds="upstream_error 503"), Overloaded, True),
        (Told(kinds="502 Bad Gateway"), ModelFailed, True),
        (Told(kinds="there are 503 of them"), ModelFailed, False),
        (Told(kinds="1503"), ModelFailed, False),
    ],
)
def test_errors_are_told_apart(told: Told, error: type[ModelFailed], again: bool) -> None:
    failure = failure_of("m", told)
    assert type(failure.error) is error and failure.again is again


def test_words_are_cut_and_stay_out_of_the_message() -> None:
    failure = failure_of("m", Told(400, "odd_code you:said", "you said: " + "x" * 5000))
    assert str(failure.error) == "m failed (400 odd_code)"
    (note,) = failure.error.__notes__
    assert "you said" in note and len(note) < 600
    assert "you said" not in str(failure.error)


def test_delays() -> None:
    with use_clock(lambda: 1_000_000_000.0):
        later = format_datetime(datetime.fromtimestamp(1_000_000_030, UTC), usegmt=True)
        earlier = format_datetime(datetime.fromtimestamp(999_999_000, UTC), usegmt=True)
        assert seconds_until({"retry-after": later}) == 30
        assert seconds_until({"retry-after": earlier}) == 0
    assert seconds_until({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert seconds_until({"retry-after": "1.5"}) == 1.5
    for text in ("soon", "-3", "inf", "nan", ""):
        assert seconds_until({"retry-after": text}) is None
    assert seconds_until({}) is None


def test_errors_can_be_sent_to_other_processes() -> None:
    for error in (RateLimited("slow", 2.5), NotAuthorized("no"), ModelTimeout("late"), Overloaded("busy")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
    assert pickle.loads(pickle.dumps(RateLimited("slow", 2.5))).retry_after == 2.5
    exceeded = pickle.loads(pickle.dumps(WindowExceeded("too long", 5, limit=100)))
    assert (str(exceeded), exceeded.over, exceeded.parts, exceeded.limit) == ("too long", 5, (), 100)


@pytest.mark.parametrize(
    ("words", "over", "limit"),
    [
        (
            "maximum context length is 8192 tokens. However, you requested 9000 tokens "
            "(8000 in the messages, 1000 in the completion).",
            808,
            8_192,
        ),
        ("maximum context length is 4096 tokens. However, your messages resulted in 9921", 5_825, 4_096),
        ("exceed context limit: 188240 + 21333 > 200000, decrease input length", 9_573, 200_000),
        ("prompt is too long: 210,000 tokens > 200,000 maximum", 10_000, 200_000),
        (
            "The input token count (1050000) exceeds the maximum number of tokens allowed (1048576).",
            1_424,
            1_048_576,
        ),
        ("Your request exceeded model token limit: 262144 (requested: 269030)", 6_886, 262_144),
        ("This model's maximum context length is 4096 tokens.", 0, 4_096),
        ("my-model-0613 has a maximum context length, which maximum context length is 8192", 0, 8_192),
        ("max_tokens is 8000; maximum context length is 4096, you have 100 (8000 > 4096 - 100)", 0, 4_096),
        ("maximum context length: of 12345, 23456 or 34567", 0, 0),
        ("Input is too long for requested model.", 0, 0),
        (
            "You passed 8193 input tokens and requested 512 output tokens. However, the model's context "
            "length is only 8192 tokens, resulting in a maximum input length of 7680 tokens.",
            0,  # who counts no further than one too many does not say how many there are
            8_192,
        ),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 808, 8_192),
        (
            "to keep the first 9000 tokens, but it is loaded with context length of only 8192 tokens",
            808,
            8_192,
        ),
        ("Context size has been exceeded.", 0, 0),
        ("the input token count is 33000 but model only supports up to 32767.", 233, 32_767),
        ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 808, 8_192),
        ("Prompt contains 9000 tokens, too large for model with 8192 maximum context length", 808, 8_192),
        ("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 and 512", 0, 8_192),
        ("`inputs` must have less than 8192 tokens. Given: 9000", 808, 8_192),
        ("Please reduce the length of the messages or completion.", 0, 0),
        ("too many tokens: size limit exceeded by 3512 tokens. Try fewer inputs.", 3_512, 0),
        (
            "too many tokens: size limit exceeded by 3512 tokens. The limit for this model is 132000 tokens.",
            3_512,
            132_000,
        ),
        ("too many tokens: the prompt cannot exceed 4081 - received 5000. Use a shorter one", 919, 4_081),
        ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]", 0, 30_720),
        ("Range of input length should be [1,131072]", 0, 131_072),
        ("Input Tokens Exceeded: Number of input tokens exceeds maximum length.", 0, 0),
        ("The total length of all messages is too long.", 0, 0),
        ("Request body too large for gpt-4o-2024-08-06 model. Max size: 8000 tokens.", 0, 8_000),
        ("prompt token count of 138898 exceeds the limit of 64000", 74_898, 64_000),
        ("Prompt exceeds max length", 0, 0),
        ("length of prompt_tokens (163280) must be less than max_seq_len (32768).", 130_512, 32_768),
        ("the input length exceeds the context length", 0, 0),
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 "
            "tokens.",
            28_000,
            272_000,
        ),
        ("182387 input tokens exceeds the model's maximum context length 202750", 0, 202_750),
        ("400 prompt is too long: 6103 tokens", 0, 0),
        ("API error: 400 <400> prompt is too long: 6103 tokens", 0, 0),
        ("Error code: 400 - maximum context length is 512 tokens, you requested 600", 88, 512),
        ("a context window of 128k tokens", 0, 0),
        ("prompt is too long for gpt-4-0613: 9000 tokens", 0, 0),
        ("prompt is too long (9000 tokens), max 8192", 808, 0),  # which of the two it reads is not said
    ],
)
def test_what_is_said_of_a_window(words: str, over: int, limit: int) -> None:
    error = failure_of("m", Told(400, "invalid_request_error", words)).error
    assert isinstance(error, WindowExceeded) and (error.over, error.limit) == (over, limit)


@pytest.mark.parametrize(
    "kind", ["tokens_limit_reached", "model_max_prompt_tokens_exceeded", "too_many_prompt_tokens"]
)
def test_a_window_is_exceeded_by_a_code_alone(kind: str) -> None:
    assert isinstance(failure_of("m", Told(413, kind)).error, WindowExceeded)


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (
            Told(
                400,
                "",
                "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this "
                "model - received 8192.",
            ),
            ModelFailed,
        ),
        (Told(400, "invalid_parameter_error", "Range of max_tokens should be [1, 8192]"), ModelFailed),
        (Told(400, "", "max_tokens: 100000 > 64000, which is the maximum number of them"), ModelFailed),
        (Told(400, "string_above_max_length", "string too long. Its maximum length is 1048576"), ModelFailed),
        (Told(400, "", "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"), ModelFailed),
        (
            Told(413, "rate_limit_exceeded tokens", "Request too large on tokens per minute: Limit 6000"),
            RateLimited,
        ),
        (
            Told(None, "ThrottlingException", "Too many tokens, please wait before trying again."),
            RateLimited,
        ),
        (Told(None, "", "Too many tokens per day, please wait before trying again."), RateLimited),
        (Told(400, "", "Too many tokens, please wait before trying again."), ModelFailed),
    ],
)
def test_what_is_not_said_of_a_window(told: Told, error: type[ModelFailed]) -> None:
    assert type(failure_of("m", told).error) is error
