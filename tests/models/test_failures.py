"""Errors of services, by status, code and words: which error each becomes, and what a caller is told.

Each row goes through an official SDK and a server of ours. The phrases are those of `failures.toml`.
"""

import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest

from quire.errors import (
    ModelFailed,
    ModelTimeout,
    NotAuthorized,
    OverBudget,
    Overloaded,
    RateLimited,
    WindowExceeded,
)
from tests.clients.scenes import Exchange, Stage
from tests.clients.speaking import error, fails, send, sends
from tests.models.answerers import NEEDS_SDK, asked, both_ways, each_row, each_wire

pytestmark = NEEDS_SDK["openai"]

ROWS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("failures.toml").read_text("utf-8"))


def raised(server: Stage, status: int, body: Any, wire: str = "openai", how: str = "whole") -> ModelFailed:
    """The error of a request that is not sent again."""
    with pytest.raises(ModelFailed) as caught:
        asked(server.scene(fails(status, body)), wire, how, retries=0)
    return caught.value


def note_of(fault: BaseException) -> str:
    return "".join(getattr(fault, "__notes__", ()))


@each_row("status code words kind tries", *ROWS["errors"])
def test_errors_are_told_apart(
    server: Stage, status: int, code: str, words: str, kind: str, tries: int
) -> None:
    scene = server.scene(fails(status, error("openai", status, code, words)))
    with pytest.raises(ModelFailed) as caught:
        asked(scene, "openai")
    assert type(caught.value).__name__ == kind and len(scene.requests) == tries


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
