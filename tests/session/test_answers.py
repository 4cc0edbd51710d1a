"""Answers in every form that clients give them, and whose request they teach of."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from quire import Budget, Template
from quire.errors import ModelFailed, WrongType
from quire.sections import History, Instructions
from quire.session import Adding, Session, hook
from tests.session.opened import session, texts

TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=128_000), model="gpt-5.6")
ANSWER: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt-5.6-2026-01-01",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}],
    "usage": {"prompt_tokens": 18, "completion_tokens": 1, "total_tokens": 19},
}
OTHER: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "A long report."}],
    "usage": {"input_tokens": 150_000, "output_tokens": 5},
}


def chunk(text: str) -> dict[str, Any]:
    delta = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return {"object": "chat.completion.chunk", "model": "gpt-5.6", "choices": [delta]}


@pytest.mark.parametrize("form", [json.dumps(ANSWER), json.dumps(ANSWER).encode()])
def test_an_answer_may_still_be_json(form: str | bytes) -> None:
    one = session()
    one.record(form)
    asyncio.run(one.add_response(form))
    assert texts(one.view()) == ["Hi", "Hi"] and one.spending.tokens == 38


def test_what_is_no_json_is_no_answer() -> None:
    with pytest.raises(WrongType, match="no JSON") as told:
        session().record("the secret words")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("provider", [None, "openai"])
def test_the_events_of_a_stream_helper_are_taken(provider: str | None) -> None:
    one = session()
    events = [
        SimpleNamespace(type="chunk", chunk=chunk("Take "), snapshot=None),
        SimpleNamespace(type="content.delta", delta="Take ", snapshot="Take "),
        SimpleNamespace(type="chunk", chunk=chunk("care."), snapshot=None),
        SimpleNamespace(type="content.done", content="Take care."),
    ]
    assert list(one.listen(events, provider=provider)) == events
    assert texts(one.view()) == ["Take care."]


def sent(one: Session) -> int:
    context = asyncio.run(one.build(TEMPLATE))
    context.render("openai")
    return context.receipt.tokens


@pytest.mark.parametrize(
    "unrelated",
    [OTHER, ANSWER | {"model": "gpt-4", "usage": {"prompt_tokens": 150_000}}],
    ids=["wire", "model"],
)
def test_an_answer_to_another_request_teaches_nothing(unrelated: dict[str, Any]) -> None:
    one, other = session(), session()
    for each in (one, other):
        each.user("hello")
        sent(each)
    one.record(unrelated, to="side")
    assert sent(one) == sent(other)
    one.record(ANSWER)
    assert sent(one) != sent(other), "the answer to the request itself does"


def test_a_request_teaches_once() -> None:
    one = session()
    one.user("hello")
    sent(one)
    one.record(ANSWER)
    once = sent(one)
    other = session()
    other.user("hello")
    sent(other)
    other.record(ANSWER)
    other.record(ANSWER | {"usage": {"prompt_tokens": 150_000}}, to="side")
    assert sent(other) == once


@hook(Adding)
def refuse_answers(event: Any) -> None:
    raise PermissionError("no answers here")


@pytest.mark.parametrize("is_awaited", [False, True])
def test_what_a_refused_answer_spent_is_spent(is_awaited: bool) -> None:
    one = session(hooks=[refuse_answers])
    with pytest.raises(PermissionError):
        asyncio.run(one.add_response(ANSWER)) if is_awaited else one.record(ANSWER)
    assert len(one.view()) == 0 and one.spending.tokens == 19


def test_what_an_answer_that_is_only_an_error_spent_is_spent() -> None:
    one = session()
    failed = {"type": "response.failed", "response": {"object": "response", "status": "failed"}}
    failed["response"] |= {"error": {"message": "no"}, "output": [], "model": "gpt-5.6"}  # type: ignore[operator]
    failed["response"] |= {"usage": {"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}}  # type: ignore[operator]
    with pytest.raises(ModelFailed):
        one.record([failed])
    assert one.spending.tokens == 5
