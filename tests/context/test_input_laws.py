"""An input with a section of its own: what else is shown is what the history alone would show."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.context import Context, Template
from quire.errors import OverBudget
from quire.items import Hide, Item, Message, Pin, Span, ToolCall, ToolResult
from quire.sections import Ask, History, Input, Instructions
from quire.state import Transcript, View, tool_traffic
from quire.tokens import Budget, counter_for
from tests.context.building import built
from tests.counting import FourCharacters
from tests.histories import OPS, Author, Op
from tests.oracle import PlainTranscript
from tests.state.chains import play

COUNTER = FourCharacters()
HISTORIES: dict[str, History] = {
    "all": History(),
    "turns": History(turns=2),
    "messages": History(messages=5),
    "where": History(where=~tool_traffic),
    "refusing": History(where=lambda item: not isinstance(item, Message) or len(item.text) % 2 == 0),
    "transform": History(transform=lambda item: None if item.id.endswith("3") else item),
}


def answered(view: View, history: History, window: int, *more: Any) -> Context | int:
    """What is shown where the last message is the input, or by how much that is over."""
    template = Template(Instructions("Be brief."), history, *more, budget=Budget(window=window))
    try:
        return built(template, Ask(views={"main": view}, input=view[-1]), COUNTER)
    except OverBudget as fault:
        return fault.over


@pytest.mark.laws
@given(OPS, st.integers(10, 400), st.sampled_from(sorted(HISTORIES)), st.integers(1, 200), st.booleans())
def test_what_else_is_shown_is_what_the_history_alone_would_show(
    ops: list[Op], window: int, kind: str, length: int, is_edited: bool
) -> None:
    transcript = play(ops, Transcript(), PlainTranscript(), Author())
    late = 10_000.0  # after all that came late itself
    transcript.extend(
        [
            Message("user", "noted", id="noted", created_at=late),
            Message("user", "q" * length, id="the input", created_at=late + 1),
        ]
    )
    if is_edited:
        transcript.append(Hide((Span("noted", "noted"),)))
    alone = answered(transcript.view, HISTORIES[kind], window)
    apart = answered(transcript.view, HISTORIES[kind], window, Input())
    if isinstance(alone, int) or isinstance(apart, int):
        assert alone == apart
        return
    assert list(apart.items) == list(alone.items)
    assert apart.receipt.tokens == alone.receipt.tokens
    assert apart.explain("the input").section == "input"


def words(role: Any, count: int) -> Message:
    return Message(role, "word " * count)


SMALL = [words("user", 1), words("assistant", 1)]
BULKY: dict[str, list[Item]] = {
    "a question that was answered": [*SMALL, words("user", 1_000), words("assistant", 2)],
    "a result before another question": [
        words("user", 1),
        ToolCall("c", "look"),
        ToolResult("c", "look", "word " * 1_000),
    ],
    "an answer": [*SMALL, words("user", 3), words("assistant", 1_000)],
}


@pytest.mark.parametrize("bulky", BULKY)
@pytest.mark.parametrize("kind", HISTORIES)
def test_what_was_answered_neither_stays_nor_takes_the_room(bulky: str, kind: str) -> None:
    transcript = Transcript(BULKY[bulky])
    asked = words("user", 4)
    transcript.append(asked)
    context = answered(transcript.view, HISTORIES[kind], 500, Input())
    alone = answered(transcript.view, HISTORIES[kind], 500)
    assert isinstance(context, Context) and isinstance(alone, Context)
    assert list(context.items) == list(alone.items) and context.items[-1] == asked
    assert not {item.id for item in BULKY[bulky] if COUNTER.count(item) > 500}.intersection(
        item.id for item in context.items
    )


def test_a_pin_stays_beside_the_input() -> None:
    pinned = words("user", 3)
    transcript = Transcript([pinned, words("assistant", 1_000), Pin(pinned.id)])
    transcript.append(words("user", 4))
    context = answered(transcript.view, History(), 500, Input())
    assert isinstance(context, Context)
    assert [item.id for item in context.items][1:] == [pinned.id, transcript.view[-1].id]


def test_the_last_turns_are_the_same_ones_once_the_model_has_begun_to_answer() -> None:
    transcript = Transcript([words(role, 3) for _ in range(4) for role in ("user", "assistant")])
    asked = words("user", 4)
    transcript.append(asked)
    template = Template(History(turns=2), Input(), budget=Budget(window=500))
    counter = counter_for("gpt-5.6")
    first = built(template, Ask(views={"main": transcript.view}, input=asked), counter)
    transcript.extend([ToolCall("c1", "look"), ToolResult("c1", "look", "seen")])
    later = built(template, Ask(views={"main": transcript.view}, input=asked), counter)
    assert list(later.items)[: len(first.items)] == list(first.items)
