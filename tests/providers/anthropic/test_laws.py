"""Messages: what must hold whatever the history."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire.errors import QuireError
from quire.items import Item, Message, Opaque, Reasoning, ToolCall
from quire.providers import Anthropic, CachePlan, Rendered
from quire.providers.anthropic.writing import MessagesWriter
from quire.state import Transcript
from tests.histories import OPS, Author, Op
from tests.providers.anthropic.histories import (
    BOUND,
    MODELS,
    STEERED,
    TOOLS,
    anything,
    conversations,
    plans,
    told,
)
from tests.providers.test_speaking_laws import forgotten

pytestmark = pytest.mark.laws
WIRE = Anthropic()
MODEL = st.sampled_from(MODELS)
GO_ON = {"type": "text", "text": "Continue."}
WITH_TOOLS = st.sampled_from([TOOLS, []])


def written(rendered: Rendered) -> bytes:
    return msgspec.json.encode([rendered.payload, rendered.downgrades, rendered.names, rendered.prefix])


@given(anything(), MODEL, plans(), WITH_TOOLS)
def test_any_history_is_the_same_bytes_each_time_and_without_fault(
    history: list[Item], model: str | None, plan: CachePlan | None, tools: list[Any]
) -> None:
    once = WIRE.render(history, model=model, tools=tools, plan=plan)
    assert written(once) == written(WIRE.render(history, model=model, tools=tools[::-1], plan=plan))
    assert WIRE.check(once.payload, model) == []


@given(OPS, MODEL, plans(), WITH_TOOLS)
def test_growing_is_as_from_scratch_and_what_was_handed_out_stays(
    ops: list[Op], model: str | None, plan: CachePlan | None, tools: list[Any]
) -> None:
    transcript, author = Transcript(), Author()
    handed: list[tuple[Any, Any]] = []
    for op in ops:
        item = author.item(transcript, op)
        if item is None:
            continue
        try:
            transcript.append(item)
        except QuireError:
            continue
        view = transcript.view
        grown = WIRE.render(view, model=model, tools=tools, plan=plan)
        with forgotten(view):
            anew = WIRE.render(view, model=model, tools=tools, plan=plan)
        assert written(grown) == written(anew)
        assert WIRE.check(grown.payload, model) == []
        handed.append((grown.payload, deepcopy(grown.payload)))
    assert all(payload == before for payload, before in handed)


@given(anything(), MODEL)
def test_growing_with_any_items_is_as_from_scratch(history: list[Item], model: str | None) -> None:
    transcript = Transcript()
    for item in history:
        try:
            transcript.append(item)
        except QuireError:
            continue
        view = transcript.view
        grown = WIRE.render(view, model=model, tools=TOOLS)
        with forgotten(view):
            assert written(grown) == written(WIRE.render(view, model=model, tools=TOOLS))


@given(anything() | conversations(), MODEL, plans())
def test_the_fast_path_writes_the_same(
    history: list[Item], model: str | None, plan: CachePlan | None
) -> None:
    fast = WIRE.render(history, model=model, tools=TOOLS, plan=plan)
    with patch.object(MessagesWriter, "plain", _declined):
        assert written(fast) == written(WIRE.render(history, model=model, tools=TOOLS, plan=plan))


def _declined(_writer: MessagesWriter, _items: Sequence[Item], start: int, _stop: int) -> int:
    return start


@given(conversations())
def test_a_conversation_comes_back(history: list[Item]) -> None:
    sent = WIRE.render(history, model=STEERED, tools=TOOLS)
    changes = {downgrade.change for downgrade in sent.downgrades}
    read = WIRE.read_history({**sent.payload, "model": STEERED})
    if not changes:
        assert told(read) == told(history)
    if changes <= {"turn_added"}:
        assert WIRE.render(read, model=STEERED, tools=TOOLS).payload == sent.payload


@given(conversations())
def test_what_was_sent_stays_the_beginning(history: list[Item]) -> None:
    whole = WIRE.render(history, model=STEERED, tools=TOOLS).payload["messages"]
    for index, item in enumerate(history[1:], 1):
        if isinstance(item, Reasoning | ToolCall) or (isinstance(item, Message) and item.role == "assistant"):
            before = history[index - 1]
            if isinstance(before, Message) and before.role != "assistant":
                sent = WIRE.render(history[:index], model=STEERED, tools=TOOLS).payload["messages"]
                assert whole[: len(sent)] == sent


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "s"}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


CALL: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "tool1", "input": {"a": 1}}
ANSWERS: Sequence[list[dict[str, Any]]] = (
    [thinking("hm"), said("yes")],
    [said("well"), thinking(""), said("no")],
    [{"type": "redacted_thinking", "data": "r"}, CALL],
    [thinking("a"), said("look"), thinking("b"), CALL],
)


@given(anything(), st.sampled_from([STEERED, BOUND]), st.sampled_from(ANSWERS), st.booleans())
def test_an_answer_goes_back_as_it_came_right_after_what_was_sent(
    history: list[Item], model: str, content: list[dict[str, Any]], answered: bool
) -> None:
    talk = [*history, Message("user", "Go."), *([Message("assistant", "Gone.")] if answered else [])]
    sent = WIRE.render(talk, model=model, tools=TOOLS)
    if content[0]["type"] == "text" and sent.payload["messages"][-1]["content"] == [GO_ON]:
        return  # words that come first are taken for more of the turn before: thinking after them is left out
    response = {"content": content, "model": model, "stop_reason": "end_turn"}
    talk += WIRE.parse(response, sent=sent, model=model).items
    again = WIRE.render(talk, model=model, tools=TOOLS)
    thought = [downgrade for downgrade in again.downgrades if downgrade.change == "state_stale"]
    assert thought == [each for each in sent.downgrades if each.change == "state_stale"]


@given(conversations(), st.integers(0, 9))
def test_thinking_is_left_out_once_what_came_before_was_edited(history: list[Item], place: int) -> None:
    sent = WIRE.render(history, model=BOUND, tools=TOOLS)
    state = Opaque("anthropic", BOUND, '{"signature":"s"}', sent.prefix)
    reply: list[Item] = [Reasoning("so", state), Message("assistant", "Done."), Message("user", "Thanks.")]
    if isinstance(history[-1], Reasoning):
        return
    kept = WIRE.render([*history, *reply], model=BOUND, tools=TOOLS).payload["messages"]
    assert {"type": "thinking", "thinking": "so", "signature": "s"} in [b for m in kept for b in m["content"]]
    edited = history.copy()
    edited[place % len(edited)] = Message("user", "Something else.")
    later = WIRE.render([*edited, *reply], model=BOUND, tools=TOOLS)
    other = WIRE.render([*history, *reply], model=BOUND)
    assert all("state_stale" in {each.change for each in one.downgrades} for one in (later, other))
