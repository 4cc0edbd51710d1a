"""Texts that a model writes for other packages: summaries that a plan asks for, and answers to a text."""

import asyncio
from typing import Any

import pytest

from quire.compactors import Request
from quire.errors import ModelFailed, OutOfRange, OverBudget
from quire.items import Message, Span, ToolCall
from quire.models import Scripted, asking, summarized
from quire.providers import Parsed
from tests.models.answerers import NEEDS_LOCAL, each_row, shared_local

PROMPT = (
    Message("system", "Summarise in one short sentence."),
    Message("user", "user: My order has not come."),
)
REQUEST = Request(PROMPT, 60, (Span("a", "b"),), ("a", "b"), 2)


def test_a_summary_is_the_text_of_the_answer() -> None:
    model = Scripted([" Order swordfish is sent again. \n"])
    assert asyncio.run(summarized(model, REQUEST)) == "Order swordfish is sent again."
    assert model.terms == [{"max_tokens": 60}]
    assert model.requests[0].payload["messages"][0]["role"] == "system"


@each_row(
    "reply reason",
    (TimeoutError("the secret words"), "scripted failed: TimeoutError"),
    (ModelFailed("it is closed"), "it is closed"),
    (OverBudget("the prompt has 9 tokens", 2), "the prompt has 9 tokens"),
    ("", "gave no text"),
    (" \n", "gave no text"),
    ([ToolCall("c", "look_up")], "gave no text"),
    (Parsed((Message("assistant", "No."),), finish="refused"), "refused"),
    (Parsed((Message("assistant", "Order swordfish is"),), finish="length"), "cut off at 60 tokens"),
    (Parsed((Message("assistant", "Order", interrupted=True),)), "interrupted"),
)
def test_a_text_that_cannot_be_used_is_a_failure_of_the_model(reply: Any, reason: str) -> None:
    with pytest.raises(ModelFailed, match=reason) as caught:
        asyncio.run(summarized(Scripted([reply]), REQUEST))
    assert "secret" not in str(caught.value)
    assert not isinstance(reply, TimeoutError) or caught.value.__cause__ is reply


def test_a_text_that_was_cut_off_is_taken_where_that_is_asked_for() -> None:
    model = Scripted([Parsed((Message("assistant", "Order swordfish is"),), finish="length")])
    assert asyncio.run(summarized(model, REQUEST, accept_cut=True)) == "Order swordfish is"


def test_a_mistake_of_the_caller_is_no_failure_of_the_model() -> None:
    with pytest.raises(OutOfRange, match="no reply left"):
        asyncio.run(summarized(Scripted([]), REQUEST))


def test_a_model_answers_a_text_with_a_text() -> None:
    model = Scripted(["k1, k2", "", OverBudget("too long", 1)])
    choose = asking(model, max_tokens=9)
    assert asyncio.run(choose("Which of k1, k2, k3?")) == "k1, k2"
    assert model.terms == [{"max_tokens": 9}]
    for _ in range(2):
        with pytest.raises(ModelFailed):
            asyncio.run(choose("Which?"))


@pytest.mark.parametrize("size", [pytest.param(40, marks=NEEDS_LOCAL, id="local")])
def test_the_local_model_writes_a_summary(size: int) -> None:
    request = Request(PROMPT, size, (Span("a", "b"),), ("a", "b"), 2)
    assert asyncio.run(summarized(shared_local(), request, accept_cut=True))
