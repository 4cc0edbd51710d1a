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
    ],
)
def test_what_is_said_of_a_window(words: str, over: int, limit: int) -> None:
    error = failure_of("m", Told(400, "invalid_request_error", words)).error
    assert isinstance(error, WindowExceeded) and (error.over, error.limit) == (over, limit)
