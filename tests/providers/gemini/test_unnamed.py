"""Where no model is named, calls are written so that the one that answered last takes them, or any other."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Hide, Image, Item, Message, Span, ToolCall, ToolResult
from quire.providers.gemini.signing import PLACEHOLDER
from quire.state import Transcript
from tests.providers.gemini.wire import GEMINI, NEW, OLD, PNG, Json, call, changes, model

TOOLS = [{"name": "look"}]
OF_ANOTHER = (ToolCall("c1", "look"), ToolResult("c1", "look", "rain"))


def begun() -> Transcript:
    """Something old that may go, and a question."""
    old = (Message("user", "Old.", id="first"), Message("assistant", "Old.", id="last"))
    return Transcript([*old, Message("user", "Is it raining?")])


def step(transcript: Transcript, name: str, signature: str | None = "c2ln") -> None:
    """One round of one's own loop: the model is told to the client alone."""
    sent = GEMINI.render(transcript.view, tools=TOOLS)
    part: Json = {"functionCall": {"name": "look", "args": {}}}
    content = model({**part, "thoughtSignature": signature} if signature else part)
    response = {"modelVersion": name, "candidates": [{"finishReason": "STOP", "content": content}]}
    transcript.extend(GEMINI.parse(response, sent=sent).items)
    for waiting in transcript.view.pending():
        transcript.append(ToolResult(waiting.call_id, "look", "rain"))


def signatures(payload: Json) -> list[Any]:
    """Those of the calls, in order."""
    parts = [part for content in payload["contents"] for part in content["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


@pytest.mark.laws
@given(st.integers(1, 3), st.integers(0, 2), st.sampled_from([NEW, OLD]))
def test_what_was_cut_within_a_loop_is_taken_by_the_one_that_answers(
    before: int, after: int, name: str
) -> None:
    transcript = begun()
    for _ in range(before):
        step(transcript, name)
    transcript.append(Hide((Span("first", "last"),)))
    for _ in range(after):
        step(transcript, name)
    made = GEMINI.render(transcript.view, tools=TOOLS)
    assert GEMINI.check(made.payload, name) == []
    stale = PLACEHOLDER if name == NEW else None
    assert signatures(made.payload) == [stale] * before + ["c2ln"] * after
    anew = GEMINI.render(transcript.view, model=name, tools=TOOLS)
    assert made.payload == anew.payload and changes(made) == changes(anew)


def test_calls_of_another_wire_are_taken_by_any() -> None:
    items: list[Item] = [Message("user", "Is it raining?"), *OF_ANOTHER]
    made = GEMINI.render(items, strict=True)
    assert made.payload["contents"][1] == model(call("c1", "look", thoughtSignature=PLACEHOLDER))
    assert made.downgrades == ()
    assert GEMINI.check(made.payload, NEW) == GEMINI.check(made.payload, OLD) == []


def test_who_takes_a_loop_over_from_another_wire_keeps_its_signatures() -> None:
    transcript = begun()
    transcript.extend(OF_ANOTHER)
    sent = GEMINI.render(transcript.view, tools=TOOLS).payload["contents"]
    step(transcript, NEW)
    made = GEMINI.render(transcript.view, tools=TOOLS)
    assert made.payload["contents"][: len(sent)] == sent
    assert signatures(made.payload) == [PLACEHOLDER, "c2ln"]


def test_media_that_a_call_gave_go_where_every_model_takes_them() -> None:
    seen = ToolResult("c1", "look", ("Here.", Image(data=PNG, media_type="image/png")))
    made = GEMINI.render([Message("user", "Look."), ToolCall("c1", "look"), seen])
    assert GEMINI.check(made.payload, NEW) == GEMINI.check(made.payload, OLD) == []
    assert changes(made) == ["media_moved"]
