"""Words that plans ask for: written by a model, recorded once they are good, and never in place of them."""

import asyncio
import logging
from typing import Any

import pytest

from quire.compactors import Plan, Request
from quire.errors import InvalidValue, ModelFailed, OutOfRange, OverBudget
from quire.items import Mask, Message, Note, Span, Summary, ToolCall, ToolResult
from quire.models import Scripted, asking, compact, summarized
from quire.providers import Parsed
from quire.state import Pool, Transcript
from tests.models.answerers import NEEDS_LOCAL, shared_local

TALK = [
    Message("user", "My order swordfish has not come."),
    Message("assistant", "I am sorry. It left our house on Monday."),
    Message("user", "Send it again, please."),
    Message("assistant", "A second parcel is on its way."),
    Message("user", "Thank you. When will it be here?"),
]


def planned(transcript: Transcript, size: int = 60, **more: Any) -> Plan:
    """A plan to put a summary in place of the first two turns."""
    first, *_, last = old = transcript.view[:4]
    said = "\n".join(f"{item.role}: {item.text}" for item in old if isinstance(item, Message))
    prompt = (
        Message("system", "Summarise in one short sentence."),
        Message("user", said),
    )
    ids = tuple(item.id for item in old)
    request = Request(prompt, size, (Span(first.id, last.id),), ids, transcript.revision)
    return Plan("summary", "above the ceiling", 80, 40, request=request, **more)


def request_of(transcript: Transcript) -> Request:
    request = planned(transcript).request
    assert request is not None
    return request


def test_a_summary_is_written_and_recorded() -> None:
    transcript, model = Transcript(TALK), Scripted([" Order swordfish is sent again. \n"])
    outcome = asyncio.run(compact(transcript, planned(transcript), model))
    assert outcome.fate == "kept"
    shown = transcript.view[0]
    assert isinstance(shown, Summary) and shown.text == "Order swordfish is sent again."
    assert len(transcript.view) == 2
    assert model.terms == [{"max_tokens": 60}]
    assert model.requests[0].payload["messages"][0]["role"] == "system"


FAILURES: list[tuple[Any, str]] = [
    (TimeoutError("the secret words"), "scripted failed: TimeoutError"),
    (ModelFailed("it is closed"), "it is closed"),
    (OverBudget("the prompt has 9 tokens", 2), "the prompt has 9 tokens"),
    ("", "said nothing"),
    (" \n", "said nothing"),
    ([ToolCall("c", "look_up")], "said nothing"),
    (Parsed((Message("assistant", "No."),), finish="refused"), "refused"),
    (Parsed((Message("assistant", "Order swordfish is"),), finish="length"), "cut off at 60 tokens"),
    (Parsed((Message("assistant", "Order", interrupted=True),)), "interrupted"),
]


@pytest.mark.parametrize(("reply", "reason"), FAILURES)
def test_a_failure_changes_nothing_and_is_reported(
    reply: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    transcript = Transcript(TALK)
    with pytest.raises(ModelFailed, match=reason) as caught:
        asyncio.run(summarized(Scripted([reply]), request_of(transcript)))
    assert "secret" not in str(caught.value)
    with caplog.at_level(logging.WARNING, "quire.models"):
        outcome = asyncio.run(compact(transcript, planned(transcript), Scripted([reply])))
    assert outcome.fate == "discarded" and reason in outcome.reason and outcome.edits == ()
    assert transcript.recorded() == TALK
    assert "was not written" in caplog.text and "secret" not in caplog.text


def test_the_cause_of_a_failure_is_kept() -> None:
    fault = TimeoutError()
    with pytest.raises(ModelFailed) as caught:
        asyncio.run(summarized(Scripted([fault]), request_of(Transcript(TALK))))
    assert caught.value.__cause__ is fault


def test_words_that_were_cut_off_are_taken_where_that_is_asked_for() -> None:
    transcript = Transcript(TALK)
    model = Scripted([Parsed((Message("assistant", "Order swordfish is"),), finish="length")])
    assert asyncio.run(compact(transcript, planned(transcript), model, accept_cut=True)).fate == "kept"


def test_mistakes_of_the_caller_are_no_failures_of_the_model() -> None:
    transcript = Transcript(TALK)
    with pytest.raises(OutOfRange, match="no reply left"):
        asyncio.run(compact(transcript, planned(transcript), Scripted([])))
    with pytest.raises(InvalidValue, match="a model is needed"):
        asyncio.run(compact(transcript, planned(transcript)))
    model = Scripted(["words"])
    with pytest.raises(InvalidValue, match="in a pool"):
        asyncio.run(compact(transcript, planned(transcript, notes=(Note("x", key="k"),)), model))
    assert model.requests == [] and transcript.recorded() == TALK


def test_words_that_come_too_late_are_discarded() -> None:
    transcript = Transcript(TALK)
    plan = planned(transcript)

    def meanwhile(_: object) -> str:
        transcript.append(Summary("Another one was first.", (Span(TALK[0].id, TALK[1].id),)))
        return "Too late."

    outcome = asyncio.run(compact(transcript, plan, Scripted([meanwhile])))
    assert outcome.fate == "discarded" and "no longer shown" in outcome.reason
    assert len(transcript) == len(TALK) + 1


def test_what_was_said_meanwhile_stays() -> None:
    transcript = Transcript(TALK)
    plan = planned(transcript)

    async def meanwhile(_: object) -> str:
        transcript.append(Message("assistant", "On Friday."))
        return "Order swordfish is sent again."

    assert asyncio.run(compact(transcript, plan, Scripted([meanwhile]))).fate == "kept"
    assert [type(item) for item in transcript.view] == [Summary, Message, Message]


def test_a_cancelled_compaction_changes_nothing() -> None:
    transcript = Transcript(TALK)

    async def run() -> None:
        never = asyncio.Event()

        async def wait(_: object) -> str:
            await never.wait()
            return "never"

        task = asyncio.create_task(compact(transcript, planned(transcript), Scripted([wait])))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert transcript.recorded() == TALK


def test_a_plan_without_words_needs_no_model() -> None:
    call, result = ToolCall("c", "look_up"), ToolResult("c", "look_up", "long " * 50)
    transcript, pool = Transcript([TALK[0], call, result, TALK[4]]), Pool()
    plan = Plan("offload", "bulky", 90, 40, (Mask(result.id, "[kept]"),), (Note("long", key="k"),))
    assert asyncio.run(compact(transcript, plan, pool=pool)).fate == "kept"
    assert "k" in pool


def test_a_model_answers_a_text_with_a_text() -> None:
    model = Scripted(["k1, k2", "", OverBudget("too long", 1)])
    choose = asking(model, max_tokens=9)
    assert asyncio.run(choose("Which of k1, k2, k3?")) == "k1, k2"
    assert model.terms == [{"max_tokens": 9}]
    for _ in range(2):
        with pytest.raises(ModelFailed):
            asyncio.run(choose("Which?"))


@pytest.mark.parametrize(
    "size", [pytest.param(40, marks=NEEDS_LOCAL)], ids=["a size that the small model may well fill"]
)
def test_the_local_model_writes_a_summary(size: int) -> None:
    transcript = Transcript(TALK)
    outcome = asyncio.run(compact(transcript, planned(transcript, size), shared_local(), accept_cut=True))
    assert outcome.fate == "kept", outcome.reason
    shown = transcript.view[0]
    assert isinstance(shown, Summary) and shown.text.strip()
    assert transcript.view[1:] == TALK[4:]
    assert transcript.recorded()[:5] == TALK
