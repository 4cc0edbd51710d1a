"""What of an item counts, kind by kind."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidValue
from quire.items import (
    KINDS,
    Audio,
    ConfigChange,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Opaque,
    Pin,
    Reasoning,
    Span,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
)
from quire.tokens import Estimate, Exact

COUNTER = Exact()
HELLO = 2
"""Tokens of `hello world`."""

SUMMARY, NOTE, NOTHING, FAILED = 7, 7, 3, 3
"""Tokens of the tags around a summary and a note, of what stands for an empty output, and of `Error: `."""

ITEMS: list[tuple[Item, int]] = [
    (Message(role="user", content="hello world"), 4 + HELLO),
    (Message(role="user", content=""), 4),
    (Message(role="user", content=("hello world", Image(url="x", width=100, height=100))), 4 + HELLO + 255),
    (Message(role="user", content=(Audio(url="x", seconds=3, transcript="hello world"),)), 4 + 30),
    (Message(role="user", content=(File(data=b"hello world", media_type="text/plain"),)), 4 + HELLO),
    (ToolCall(call_id="c", name="hello", arguments=" world"), 8 + HELLO),
    (ToolResult(call_id="c", name="any", content="hello world"), 4 + HELLO),
    (Reasoning(text="hello world"), HELLO),
    (Reasoning(state=Opaque(provider="openai", model="o3", data="x" * 1000)), 0),
    (ToolResult(call_id="c", name="any", content=""), 4 + NOTHING),
    (ToolResult(call_id="c", name="any", content="hello world", is_error=True), 4 + FAILED + HELLO),
    (Summary(text="hello world"), 4 + SUMMARY + HELLO),
    (Handoff(from_agent="hello", to_agent=" world"), 4 + HELLO),
    (ConfigChange(instructions="hello world"), 4 + HELLO),
    (ConfigChange(tools=("hello", " world")), 4 + HELLO),
    (Note(content="hello world"), 4 + NOTE + HELLO),
    (Note(content=None, description="hello world"), 4 + NOTE + HELLO),
    (Mask(target="x", stub="gone"), 0),
    (Hide(spans=(Span("a", "b"),)), 0),
    (Pin(target="x"), 0),
    (Undo(target="x"), 0),
    (Unknown(name="hologram", fields={"a": 1}), 0),
]


@pytest.mark.parametrize(("item", "tokens"), ITEMS, ids=[type(item).__name__ for item, _ in ITEMS])
def test_each_kind_counts_what_a_model_reads(item: Item, tokens: int) -> None:
    assert COUNTER.count(item) == tokens


def test_every_kind_is_counted_above() -> None:
    assert {type(item) for item, _ in ITEMS} == KINDS


def test_a_note_that_is_no_text_counts_as_its_json() -> None:
    as_json = COUNTER.count(Note(content='{"a":[1,2],"b":null}'))
    assert COUNTER.count(Note(content={"a": [1, 2], "b": None})) == as_json


@pytest.mark.parametrize(
    "content", [b"\x00\xff", 10**30, {1: 2}, {(1, 2): 3}, "\ud800", ["\ud800"], object(), {"a": object}]
)
def test_whatever_a_note_holds_has_a_count(content: Any) -> None:
    assert COUNTER.count(Note(content=content)) > 4


def test_without_hearing_a_transcript_is_what_counts() -> None:
    claude = Estimate(framing="anthropic", media="claude")
    said = Audio(url="x", seconds=600, transcript="hello world")
    message = Message(role="user", content=(said,))
    assert claude.count(message) == claude.count(Message(role="user", content="hello world"))


@given(st.text(), st.text())
def test_more_text_never_counts_much_less(first: str, second: str) -> None:
    apart = COUNTER.text(first) + COUNTER.text(second)
    assert COUNTER.text(first + second) <= apart + 4


def test_names_that_are_not_in_the_tables_are_refused() -> None:
    with pytest.raises(InvalidValue, match="framing 'klingon'"):
        Exact(framing="klingon")
    with pytest.raises(InvalidValue, match="media costs 'smell'"):
        Exact(media="smell")


def test_the_key_names_all_that_a_count_depends_on() -> None:
    keys = {
        counter.key
        for counter in (
            Exact(),
            Exact("cl100k_base"),
            Exact(framing="plain"),
            Exact(media="o1"),
            Estimate(),
            Estimate(2),
        )
    }
    assert len(keys) == 6
    assert Exact().key == Exact().key
    assert "o200k_base" in repr(Exact())
